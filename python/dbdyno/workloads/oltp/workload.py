"""The family ``oltp_*``, ``select_random_points`` and ``select_random_ranges``.

They share their tables and differ in the statements of a transaction. Keys are uniform.
"""

from collections.abc import Callable

from msgspec import Struct

from dbdyno.model.plan import Script
from dbdyno.workloads.base import Workload, finds_each_key
from dbdyno.workloads.invariants import Bounded, Law, NotFewer, OnePerTransaction, Unchanged
from dbdyno.workloads.oltp import data, parameters, scripts
from dbdyno.workloads.oltp.scripts import Group
from dbdyno.workloads.parameters import Parameter, Values


def _nothing_changes(values: Values) -> tuple[Law, ...]:
    return (Unchanged((data.rows_seen(values), data.sum_of_k_seen(values))),)


def _sum_of_k_grows(values: Values) -> tuple[Law, ...]:
    grown = data.sum_of_k_seen(values)
    return (
        Unchanged((data.rows_seen(values),)),
        Bounded(grown, "oltp_update_index", 0, int(values["index_updates"])),
    )


def _rows_are_added(values: Values) -> tuple[Law, ...]:
    """Return the law that each insert adds a row; none if not all of them are read."""
    return (OnePerTransaction(data.ROWS, "oltp_insert"),) if data.are_all_read(values) else ()


class Member(Struct, frozen=True, kw_only=True):
    """One workload of the family: the groups of its transaction, and its laws."""

    name: str
    summary: str
    groups: Callable[[Values, str], list[Group]]
    laws: Callable[[Values], tuple[Law, ...]] = _nothing_changes
    parameters: tuple[Parameter, ...] = ()
    in_transaction: bool = False
    misses_allowed: Callable[[Values], float] = finds_each_key
    only_reads: bool = False

    def workload(self) -> Workload:
        """Return the workload, with the tables that all of them share."""
        return Workload(
            name=self.name,
            summary=self.summary,
            question="How many transactions a second, as benchmarks have them?"
            if self.in_transaction
            else "How many look-ups, updates and inserts a second, one statement each?",
            parameters=(*data.PARAMETERS, *self.parameters),
            data=data.DATA,
            tables=data.tables,
            scripts=self.scripts,
            measures=data.measures,
            grown=data.grown,
            laws=self.laws,
            balances=(),
            variables=data.variables,
            scale_name="table_size",
            other_maker=data.SYSBENCH,
            misses_allowed=self.misses_allowed,
            only_reads=lambda _values: self.only_reads,
        )

    def scripts(self, values: Values, sql_dialect: str) -> list[Script]:
        """Return one script, named like the workload."""
        groups = self.groups(values, sql_dialect)
        text = scripts.text_of(groups, values, in_transaction=self.in_transaction)
        return [Script(name=self.name, text=text)]


def _reads(values: Values) -> list[Group]:
    return [scripts.point_selects(values), *scripts.ranges(values)]


def _writes(values: Values) -> list[Group]:
    return [
        scripts.index_updates(values),
        scripts.non_index_updates(values),
        scripts.delete_inserts(values),
    ]


def _rows_are_replaced(values: Values) -> tuple[Law, ...]:
    """Return the law that deleted rows are inserted again; none if statements commit singly."""
    return () if values["skip_trx"] else (NotFewer(data.rows_seen(values)),)


def _misses_what_others_delete(values: Values) -> float:
    """Return the share of lookups that may miss a row which is just deleted and inserted again.

    With few rows and many clients it is large, as it is with sysbench.
    """
    is_shared = values["collisions"] or values["skip_trx"]
    return 0.5 if values["delete_inserts"] and is_shared else 0.0


def _insert(values: Values, sql_dialect: str) -> list[Group]:
    """Return an insert as sysbench does: MySQL numbers it, or it has a negative ID."""
    is_numbered = values["auto_inc"] and sql_dialect == "mysql"
    return [scripts.numbered_insert() if is_numbered else scripts.scattered_insert()]


MEMBERS = (
    Member(
        name="oltp_point_select",
        summary="one select by primary key",
        groups=lambda values, _: [scripts.point_selects({**values, "point_selects": 1})],
        only_reads=True,
    ),
    Member(
        name="oltp_read_only",
        summary="ten point selects and four range queries in a transaction",
        groups=lambda values, _: _reads(values),
        only_reads=True,
        parameters=(*parameters.READS, parameters.SKIP_TRX),
        in_transaction=True,
    ),
    Member(
        name="oltp_read_write",
        summary="the reads of oltp_read_only and the writes of oltp_write_only in a transaction",
        groups=lambda values, _: [*_reads(values), *_writes(values)],
        laws=_rows_are_replaced,
        misses_allowed=_misses_what_others_delete,
        parameters=(*parameters.READS, *parameters.WRITES, parameters.SKIP_TRX),
        in_transaction=True,
    ),
    Member(
        name="oltp_write_only",
        summary="two updates, a delete and an insert in a transaction",
        groups=lambda values, _: _writes(values),
        laws=_rows_are_replaced,
        misses_allowed=_misses_what_others_delete,
        parameters=(*parameters.WRITES, parameters.SKIP_TRX),
        in_transaction=True,
    ),
    Member(
        name="oltp_update_index",
        summary="one update of an indexed column",
        groups=lambda values, _: [scripts.index_updates(values)],
        laws=_sum_of_k_grows,
        parameters=(parameters.INDEX_UPDATES, parameters.COLLISIONS),
    ),
    Member(
        name="oltp_update_non_index",
        summary="one update of a column without an index",
        groups=lambda values, _: [scripts.non_index_updates(values)],
        parameters=(parameters.NON_INDEX_UPDATES, parameters.COLLISIONS),
    ),
    Member(
        name="oltp_insert",
        summary="one insert",
        groups=_insert,
        laws=_rows_are_added,
    ),
    Member(
        name="oltp_delete",
        summary="one delete by primary key, if the row exists: the tables become empty",
        groups=lambda _values, _: [scripts.deletes()],
        laws=lambda values: (Bounded(data.rows_seen(values), "oltp_delete", -1, 0),),
    ),
    Member(
        name="select_random_points",
        summary="one select of the rows of ten keys",
        groups=lambda values, _: [scripts.random_points(values)],
        only_reads=True,
        parameters=(parameters.RANDOM_POINTS,),
    ),
    Member(
        name="select_random_ranges",
        summary="one select that counts the rows of ten short key ranges",
        groups=lambda values, _: [scripts.random_ranges(values)],
        only_reads=True,
        parameters=(parameters.NUMBER_OF_RANGES, parameters.DELTA),
    ),
)

WORKLOADS = tuple(member.workload() for member in MEMBERS)
