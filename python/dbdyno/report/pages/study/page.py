"""A study's report: the question, the answer and the doubt; then the evidence.

First the claims, tables and charts from this host, then published results, then how the study was
made. Nothing is measured or read here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dbdyno.analysis.doubts import disturbed_text
from dbdyno.answers.answer import Claim, Trials
from dbdyno.answers.answering import Answers, verdict
from dbdyno.answers.grouping import title_of
from dbdyno.answers.level_contrasts import contrasted, levels_text
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import count, counted, roughly
from dbdyno.report.content import (
    Block,
    Commands,
    HeadLine,
    Page,
    PageSection,
    Text,
    Verdict,
    filled,
)
from dbdyno.report.pages.study.answers import answer_sections
from dbdyno.report.pages.study.making import making_blocks
from dbdyno.report.pages.study.published import published_blocks

_FOOTER = (
    "Each run is one sample: intervals are between runs, not within them. Ratios are compared on "
    "a logarithmic scale, in pairs of runs of the same block."
)


def study_page(trials: Trials, answers: Answers) -> Page:
    """The whole page."""
    claim, spec, step = verdict(answers), trials.spec, next_step(trials)
    study = trials.study
    done = f"{count(len(trials.trials))} of {count(len(study.turns))} runs count"
    ended = {"running": "still running", "interrupted": "interrupted"}.get(study.status, "")
    began = study.started_at[:19].replace("T", " ")
    return Page(
        name=f"study {trials.study.study_id}",
        title=spec.title,
        head=[
            HeadLine(text=spec.question, style="question"),
            HeadLine(text=" · ".join(filter(None, (began, f"size {spec.size}", done, ended)))),
        ],
        top=[
            Verdict(
                status=status_text(claim),
                text=capitalized(claim.sentence),
                is_good=claim.is_decided,
                doubts=list(doubts(trials, claim)),
            )
        ],
        sections=filled(
            *answer_sections(answers),
            PageSection(
                id="published",
                title="Published results and ours",
                blocks=published_blocks(spec.published, answers),
                is_detail=True,
            ),
            PageSection(id="making", title="Method", blocks=making_blocks(trials), is_detail=True),
            PageSection(id="to-decide", title="To decide", blocks=step.blocks if step else []),
        ),
        footer=_FOOTER,
    )


def status_text(claim: Claim) -> str:
    """How far a verdict can be relied on."""
    if not claim.is_decided:
        return "Not decided by the data"
    return f"Decided by the data{f', but for {claim.undecided}' if claim.undecided else ''}"


def doubts(trials: Trials, claim: Claim) -> Iterator[str]:
    """What disturbed its runs, the verdict's own doubt, then what else weakens the whole study."""
    if told := disturbed_text([trial.record for trial in trials.trials]):
        yield f"{told}."
    if claim.doubt:
        yield capitalized(claim.doubt)
    if trials.study.looks:
        at = " and ".join(counted(look, "repeat") for look in trials.study.looks)
        yield f"Evaluated before, with {at}: each interim look may give a false alarm."
    lost = len(trials.study.lost)
    if lost:
        runs = "turn does" if lost == 1 else "turns do"
        yield f"{count(lost)} {runs} not count; the reasons are at the end."
    removed = len(trials.study.results) - lost - len(trials.trials)
    if removed:
        do = "does" if removed == 1 else "do"
        runs = counted(removed, "run")
        yield f"{runs} of this study cannot be read (any more), and {do} not count."
    left = len(trials.study.turns) - len(trials.study.results)
    if left:
        yield f"{count(left)} of {count(len(trials.study.turns))} turns have not been run (yet)."
    if trials.spec.published and trials.spec.size != "full":
        yield (
            f"Size {trials.spec.size}: shorter runs and less data than in the published study; "
            "--size full is as published."
        )


class NextStep(NamedTuple):
    """What to run next, and what for."""

    sentence: str
    command: str

    @property
    def blocks(self) -> list[Block]:
        """Both on a page."""
        return [Text(text=self.sentence), Commands(text=self.command)]


def next_step(trials: Trials) -> NextStep | None:
    """What would decide the first undecided metric, in the order of the study."""
    metrics = ((of, metric) for of in contrasted(trials) for metric in of.comparison.metrics)
    of, first = next(((of, one) for of, one in metrics if one.more_pairs), (None, None))
    if of is None or first is None:
        return None
    study = trials.study
    where = f" at {levels_text(of.others)}" if of.others else ""
    sides = f"{of.contrast.after} against {of.contrast.before}"
    what = f"{first.title}, {title_of(trials, of.contrast.factor)} {sides}{where}"
    turn_s = study.spent.whole_s / max(len(study.results), 1)
    takes = roughly(first.more_pairs * turn_s * len(study.points))
    return NextStep(
        f"To decide the first open question ({what}), in about {takes}:",
        study.with_more(first.more_pairs),
    )
