"""Made-up studies: factors, points and runs with known numbers."""

import dataclasses
import itertools
import math

import msgspec
import numpy as np

from dbdyno.answers.answer import Trial, Trials
from dbdyno.model.study import (
    Contrast,
    Factor,
    Level,
    Point,
    Spent,
    StudyRecord,
    StudySpec,
    Turn,
    TurnResult,
)
from tests.support.numbers import latency, throughput, wal
from tests.support.recordings import MadeRun


def factor(name, *levels, title=""):
    made_levels = tuple(Level(name=str(level), options={name: level}) for level in levels)
    return Factor(name=name, title=title or name, levels=made_levels)


def spec(*factors, **changes):
    known = {
        "name": "made-up",
        "title": "A study that never was",
        "question": "Does it matter?",
        "size": "tiny",
        "base": {"workload": "tpcb"},
        "metrics": ("throughput_tps",),
    }
    return StudySpec(factors=factors, **(known | changes))


def contrast(name, before, after, **more):
    return Contrast(factor=name, before=before, after=after, **more)


def study(made, tps, *, noise=0.01, seed=1, run_of=None, wal_bytes=None, **record_changes):
    """All runs of a study; ``tps`` and ``wal_bytes`` are functions of a point's levels.

    ``run_of`` returns the made-up run for a point's levels, where its recording matters.
    """
    chance = np.random.default_rng(seed)
    points = [_point(dict(levels)) for levels in _combinations(made)]
    trials, results, turns = [], [], []
    for block, point in itertools.product(range(1, made.repeats + 1), points):
        luck = math.exp(chance.normal(0, noise))
        turn = Turn(number=len(turns) + 1, block=block, point=point.key, seed=block)
        value = tps(point.levels) * luck
        changes = {
            "run_id": f"run-{turn.number}",
            "valid": True,
            "throughput_tps": throughput(value),
            "response_ms": latency(8000 / value),
            "costs": [wal(wal_bytes(point.levels) * luck**0.02)] if wal_bytes else [],
            "command": ["tpcb", "--seed", str(block)],
        }
        run = run_of(point.levels) if run_of else MadeRun(value, seconds=5)
        recording = run.loaded()
        record = msgspec.structs.replace(recording.record, **(changes | record_changes))
        recording = dataclasses.replace(recording, record=record)
        trials.append(_trial(point, block, recording))
        turns.append(turn)
        results.append(
            TurnResult(
                turn=turn,
                status="done",
                run_id=record.run_id,
                spent=Spent(prepare_s=1.0, run_s=8.0, other_s=0.2),
            )
        )
    made_study = StudyRecord(
        study_id="20261121-made-up",
        spec=made,
        points=points,
        turns=turns,
        started_at="2026-11-21T03:04:05+00:00",
        status="done",
        results=results,
    )
    return Trials(study=made_study, trials=trials)


def _combinations(made):
    names = [one.name for one in made.factors]
    for levels in itertools.product(*(one.levels for one in made.factors)):
        yield zip(names, (level.name for level in levels), strict=True)


def _point(levels):
    key = ",".join(f"{name}={level}" for name, level in levels.items())
    return Point(key=key, levels=levels, options={})


def _trial(point, block, recording):
    return Trial(point.levels, block, recording.record, lambda: recording)
