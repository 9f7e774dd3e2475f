"""Whether ``dbdyno compare`` tells the truth: nothing where nothing differs, and what was planted.

All of it as a user would do it, by tags and pairs: the same variant against itself, an index
too many, and work that takes 15 % of the throughput away.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.cases import SCRIPTS
from bench.ceiling import Told
from bench.tools import dbdyno_path, load_data, tree_cpu_s
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server
from dbdyno.servers.connecting import url_of

PAIRS = 3
# Knows the noise well enough to say how many more it takes (three pairs hardly do).
PAIRS_OF_PILOT = 5
SETS = 20
FALSE_ALARMS_AT_MOST = 3
SCALE = 1
RUN = ("--progress", "0", "--json")
SHORT = ("-c", "4", "--warmup", "1s", "-T", "2")
# Neighbours disturb for seconds: longer runs would know themselves better, and their pairs not.
FOR_TPS = ("-c", "4", "--warmup", "1s", "-T", "4")
# Costs are compared at equal work, all of it measured: what a page costs once, too. Of one
# client, since waiting for a row is in the log as well, and how much is waited is chance.
# Long enough that the part of a second at each end, when counters are not read, is little.
FOR_COSTS = ("-c", "1", "--warmup", "0s", "-t", "20000")
LOAD = ("-s", str(SCALE))
TPCB = ("tpcb", *LOAD)
PLANTED_TPS = 0.15
# Where a pilot asks for more than this, the machine is too restless to be measured on.
MORE_PAIRS_AT_MOST = 30
_CALIBRATING_ROWS = 1000

Words = tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """What is run, and the statements before it that make it so; on fresh data or what is there."""

    name: str
    words: Words
    statements: tuple[str, ...] = ()
    is_of_fresh_data: bool = False


@dataclass(frozen=True)
class Bench:
    """A server with TPC-B's data, and two variants on it, run in pairs and compared."""

    server: Server
    endpoint: Endpoint

    @property
    def url(self) -> str:
        """The server as a target."""
        return url_of(self.endpoint)

    def pairs(
        self, name: str, variants: Sequence[Variant], numbers: range, length: Words = SHORT
    ) -> None:
        """One run of each variant in each pair, of the same draws; another one first each time."""
        for number in numbers:
            for variant in variants if number % 2 else reversed(variants):
                self._prepare(variant)
                tags = {"set": name, "variant": variant.name, "pair": str(number)}
                self.run((*variant.words, "--seed", str(number)), tags, length)

    def run(self, words: Words, tags: dict[str, str], length: Words = SHORT) -> float:
        """TPS of one run."""
        tagged = [word for tag in tags.items() for word in ("--tag", "=".join(tag))]
        given = (*words, *RUN, *length, "--target", self.url, *tagged)
        command = [dbdyno_path(), "run", *given]
        tps: float = json.loads(tree_cpu_s(command)[0])["throughput_tps"]["value"]
        return tps

    def _prepare(self, variant: Variant) -> None:
        if variant.is_of_fresh_data:
            load_data(self.endpoint, "tpcb", *LOAD, "--replace")
        with self.server.connect() as connection:
            for statement in variant.statements:
                connection.execute(statement)

    def compared(self, name: str, variants: Sequence[Variant], *metrics: str) -> dict[str, Any]:
        """The metrics of the comparison, by id; the usual ones unless named."""
        sides = [f"tag:set={name},variant={variant.name}" for variant in variants]
        asked = [word for metric in metrics for word in ("--metric", metric)]
        out, *_ = tree_cpu_s([dbdyno_path(), "compare", *sides, *asked, "--json"])
        return {metric["id"]: metric for metric in json.loads(out)["metrics"]}


def prepared(server: Server, endpoint: Endpoint) -> Bench:
    """With fresh data: what one part has planted must not be in the next.

    A first run touches every page after the load's checkpoint, so that no later one pays for
    images of whole pages, by far the most of the WAL of a short run.
    """
    load_data(endpoint, "tpcb", *LOAD, "--replace")
    bench = Bench(server, endpoint)
    bench.run(TPCB, {"set": "touching"}, ("-c", "4", "-t", "5000"))
    return bench


def same_against_itself(told: Told, bench: Bench) -> None:
    """Sets of pairs of the same variant: how many are told apart."""
    variants = [Variant(name, TPCB) for name in ("one", "other")]
    alarms = []
    for number in range(SETS):
        name = f"aa{number}"
        bench.pairs(name, variants, range(1, PAIRS + 1))
        metrics = bench.compared(name, variants)
        apart = [key for key, one in metrics.items() if one["verdict"] in ("better", "worse")]
        alarms += [apart] if apart else []
        print(f"    set {number + 1} of {SETS}: {apart or 'equal'}", file=sys.stderr, flush=True)
    words = f"{len(alarms)} of {SETS} sets of {PAIRS} pairs differ significantly {alarms or ''}"
    told("aa: a variant against itself", words, len(alarms) <= FALSE_ALARMS_AT_MOST)


def planted_index(told: Told, bench: Bench) -> None:
    """An index too many: every row of the history is written to it, and that to the WAL.

    It is looked for among all that is compared when nothing is named. Data are fresh for each
    run: an index that grows, or dead rows that were left, would not be the same variant. They
    are vacuumed, or autovacuum would do it during some of the runs.
    """
    vacuum, plant = "vacuum analyze", "create index planted on pgbench_history (aid)"
    variants = [
        Variant("without", TPCB, (vacuum,), is_of_fresh_data=True),
        Variant("with", TPCB, (vacuum, plant), is_of_fresh_data=True),
    ]
    bench.pairs("index", variants, range(1, PAIRS + 1), FOR_COSTS)
    found = bench.compared("index", variants)["wal_bytes"]
    told("planted-index: WAL bytes, 3 pairs", found["words"], found["verdict"] == "worse")


def planted_tps(told: Told, bench: Bench) -> None:
    """A pilot says how many more pairs are needed; with so many it has to be found.

    The metric is named beforehand: among five a change must be twice as large to be told.
    """
    variants = [Variant(name, _work(rows)) for name, rows in _calibrated(bench).items()]
    pilot = range(1, PAIRS_OF_PILOT + 1)
    bench.pairs("tps", variants, pilot, FOR_TPS)
    found = bench.compared("tps", variants, "throughput_tps")["throughput_tps"]
    predicted = found["repeats"]["more"] if found["repeats"] else 0
    more = min(predicted, MORE_PAIRS_AT_MOST)
    bench.pairs("tps", variants, range(pilot.stop, pilot.stop + more), FOR_TPS)
    found = bench.compared("tps", variants, "throughput_tps")["throughput_tps"]
    words = f"{len(pilot)} pairs and {more} of {predicted} predicted further ones: {found['words']}"
    told("planted-tps: 15 % of throughput", words, found["verdict"] == "worse")


def _calibrated(bench: Bench) -> dict[str, int]:
    """How many rows to count so that the planted share of the throughput is lost."""
    tags = {"set": "calibrating"}
    light, heavy = (1 / bench.run(_work(rows), tags) for rows in (1, _CALIBRATING_ROWS))
    wanted = light * PLANTED_TPS / (1 - PLANTED_TPS)
    return {"light": 1, "heavy": 1 + round(wanted / (heavy - light) * _CALIBRATING_ROWS)}


def _work(rows: int) -> Words:
    return (str(SCRIPTS / "planted-work.sql"), *LOAD, "-D", f"work={rows}")


PARTS: Mapping[str, Callable[[Told, Bench], None]] = {
    "planted-index": planted_index,
    "planted-tps": planted_tps,
    "aa": same_against_itself,
}
