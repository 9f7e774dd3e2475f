"""A study's report: the question, the answer and the doubt; then the evidence.

First the claims, tables and charts from this host, then published results, then how the study was
made. Nothing is measured or read here.
"""

from collections.abc import Iterator

from dbdyno.analysis.doubts import disturbed_text
from dbdyno.answers.answer import Claim, Trials
from dbdyno.answers.answering import Answers, verdict
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import count, counted
from dbdyno.report.content import Page, PageSection
from dbdyno.report.pages.answering_page import answering_page
from dbdyno.report.pages.study.answers import answer_sections
from dbdyno.report.pages.study.making import making_blocks
from dbdyno.report.pages.study.published import published_blocks

FOOTER = (
    "Each run is one sample: intervals are between runs, not within them. Ratios are compared on "
    "a logarithmic scale, in pairs of runs of the same block."
)


def study_page(trials: Trials, answers: Answers) -> Page:
    """The whole page."""
    claim, spec = verdict(answers), trials.spec
    return answering_page(
        name=f"study {trials.study.study_id}",
        title=spec.title,
        question=spec.question,
        when=when_text(trials),
        verdict=capitalized(claim.sentence),
        status=status_text(claim),
        is_decided=claim.is_decided,
        doubts=list(doubts(trials, claim)),
        sections=[*answer_sections(answers), *_closing(trials, answers)],
        footer=FOOTER,
    )


def when_text(trials: Trials) -> str:
    """When, how many runs, and whether that is all of it."""
    study = trials.study
    done = f"{count(len(trials.trials))} of {count(len(study.turns))} runs count"
    ended = {"running": "still running", "interrupted": "interrupted"}.get(study.status, "")
    began = study.started_at[:19].replace("T", " ")
    return " · ".join(filter(None, (began, f"size {study.spec.size}", done, ended)))


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
    lost = sum(result.status != "done" for result in trials.study.results)
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


def _closing(trials: Trials, answers: Answers) -> list[PageSection]:
    published = published_blocks(trials.spec.published, answers)
    making = making_blocks(trials)
    return [
        PageSection(id="published", title="Published results and ours", blocks=published),
        PageSection(id="making", title="Method", blocks=making),
    ]
