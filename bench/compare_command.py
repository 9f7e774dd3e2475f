"""Whether ``dbdyno compare`` is right: no difference between equal variants, and planted ones.

All runs are made as a user would make them, with tags and pairs: a variant against itself, a
superfluous index, and work that costs 15 % of the throughput.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.cases import SCRIPTS
from bench.ceiling import Report
from bench.data import load_data
from bench.process import run_to_end
from bench.tool import dbdyno_path
from dbdyno.databases.connecting import url_of
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server

PAIRS = 3
# Enough to estimate the noise and the number of further pairs (three pairs hardly are).
PAIRS_OF_PILOT = 5
SETS = 20
FALSE_ALARMS_AT_MOST = 3
SCALE = 1
RUN = ("--progress", "0", "--json")
SHORT = ("-c", "4", "--warmup", "1s", "-T", "2")
# Disturbances last seconds: longer runs would be more precise, but their pairs would not.
FOR_TPS = ("-c", "4", "--warmup", "1s", "-T", "4")
# Costs are compared at equal work, measured from the first transaction on, so that costs that occur
# once per page are included. One client, because waits for a row also write WAL, at random.
# Long enough that the part of a second at each end, when counters are not read, hardly matters.
FOR_COSTS = ("-c", "1", "--warmup", "0s", "-t", "20000")
LOAD = ("-s", str(SCALE))
TPCB = ("tpcb", *LOAD)
PLANTED_TPS = 0.15
# If the pilot requests more than this, the host is too noisy.
MORE_PAIRS_AT_MOST = 30
_CALIBRATING_ROWS = 1000

Arguments = tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """What is run, and the statements before it; on fresh data or on the existing data."""

    name: str
    text: Arguments
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
        self, name: str, variants: Sequence[Variant], numbers: range, length: Arguments = SHORT
    ) -> None:
        """One run of each variant in each pair, with the same seed, in alternating order."""
        for number in numbers:
            for variant in variants if number % 2 else reversed(variants):
                self._prepare(variant)
                tags = {"set": name, "variant": variant.name, "pair": str(number)}
                self.run((*variant.text, "--seed", str(number)), tags, length)

    def run(self, text: Arguments, tags: dict[str, str], length: Arguments = SHORT) -> float:
        """TPS of one run."""
        tagged = [argument for tag in tags.items() for argument in ("--tag", "=".join(tag))]
        given = (*text, *RUN, *length, "--target", self.url, *tagged)
        command = [dbdyno_path(), "run", *given]
        tps: float = json.loads(run_to_end(command).output)["throughput_tps"]["value"]
        return tps

    def _prepare(self, variant: Variant) -> None:
        if variant.is_of_fresh_data:
            load_data(self.endpoint, "tpcb", *LOAD, "--replace")
        with self.server.connect() as connection:
            for statement in variant.statements:
                connection.execute(statement)

    def compared(self, name: str, variants: Sequence[Variant], *metrics: str) -> dict[str, Any]:
        """The metrics of the comparison, by id; by default the usual ones."""
        sides = [f"tag:set={name},variant={variant.name}" for variant in variants]
        options = [argument for metric in metrics for argument in ("--metric", metric)]
        out = run_to_end([dbdyno_path(), "compare", *sides, *options, "--json"]).output
        return {metric["id"]: metric for metric in json.loads(out)["metrics"]}


def prepared(server: Server, endpoint: Endpoint) -> Bench:
    """With fresh data: what one part has planted must not affect the next.

    A first run touches every page after the load's checkpoint, so that no later run writes
    full-page images, which are most of the WAL of a short run.
    """
    load_data(endpoint, "tpcb", *LOAD, "--replace")
    bench = Bench(server, endpoint)
    bench.run(TPCB, {"set": "touching"}, ("-c", "4", "-t", "5000"))
    return bench


def same_against_itself(report: Report, bench: Bench) -> None:
    """Sets of pairs of the same variant: how many differ significantly."""
    variants = [Variant(name, TPCB) for name in ("one", "other")]
    alarms = []
    for number in range(SETS):
        name = f"aa{number}"
        bench.pairs(name, variants, range(1, PAIRS + 1))
        metrics = bench.compared(name, variants)
        apart = [key for key, one in metrics.items() if one["verdict"] in ("better", "worse")]
        alarms += [apart] if apart else []
        print(f"    set {number + 1} of {SETS}: {apart or 'equal'}", file=sys.stderr, flush=True)
    text = f"{len(alarms)} of {SETS} sets of {PAIRS} pairs differ significantly {alarms or ''}"
    report("aa: a variant against itself", text, len(alarms) <= FALSE_ALARMS_AT_MOST)


def planted_index(report: Report, bench: Bench) -> None:
    """A superfluous index: every row of the history is also written to it, and to the WAL.

    It must be found among the default metrics. Data is fresh for each run, because a growing index
    or remaining dead rows would change the variant, and vacuumed, because autovacuum would
    otherwise run during some of the runs.
    """
    vacuum, plant = "vacuum analyze", "create index planted on pgbench_history (aid)"
    variants = [
        Variant("without", TPCB, (vacuum,), is_of_fresh_data=True),
        Variant("with", TPCB, (vacuum, plant), is_of_fresh_data=True),
    ]
    bench.pairs("index", variants, range(1, PAIRS + 1), FOR_COSTS)
    found = bench.compared("index", variants)["wal_bytes"]
    report("planted-index: WAL bytes, 3 pairs", found["words"], found["verdict"] == "worse")


def planted_tps(report: Report, bench: Bench) -> None:
    """A pilot predicts how many further pairs are needed; with these the change must be found.

    The metric is chosen beforehand: among five, a change must be twice as large to be detected.
    """
    variants = [Variant(name, _work(rows)) for name, rows in _calibrated(bench).items()]
    pilot = range(1, PAIRS_OF_PILOT + 1)
    bench.pairs("tps", variants, pilot, FOR_TPS)
    found = bench.compared("tps", variants, "throughput_tps")["throughput_tps"]
    predicted = found["repeats"]["more"] if found["repeats"] else 0
    more = min(predicted, MORE_PAIRS_AT_MOST)
    bench.pairs("tps", variants, range(pilot.stop, pilot.stop + more), FOR_TPS)
    found = bench.compared("tps", variants, "throughput_tps")["throughput_tps"]
    text = f"{len(pilot)} pairs and {more} of {predicted} predicted further ones: {found['words']}"
    report("planted-tps: 15 % of throughput", text, found["verdict"] == "worse")


def _calibrated(bench: Bench) -> dict[str, int]:
    """How many rows to count so that the run loses the planted share of its throughput."""
    tags = {"set": "calibrating"}
    light, heavy = (1 / bench.run(_work(rows), tags) for rows in (1, _CALIBRATING_ROWS))
    wanted = light * PLANTED_TPS / (1 - PLANTED_TPS)
    return {"light": 1, "heavy": 1 + round(wanted / (heavy - light) * _CALIBRATING_ROWS)}


def _work(rows: int) -> Arguments:
    return (str(SCRIPTS / "planted-work.sql"), *LOAD, "-D", f"work={rows}")


PARTS: Mapping[str, Callable[[Report, Bench], None]] = {
    "planted-index": planted_index,
    "planted-tps": planted_tps,
    "aa": same_against_itself,
}
