"""A study's plan on the terminal: a line per point, the total needs, and what does not fit.

Words that all points share are shown once, above; a point's line has its own words. Together they
are the command that runs the point alone.
"""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dbdyno.cli.output import print_lines, print_table
from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted, gigabytes
from dbdyno.layout import Command, Paragraph
from dbdyno.model.study import StudySpec
from dbdyno.study.feasibility import span
from dbdyno.study.matrix import points_of
from dbdyno.study.plan import StudyPlan


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
