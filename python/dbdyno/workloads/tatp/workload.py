"""``tatp``: a telecom register, of which 80 % of the transactions read, by several keys.

Much is asked for in vain, as often as the definition says: such a transaction is a result and no
error. One statement that finds nothing is counted as such, and a longer transaction is rolled back,
and so counted apart from those that are committed.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from dbdyno.model.plan import Scalar, Script
from dbdyno.workloads.audit import Demand, Metric, Ratio, mix
from dbdyno.workloads.base import Workload, insert_if_new, script_file
from dbdyno.workloads.conditions import Condition
from dbdyno.workloads.invariants import Amount, Law, SumOfAmounts, Unchanged
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.rows_read import are_all_read
from dbdyno.workloads.tatp import data

FOLDER = Path(__file__).parent
WEIGHTS = {
    "get-subscriber-data": 35,
    "get-new-destination": 10,
    "get-access-data": 35,
    "update-subscriber-data": 2,
    "update-location": 14,
    "insert-call-forwarding": 2,
    "delete-call-forwarding": 2,
}
CHECKED_SCALE_MAX = 10
"""Beyond, comparing all rows after a run takes longer than many a run."""


def scripts(_values: Values, sql_dialect: str) -> list[Script]:
    """Return the seven scripts, each after what all of them share."""
    shared = (FOLDER / "register.lua").read_text(encoding="utf-8")
    shared = f'local insert_if_new = "{insert_if_new(sql_dialect)}"\n{shared}'
    return [
        replace(script, text=shared + script.text, weight=weight)
        for name, weight in WEIGHTS.items()
        for script in [script_file(FOLDER, name, sql_dialect)]
    ]


def _nurand_a(subscribers: int) -> int:
    """Return the definition's constant of NURand for so many subscribers."""
    if subscribers <= 1_000_000:
        return 65_535
    return 1_048_575 if subscribers <= 10_000_000 else 2_097_151


def variables(values: Values, _clients: int, _seed: int) -> dict[str, Scalar]:
    """Return what the scripts draw keys from."""
    subscribers = data.subscribers(values)
    return {"subscribers": subscribers, "nurand_a": _nurand_a(subscribers)}


ROWS_FORWARDED = "rows of call_forwarding"
FIXED_ROWS = Unchanged(("rows of subscriber", "rows of access_info", "rows of special_facility"))


def measures(_values: Values) -> Mapping[str, str]:
    """Return the queries of the numbers that the laws compare."""
    names = ("subscriber", "access_info", "special_facility", "call_forwarding")
    return {f"rows of {name}": f"select count(*) from {name}" for name in names}


def laws(values: Values) -> tuple[Law, ...]:
    """Return what a run must leave, as far as it can be read in time."""
    if not are_all_read(data.subscribers(values)):
        return ()
    amounts = (Amount("insert-call-forwarding", 1, 1), Amount("delete-call-forwarding", -1, -1))
    return (SumOfAmounts(ROWS_FORWARDED, amounts), FIXED_ROWS)


# Of 100 transactions, how many find what they ask for, by the law of the population, and how many
# more or less may do so: the most frequent subscribers are few enough for that much of chance.
# Forwardings are loaded with ends after their beginnings, of which a destination finds 14.8 %, and
# inserted with any end: when all are replaced it finds 20.4 %.
_FOUND = {
    "get-new-destination found": (14.8 - 1.5, 20.4 + 1.5),
    "get-access-data found": (62.5 - 2.5, 62.5 + 2.5),
    "update-subscriber-data committed": (62.5 - 2.5, 62.5 + 2.5),
    "insert-call-forwarding committed": (31.25 - 2.25, 31.25 + 2.25),
    "delete-call-forwarding committed": (31.25 - 2.25, 31.25 + 2.25),
}


def demands(_values: Values) -> tuple[Demand, ...]:
    """Return the mix, and how often is found what is asked for."""
    return (
        *mix(WEIGHTS),
        *(
            Ratio(name=name, of=name, among=name.split()[0], low=low / 100, high=high / 100)
            for name, (low, high) in _FOUND.items()
        ),
    )


def _one_to_four(number: str, claim: str, table: str) -> Condition:
    """Return that each subscriber has 1 to 4 rows of a table; one without any is seen, too."""
    return Condition(
        id=number,
        claim=claim,
        columns=("s_id", "has"),
        broken=f"""
        select s_id, sum(has) as has
        from (
            select s_id, 0 as has from subscriber
            union all select s_id, 1 from {table}
        ) s
        group by s_id having sum(has) not between 1 and 4""",
    )


CONDITIONS = (
    Condition(
        id="1",
        claim="calls are forwarded by facilities that exist",
        columns=("s_id", "sf_type", "start_time"),
        broken="""
        select cf.s_id, cf.sf_type, cf.start_time from call_forwarding cf
        left join special_facility sf on sf.s_id = cf.s_id and sf.sf_type = cf.sf_type
        where sf.s_id is null""",
    ),
    Condition(
        id="2",
        claim="calls are forwarded from 0, 8 or 16 o'clock until 1 to 24",
        columns=("s_id", "sf_type", "start_time", "end_time"),
        broken="""
        select s_id, sf_type, start_time, end_time from call_forwarding
        where start_time not in (0, 8, 16) or end_time not between 1 and 24""",
    ),
    _one_to_four("3", "each subscriber has 1 to 4 facilities", "special_facility"),
    _one_to_four("4", "each subscriber has 1 to 4 kinds of access", "access_info"),
)

WORKLOAD = Workload(
    name="tatp",
    summary="a telecom register, mostly read by several keys, of which much is not there",
    parameters=data.PARAMETERS,
    data="tatp",
    tables=data.tables,
    scripts=scripts,
    measures=measures,
    laws=laws,
    balances=(Unchanged(("rows of subscriber",)),),
    conditions=CONDITIONS,
    reads_all_conditions=lambda values: int(values["scale"]) <= CHECKED_SCALE_MAX,
    # The definition counts what is not found, and only refused inserts are errors to it.
    metrics=(
        Metric(
            field="mqth",
            scripts=tuple(WEIGHTS),
            seconds=1.0,
            committed=("insert-call-forwarding",),
        ),
    ),
    demands=demands,
    variables=variables,
    # In a short run, all of a rare script's look-ups may be in vain.
    misses_allowed=lambda _values: 1.0,
)
