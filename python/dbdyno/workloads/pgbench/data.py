"""pgbench's tables, shared by the workloads that run on them.

They are identical in everything that its scripts and its statistics can see (types, storage, keys,
names, blank-padded fillers), so that each tool runs on the other's tables. As in pgbench 18.
"""

from dbdyno.databases.schema import Column, ForeignKey, Table
from dbdyno.model.generators import Block, Constant, Number, Sequence
from dbdyno.workloads.base import OtherMaker
from dbdyno.workloads.parameters import (
    FILLFACTOR,
    FOREIGN_KEYS,
    PARTITION_METHOD,
    SCALE,
    UNLOGGED,
    Parameter,
    Values,
    partitioning,
)

ACCOUNTS_PER_BRANCH = 100_000
TELLERS_PER_BRANCH = 10
SCALE_OF_WIDE_KEYS = 20_000  # from here on account numbers are eight bytes wide

PGBENCH = OtherMaker(name="pgbench", scale_query="select count(*) from pgbench_branches")

PARAMETERS = (
    SCALE,
    FILLFACTOR,
    UNLOGGED,
    Parameter(
        name="partitions",
        kind="int",
        default=0,
        least=0,
        most=10_000,
        description="number of partitions of pgbench_accounts; 0 for none",
    ),
    PARTITION_METHOD,
    FOREIGN_KEYS,
)


def tables(values: Values) -> tuple[Table, ...]:
    """Return the four tables with these parameters, in an order in which keys can be added."""
    return (_branches(values), _tellers(values), _accounts(values), _history(values))


def _branches(values: Values) -> Table:
    return Table(
        name="pgbench_branches",
        columns=(
            Column("bid", "int", Sequence(), not_null=True),
            Column("bbalance", "int", Number(0)),
            Column("filler", "char(88)"),
        ),
        rows=_scale(values),
        primary_key=("bid",),
        fillfactor=int(values["fillfactor"]),
        unlogged=_is_unlogged(values),
    )


def _tellers(values: Values) -> Table:
    return Table(
        name="pgbench_tellers",
        columns=(
            Column("tid", "int", Sequence(), not_null=True),
            Column("bid", "int", Block(TELLERS_PER_BRANCH)),
            Column("tbalance", "int", Number(0)),
            Column("filler", "char(84)"),
        ),
        rows=TELLERS_PER_BRANCH * _scale(values),
        primary_key=("tid",),
        foreign_keys=_keys(values, ForeignKey(("bid",), "pgbench_branches", ("bid",))),
        fillfactor=int(values["fillfactor"]),
        unlogged=_is_unlogged(values),
    )


def _accounts(values: Values) -> Table:
    return Table(
        name="pgbench_accounts",
        columns=(
            Column("aid", _account_type(values), Sequence(), not_null=True),
            Column("bid", "int", Block(ACCOUNTS_PER_BRANCH)),
            Column("abalance", "int", Number(0)),
            Column("filler", "char(84)", Constant("")),
        ),
        rows=ACCOUNTS_PER_BRANCH * _scale(values),
        primary_key=("aid",),
        foreign_keys=_keys(values, ForeignKey(("bid",), "pgbench_branches", ("bid",))),
        fillfactor=int(values["fillfactor"]),
        unlogged=bool(values["unlogged"]),
        partitioning=partitioning(values, "aid"),
    )


def _history(values: Values) -> Table:
    return Table(
        name="pgbench_history",
        columns=(
            Column("tid", "int"),
            Column("bid", "int"),
            Column("aid", _account_type(values)),
            Column("delta", "int"),
            Column("mtime", "timestamp"),
            Column("filler", "char(22)"),
        ),
        rows=0,
        foreign_keys=_keys(
            values,
            ForeignKey(("bid",), "pgbench_branches", ("bid",)),
            ForeignKey(("tid",), "pgbench_tellers", ("tid",)),
            ForeignKey(("aid",), "pgbench_accounts", ("aid",)),
        ),
        unlogged=_is_unlogged(values),
    )


def _scale(values: Values) -> int:
    return int(values["scale"])


def _account_type(values: Values) -> str:
    return "bigint" if _scale(values) >= SCALE_OF_WIDE_KEYS else "int"


def _is_unlogged(values: Values) -> bool:
    """Whether the tables besides the accounts are unlogged; if partitioned, only accounts are."""
    return bool(values["unlogged"]) and not values["partitions"]


def _keys(values: Values, *keys: ForeignKey) -> tuple[ForeignKey, ...]:
    return keys if values["foreign_keys"] else ()
