"""``dbdyno publish``: reports of many runs as a folder of pages for any web server."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

from dbdyno.analysis.compare.run_series import RUNS_MIN, is_of_a_history, series_of
from dbdyno.cli.app import command
from dbdyno.cli.folders import fill_folder
from dbdyno.cli.lookup import RunName
from dbdyno.cli.output import Exit, print_result
from dbdyno.errors import DbdynoError
from dbdyno.report.masking import mask_of, masked
from dbdyno.report.pages.history import history_page
from dbdyno.report.pages.publication import Published, index_page, matrix_page
from dbdyno.report.pages.run import run_page
from dbdyno.run.options.grammar import tags_of
from dbdyno.run.tools import engine_tools
from dbdyno.store.listing import find_run, runs_folder
from dbdyno.store.run import RunFolder
from dbdyno.store.summary import list_runs
from dbdyno.workloads.registry import default_texts

_PAGES = (("index.html", "Runs"), ("matrix.html", "Load by server"), ("history.html", "History"))
_REPORTS = "runs"

app = command(
    "publish",
    "dbdyno publish last~1 last -o site",
    "dbdyno publish tag:build=main tag:build=mine -o site --title 'Index on bid'",
)


@app.default
def publish(
    run: RunName,
    /,
    *runs: RunName,
    output: Annotated[Path, Parameter(name=["-o", "--output"], metavar="DIR")],
    title: str = "Runs",
) -> int:
    """Write reports of runs as a folder of pages, to be put on any web server.

    index.html lists the runs, matrix.html has each load by each server, history.html how results
    changed, and each run has its report. The pages need no network and no script but their own.
    Names of hosts, users and databases and the folders of files are masked; statements, names of
    tables, tags and messages are not: read the pages before you publish them. In a folder that
    exists, only files that dbdyno wrote there are replaced.

    Parameters
    ----------
    run
        A run's name, a unique part of it, a path, last, or tag:NAME=VALUE for all runs with a tag.
    runs
        Further runs.
    output
        The folder; it is created if necessary.
    title
        The title of the list of runs.
    """
    folders = list(dict.fromkeys(_folders([run, *runs])))
    opened = sorted(
        map(RunFolder, folders), key=lambda one: (one.record.started_at, one.run_id), reverse=True
    )
    names = [one.folder.name for one in opened]
    if twice := {name for name in names if names.count(name) > 1}:
        raise DbdynoError("same_run", f"several runs are named {min(twice)}", "Rename a folder.")
    published = [
        Published(one.conditions, f"{_REPORTS}/{quote(name)}.html")
        for one, name in zip(opened, names, strict=True)
    ]
    fill_folder(output, "pages", dict(_files(opened, published, title)))
    print_result(str(output / _PAGES[0][0]))
    return Exit.OK


def _folders(words: Iterable[str]) -> Iterator[Path]:
    """The folders of the runs that the words name."""
    for word in words:
        tags = tags_of(word)
        if tags is None:
            yield find_run(word)
            continue
        tagged = [one for one in list_runs() if tags.items() <= one.tags.items()]
        if not tagged:
            raise DbdynoError("no_run", f"no run has {word}", "dbdyno runs lists them.")
        yield from (runs_folder() / one.run_id for one in tagged)


def _files(
    opened: Sequence[RunFolder], published: Sequence[Published], title: str
) -> Iterator[tuple[str, bytes]]:
    """The files of the folder, by their names."""
    from dbdyno.report.render_html import render_html  # noqa: PLC0415 - of the pages alone

    runs = [one.run for one in published]
    usable = [
        run
        for run in runs
        if is_of_a_history(
            run.record.status,
            run.record.valid,
            run.record.tags,
            is_imported=bool(run.record.imported),
        )
    ]
    series = series_of(usable, None, default_texts())
    mask = mask_of(runs)
    pages = (
        index_page(title, published),
        matrix_page(title, published),
        history_page([one for one in series if len(one.runs) >= RUNS_MIN]),
    )
    for (name, _), page in zip(_PAGES, pages, strict=True):
        yield name, render_html(masked(page, mask), _PAGES).encode()
    above = [(f"../{address}", name) for address, name in _PAGES]
    for folder in opened:
        page = masked(run_page(folder.load(engine_tools().histograms)), mask)
        yield f"{_REPORTS}/{folder.folder.name}.html", render_html(page, above).encode()
