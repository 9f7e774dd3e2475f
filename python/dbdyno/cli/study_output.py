"""Shows studies: their files, plans and results, as text, as one JSON object or as a page."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.answers.answer import Trials
from dbdyno.answers.answering import Answers, answered, verdict
from dbdyno.answers.grouping import title_of
from dbdyno.answers.level_contrasts import contrasted, levels_text
from dbdyno.answers.registry import all_answers
from dbdyno.cli.output import (
    print_aside,
    print_json,
    print_lines,
    print_result,
    print_table,
    screen,
)
from dbdyno.cli.pages import write_page
from dbdyno.errors import DbdynoError
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import counted, gigabytes
from dbdyno.layout import Command, Line, Paragraph
from dbdyno.model.study import Factor, Question, StudyRecord, StudySpec
from dbdyno.report.pages.study.object import study_object
from dbdyno.report.pages.study.page import doubts, study_page
from dbdyno.report.pages.study.text import render_study_text
from dbdyno.run.tools import engine_tools
from dbdyno.study.feasibility import span
from dbdyno.study.file import SIZES
from dbdyno.study.folder import lost_runs, trials_of
from dbdyno.study.matrix import points_of
from dbdyno.study.plan import StudyPlan
from dbdyno.study.spec import TITLE


def show_study(record: StudyRecord, *, as_json: bool) -> None:
    """Show all results, for people or for programs."""
    trials, answers = _answered(record)
    if as_json:
        print_json(study_object(trials, answers))
    else:
        print_result(render_study_text(trials, answers, screen(sys.stdout)).rstrip())
        _print_next_command(trials)


def show_verdict(record: StudyRecord, *, as_json: bool) -> None:
    """Show the sentence that answers the question, and the doubt about it."""
    trials, answers = _answered(record)
    claim = verdict(answers)
    if as_json:
        result = {"study": record.study_id, "verdict": claim.sentence, "told": claim.is_decided}
        print_json({**result, "doubt": claim.doubt})
        return
    print_lines([Paragraph(capitalized(claim.sentence))])
    print_lines([Paragraph(f"Doubt: {doubt}") for doubt in doubts(trials, claim)])
    if not claim.is_decided:
        _print_next_command(trials)


def write_study_html(record: StudyRecord, path: Path) -> None:
    """Write the page into an existing folder."""
    otherwise = (
        f"The study is kept; to write its report: dbdyno study report {record.study_id} -o FILE"
    )
    write_page(study_page(*_answered(record)), path, otherwise)


def _print_next_command(trials: Trials) -> None:
    """Show the command that would decide the first undecided metric, in the order of the study."""
    metrics = ((of, metric) for of in contrasted(trials) for metric in of.comparison.metrics)
    of, first = next(((of, one) for of, one in metrics if one.more_pairs), (None, None))
    if of is None or first is None:
        return
    where = f" at {levels_text(of.others)}" if of.others else ""
    sides = f"{of.contrast.after} against {of.contrast.before}"
    what = f"{first.title}, {title_of(trials, of.contrast.factor)} {sides}{where}"
    repeats = first.pairs + first.more_pairs
    command = trials.study.further(repeats)
    takes = span((repeats - trials.spec.repeats) * _block_s(trials.study))
    print_lines(["", Paragraph(f"To decide the first open question ({what}), in about {takes}:")])
    print_lines([Command(f"  {command}")])


def _block_s(study: StudyRecord) -> float:
    """How long a block of this study takes: each point once, as long as its turns took so far."""
    spent = [result.spent for result in study.results]
    whole_s = sum(one.prepare_s + one.run_s + one.other_s for one in spent)
    return whole_s / len(spent) * len(study.points) if spent else 0.0


def _answered(record: StudyRecord) -> tuple[Trials, Answers]:
    _print_lost_runs(lost_runs(record))
    trials = trials_of(record, engine_tools().histograms)
    return trials, answered(trials)


def _print_lost_runs(runs: Sequence[str]) -> None:
    if runs:
        have, others = ("has", "") if len(runs) == 1 else ("have", " …")
        gone = counted(len(runs), "run")
        print_aside(f"{gone} of this study {have} been removed: {runs[0]}{others}")


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
    spent = [result.spent for result in record.results]
    prepare_s, run_s, other_s = (
        sum(getattr(one, part) for one in spent) for part in ("prepare_s", "run_s", "other_s")
    )
    share = other_s / max(prepare_s + run_s + other_s, 1e-9)
    failed = sum(result.status != "done" for result in record.results)
    lost = f"; {failed} of {len(spent)} turns do not count" if failed else ""
    return (
        f"prepare {span(prepare_s)}, runs {span(run_s)}, other {span(other_s)} ({share:.1%}){lost}"
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
        run = "?" if point.run_s is None else span(point.run_s)
        own = " ".join(piece for piece in pieces if piece not in shared)
        yield [*levels, run, own]


def _levels(spec: StudySpec) -> list[list[str]]:
    return [[*point.levels.values()] for point in points_of(spec)]


def _needs_lines(plan: StudyPlan) -> Iterator[str]:
    needs, budget_s = plan.needs, plan.spec.budget_s
    budget = f", of a budget of {span(budget_s)}" if budget_s is not None else ""
    repeats = counted(plan.spec.repeats, "repeat")
    yield f"{counted(len(plan.points), 'point')} × {repeats} = {counted(plan.turns, 'turn')}"
    yield (
        f"time: about {span(needs.total_s)}{budget} (load data {span(needs.load_s)}, prepare "
        f"{span(needs.prepare_s)}, runs {span(needs.run_s)}, other {span(needs.other_s)})"
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
