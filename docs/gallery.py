"""Runs the included studies and writes the gallery: each study's answer, its doubts, pictures.

``python -m docs.gallery`` takes hours, on a host that should do nothing else. It keeps its studies
in ``gallery/``: started again, it continues the one that was interrupted and keeps those that are
done. Nothing on the page is written by hand except the sentence above it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from playwright.sync_api import Page, sync_playwright

from dbdyno.answers.answer import Trials
from dbdyno.answers.answering import answered, verdict
from dbdyno.answers.grouping import by_point
from dbdyno.cli.pages import write_page
from dbdyno.databases.known import recorded_title
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import counted, roughly
from dbdyno.model.study import StudyRecord
from dbdyno.report.pages.study.page import doubts, status_text, study_page
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import list_studies
from dbdyno.study.feasibility import Needs
from dbdyno.study.file import catalogue
from dbdyno.study.folder import trials_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
WORK = ROOT / "gallery"
WIDTH_PX = 960
PICTURES_EACH = 2

INTRODUCTION = """\
# Gallery

What dbdyno answered to studies that come with it, on one host. The answers, doubts and
pictures are those of the studies' own reports, as `make gallery` wrote them; on another host they
would be others. The page of each study describes what is varied, and when its answer is wrong.
"""

# The first figure of all, and the last one of each other answer: where an answer has several, the
# last shows the extreme level (the queue of most clients). Then the last of the first answer.
FIGURES = """() => {
  const [first, ...next] = [...document.querySelectorAll("section[id^=answer-]")]
    .map(section => [...section.querySelectorAll("figure")].map(figure => figure.id))
    .filter(figures => figures.length);
  const picked = first ? [first[0], ...next.map(figures => figures.pop())] : [];
  return [...picked, ...(first ?? []).slice(1).slice(-1)];
}"""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the page says of one study; pictures are file names with their text alternatives."""

    study: StudyRecord
    trials: Trials
    planned_s: float
    status: str
    answer: str
    doubts: Sequence[str]
    pictures: Sequence[tuple[str, str]]


def main() -> None:
    """Run what has not been run, then write the page and its pictures."""
    parser = argparse.ArgumentParser(prog="python -m docs.gallery", description=__doc__)
    parser.add_argument("--size", default="small", help="size of every study")
    parser.add_argument("--only", choices=list(catalogue()), help="run this study alone")
    options = parser.parse_args()
    os.environ["DBDYNO_HOME"] = str(WORK / "home")
    names = [options.only] if options.only else list(catalogue())
    for name in names:
        make(name, options.size)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": 800}, device_scale_factor=2)
        shown = [show(name, page) for name in names]
    PAGE.write_text("\n".join(lines(shown, options.size)))
    print(PAGE)  # noqa: T201


def dbdyno(*words: str) -> str:
    """Run a command as a user would; its progress goes to the terminal. Return what it prints."""
    command = [sys.executable, "-m", "dbdyno", *words]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def make(name: str, size: str) -> None:
    """Run the study, or continue it; nothing, if it is done.

    The plan is kept from before the first run: later ones know how long this host took.
    """
    record = newest(name)
    if record is None or record.spec.size != size:
        WORK.mkdir(exist_ok=True)
        plan_of(name).write_text(dbdyno("study", "plan", name, "--size", size, "--json"))
        dbdyno("study", "run", name, "--size", size, "--anyway")
    elif record.status != "done":
        dbdyno("study", "resume", record.study_id)


def plan_of(name: str) -> Path:
    """Where the plan of this study is kept."""
    return WORK / f"{name}.plan.json"


def planned_s(name: str) -> float:
    """Return the time that the plan named."""
    return msgspec.convert(json.loads(plan_of(name).read_text())["needs"], Needs).total_s


def newest(name: str) -> StudyRecord | None:
    """Return the last study of this name in the gallery's own home."""
    return max(
        (record for record in list_studies() if record.spec.name == name),
        key=lambda record: record.started_at,
        default=None,
    )


def show(name: str, page: Page) -> Shown:
    """Read the study's answer, and take the pictures from its own report."""
    record = newest(name)
    assert record is not None  # it was just made
    report = WORK / f"{name}.html"
    trials = trials_of(record, engine_tools().histograms)
    answers = answered(trials)
    write_page(study_page(trials, answers), report)
    claim = verdict(answers)
    page.goto(report.as_uri())
    ids = page.evaluate(FIGURES)
    return Shown(
        study=record,
        trials=trials,
        planned_s=planned_s(name),
        status=status_text(claim),
        answer=capitalized(claim.sentence).rstrip(".") + ".",
        doubts=list(doubts(trials, claim)),
        pictures=[picture(name, nr, page, of) for nr, of in enumerate(ids[:PICTURES_EACH], 1)],
    )


def picture(name: str, number: int, page: Page, figure: str) -> tuple[str, str]:
    """Take the picture of a figure without its controls; return its file name and summary."""
    file = f"{name}-{number}.png"
    page.add_style_tag(content="figure details { display: none }")
    element = page.locator(f"#{figure}")
    element.screenshot(path=PICTURES / file)
    return file, element.locator(".summary").inner_text()


def server_name(server: Mapping[str, Any]) -> str:
    """Return product and version: ``PostgreSQL 15.18``."""
    return f"{recorded_title(server)} {re.split('[ -]', server['version'])[0]}"


def lines(shown: Sequence[Shown], size: str) -> Iterator[str]:
    """Return the page."""
    yield INTRODUCTION
    yield from conditions(shown, size)
    for one in shown:
        spec = one.study.spec
        yield f"## {spec.title}\n\n*{spec.question}*\n\n**{one.answer}** {one.status}.\n"
        yield from (f"- {doubt}" for doubt in one.doubts)
        yield from (f"\n![{summary}](images/gallery/{file})" for file, summary in one.pictures)
        yield f"\n{made(one)}\n"


def conditions(shown: Sequence[Shown], size: str) -> Iterator[str]:
    """Return where and when the studies were run."""
    host = shown[0].trials.trials[0].run.as_recorded.host
    memory = host["memory"]["total_bytes"] / 2**30
    cpu, kernel = host["cpu"], host["kernel"]
    yield (
        f"The host: {counted(cpu['cores_available'], 'core')} ({cpu['model']}"
        f"{', a virtual machine' if cpu['hypervisor'] else ''}), {memory:.0f} GiB of memory, "
        f"{kernel['distribution']}, kernel {kernel['release'].split('-')[0]}. "
        f"All studies have size {size}.\n"
    )


def made(one: Shown) -> str:
    """Return how it was made: the command, servers, runs, date, and the time it was to take."""
    study, spec = one.study, one.study.spec
    recordings = (runs[0].run.as_recorded for runs in by_point(one.trials.trials).values())
    servers = dict.fromkeys(server_name(recording.server) for recording in recordings)
    runs = f"{counted(len(one.trials.trials), 'run')} on {' and '.join(servers)}"
    return (
        f"`dbdyno study run {spec.name} --size {spec.size}`, {study.started_at[:10]}: {runs}, in "
        f"{roughly(study.spent.whole_s)}; planned: {roughly(one.planned_s)}. "
        f"[What is varied, and when it is wrong](studies-{spec.name}.md)"
    )


if __name__ == "__main__":
    main()
