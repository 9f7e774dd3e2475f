"""Shows studies: their files, plans and results, as text, as one JSON object or as a page."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.answers.answer import Trials
from dbdyno.answers.answering import Answers, all_answers, answered, verdict
from dbdyno.cli.output import (
    print_aside,
    print_json,
    print_lines,
    print_table,
)
from dbdyno.cli.pages import print_page, print_report_path, write_page, write_text
from dbdyno.errors import DbdynoError
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import counted, gigabytes, roughly
from dbdyno.layout import Command, Line, Paragraph
from dbdyno.model.study import Factor, Question, StudyRecord, StudySpec
from dbdyno.report.pages.study.object import study_cases, study_object
from dbdyno.report.pages.study.page import doubts, next_step, study_page
from dbdyno.report.render_junit import render_junit
from dbdyno.run.tools import engine_tools
from dbdyno.study.file import SIZES
from dbdyno.study.folder import lost_runs, trials_of
from dbdyno.study.matrix import points_of
from dbdyno.study.plan import StudyPlan
from dbdyno.study.spec import TITLE


def show_study(record: StudyRecord, report: Path | None, *, as_json: bool) -> None:
    """Write the report if it is wanted, and show all results, for people or for programs."""
    results = results_of(record)
    if report is not None:
        write_page(study_page(*results), report, kept(record))
        print_report_path(report)
    if as_json:
        print_json(study_object(*results))
    else:
        print_page(study_page(*results))


def show_verdict(record: StudyRecord, junit: Path | None, *, as_json: bool) -> None:
    """Show the sentence that answers the question, and the doubt about it."""
    trials, answers = results_of(record)
    if junit is not None:
        cases = [*study_cases(trials, answers)]
        write_text(render_junit("study", record.study_id, cases), junit)
    claim = verdict(answers)
    if as_json:
        result = {"study": record.study_id, "verdict": claim.sentence, "told": claim.is_decided}
        print_json({**result, "doubt": claim.doubt})
        return
    print_lines([Paragraph(capitalized(claim.sentence))])
    print_lines([Paragraph(f"Doubt: {doubt}") for doubt in doubts(trials, claim)])
    step = None if claim.is_decided else next_step(trials)
    if step is not None:
        print_lines(["", Paragraph(step.sentence), Command(f"  {step.command}")])


def results_of(record: StudyRecord) -> tuple[Trials, Answers]:
    """The runs of a study and its answers; says how many of its runs are gone."""
    if runs := lost_runs(record):
        have, others = ("has", "") if len(runs) == 1 else ("have", " …")
        gone = counted(len(runs), "run")
        print_aside(f"{gone} of this study {have} been removed: {runs[0]}{others}")
    trials = trials_of(record, engine_tools().histograms)
    return trials, answered(trials)


def kept(record: StudyRecord) -> str:
    """What to do if the report cannot be written."""
    return f"The study is kept; to write its report: dbdyno study report {record.study_id} -o FILE"


def made_row(record: StudyRecord) -> tuple[str, ...]:
    """Return the table row of a study that was run."""
    turns = f"{len(record.results)} of {len(record.turns)}"
    return (record.study_id, record.status, record.spec.size, turns)


def spec_lines(spec: StudySpec, path: Path) -> list[Line]:
    """Describe what a study asks and varies."""
    lines = [
        f"{spec.title}  ({path})",
        spec.question,
        "",
        f"size {spec.size} of {', '.join(SIZES)}; {spec.repeats} repeats in randomized blocks; "
        f"cache {spec.cache}; data restored {spec.restore}",
        *(_factor_text(factor) for factor in spec.factors),
        *(f"left out: {_excluded_text(excluded)}" for excluded in spec.excluded),
        *(f"compared: {c.factor}, {c.before} against {c.after}" for c in spec.contrasts),
        f"measured: {', '.join(spec.metrics)}",
        *(f"answered: {_answer_text(question)}" for question in spec.answers),
        *(f"published: {one.title} ({one.source})" for one in spec.published),
    ]
    return [Paragraph(line, "  ") for line in lines]


def time_summary(record: StudyRecord) -> str:
    """Describe how the time of all turns was spent."""
    spent, lost = record.spent, len(record.lost)
    share = spent.other_s / max(spent.whole_s, 1e-9)
    failed = f"; {lost} of {len(record.results)} turns do not count" if lost else ""
    return (
        f"prepare {roughly(spent.prepare_s)}, runs {roughly(spent.run_s)}, "
        f"other {roughly(spent.other_s)} ({share:.1%}){failed}"
    )


def _factor_text(factor: Factor) -> str:
    unit = f" {factor.unit}" if factor.unit else ""
    return f"varied: {factor.title}: {', '.join(level.name for level in factor.levels)}{unit}"


def _answer_text(question: Question) -> str:
    """Return the report's title of the answer, followed by its name in the file."""
    title = question.options.get(TITLE) or all_answers()[question.answer].title
    return f"{title}  ({question.answer})"


def _excluded_text(excluded: dict[str, tuple[str, ...]]) -> str:
    return " with ".join(f"{name} {', '.join(levels)}" for name, levels in excluded.items())


def show_plan(plan: StudyPlan) -> None:
    """Print the whole plan."""
    commands = [_pieces(point.command) for point in plan.points]
    shared = [piece for piece in commands[0] if all(piece in others for others in commands)]
    print_lines(
        [
            Paragraph(f"{plan.spec.title}: {plan.spec.question}"),
            "",
            "Every run, followed by the words of its point:",
            Command(f"  {' '.join(shared)}"),
            "",
        ]
    )
    headings = [*(factor.name for factor in plan.spec.factors), "each", "words"]
    print_table(headings, _point_rows(plan, commands, shared))
    lines = [*_needs_lines(plan), *_remarks(plan)]
    print_lines(["", *(Paragraph(line, "  ") for line in lines)])


def plan_object(plan: StudyPlan, unfit: DbdynoError | None) -> dict[str, Any]:
    """Return the plan for programs; what prevents its execution has the form of every error."""
    result: dict[str, Any] = msgspec.to_builtins(plan)
    if unfit is not None:
        result["error"] = {"code": unfit.code, "message": unfit.message, "hint": unfit.hint}
    return result


def _pieces(command: str) -> list[str]:
    """Split a command into words, each option together with its value."""
    pieces: list[str] = []
    for word in shlex.split(command):
        if pieces and pieces[-1].startswith("--") and " " not in pieces[-1] and word[:2] != "--":
            pieces[-1] += f" {shlex.quote(word)}"
        else:
            pieces.append(shlex.quote(word))
    return pieces


def _point_rows(
    plan: StudyPlan, commands: Sequence[Sequence[str]], shared: Sequence[str]
) -> Iterator[list[str]]:
    for point, levels, pieces in zip(plan.points, _levels(plan.spec), commands, strict=True):
        run = "?" if point.run_s is None else roughly(point.run_s)
        own = " ".join(piece for piece in pieces if piece not in shared)
        yield [*levels, run, own]


def _levels(spec: StudySpec) -> list[list[str]]:
    return [[*point.levels.values()] for point in points_of(spec)]


def _needs_lines(plan: StudyPlan) -> Iterator[str]:
    needs, budget_s = plan.needs, plan.spec.budget_s
    budget = f", of a budget of {roughly(budget_s)}" if budget_s is not None else ""
    repeats = counted(plan.spec.repeats, "repeat")
    yield f"{counted(len(plan.points), 'point')} × {repeats} = {counted(plan.turns, 'turn')}"
    yield (
        f"time: about {roughly(needs.total_s)}{budget} (load data {roughly(needs.load_s)}, "
        f"prepare {roughly(needs.prepare_s)}, runs {roughly(needs.run_s)}, "
        f"other {roughly(needs.other_s)})"
    )
    free = gigabytes(plan.machine.disk_free_bytes)
    yield f"disk: about {gigabytes(needs.disk_bytes)}; {free} are free"


def _remarks(plan: StudyPlan) -> Iterator[str]:
    for note in plan.notes:
        yield f"note: {note}"
    for refusal in plan.refusals:
        yield f"does not fit: {refusal.message}"
        yield f"  {refusal.hint}"
    if plan.without_effect:
        yield f"no effect: {plan.without_effect}"
