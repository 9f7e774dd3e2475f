"""What the bare loop misses as well is said beside a missed bound, and nothing else."""

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
    ("own", "floor", "said"),
    [
        ((1.1, 0.7), (1.15, 0.65), "misses the bound of TPS and client CPU, too"),
        ((1.1, 0.7), (1.25, 0.65), "misses the bound of client CPU, too"),
        ((1.1, 0.5), (1.15, 0.65), "misses the bound of TPS, too"),
        ((1.1, 0.7), (1.25, 0.5), None),
        ((1.3, 0.5), (1.15, 0.65), None),
    ],
)
def test_what_the_bare_loop_misses_as_well(own, floor, said):
    found = Comparison(BOUND, ratios(*own), ratios(*floor))
    assert found.is_kept == (own == (1.3, 0.5))
    assert f"the bare loop: {ratios(*floor)}" in str(found)
    assert str(found).endswith(said) if said else "misses" not in str(found)


def test_the_bare_loop_itself_is_not_compared_with_itself():
    bare = Bound(OWN, Entrant("the bare loop", BARE, ()), tps_at_least=None, cpu_at_most=1.25)
    found = Comparison(bare, ratios(1.0, 1.2), None)
    assert found.is_kept
    assert str(found) == f"dbdyno relative to the bare loop: {ratios(1.0, 1.2)}"
