"""Non-HOT updates: updates that had to write new entries into every index.

Looks for: tables whose updates are not HOT (heap-only), and why: an updated column is indexed, or
the page has no room for the new version of the row.

Arithmetic: an update can be HOT only if no indexed column changes and the new version fits on the
page. A statement that sets an indexed column never is. Otherwise the room counts: what the
fillfactor leaves free of a page over the row's width; where that is enough, a trigger before the
update or a generated column may set an indexed column that no statement sets, or else old versions
that are not pruned occupy the room. Each non-HOT update writes one entry, and one WAL record, for
each index that has the row. Their part of all WAL records, times the client time in which the
server worked (on CPU, WAL, files, internal locks), is the most they can take; nor can they take
more than the server worked for statements that write the table or end a transaction, where there
are any. Below 3 % of the records they are not reported. The partitions of a partitioned table count
together.

Source: PostgreSQL, src/backend/access/heap/README.HOT and the manual's page on HOT.

Wrong when: the statement sets an indexed column to the value it had (the update is then still HOT),
or the index is of a summarizing kind (BRIN), which does not prevent HOT from version 16 on.
"""

from typing import ClassVar

from msgspec.structs import asdict

from dbdyno.analysis.costs.costs import cost, costs
from dbdyno.analysis.search.bounds import free_row_versions
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.explain.sentences import amount
from dbdyno.explain.statements.sql import fits
from dbdyno.explain.statements.statements import WORKING, index_text, statements_of, working_share
from dbdyno.explain.statements.table_updates import Culprit, TableUpdates, culprit_of, updates_of
from dbdyno.formatting import percent, significant, size
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run
from dbdyno.model.telemetry import TableFacts

MISSES_MIN = 0.05
_PAGE_BYTES = 8192
"""As servers with such updates are built, unless someone chose another size."""
_HEADER_BYTES = 24  # of a row; the statistics count its columns only


class NonHotUpdates(LimitClaim, frozen=True, kw_only=True):
    """Updates of a table that were not HOT, and what they wrote; the kinds below have a cause."""

    table: str
    updates_per_transaction: float
    misses_per_transaction: float
    index_writes_per_transaction: float
    of_wal_records: float | None
    missed_share: Aside[float]
    """Of the updates."""
    indexes_written: Aside[int]

    @property
    def missed(self) -> str:
        """How a summary begins."""
        return f"{percent(self.missed_share)} of the updates of {self.table} were not HOT"

    @property
    def seen(self) -> list[str]:
        of_records = ""
        if self.of_wal_records is not None:
            of_records = f": {percent(self.of_wal_records)} of all WAL records"
        return [
            f"Updates of {self.table} per transaction: "
            f"{significant(self.updates_per_transaction)}, of which "
            f"{significant(self.misses_per_transaction)} were not HOT.",
            f"They wrote {significant(self.index_writes_per_transaction)} index entries per "
            f"transaction into {amount(self.indexes_written, 'index', 'indexes')}{of_records}.",
        ]

    why: ClassVar[str] = (
        "An update that is not HOT writes to every index of its table, generates more WAL, and "
        "leaves dead index entries that only vacuum removes."
    )

    @property
    def gain(self) -> str:
        return "" if self.share is None else self.gains.text(self.share)


class IndexedColumn(NonHotUpdates, frozen=True, kw_only=True):
    """A statement sets columns that indexes contain."""

    columns: str
    indexes: str
    """As SQL names them, separated by commas, like the columns."""
    statement: str
    are_several_columns: Aside[bool] = False
    are_several_indexes: Aside[bool] = False
    have_others: Aside[bool] = False
    """Whether each of the indexes has other columns, too."""
    are_rules: Aside[bool] = False
    """Whether one of the indexes is unique: it is there for what it refuses."""
    title: ClassVar[str] = "HOT updates prevented by an index on an updated column"

    @property
    def certainty(self) -> Certainty:
        return "sure" if self.missed_share > 0.9 else "likely"

    @property
    def summary(self) -> str:
        columns = f"column {self.columns} is"
        if self.are_several_columns:
            columns = f"columns {self.columns} are"
        which = "indexes" if self.are_several_indexes else "index"
        return f"{self.missed}: the updated {columns} in the {which} {self.indexes}."

    @property
    def seen(self) -> list[str]:
        return [*super().seen, f"A statement sets {self.columns}: {self.statement}"]

    @property
    def advice(self) -> list[str]:
        them = "them" if self.are_several_indexes else "it"
        shorter = f", or recreate {them} without {self.columns}" if self.have_others else ""
        if self.are_rules:
            return ["Move what is updated often to a separate table, with its unique index alone."]
        return [
            f"Drop {self.indexes} if no query needs {them}{shorter}.",
            f"Otherwise move what is updated often to a separate table, without {them}.",
        ]

    @property
    def refute(self) -> str:
        if self.are_rules:
            return f"Run again with statements that do not set {self.columns}: updates must be HOT."
        return f"On a test server, DROP INDEX {self.indexes}; and run again: updates must be HOT."


class AssignedByTable(NonHotUpdates, frozen=True, kw_only=True):
    """There is room, and something could assign an indexed column without being seen."""

    assigned_by: list[str]
    free_versions: Aside[int]
    title: ClassVar[str] = (
        "HOT updates prevented by an index on a column that the table sets itself"
    )

    @property
    def unseen(self) -> str:
        """What may assign the column."""
        return " and ".join(self.assigned_by)

    @property
    def summary(self) -> str:
        return (
            f"{self.missed}: its pages have room, and no statement sets an indexed column, but the "
            f"table may do so itself ({self.unseen})."
        )

    @property
    def seen(self) -> list[str]:
        return [*super().seen, room_text(self.free_versions)]

    @property
    def advice(self) -> list[str]:
        return [
            f"Check which columns are set there ({self.unseen}), and drop the index on them if no "
            "query needs it.",
            "Otherwise move what is updated often to a separate table, without that index.",
        ]

    refute: ClassVar[str] = "On a test server, drop that index and run again: updates must be HOT."


class FullPages(NonHotUpdates, frozen=True, kw_only=True):
    """The pages have no room: by their fillfactor, or because they are not pruned."""

    fillfactor: int
    row_bytes: float
    free_versions: int
    enough: Aside[int]
    """The fillfactor that leaves room for a new version."""
    pages: Aside[str]
    """The table, or the partition of it, that has the pages."""
    moved_per_transaction: Aside[float] = 0.0
    """New versions on another page, if these are most of the misses, as the server counts them."""

    @property
    def is_pruned_late(self) -> bool:
        """Whether the fillfactor leaves room, which something keeps occupied."""
        return self.enough >= self.fillfactor

    @property
    def title(self) -> str:
        cause = "not pruned" if self.is_pruned_late else "fillfactor"
        return f"HOT updates prevented by full pages ({cause})"

    @property
    def certainty(self) -> Certainty:
        if self.moved_per_transaction:
            return "sure"
        return "likely" if self.free_versions < 1 else "hint"

    @property
    def summary(self) -> str:
        return (
            f"{self.missed}: its pages have no room for a new row version (fillfactor "
            f"{self.fillfactor}, rows of about {size(self.row_bytes)})."
        )

    @property
    def seen(self) -> list[str]:
        moved = (
            "New versions on another page per transaction: "
            f"{significant(self.moved_per_transaction)}."
        )
        return [
            *super().seen,
            room_text(self.free_versions),
            *([moved] if self.moved_per_transaction else []),
        ]

    @property
    def advice(self) -> list[str]:
        if self.is_pruned_late:
            return [
                "Check that no old transaction, replication slot or prepared transaction holds "
                "back the xmin horizon: versions that someone may still read are not pruned, and "
                "keep their room.",
                f"If the fillfactor was set to {self.fillfactor} after the rows were loaded, "
                "rewrite the table (VACUUM FULL, pg_repack): pages that were full stay full.",
                "Otherwise rows are updated several times between two prunings: update each row "
                "once per transaction, and keep transactions short.",
            ]
        # A partitioned table has no pages: the fillfactor is set for each of its partitions.
        alike = "" if self.pages == self.table else f" likewise each partition of {self.table};"
        return [
            f"ALTER TABLE {self.pages} SET (fillfactor = {self.enough});{alike} then rewrite the "
            "table (VACUUM FULL, pg_repack): each page then has room for a new version, and the "
            "next access prunes the old one.",
        ]

    @property
    def refute(self) -> str:
        if self.is_pruned_late:
            return "Rewrite the table, end old transactions, run again: updates must be HOT."
        return f"Set the fillfactor to {self.enough}, rewrite, run again: updates must be HOT."


def room_text(free_versions: int) -> str:
    """How much room there is, which decides between two causes."""
    room = amount(free_versions, "new row version", "new row versions")
    return f"The fillfactor leaves room for {room} per page."


def look(run: Run) -> NonHotUpdates | NotFound:
    """Report the table whose misses write most."""
    worst = max(updates_of(run), key=lambda one: one.index_writes, default=None)
    if worst is None:
        return NotFound("no row of a table that is known was updated")
    if worst.share < MISSES_MIN:
        return NotFound(f"{percent(worst.share)} of updates were not HOT")
    of_records = _of_records(run, worst)
    whole = NonHotUpdates(
        share=_share(run, worst.table, of_records),
        table=worst.table.name,
        updates_per_transaction=worst.updates,
        misses_per_transaction=worst.misses,
        index_writes_per_transaction=worst.index_writes,
        of_wal_records=of_records,
        missed_share=worst.share,
        indexes_written=len(worst.pages.indexes),
        gains=gains_in(run),
    )
    if of_records is not None and of_records < NOTICED:
        return NotFound(f"{whole.missed}, which made {percent(of_records)} of WAL records")
    culprit = culprit_of(run, worst)
    if culprit:
        return _by_column(whole, culprit)
    return _by_table(whole, worst) if _may_assign_itself(worst) else _by_room(whole, worst)


def _by_column(whole: NonHotUpdates, culprit: Culprit) -> IndexedColumn:
    return IndexedColumn(
        **asdict(whole),
        columns=", ".join(culprit.columns),
        indexes=", ".join(index_text(culprit.table, index) for index in culprit.indexes),
        statement=culprit.sql,
        are_several_columns=len(culprit.columns) > 1,
        are_several_indexes=len(culprit.indexes) > 1,
        have_others=all(set(index.columns) - set(culprit.columns) for index in culprit.indexes),
        are_rules=any(index.is_unique or index.is_primary for index in culprit.indexes),
    )


def _by_table(whole: NonHotUpdates, worst: TableUpdates) -> AssignedByTable:
    return AssignedByTable(
        **asdict(whole),
        assigned_by=list(worst.table.assigned_by),
        free_versions=_free_versions(worst),
    )


def _by_room(whole: NonHotUpdates, worst: TableUpdates) -> FullPages:
    width = _row_bytes(worst)
    return FullPages(
        **asdict(whole),
        fillfactor=worst.pages.fillfactor,
        row_bytes=width,
        free_versions=_free_versions(worst),
        enough=_fillfactor_for(width),
        pages=worst.pages.name,
        moved_per_transaction=worst.to_new_page if _is_moving(worst) else 0.0,
    )


def _may_assign_itself(worst: TableUpdates) -> bool:
    """Whether there is room, and something could assign an indexed column without being seen."""
    has_room = _free_versions(worst) >= 1 and not _is_moving(worst)
    has_others = any(not index.is_primary for index in worst.table.indexes)
    return has_room and has_others and bool(worst.table.assigned_by)


def _of_records(run: Run, worst: TableUpdates) -> float | None:
    records = cost(costs(run), "wal_records")
    return min(worst.index_writes / records, 1.0) if records else None


def _share(run: Run, table: TableFacts, of_records: float | None) -> float | None:
    working = working_share(run)
    if working is None or of_records is None:
        return None
    return min(of_records * working, _working_for_writers(run, table))


def _working_for_writers(run: Run, table: TableFacts) -> float:
    """The share for statements that write the table or end a transaction; all if none names it.

    Reads beside them write no WAL, however much time they take.
    """
    writers = [one for one in statements_of(run) if fits(one.sql.written_table, table.name)]
    if not writers:
        return 1.0
    ends = [one for one in statements_of(run) if one.sql.ends_transaction]
    return sum(working_share(run, one.number) or 0.0 for one in [*writers, *ends])


def _row_bytes(worst: TableUpdates) -> float:
    return (worst.pages.row_bytes or 0.0) + _HEADER_BYTES


def _free_versions(worst: TableUpdates) -> int:
    return free_row_versions(_PAGE_BYTES, worst.pages.fillfactor / 100, _row_bytes(worst))


def _is_moving(worst: TableUpdates) -> bool:
    """Whether the server counted that most new versions went to another page."""
    return worst.to_new_page > worst.misses / 2


def _fillfactor_for(width: float) -> int:
    """Leaves room for one new version; a multiple of ten, not below 50."""
    return max(50, min(90, int((1 - width / _PAGE_BYTES) * 10) * 10))


RULE = Rule(
    id="hot_updates",
    title="Non-HOT updates write to every index",
    look=look,
    accounts_for=WORKING,
    needs=frozenset({"hot_updates"}),
)
