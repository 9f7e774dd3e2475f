"""A study for programs: one object with all points, comparisons and answers; and test cases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dbdyno.analysis.compare.metrics import metrics_of
from dbdyno.answers.answer import QueueOf, Shown, Trial, Trials
from dbdyno.answers.answering import Answers, title_of, verdict
from dbdyno.answers.level_contrasts import comparisons
from dbdyno.answers.measuring import metric_of, over_runs
from dbdyno.model.study import Point
from dbdyno.report.pages.study.page import doubts
from dbdyno.report.render_junit import Case

FORMAT_VERSION = 1


def study_object(trials: Trials, answers: Answers) -> dict[str, Any]:
    """The object of ``study run --json``."""
    claim = verdict(answers)
    compared = trials.comparisons or comparisons(trials)
    return {
        "format_version": FORMAT_VERSION,
        "study": _study(trials),
        "verdict": claim.sentence,
        "told": claim.is_decided,
        "doubt": claim.doubt,
        "doubts": list(doubts(trials, claim)),
        "points": [_point(trials, point) for point in trials.study.points],
        "comparisons": msgspec.to_builtins(list(compared)),
        "answers": [
            {
                "answer": question.answer,
                "title": title_of(question),
                "options": question.options,
                "claims": [_plain(claim) for claim in answer.claims],
                "shown": [_shown(one) for one in answer.shown],
                "missing": answer.missing,
            }
            for question, answer in answers
        ],
    }


def study_cases(trials: Trials, answers: Answers) -> Iterator[Case]:
    """Each turn, which may have failed, then each answer, which the data may leave open."""
    for result in trials.study.results:
        error = result.error or {}
        yield Case(
            name=f"block {result.turn.block}: {result.turn.point}",
            outcome="passed" if result.status == "done" else "failed",
            message=error.get("message", ""),
            seconds=result.spent.run_s,
        )
    for question, answer in answers:
        left_open = [claim.sentence for claim in answer.claims if not claim.is_decided]
        reasons = [*filter(None, [answer.missing]), *left_open]
        yield Case(
            name=title_of(question),
            outcome="skipped" if reasons else "passed",
            message=" ".join(reasons),
        )


def _study(trials: Trials) -> dict[str, Any]:
    study, spec = trials.study, trials.spec
    return {
        "study_id": study.study_id,
        "name": spec.name,
        "title": spec.title,
        "question": spec.question,
        "size": spec.size,
        "status": study.status,
        "started_at": study.started_at,
        "repeats": spec.repeats,
        "looks": study.looks,
        "seed": spec.seed,
        "turns": len(study.turns),
        "turns_done": sum(result.status == "done" for result in study.results),
        "prepare_s": study.spent.prepare_s,
        "run_s": study.spent.run_s,
        "other_s": study.spent.other_s,
    }


def _point(trials: Trials, point: Point) -> dict[str, Any]:
    runs = [trial for trial in trials.trials if trial.point == point.levels]
    results = [result for result in trials.study.results if result.turn.point == point.key]
    names = dict.fromkeys(name for trial in runs for name in metrics_of(trial.record))
    return {
        "key": point.key,
        "levels": point.levels,
        "words": point.options,
        "metrics": {name: _metric(runs, name) for name in names},
        "turns": [
            {
                "turn": result.turn.number,
                "block": result.turn.block,
                "status": result.status,
                "run_id": result.run_id,
                "error": result.error,
                "notes": result.notes,
            }
            for result in results
        ],
    }


def _metric(runs: Sequence[Trial], name: str) -> dict[str, float | None]:
    values = [value for value in map(metric_of(name), runs) if value is not None]
    mean = over_runs(runs, metric_of(name))
    return {
        "mean": mean.value if mean else None,
        "low": mean.low if mean else None,
        "high": mean.high if mean else None,
        "min": min(values),
        "max": max(values),
        "runs": len(values),
    }


def _shown(shown: Shown) -> Mapping[str, Any]:
    """With its kind; for a queue, the run whose recording has it."""
    kind = type(shown).__name__.removesuffix("Of").lower()
    if isinstance(shown, QueueOf):
        return {"kind": kind, "title": shown.title, "run_id": shown.trial.record.run_id}
    return {"kind": kind, **_plain(shown)}


def _plain(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain
