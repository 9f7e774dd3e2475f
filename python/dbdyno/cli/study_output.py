"""Shows the results of a study: as text, as one JSON object, as a page, or as a sentence."""

import sys
from collections.abc import Sequence
from pathlib import Path

from dbdyno.answers.answer import Trials
from dbdyno.answers.answering import Answers, answered, verdict
from dbdyno.answers.grouping import title_of
from dbdyno.answers.level_contrasts import contrasted, levels_text
from dbdyno.cli.output import print_aside, print_json, print_lines, print_result, screen
from dbdyno.cli.pages import write_page
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import counted
from dbdyno.layout import Command, Paragraph
from dbdyno.model.study import StudyRecord
from dbdyno.report.study import doubts, render_study_html
from dbdyno.report.study_object import study_object
from dbdyno.report.study_text import render_study_text
from dbdyno.run.tools import engine_tools
from dbdyno.study.feasibility import span
from dbdyno.study.trials import lost_runs, trials_of


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
    write_page(render_study_html(*_answered(record)), path, otherwise)


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
