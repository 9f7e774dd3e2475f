"""``ycsb``: records by key, in the six workloads A to F of the Yahoo! Cloud Serving Benchmark.

What differs from the original is what needs one process that knows all clients: here, each client
inserts into a sequence of its own, and the latest records are those that it knows.
"""

import math
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from dbdyno.databases.schema import Column, Table
from dbdyno.model.generators import (
    Constant,
    Field,
    Generator,
    Hash,
    Joined,
    Json,
    Number,
    Sequence,
    Text,
)
from dbdyno.model.plan import Scalar, Script
from dbdyno.workloads.audit import Demand, Ratio, mix
from dbdyno.workloads.base import Workload, insert_if_new, script_file
from dbdyno.workloads.invariants import Law, OnePerTransaction, Unchanged
from dbdyno.workloads.parameters import FILLFACTOR, UNLOGGED, Parameter, Values

FOLDER = Path(__file__).parent
FIELDS, FIELD_LENGTH = 10, 100
COUNTED_RECORDS_MAX = 1_000_000
"""Beyond, reading all records before a run takes longer than many a run, and warms caches."""

# By workload: the scripts and their weights.
MIXES = {
    "a": {"read": 50, "update": 50},
    "b": {"read": 95, "update": 5},
    "c": {"read": 100},
    "d": {"read": 95, "insert": 5},
    "e": {"scan": 95, "insert": 5},
    "f": {"read": 50, "read-modify-write": 50},
}

PARAMETERS = (
    Parameter(
        name="workload",
        kind="choice",
        default="a",
        choices=tuple(MIXES),
        description="a: half updates; b: 5 % updates; c: only reads; d: reads of the latest, 5 % "
        "inserts; e: scans, 5 % inserts; f: half read-modify-writes",
    ),
    Parameter(
        name="record_count",
        kind="int",
        default=100_000,
        least=1,
        most=1_000_000_000,
        description="number of records loaded, of about 1.1 kB",
    ),
    Parameter(
        name="form",
        kind="choice",
        default="columns",
        choices=("columns", "json"),
        description="ten fields of 100 characters as columns, or as one JSON document",
    ),
    Parameter(
        name="key",
        kind="choice",
        default="text",
        choices=("text", "number"),
        description="keys as text, 'user' and the hashed number, or the number itself",
    ),
    Parameter(
        name="distribution",
        kind="choice",
        default="standard",
        choices=("standard", "zipfian", "latest", "uniform", "hotspot", "exponential"),
        description="how keys are drawn; standard: latest in workload d, zipfian in the others",
    ),
    Parameter(
        name="zipf_percent",
        kind="int",
        default=99,
        least=0,
        most=1000,
        description="exponent of zipfian and latest in percent: 99 is 0.99",
    ),
    Parameter(
        name="hot_data_percent",
        kind="int",
        default=20,
        least=1,
        most=100,
        description="hotspot: the share of the records that are hot, in percent",
    ),
    Parameter(
        name="hot_operations_percent",
        kind="int",
        default=80,
        least=0,
        most=100,
        description="hotspot: the share of the operations on hot records, in percent",
    ),
    Parameter(
        name="read_all",
        kind="bool",
        default=True,
        description="reads return all fields, or one",
    ),
    Parameter(
        name="write_all",
        kind="bool",
        default=False,
        description="updates write all fields, or one",
    ),
    FILLFACTOR,
    UNLOGGED,
)

# A field of the document, and a document with another value of it.
_JSON = {
    "mysql": (
        "json_unquote(json_extract(doc, '$.field%d'))",
        "doc = json_set(doc, '$.field%d', :value)",
    )
}
_JSON_OR = (
    "doc ->> 'field%d'",
    "doc = jsonb_set(doc, '{field%d}', to_jsonb(cast(:value as text)))",
)


def tables(values: Values) -> tuple[Table, ...]:
    """Return the one table; ``counter`` is ours, for the read-modify-writes of a record."""
    is_text = values["key"] == "text"
    text = Text(FIELD_LENGTH, FIELD_LENGTH)
    names = [f"field{place}" for place in range(FIELDS)]
    key: Generator = Sequence(start=0)
    if is_text:
        key = Joined((Constant("user"), Hash(key)))
    if values["form"] == "columns":
        data = tuple(Column(name, f"varchar({FIELD_LENGTH})", text) for name in names)
    else:
        data = (Column("doc", "json", Json(tuple(Field(name, text) for name in names))),)
    return (
        Table(
            name="usertable",
            columns=(
                Column("ycsb_key", "varchar(23)" if is_text else "bigint", key, not_null=True),
                Column("counter", "int", Number(0), not_null=True),
                *data,
            ),
            rows=int(values["record_count"]),
            primary_key=("ycsb_key",),
            fillfactor=int(values["fillfactor"]),
            unlogged=bool(values["unlogged"]),
        ),
    )


def scripts(values: Values, sql_dialect: str) -> list[Script]:
    """Return the scripts of the workload, each after what all of them share."""
    field, change = _JSON.get(sql_dialect, _JSON_OR)
    shared = (
        f'local insert_if_new = "{insert_if_new(sql_dialect)}"\n'
        f'local json_field = "{field}"\nlocal json_set = "{change}"\n'
    )
    shared += "".join(
        (FOLDER / f"{name}.lua").read_text(encoding="utf-8") for name in ("records", "writes")
    )
    return [
        replace(script, text=shared + script.text, weight=weight)
        for name, weight in MIXES[str(values["workload"])].items()
        for script in [script_file(FOLDER, name, sql_dialect)]
    ]


def _distribution(values: Values) -> str:
    """Return how keys are drawn."""
    if values["distribution"] != "standard":
        return str(values["distribution"])
    return "latest" if values["workload"] == "d" else "zipfian"


def variables(values: Values, _clients: int, _seed: int) -> dict[str, Scalar]:
    """Return what the scripts draw keys from."""
    numbers = ("record_count", "zipf_percent", "hot_data_percent", "hot_operations_percent")
    return {
        **{name: int(values[name]) for name in numbers},
        **{name: bool(values[name]) for name in ("read_all", "write_all")},
        "distribution": _distribution(values),
        "form": str(values["form"]),
        "key_type": "text" if values["key"] == "text" else "bigint",
    }


RECORDS, COUNTERS, MISSHAPEN = "records", "sum of counter", "records with a field of another length"


def measures(values: Values) -> Mapping[str, str]:
    """Return the queries of the numbers that the laws compare; a document has a fixed length."""
    if values["form"] == "columns":
        lengths = [f"length(field{place}) = {FIELD_LENGTH}" for place in range(FIELDS)]
        is_whole = " and ".join(lengths)
    else:
        member = len(f'"field0": "{"x" * FIELD_LENGTH}"')
        is_whole = f"length(concat(doc, '')) = {2 + FIELDS * member + 2 * (FIELDS - 1)}"
    return {
        RECORDS: "select count(*) from usertable",
        COUNTERS: "select coalesce(sum(counter), 0) from usertable",
        MISSHAPEN: f"select count(*) from usertable where ({is_whole}) is not true",
    }


def laws(values: Values) -> tuple[Law, ...]:
    """Return what a run must leave, as far as it can be read in time."""
    if int(values["record_count"]) > COUNTED_RECORDS_MAX:
        return ()
    mix = MIXES[str(values["workload"])]
    return (
        OnePerTransaction(RECORDS, "insert") if "insert" in mix else Unchanged((RECORDS,)),
        OnePerTransaction(COUNTERS, "read-modify-write")
        if "read-modify-write" in mix
        else Unchanged((COUNTERS,)),
        Unchanged((MISSHAPEN,)),
    )


def _zeta(exponent: float) -> float:
    """Return the sum of 1/k^exponent over all ranks, by Euler's and Maclaurin's formula."""
    few, ranks = 1000, 10_000_000_000
    head: float = sum(rank**-exponent for rank in range(1, few))
    if exponent == 1:
        integral = math.log(ranks / few)
    else:
        integral = (ranks ** (1 - exponent) - few ** (1 - exponent)) / (1 - exponent)
    slope = exponent / 12 * few ** -(exponent + 1)
    return float(head + integral + (few**-exponent + ranks**-exponent) / 2 + slope)


def demands(values: Values) -> tuple[Demand, ...]:
    """Return the mix, the lengths of scans, and how often the most frequent rank is drawn."""
    found: list[Demand] = [*mix(MIXES[str(values["workload"])])]
    if values["workload"] == "e":
        name = "records asked for by a scan"
        of = "records asked for"
        found.append(Ratio(name=name, of=of, among="scan", low=49.5, high=51.5, unit="each"))
    if _distribution(values) == "zipfian" and int(values["zipf_percent"]) > 0:
        first = "draws of the first rank"
        share = 1 / _zeta(int(values["zipf_percent"]) / 100)
        low, high = 0.95 * share, min(1.05 * share, 1.0)
        found.append(Ratio(name=first, of=first, among="zipfian draws", low=low, high=high))
    return tuple(found)


WORKLOAD = Workload(
    name="ycsb",
    summary="records by key: workloads A to F of YCSB, with columns or JSON documents",
    question="How many look-ups, updates and inserts a second, one statement each?",
    parameters=PARAMETERS,
    data="ycsb",
    tables=tables,
    scripts=scripts,
    measures=measures,
    laws=laws,
    balances=(Unchanged((MISSHAPEN,)),),
    demands=demands,
    variables=variables,
    scale_name="record_count",
    only_reads=lambda values: values["workload"] == "c",
)
