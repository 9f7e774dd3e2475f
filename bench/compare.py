"""A peer and dbdyno run alternately, on one server and the same data."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from bench.cases import Case
from bench.peer import Peer
from bench.ratio import Ratio, ratio_of_pairs
from bench.server import BenchServer
from bench.tally import Tally
from bench.tools import Sample, run_dbdyno
from dbdyno.errors import DbdynoError


@dataclass(frozen=True)
class Comparison:
    """Ratios of dbdyno to the peer, and the shares of failed transactions."""

    tps: Ratio
    cpu: Ratio
    failed: tuple[float, float]

    def keeps(self, case: Case) -> bool:
        """Whether the case's bounds are kept."""
        least = case.tps_at_least
        fast = self.tps.high >= 1.0 if least is None else self.tps.value >= least
        return fast and self.cpu.value <= case.cpu_at_most

    def summary(self, peer: Peer) -> str:
        """As text; failures only if there were any."""
        text = f"relative to {peer.name}: TPS {self.tps}   client CPU {self.cpu}"
        own, peers = self.failed
        failed = f"   failed {own:.2%}, {peer.name} {peers:.2%}"
        return text + failed if own or peers else text


def compare_all(
    tally: Tally, bench: BenchServer, chosen: Sequence[Case], pairs: int, io: str
) -> None:
    """Every case on this server, one peer after the other."""
    for peer in dict.fromkeys(case.peer for case in chosen):
        with_peer = [case for case in chosen if case.peer == peer]
        try:
            _prepare(peer, bench)
        except DbdynoError as error:
            tally.not_measured([case.title for case in with_peer], error)
            continue
        for case in with_peer:
            with tally.attempt(case.title):
                found = _compare(case, bench, pairs, io)
                tally.report(case.title, found.summary(peer), found.keeps(case))


def _prepare(peer: Peer, bench: BenchServer) -> None:
    """Loads the peer's data, if the peer is installed."""
    peer.find()
    peer.prepare(bench.socket)


def _compare(case: Case, bench: BenchServer, pairs: int, io: str) -> Comparison:
    """Runs both this many times, in alternating order."""
    endpoint = bench.ways[case.way]
    own: list[Sample] = []
    peers: list[Sample] = []
    for pair in range(pairs):
        turns: list[Callable[[], None]] = [
            lambda: own.append(run_dbdyno(case.load, endpoint, io)),
            lambda: peers.append(case.peer.run(case.load, endpoint)),
        ]
        for turn in turns if pair % 2 else reversed(turns):
            case.peer.settle(bench.server)
            turn()
        shown = f"    {_shown(own[-1])} | {case.peer.name} {_shown(peers[-1])}"
        print(shown, file=sys.stderr, flush=True)
    return _comparison(own, peers)


def _shown(sample: Sample) -> str:
    failed = f" {sample.failed_share:.2%} failed" if sample.failed_share else ""
    return f"{sample.tps:9,.0f} TPS {sample.cpu_us_per_transaction:6.2f} µs{failed}"


def _comparison(own: Sequence[Sample], peers: Sequence[Sample]) -> Comparison:
    return Comparison(
        ratio_of_pairs([sample.tps for sample in own], [sample.tps for sample in peers]),
        ratio_of_pairs(
            [sample.cpu_us_per_transaction for sample in own],
            [sample.cpu_us_per_transaction for sample in peers],
        ),
        (
            mean(sample.failed_share for sample in own),
            mean(sample.failed_share for sample in peers),
        ),
    )
