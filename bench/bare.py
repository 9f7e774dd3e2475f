"""A bare loop in place of a tool: only the CPU time that the kernel costs any client.

It sends pgbench's statements and discards the replies. The difference to dbdyno is what dbdyno
itself costs. No load generator of this kind can be expected to need less CPU time than the loop.
"""

from collections.abc import Mapping
from functools import partial

from bench.examples import built_example
from bench.pgbench import SCALE
from bench.tool import Load, Outcome, Tool, match_line
from dbdyno.model.plan import Endpoint

_ACCOUNT = f"{{1..{100_000 * SCALE}}}"
_SELECT = f"select abalance from pgbench_accounts where aid = {_ACCOUNT}"
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
}


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    unix = endpoint.address.unix
    assert unix
    numbers = map(str, (load.clients, load.threads, load.seconds))
    return [unix.path, endpoint.user, endpoint.database, *numbers, *load.options]


def _read(out: str) -> Outcome:
    found = match_line(r"^(\d+) transactions, ([\d.]+) a second", out)
    return Outcome(float(found[2]), int(found[1]), 0)


BARE = Tool(
    name="the bare loop",
    find=partial(built_example, "dbdyno-engine", "bare_loop"),
    arguments=_arguments,
    read=_read,
)
