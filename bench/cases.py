"""The cases that are compared, and the bounds to reach."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.bare import BARE, TRANSACTIONS
from bench.data import Data
from bench.dbdyno_tool import DBDYNO
from bench.pgbench import PGBENCH, PGBENCH_DATA, SCALE
from bench.server import Way
from bench.sysbench import SYSBENCH, SYSBENCH_DATA, TABLE_ROWS, TABLES
from bench.sysbench_tpcc import BY_DBDYNO, SIZE, SYSBENCH_TPCC, SYSBENCH_TPCC_DATA, WAREHOUSES
from bench.tool import Load, Tool
from dbdyno.model.plan import Io
from dbdyno.servers.product import product_of
from dbdyno.servers.spec import Kind

SCRIPTS = Path(__file__).parent / "scripts"
THREADS = 2
# Enough clients to compare the cost of sysbench's threads; dbdyno's are shared, also for Lua.
MANY = 900
# Includes the cost of the Lua interpreter.
LUA_CPU = 0.8
# A quarter more for scripts, clocks, histograms and the record.
OVER_BARE_CPU = 1.25


@dataclass(frozen=True)
class Entrant:
    """A tool in a case, with its options."""

    name: str
    tool: Tool
    options: tuple[str, ...]
    threads: int = THREADS
    checking_s: float = 0.0
    """About what it takes to check the data before its load, or after it."""


@dataclass(frozen=True)
class Bound:
    """Limits of one entrant's values over another's."""

    of: Entrant
    relative_to: Entrant
    tps_at_least: float | None
    """Of the ratio itself; None: its interval must not lie below 1."""
    cpu_at_most: float


@dataclass(frozen=True)
class Case:
    """A load on a server that several tools drive in turns."""

    name: str
    server: Kind
    way: Way
    data: Data
    clients: int
    bounds: tuple[Bound, ...]
    floors: tuple[Entrant, ...]
    """What the kernel leaves to any load generator: shown beside each bound."""

    @property
    def title(self) -> str:
        """As it is printed, and matched by ``--only``."""
        where = f"{product_of(self.server).title}, {self.way}"
        return f"{self.name}, {self.clients} clients, {where}"

    @property
    def entrants(self) -> list[Entrant]:
        """Peers before dbdyno, which ends more slowly: it writes a record."""
        peers = [bound.relative_to for bound in self.bounds]
        own = [bound.of for bound in self.bounds]
        return list(dict.fromkeys([*peers, *self.floors, *own]))

    def load(self, entrant: Entrant, seconds: int) -> Load:
        """The load of one of them."""
        return Load(entrant.options, self.clients, entrant.threads, seconds)


def cases(io: Io) -> list[Case]:
    """All comparisons."""
    # The peers have no telemetry; its cost is measured separately.
    alike = ("--telemetry", "off", "--io", io)
    return [*_with_pgbench(alike), *_with_sysbench(alike), *_with_sysbench_tpcc(alike)]


def _with_pgbench(alike: tuple[str, ...]) -> Iterator[Case]:
    def case(name: str, way: Way, clients: int, tps: float | None, cpu: float) -> Case:
        own_options, peer_options = PGBENCH_LOADS[name]
        own = Entrant("dbdyno", DBDYNO, (*own_options, "-s", str(SCALE), *alike))
        floors = _floors(name)
        bounds = [Bound(own, Entrant("pgbench", PGBENCH, peer_options), tps, cpu)]
        if way == "socket":
            bounds.append(Bound(own, floors[0], None, OVER_BARE_CPU))
        return Case(name, "postgres", way, PGBENCH_DATA, clients, tuple(bounds), floors)

    yield case("select-only", "socket", 8, 1.2, 0.60)
    yield case("select-only", "socket", 500, 1.25, 0.75)
    yield case("tpcb", "socket", 8, None, 0.75)
    yield case("pk update", "socket", 8, None, 0.75)
    yield case("select-only", "TCP", 8, None, 0.75)
    yield case("select-only", "TCP", 500, None, 0.75)
    yield case("tpcb", "TCP", 8, None, 0.75)
    yield case("pk update", "TCP", 8, None, 0.75)


def _floors(name: str) -> tuple[Entrant, ...]:
    """One thread needs less CPU time, two may keep the server busier."""
    statements = TRANSACTIONS[name]
    return (
        Entrant("the bare loop", BARE, statements),
        Entrant("the bare loop with one thread", BARE, statements, threads=1),
    )


PK_UPDATE = str(SCRIPTS / "pk-update.sql")
PGBENCH_LOADS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "select-only": (("select-only",), ("-b", "select-only")),
    "tpcb": (("tpcb",), ("-b", "tpcb-like")),
    "pk update": ((PK_UPDATE,), ("-f", PK_UPDATE, "-s", str(SCALE))),
}


def _with_sysbench(alike: tuple[str, ...]) -> Iterator[Case]:
    """Each load as dbdyno's own workload, and as sysbench's own script.

    Failures do not make a run invalid, as in sysbench.
    """
    own_size = ("-D", f"tables={TABLES}", "-D", f"table_size={TABLE_ROWS}")
    size = (f"--tables={TABLES}", f"--table-size={TABLE_ROWS}")
    for_script = (f"--script-option={option}" for option in (*size, "--rand-type=uniform"))
    script_options = (*for_script, *alike, "--max-failures", "100%")
    own_options = (*own_size, *alike, "--max-failures", "100%")

    def case(name: str, server: Kind, clients: int, tps: float, cpu: float) -> Case:
        peer = Entrant("sysbench", SYSBENCH, (name, *size))
        own = Entrant("dbdyno", DBDYNO, (name, *own_options))
        script = Entrant("dbdyno with Lua", DBDYNO, (f"{name}.lua", *script_options))
        script_cpu = max(cpu, LUA_CPU) if clients < MANY else cpu
        bounds = (Bound(own, peer, tps, cpu), Bound(script, peer, tps, script_cpu))
        return Case(name, server, "socket", SYSBENCH_DATA, clients, bounds, _floors(name))

    servers: tuple[Kind, ...] = ("mariadb", "postgres")
    for server in servers:
        yield case("oltp_point_select", server, 8, 1.1, 0.65)
        yield case("oltp_point_select", server, 64, 1.2, 0.65)
        yield case("oltp_point_select", server, MANY, 1.25, 0.35)
        yield case("oltp_read_write", server, 8, 1.1, 0.65)
        yield case("oltp_read_write", server, 64, 1.2, 0.65)


# Each server's own default, as dbdyno has it.
TPCC_LEVELS: Mapping[Kind, str] = {"postgres": "RC", "mariadb": "RR"}
# The conditions of 10 warehouses.
CHECKING_S = 10.0


def _with_sysbench_tpcc(alike: tuple[str, ...]) -> Iterator[Case]:
    """The ``tpcc`` of dbdyno, and sysbench's scripts of that mix, which both tools execute.

    There is no bare loop: what a transaction needs depends on what it has read.
    """
    options = (*alike, "--max-failures", "100%")
    for server, level in TPCC_LEVELS.items():
        size = (*SIZE, f"--trx_level={level}")
        peer = Entrant("sysbench-tpcc", SYSBENCH_TPCC, size)
        of_size = ("tpcc", "-s", str(WAREHOUSES), *options)
        own = Entrant("dbdyno", DBDYNO, of_size, checking_s=CHECKING_S)
        for_script = tuple(f"--script-option={option}" for option in size)
        script = Entrant("dbdyno with Lua", BY_DBDYNO, (*for_script, *options))
        # Its own comes last: no other's load waits until it has checked the data.
        bounds = (Bound(script, peer, None, LUA_CPU), Bound(own, peer, 1.1, 0.6))
        yield Case("tpcc", server, "socket", SYSBENCH_TPCC_DATA, 64, bounds, ())
