"""How a study was made: its turns and their outcomes, its time, its server and host.

The conditions of a single run are in that run's own report; here is what makes the runs comparable.
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Trial, Trials
from dbdyno.answers.grouping import by_point
from dbdyno.formatting import NOTHING, count, percent, seconds
from dbdyno.model.study import StudyRecord, TurnResult
from dbdyno.report.content import Block, Facts, Folded, Table, Text
from dbdyno.report.facts import readable_pairs, setting_text


def making_blocks(trials: Trials) -> list[Block]:
    """Facts of the whole, failed turns, every run, the host."""
    study = trials.study
    return [
        Facts(pairs=[*_order_facts(trials), *time_facts(study), *_durability(trials)]),
        *_failed(study),
        *_runs(trials),
        *_surroundings(trials),
    ]


def _order_facts(trials: Trials) -> Iterator[tuple[str, str]]:
    study, spec = trials.study, trials.spec
    yield "Size", spec.size
    yield "Points", count(len(study.points))
    yield "Repeats", count(spec.repeats)
    yield "Order", f"randomized complete blocks, seed {spec.seed}"
    yield from preparation_facts(trials)
    yield "Turns", _turn_text(study)


def preparation_facts(trials: Trials) -> list[tuple[str, str]]:
    """Return the state of cache and data before each run.

    A server that was already running keeps both from run to run, whatever the study asks for.
    """
    kinds = {trial.record.server.get("kind") for trial in trials.trials}
    if kinds and kinds <= {"existing", "kept"}:
        return [("Cache and data", "as the running server had them")]
    return [("Cache before each run", trials.spec.cache), ("Data restored", trials.spec.restore)]


def _durability(trials: Trials) -> Iterator[tuple[str, str]]:
    """The servers' durability, without which no number can be interpreted."""
    promises = dict.fromkeys(
        ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in promised.items())
        for runs in by_point(trials.trials).values()
        if (promised := runs[0].run.server.durability)
    )
    if promises:
        yield "Durability", " or ".join(promises)


def _turn_text(study: StudyRecord) -> str:
    counts = Counter(result.status for result in study.results)
    parts = [f"{count(number)} {status}" for status, number in counts.items()]
    left = len(study.turns) - len(study.results)
    return ", ".join([*parts, *([f"{count(left)} not run"] if left else [])]) or "none"


def time_facts(study: StudyRecord) -> Iterator[tuple[str, str]]:
    """Where the time of the study went."""
    spent = [result.spent for result in study.results]
    runs_s = sum(one.run_s for one in spent)
    prepare_s = sum(one.prepare_s for one in spent)
    other_s = sum(one.other_s for one in spent)
    whole_s = runs_s + prepare_s + other_s
    if whole_s:
        yield "Time in runs", _time_text(runs_s, whole_s)
        yield "Time in preparation", _time_text(prepare_s, whole_s)
        yield "Other time", _time_text(other_s, whole_s)


def _time_text(part_s: float, whole_s: float) -> str:
    return f"{seconds(part_s)} ({percent(part_s / whole_s)})"


def _failed(study: StudyRecord) -> list[Block]:
    """Turns that do not count, each with its reason."""
    lost = [result for result in study.results if result.status != "done"]
    if not lost:
        return []
    return [
        Table(
            caption="Turns that do not count",
            columns=("Turn", "Block", "Point", "Status", "Reason"),
            rows=[_lost_row(result) for result in lost],
            numeric=frozenset({0, 1}),
        )
    ]


def _lost_row(result: TurnResult) -> tuple[str, ...]:
    turn, error = result.turn, result.error or {}
    reason = " ".join(filter(None, (error.get("message"), error.get("hint"), *result.notes)))
    point = turn.point or "the only point"
    return str(turn.number), str(turn.block), point, result.status, reason or NOTHING


def _runs(trials: Trials) -> list[Block]:
    if not trials.trials:
        return []
    results = {result.run_id: result for result in trials.study.results if result.run_id}
    runs = Table(
        caption="Runs in chronological order",
        columns=("Run", "Block", "Point", "Notes", "Command"),
        rows=[_run_row(trial, results.get(trial.record.run_id)) for trial in trials.trials],
        numeric=frozenset({1}),
        code=frozenset({0, 4}),
    )
    note = Text(text="dbdyno report RUN writes the report of any of them.", note=True)
    return [Folded(title=f"All {len(trials.trials)} runs with their commands", blocks=[runs, note])]


def _run_row(trial: Trial, result: TurnResult | None) -> tuple[str, ...]:
    notes = "; ".join(result.notes) if result else ""
    return (
        trial.record.run_id,
        str(trial.block),
        ", ".join(f"{name} {level}" for name, level in trial.point.items()),
        notes or NOTHING,
        command_of(trial),
    )


def command_of(trial: Trial) -> str:
    """The command that repeats the run."""
    command = trial.record.command
    return shlex.join(["dbdyno", "run", *command]) if command else NOTHING


def _surroundings(trials: Trials) -> list[Block]:
    """The server and the host, from the first run of each point."""
    recordings = [runs[0].run for runs in by_point(trials.trials).values()]
    servers = _shared([_facts_of(run.as_recorded.server) for run in recordings])
    hosts = _shared([dict(readable_pairs(run.as_recorded.host)) for run in recordings])
    shown: Sequence[tuple[str, list[tuple[str, str]]]] = (
        ("Server", servers),
        ("Host", hosts),
    )
    return [Folded(title=title, blocks=[Facts(pairs=pairs)]) for title, pairs in shown if pairs]


def _facts_of(server: Mapping[str, Any]) -> dict[str, str]:
    """Without the lists of settings, which are in each run's report."""
    chosen = {
        f"setting {one['name']}": setting_text(str(one["value"]), str(one.get("unit") or ""))
        for one in server.get("settings", ())
        if {"name", "value"} <= one.keys()
    }
    plain = {name: value for name, value in server.items() if not isinstance(value, list)}
    return {**dict(readable_pairs(plain)), **chosen}


def _shared(described: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """One value if all agree; otherwise how many there are."""
    names = dict.fromkeys(name for one in described for name in one)
    values = {name: dict.fromkeys(one.get(name, NOTHING) for one in described) for name in names}
    return [(name, _values_text(list(found))) for name, found in values.items()]


def _values_text(values: Sequence[str]) -> str:
    if len(values) <= 3:
        return " or ".join(values)
    return f"differs between runs ({len(values)} values)"
