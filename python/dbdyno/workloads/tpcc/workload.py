"""``tpcc``: order entry, derived from TPC-C and not comparable with TPC results.

Five transactions on nine tables: contention on few rows, short and long transactions, reads and
writes. Scripts, data and conditions follow the definition; the clients are its terminals, without
its waits.
"""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from random import Random

from msgspec import UNSET
from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Pacing, Scalar, Script
from dbdyno.workloads.audit import Demand, Metric, Ratio, ResponseLimit
from dbdyno.workloads.base import OtherTool, Workload, script_file
from dbdyno.workloads.invariants import (
    Bounded,
    Law,
    OnePerTransaction,
    SameChange,
    Unchanged,
)
from dbdyno.workloads.parameters import Parameter, Values
from dbdyno.workloads.tpcc import data
from dbdyno.workloads.tpcc.conditions import CONDITIONS

FOLDER = Path(__file__).parent
# The cards of the definition's deck (5.2.4.2), and the mix of the weighted draw that it permits.
WEIGHTS = {"new-order": 10, "payment": 10, "order-status": 1, "delivery": 1, "stock-level": 1}
# Seconds of keying and of thinking (5.2.5.7), the latter on average.
PAUSES_S = {
    "new-order": (18, 12),
    "payment": (3, 12),
    "order-status": (2, 10),
    "delivery": (2, 5),
    "stock-level": (2, 5),
}
LAST_NAME_DELTAS = [delta for delta in range(65, 120) if delta not in (96, 112)]
CUSTOMER_A, ITEM_A = 1023, 8191
SUMMED_SCALE_MAX = 20
"""Beyond, adding up whole tables before a run takes longer than many a run, and warms caches."""

# InnoDB's plain reads see the snapshot of the transaction's first; its locking reads see what
# others have committed since, as all of PostgreSQL's statements do.
_READ_LATEST = {"mysql": " for update"}

# How a function is called that returns rows, and what a procedure's call has for its results.
_CALLS = {"postgresql": ("select * from ", ", null, null"), "mysql": ("call ", "")}


def _weight_of(script: str) -> str:
    return f"{script.replace('-', '_')}_weight"


_PARAMETERS = (
    Parameter(
        name="pacing",
        kind="choice",
        default="off",
        choices=("off", "spec"),
        description="clients do not pause, or as the definition's terminals do, ten of which a "
        "warehouse has",
    ),
    Parameter(
        name="mix",
        kind="choice",
        default="weighted",
        choices=("weighted", "deck"),
        description="each transaction is drawn by weight, or dealt from a client's shuffled deck",
    ),
    Parameter(
        name="style",
        kind="choice",
        default="statements",
        choices=("statements", "pipelined", "procedures"),
        description="clients wait for each statement, send several together, or call a procedure "
        "of the server for each transaction",
    ),
    *(
        Parameter(
            name=_weight_of(script),
            kind="int",
            default=weight,
            least=0,
            most=100,
            description=f"weight of {script}, or its cards in a deck",
        )
        for script, weight in WEIGHTS.items()
    ),
)


def _scripts(values: Values, sql_dialect: str) -> list[Script]:
    """Return the five scripts, each after what all of them share."""
    if values["style"] == "procedures":
        call, results = _CALLS.get(sql_dialect, ("", ""))
        folder, shared = FOLDER / "procedures", f'local call, results = "{call}", "{results}"\n'
    else:
        folder, latest = FOLDER, _READ_LATEST.get(sql_dialect, "")
        sending = (FOLDER / f"{values['style']}.lua").read_text(encoding="utf-8")
        shared = f'local read_latest = "{latest}"\n{sending}'
    shared += (FOLDER / "terminal.lua").read_text(encoding="utf-8")
    scripts = [script_file(folder, name, sql_dialect) for name in WEIGHTS]
    return [
        replace(
            script,
            text=shared + script.text,
            weight=int(values[_weight_of(script.name)]),
            pacing=_pacing(script.name) if values["pacing"] == "spec" else UNSET,
            is_deferred=UNSET if _executors(values) == 0 or script.name != "delivery" else True,
        )
        for script in scripts
    ]


def _routines(values: Values, sql_dialect: str) -> tuple[str, ...]:
    """Return what creates the procedures; MySQL cannot replace one."""
    if values["style"] != "procedures":
        return ()
    if sql_dialect not in _CALLS:
        raise DbdynoError(
            "bad_parameter",
            "the procedures of tpcc are written for PostgreSQL, MariaDB and MySQL",
            "Leave style out, or give -D style=statements.",
        )
    created = (
        (FOLDER / "routines" / f"{name}.{sql_dialect}.sql").read_text(encoding="utf-8")
        for name in WEIGHTS
    )
    if sql_dialect != "mysql":
        return tuple(created)
    drop = "drop procedure if exists dbdyno_{}"
    drops = (drop.format(name.replace("-", "_")) for name in WEIGHTS)
    return tuple(chain.from_iterable(zip(drops, created, strict=True)))


def _executors(values: Values) -> int:
    """Return as many as execute the paced deliveries many times faster than they come.

    Fifty warehouses have one a second, which takes some ten milliseconds.
    """
    return 0 if values["pacing"] == "off" else 4 + int(values["scale"]) // 50


def _pacing(script: str) -> Pacing:
    keying_s, think_s = PAUSES_S[script]
    return Pacing(keying_ns=keying_s * 10**9, think_mean_ns=think_s * 10**9)


def _variables(values: Values, clients: int, seed: int) -> dict[str, Scalar]:
    """Return the number of warehouses and the constants of NURand, drawn once for all clients.

    That of the last names is as far from that of the loaded data as the definition wants.
    """
    if values["pacing"] == "spec" and clients < int(values["scale"]):
        raise DbdynoError(
            "usage",
            f"{values['scale']} warehouses have at least as many terminals, and -c is {clients}",
            f"Each warehouse has ten: -c {10 * int(values['scale'])}",
        )
    drawn, loaded = Random(f"NURand {seed}"), int(values["c_load"])
    near = (loaded + sign * delta for delta in LAST_NAME_DELTAS for sign in (-1, 1))
    return {
        "scale": values["scale"],
        "c_last": drawn.choice([c for c in near if 0 <= c <= data.LAST_NAME_A]),
        "c_id": drawn.randint(0, CUSTOMER_A),
        "c_item": drawn.randint(0, ITEM_A),
    }


def _measures(_values: Values) -> Mapping[str, str]:
    counted = ("warehouse", "district", "customer", "item", "stock", "orders", "history")
    return {
        **{f"rows of {name}": f"select count(*) from {name}" for name in counted},
        "sum of d_next_o_id": "select sum(d_next_o_id) from district",
        "sum of o_ol_cnt": "select sum(o_ol_cnt) from orders",
        "sum of s_order_cnt": "select sum(s_order_cnt) from stock",
        "sum of c_payment_cnt": "select sum(c_payment_cnt) from customer",
        "sum of c_delivery_cnt": "select sum(c_delivery_cnt) from customer",
    }


# Of the definition (9.2.2.5, 5.2.3 and 5.2.5). The limit of a delivery is that for its execution,
# counted from its acceptance, for which the definition has 5 s and which takes no time here.
_MIX_MIN = {"payment": 0.43, "order-status": 0.04, "delivery": 0.04, "stock-level": 0.04}
_LIMITS_S = {"new-order": 5, "payment": 5, "order-status": 5, "delivery": 80, "stock-level": 20}
_BY_NAME = (0.57, 0.63)
_REMOTE = (
    Ratio(name="remote lines", of="remote lines", among="lines", low=0.0095, high=0.0105),
    Ratio(name="remote payments", of="remote payments", among="payment", low=0.14, high=0.16),
)


def _demands(values: Values) -> tuple[Demand, ...]:
    """Return what is audited; of one warehouse nothing can be remote."""
    return (
        *(
            Ratio(name=name, of=name, among="transactions", low=least, high=None)
            for name, least in _MIX_MIN.items()
        ),
        Ratio(
            name="new orders rolled back",
            of="new-order not committed",
            among="new-order",
            low=0.009,
            high=0.011,
        ),
        Ratio(
            name="lines of a new order",
            of="lines",
            among="new-order",
            low=9.5,
            high=10.5,
            unit="each",
        ),
        Ratio(
            name="deliveries that skipped a district",
            of="skipping deliveries",
            among="delivery",
            low=None,
            high=0.01,
        ),
        *(_REMOTE if int(values["scale"]) > 1 else ()),
        *(
            Ratio(
                name=f"{script} by last name",
                of=f"{script} by last name",
                among=script,
                low=_BY_NAME[0],
                high=_BY_NAME[1],
            )
            for script in ("payment", "order-status")
        ),
        *(
            ResponseLimit(script=script, limit_ms=limit_s * 1000.0)
            for script, limit_s in _LIMITS_S.items()
        ),
    )


_HAMMERDB = "whose orders and amounts are not the definition's: no condition could be checked"
OTHER_TOOLS = (
    OtherTool(
        name="HammerDB",
        table="orders",
        columns=("o_entry_d", "o_id", "o_w_id"),  # on PostgreSQL
        differs=_HAMMERDB,
    ),
    OtherTool(
        name="HammerDB",
        table="orders",
        columns=("o_id", "o_w_id", "o_d_id", "o_c_id", "o_carrier_id"),  # on MariaDB and MySQL
        differs=_HAMMERDB,
    ),
    OtherTool(
        name="BenchBase",
        table="oorder",
        columns=("o_w_id", "o_d_id", "o_id"),
        differs="which keeps the orders there, and money in floating-point columns",
    ),
    OtherTool(
        name="sysbench-tpcc",
        table="new_orders1",
        columns=("no_o_id", "no_d_id", "no_w_id"),
        differs="which numbers its tables and does not keep what most conditions are about",
    ),
    OtherTool(
        name="BenchmarkSQL",
        table="bmsql_warehouse",
        columns=("w_id",),
        differs="whose tables have names and columns of their own",
    ),
)

FIXED_ROWS = Unchanged(
    tuple(f"rows of {name}" for name in ("warehouse", "district", "customer", "item", "stock"))
)


def _laws(values: Values) -> tuple[Law, ...]:
    orders = OnePerTransaction("sum of d_next_o_id", "new-order")
    if int(values["scale"]) > SUMMED_SCALE_MAX:
        return (orders,)
    return (
        orders,
        OnePerTransaction("rows of history", "payment"),
        Bounded("sum of c_delivery_cnt", "delivery", 0, data.DISTRICTS),
        SameChange(("sum of d_next_o_id", "rows of orders")),
        SameChange(("sum of o_ol_cnt", "sum of s_order_cnt")),
        SameChange(("rows of history", "sum of c_payment_cnt")),
        FIXED_ROWS,
    )


WORKLOAD = Workload(
    name="tpcc",
    summary="order entry, derived from TPC-C (not comparable with TPC results)",
    parameters=(*data.PARAMETERS, *_PARAMETERS),
    data="tpcc",
    tables=data.tables,
    scripts=_scripts,
    measures=_measures,
    laws=_laws,
    routines=_routines,
    balances=(FIXED_ROWS,),
    conditions=CONDITIONS,
    reads_all_conditions=lambda values: int(values["scale"]) <= SUMMED_SCALE_MAX,
    metrics=(Metric(field="nopm", scripts=("new-order",), seconds=60.0),),
    demands=_demands,
    other_tools=OTHER_TOOLS,
    drawn=(data.C_LOAD,),
    variables=_variables,
    is_deck=lambda values: values["mix"] == "deck",
    executors=_executors,
    # An order in a hundred asks for an item that does not exist.
    misses_allowed=lambda _values: 0.01,
)
