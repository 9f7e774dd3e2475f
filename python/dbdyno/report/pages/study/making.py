"""How a study was made: its turns and their outcomes, its time, its server and host.

The conditions of a single run are in that run's own report; here is what makes the runs comparable.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from dbdyno.answers.answer import Trials
from dbdyno.answers.grouping import Point, by_point
from dbdyno.answers.level_contrasts import levels_text
from dbdyno.errors import DbdynoError
from dbdyno.formatting import NOTHING, count, percent, seconds
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Facts, Folded, Items, Table, Text
from dbdyno.report.facts import readable_pairs, setting_text
from dbdyno.report.verdict import command

_FEW = 3


def making_blocks(trials: Trials) -> list[Block]:
    """Facts of the whole, failed turns, every run, the host."""
    first_of = dict(_first_runs(trials))
    first = [*first_of.values()]
    promises = _promises(first_of)
    blocks: list[Block] = [Facts(pairs=[*_facts(trials, promises)])]
    if len(promises) > 1:
        blocks.append(
            Table(
                caption="Durability of the servers",
                columns=("Point", "Settings"),
                rows=list(promises.items()),
            )
        )
    sentences = []
    for result in trials.study.lost:
        turn, error = result.turn, result.error or {}
        where = f"Turn {turn.number}, block {turn.block}, {turn.point or 'the only point'}"
        reasons = filter(None, (error.get("message"), error.get("hint"), *result.notes))
        sentences.append(f"{where}, {result.status}: {'; '.join(reasons) or 'no reason is known'}")
    if sentences:
        blocks.append(Items(title="Turns that do not count:", sentences=sentences))
    blocks += _runs(trials)
    # The server and the host, without the lists of settings, which are in each run's report.
    servers = []
    for run in first:
        server = run.as_recorded.server
        plain = {name: value for name, value in server.items() if not isinstance(value, list)}
        chosen = {
            f"setting {one['name']}": setting_text(str(one["value"]), str(one.get("unit") or ""))
            for one in server.get("settings", ())
            if {"name", "value"} <= one.keys()
        }
        servers.append({**dict(readable_pairs(plain)), **chosen})
    hosts = [dict(readable_pairs(run.as_recorded.host)) for run in first]
    for title, described in (("Server", servers), ("Host", hosts)):
        if pairs := _shared(described):
            blocks.append(Folded(title=title, blocks=[Facts(pairs=pairs)]))
    return blocks


def _facts(trials: Trials, promises: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The order, the state before each run, where the time went, and the durability."""
    study, spec = trials.study, trials.spec
    counts = Counter[str](result.status for result in study.results)
    counts["not run"] = len(study.turns) - len(study.results)
    turns = [f"{count(number)} {status}" for status, number in counts.items() if number]
    yield "Size", spec.size
    yield "Points", count(len(study.points))
    yield "Repeats", count(spec.repeats)
    yield "Order", f"randomized complete blocks, seed {spec.seed}"
    yield "Turns", ", ".join(turns) or "none"
    kinds = {trial.record.server.get("kind") for trial in trials.trials}
    if kinds and kinds <= {"existing", "kept"}:
        # It keeps both from run to run, whatever the study asks for.
        yield "Cache and data", "as the running server had them"
    else:
        yield "Cache before each run", spec.cache
        yield "Data restored", spec.restore
    spent = study.spent
    for name, part_s in (
        ("Time in runs", spent.run_s),
        ("Time in preparation", spent.prepare_s),
        ("Other time", spent.other_s),
    ):
        if spent.whole_s:
            yield name, f"{seconds(part_s)} ({percent(part_s / spent.whole_s)})"
    if len(promises) == 1:
        yield "Durability", next(iter(promises.values()))


def _promises(first_of: Mapping[Point, Run]) -> dict[str, str]:
    """The durability of the servers: without it, no number can be interpreted.

    By the levels on which it depends: the fewest factors by which it is known.
    """
    texts = {
        point: ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in promised.items())
        for point, run in first_of.items()
        if (promised := run.server.durability)
    }
    names = [name for name, _ in next(iter(texts), ())]
    for count_of in range(len(names) + 1):
        for chosen in combinations(names, count_of):
            found: dict[str, str] = {}
            for point, text in texts.items():
                levels = {name: level for name, level in point if name in chosen}
                if found.setdefault(levels_text(levels), text) != text:
                    break
            else:
                return found
    return {}


def _first_runs(trials: Trials) -> Iterator[tuple[Point, Run]]:
    """The first run of each point that is not damaged."""
    for point, at_point in by_point(trials.trials).items():
        for trial in at_point:
            try:
                run = trial.run
            except DbdynoError:
                continue
            yield point, run
            break


def _runs(trials: Trials) -> list[Block]:
    """Every run with what was noted in its turn, and the command that repeats it."""
    if not trials.trials:
        return []
    notes = {result.run_id: "; ".join(result.notes) for result in trials.study.results}
    runs = Table(
        caption="Runs in chronological order",
        columns=("Run", "Block", "Point", "Notes", "Command"),
        rows=[
            (
                trial.record.run_id,
                str(trial.block),
                levels_text(trial.point),
                notes.get(trial.record.run_id) or NOTHING,
                command(trial.record) or NOTHING,
            )
            for trial in trials.trials
        ],
        numeric=frozenset({1}),
        code=frozenset({0, 4}),
    )
    note = Text(text="dbdyno report RUN writes the report of any of them.", note=True)
    return [Folded(title=f"All {len(trials.trials)} runs with their commands", blocks=[runs, note])]


def _shared(described: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """One value if all agree; otherwise the few that there are, or how many."""
    shared = []
    for name in dict.fromkeys(name for one in described for name in one):
        values = dict.fromkeys(one.get(name, NOTHING) for one in described)
        few = " or ".join(values)
        many = f"differs between runs ({len(values)} values)"
        shared.append((name, few if len(values) <= _FEW else many))
    return shared
