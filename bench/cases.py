"""The cases that are compared, and the bounds to reach."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.bare import BARE, TRANSACTIONS
from bench.peer import Peer
from bench.pgbench import PGBENCH, SCALE
from bench.server import Way
from bench.sysbench import SYSBENCH, TABLE_ROWS, TABLES
from bench.tools import Load
from dbdyno.servers.products import product_of
from dbdyno.servers.spec import Kind

SCRIPTS = Path(__file__).parent / "scripts"
THREADS = 2
# Enough clients to compare the cost of sysbench's threads; dbdyno's are shared, also for Lua.
MANY = 900
# The peers have no telemetry; its cost is measured separately.
UNWATCHED = ("--telemetry", "off")
# Includes the cost of the Lua interpreter.
LUA_CPU = 0.8
# A quarter more for scripts, clocks, histograms and the record.
OVER_BARE_CPU = 1.25


@dataclass(frozen=True)
class Case:
    """A load on a server, and the bounds of its ratios (dbdyno's value over the peer's)."""

    name: str
    peer: Peer
    server: Kind
    way: Way
    load: Load
    tps_at_least: float | None
    """Bound of the ratio itself; None: the interval must not lie below 1."""
    cpu_at_most: float

    @property
    def title(self) -> str:
        """As it is printed, and matched by ``--only``."""
        where = f"{product_of(self.server).title}, {self.way}"
        return f"{self.name}, {self.load.clients} clients, {where}"


def cases(seconds: int) -> list[Case]:
    """All comparisons, with runs of this length."""
    return [*_with_pgbench(seconds), *_with_the_bare_loop(seconds), *_with_sysbench(seconds)]


def _with_pgbench(seconds: int) -> Iterator[Case]:
    def case(name: str, way: Way, clients: int, tps: float | None, cpu: float) -> Case:
        dbdyno_options, peer_options = PGBENCH_LOADS[name]
        size = ("-s", str(SCALE))
        load = Load((*dbdyno_options, *size, *UNWATCHED), peer_options, clients, THREADS, seconds)
        return Case(name, PGBENCH, "postgres", way, load, tps, cpu)

    yield case("select-only", "socket", 8, 1.2, 0.60)
    yield case("select-only", "socket", 500, 1.25, 0.75)
    yield case("tpcb", "socket", 8, None, 0.75)
    yield case("pk update", "socket", 8, None, 0.75)
    yield case("select-only", "TCP", 8, None, 0.75)
    yield case("select-only", "TCP", 500, None, 0.75)
    yield case("tpcb", "TCP", 8, None, 0.75)
    yield case("pk update", "TCP", 8, None, 0.75)


PK_UPDATE = str(SCRIPTS / "pk-update.sql")
PGBENCH_LOADS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "select-only": (("select-only",), ("-b", "select-only")),
    "tpcb": (("tpcb",), ("-b", "tpcb-like")),
    "pk update": ((PK_UPDATE,), ("-f", PK_UPDATE, "-s", str(SCALE))),
}


def _with_the_bare_loop(seconds: int) -> Iterator[Case]:
    """What interpreting, measuring and recording add to the kernel's cost."""
    for name, clients in (("select-only", 8), ("select-only", 500), ("tpcb", 8), ("pk update", 8)):
        dbdyno_options, _ = PGBENCH_LOADS[name]
        own = (*dbdyno_options, "-s", str(SCALE), *UNWATCHED)
        load = Load(own, TRANSACTIONS[name], clients, THREADS, seconds)
        yield Case(name, BARE, "postgres", "socket", load, None, OVER_BARE_CPU)


def _with_sysbench(seconds: int) -> Iterator[Case]:
    """Each load as dbdyno's own workload, and as sysbench's own script.

    Failures do not make a run invalid, as in sysbench.
    """
    alike = (*UNWATCHED, "--max-failures", "100%")
    size = ("-D", f"tables={TABLES}", "-D", f"table_size={TABLE_ROWS}")
    peer_options = (f"--tables={TABLES}", f"--table-size={TABLE_ROWS}")
    script = (f"--script-option={option}" for option in (*peer_options, "--rand-type=uniform"))
    given = {"": (*size, *alike), ".lua": (*script, *alike)}

    def case(name: str, server: Kind, clients: int, tps: float, cpu: float) -> Iterator[Case]:
        for ending, dbdyno_options in given.items():
            load = Load(
                (name + ending, *dbdyno_options), (name, *peer_options), clients, THREADS, seconds
            )
            bound = max(cpu, LUA_CPU) if ending and clients < MANY else cpu
            yield Case(name + ending, SYSBENCH, server, "socket", load, tps, bound)

    servers: tuple[Kind, ...] = ("mariadb", "postgres")
    for server in servers:
        yield from case("oltp_point_select", server, 8, 1.1, 0.65)
        yield from case("oltp_point_select", server, 64, 1.2, 0.65)
        yield from case("oltp_point_select", server, MANY, 1.25, 0.35)
        yield from case("oltp_read_write", server, 8, 1.1, 0.65)
        yield from case("oltp_read_write", server, 64, 1.2, 0.65)
