"""``tpcc``: order entry, derived from TPC-C and not comparable with TPC results.

Five transactions on nine tables: contention on few rows, short and long transactions, reads and
writes. Scripts, data and conditions follow the definition; the clients are its terminals, without
its waits.
"""

from collections.abc import Mapping
from pathlib import Path
from random import Random

from msgspec.structs import replace

from dbdyno.model.plan import Scalar, Script
from dbdyno.workloads.base import Workload, script_file
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
LAST_NAME_DELTAS = [delta for delta in range(65, 120) if delta not in (96, 112)]
CUSTOMER_A, ITEM_A = 1023, 8191
SUMMED_SCALE_MAX = 20
"""Beyond, adding up whole tables before a run takes longer than many a run, and warms caches."""

# InnoDB's plain reads see the snapshot of the transaction's first; its locking reads see what
# others have committed since, as all of PostgreSQL's statements do.
_READ_LATEST = {"mysql": " for update"}


def _weight_of(script: str) -> str:
    return f"{script.replace('-', '_')}_weight"


_PARAMETERS = (
    Parameter(
        name="mix",
        kind="choice",
        default="weighted",
        choices=("weighted", "deck"),
        description="each transaction is drawn by weight, or dealt from a client's shuffled deck",
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
    latest = f'local read_latest = "{_READ_LATEST.get(sql_dialect, "")}"\n'
    shared = latest + (FOLDER / "terminal.lua").read_text(encoding="utf-8")
    scripts = [script_file(FOLDER, name, sql_dialect) for name in WEIGHTS]
    weights = [int(values[_weight_of(name)]) for name in WEIGHTS]
    return [
        replace(script, text=shared + script.text, weight=weight)
        for script, weight in zip(scripts, weights, strict=True)
    ]


def _variables(values: Values, _clients: int, seed: int) -> dict[str, Scalar]:
    """Return the number of warehouses and the constants of NURand, drawn once for all clients.

    That of the last names is as far from that of the loaded data as the definition wants.
    """
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
    balances=(FIXED_ROWS,),
    conditions=CONDITIONS,
    drawn=(data.C_LOAD,),
    variables=_variables,
    is_deck=lambda values: values["mix"] == "deck",
    # An order in a hundred asks for an item that does not exist.
    misses_allowed=lambda _values: 0.01,
)
