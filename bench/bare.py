"""A bare loop in place of a tool: only the CPU time that the kernel costs any client.

It sends the statements of a workload and discards the replies. The difference to dbdyno is what
dbdyno itself costs. No load generator of this kind can be expected to need less CPU time than the
loop: a bound that it misses with any number of threads cannot be kept on this host.
"""

from collections.abc import Mapping
from functools import partial

from bench.examples import built_example
from bench.pgbench import SCALE
from bench.sysbench import TABLE_ROWS, TABLES
from bench.tool import Load, Outcome, Tool, match_line
from dbdyno.model.plan import Endpoint

_ACCOUNT = f"{{1..{100_000 * SCALE}}}"
_SELECT = f"select abalance from pgbench_accounts where aid = {_ACCOUNT}"
_SBTEST = f"sbtest{{%{TABLES}}}"
_ID = f"id = {{1..{TABLE_ROWS}}}"
_RANGE = f"from {_SBTEST} where id between {{1..{TABLE_ROWS}}} and {{}} + 99"
_TEXT = "lpad(cast({1..999999999} as char(10)), 119, '0')"
_POINT = f"select c from {_SBTEST} where {_ID}"
# Each statement draws new numbers: the rows differ, the work does not.
TRANSACTIONS: Mapping[str, tuple[str, ...]] = {
    "select-only": (_SELECT,),
    "tpcb": (
        "begin",
        f"update pgbench_accounts set abalance = abalance + 1 where aid = {_ACCOUNT}",
        _SELECT,
        f"update pgbench_tellers set tbalance = tbalance + 1 where tid = {{1..{10 * SCALE}}}",
        f"update pgbench_branches set bbalance = bbalance + 1 where bid = {{1..{SCALE}}}",
        "insert into pgbench_history (tid, bid, aid, delta, mtime) "
        f"values ({{1..{10 * SCALE}}}, {{1..{SCALE}}}, {_ACCOUNT}, 1, current_timestamp)",
        "end",
    ),
    "pk update": (f"update tbl set crt_time = now() where id = {_ACCOUNT}",),
    "oltp_point_select": (_POINT,),
    "oltp_read_write": (
        "begin",
        *10 * (_POINT,),
        f"select c {_RANGE}",
        f"select sum(k) {_RANGE}",
        f"select c {_RANGE} order by c",
        f"select distinct c {_RANGE} order by c",
        f"update {_SBTEST} set k = k + 1 where {_ID}",
        f"update {_SBTEST} set c = {_TEXT} where {_ID}",
        f"delete from {_SBTEST} where {_ID}",
        f"insert into {_SBTEST} (id, k, c, pad) "
        f"values ({{}}, {{1..{TABLE_ROWS}}}, {_TEXT}, '{5 * '-12345678901'}')",
        "commit",
    ),
}


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = map(str, (load.clients, load.threads, load.seconds))
    who = [endpoint.user, endpoint.database]
    return [endpoint.protocol, _address(endpoint), *who, *numbers, *load.options]


def _address(endpoint: Endpoint) -> str:
    if endpoint.address.unix:
        return endpoint.address.unix.path
    tcp = endpoint.address.tcp
    assert tcp
    return f"{tcp.host}:{tcp.port}"


def _read(out: str) -> Outcome:
    found = match_line(r"^(\d+) transactions, ([\d.]+) a second, (\d+) failed", out)
    return Outcome(float(found[2]), int(found[1]), int(found[3]))


BARE = Tool(
    name="the bare loop",
    find=partial(built_example, "dbdyno-engine", "bare_loop"),
    arguments=_arguments,
    read=_read,
)
