"""What no bare loop keeps either is said beside a missed bound, and nothing else."""

import pytest

from bench.bare import BARE
from bench.cases import Bound, Entrant
from bench.compare import Comparison, Ratios
from bench.dbdyno_tool import DBDYNO
from bench.pgbench import PGBENCH
from bench.ratio import Ratio

OWN, PEER = Entrant("dbdyno", DBDYNO, ()), Entrant("pgbench", PGBENCH, ())
BOUND = Bound(OWN, PEER, tps_at_least=1.2, cpu_at_most=0.6)


def ratios(tps: float, cpu: float) -> Ratios:
    return Ratios(Ratio(tps, tps - 0.1, tps + 0.1), Ratio(cpu, cpu - 0.1, cpu + 0.1))


@pytest.mark.parametrize(
    ("own", "two_threads", "one_thread", "kept_by_none"),
    [
        ((1.1, 0.7), (1.15, 0.65), (1.1, 0.61), "TPS and client CPU"),
        ((1.1, 0.7), (1.15, 0.65), (1.1, 0.55), "TPS"),
        ((1.1, 0.7), (1.25, 0.65), (1.1, 0.61), "client CPU"),
        ((1.1, 0.5), (1.15, 0.65), (1.1, 0.61), "TPS"),
        ((1.1, 0.7), (1.25, 0.5), (1.1, 0.61), None),
        ((1.1, 0.7), (1.25, 0.65), (1.1, 0.5), None),
        ((1.3, 0.5), (1.15, 0.65), (1.1, 0.61), None),
    ],
)
def test_what_no_bare_loop_keeps_either(own, two_threads, one_thread, kept_by_none):
    floors = {"two": ratios(*two_threads), "one": ratios(*one_thread)}
    found = Comparison(BOUND, ratios(*own), floors)
    assert found.is_kept == (own == (1.3, 0.5))
    assert f"; two: {ratios(*two_threads)}; one: {ratios(*one_thread)}" in str(found)
    said = str(found).partition("; no bare loop keeps the bound of ")[2]
    assert said == (kept_by_none or "")


def test_the_bare_loop_itself_is_not_compared_with_itself():
    bare = Bound(OWN, Entrant("the bare loop", BARE, ()), tps_at_least=None, cpu_at_most=1.25)
    found = Comparison(bare, ratios(1.0, 1.3), {})
    assert not found.is_kept
    assert str(found) == f"dbdyno relative to the bare loop: {ratios(1.0, 1.3)}"
