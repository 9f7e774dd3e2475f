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

from typing import Any

from dbdyno.analysis.bounds import free_row_versions
from dbdyno.analysis.costs import cost
from dbdyno.analysis.protocol import PAGE_BYTES, POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.hot_updates import Culprit, Misses, culprit_of, misses_of
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, gain_text
from dbdyno.explain.sql import ends_transaction, fits, written_table
from dbdyno.explain.statements import WORKING, index_text, statements_of, working_share
from dbdyno.formatting import percent, significant, size
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import TableFacts

MISSES_MIN = 0.05
_HEADER_BYTES = 24  # of a row; the statistics count its columns only


def look(case: Case) -> Outcome:
    """Report the table whose misses write most."""
    worst = max(misses_of(case), key=lambda one: one.index_writes, default=None)
    if worst is None:
        return NotFound("no row of a table that is known was updated")
    if worst.share < MISSES_MIN:
        return NotFound(f"{percent(worst.share)} of updates were not HOT")
    of_records = _of_records(case, worst)
    if of_records is not None and of_records < NOTICED:
        return NotFound(f"{_miss_text(worst)}, which made {percent(of_records)} of WAL records")
    culprit = culprit_of(case, worst)
    if culprit:
        parts = _of_column(worst, culprit)
    else:
        parts = _of_the_table(worst) if _may_assign_itself(worst) else _of_room(worst)
    return _finding(case, worst, parts)


def _of_column(worst: Misses, culprit: Culprit) -> dict[str, Any]:
    names = ", ".join(index_text(culprit.table, index) for index in culprit.indexes)
    columns = ", ".join(culprit.columns)
    which, them = ("index", "it") if len(culprit.indexes) == 1 else ("indexes", "them")
    is_in = "column {} is" if len(culprit.columns) == 1 else "columns {} are"
    return {
        "title": "HOT updates prevented by an index on an updated column",
        "summary": f"{_miss_text(worst)}: the updated {is_in.format(columns)} in the {which} "
        f"{names}.",
        "certainty": "sure" if worst.share > 0.9 else "likely",
        "evidence": {"columns": columns, "indexes": names, "statement": culprit.sql},
        "seen": [f"A statement sets {columns}: {culprit.sql}"],
        "advice": [
            f"Drop {names} if no query needs {them}{_or_shorten(culprit, them)}.",
            f"Otherwise move what is updated often to a separate table, without {them}.",
        ],
        "refute": f"On a test server, DROP INDEX {names}; and run again: updates must be HOT.",
    }


def _or_shorten(culprit: Culprit, them: str) -> str:
    """What else could be done with indexes that have other columns, too."""
    have_others = all(set(index.columns) - set(culprit.columns) for index in culprit.indexes)
    return f", or recreate {them} without {', '.join(culprit.columns)}" if have_others else ""


def _may_assign_itself(worst: Misses) -> bool:
    """Whether there is room, and something could assign an indexed column without being seen."""
    has_room = _free_versions(worst) >= 1 and not _is_moving(worst)
    has_others = any(not index.is_primary for index in worst.table.indexes)
    return has_room and has_others and bool(worst.table.assigned_by)


def _of_the_table(worst: Misses) -> dict[str, Any]:
    unseen = " and ".join(worst.table.assigned_by)
    return {
        "title": "HOT updates prevented by an index on a column that the table sets itself",
        "summary": f"{_miss_text(worst)}: its pages have room, and no statement sets an indexed "
        f"column, but the table may do so itself ({unseen}).",
        "certainty": "likely",
        "evidence": {"assigned_by": list(worst.table.assigned_by)},
        "seen": [_room_text(worst)],
        "advice": [
            f"Check which columns are set there ({unseen}), and drop the index on them if no query "
            "needs it.",
            "Otherwise move what is updated often to a separate table, without that index.",
        ],
        "refute": "On a test server, drop that index and run again: updates must be HOT.",
    }


def _of_room(worst: Misses) -> dict[str, Any]:
    fillfactor = worst.pages.fillfactor
    width = _row_bytes(worst)
    free = _free_versions(worst)
    enough = _fillfactor_for(width)
    is_counted = _is_moving(worst)
    remedy = _more_room(worst, enough) if enough < fillfactor else _prune(fillfactor)
    return {
        "summary": f"{_miss_text(worst)}: its pages have no room for a new row version "
        f"(fillfactor {fillfactor}, rows of about {size(width)}).",
        "certainty": "sure" if is_counted else "likely" if free < 1 else "hint",
        "evidence": {"fillfactor": fillfactor, "row_bytes": width, "free_versions": free},
        "seen": [
            _room_text(worst),
            *([_moved_text(worst)] * is_counted),
        ],
        **remedy,
    }


def _more_room(worst: Misses, fillfactor: int) -> dict[str, Any]:
    """A partitioned table has no pages: the fillfactor is set for each of its partitions."""
    is_partition = worst.pages is not worst.table
    alike = f" likewise each partition of {worst.table.name};" if is_partition else ""
    return {
        "title": "HOT updates prevented by full pages (fillfactor)",
        "advice": [
            f"ALTER TABLE {worst.pages.name} SET (fillfactor = {fillfactor});{alike} then rewrite "
            "the table (VACUUM FULL, pg_repack): each page then has room for a new version, and "
            "the next access prunes the old one.",
        ],
        "refute": f"Set the fillfactor to {fillfactor}, rewrite, run again: updates must be HOT.",
    }


def _prune(fillfactor: int) -> dict[str, Any]:
    """What keeps occupied the room that the fillfactor leaves."""
    return {
        "title": "HOT updates prevented by full pages (not pruned)",
        "advice": [
            "Check that no old transaction, replication slot or prepared transaction holds back "
            "the xmin horizon: versions that someone may still read are not pruned, and keep their "
            "room.",
            f"If the fillfactor was set to {fillfactor} after the rows were loaded, rewrite the "
            "table (VACUUM FULL, pg_repack): pages that were full stay full.",
            "Otherwise rows are updated several times between two prunings: update each row once "
            "per transaction, and keep transactions short.",
        ],
        "refute": "Rewrite the table, end old transactions, run again: updates must be HOT.",
    }


def _finding(case: Case, worst: Misses, parts: dict[str, Any]) -> Finding:
    of_records = _of_records(case, worst)
    share = _share(case, worst.table, of_records)
    numbers = {
        "table": worst.table.name,
        "updates_per_transaction": worst.updates,
        "misses_per_transaction": worst.misses,
        "index_writes_per_transaction": worst.index_writes,
        "of_wal_records": of_records,
    }
    return found(
        parts.pop("summary"),
        share=share,
        share_of="client time" if share is not None else "",
        why="An update that is not HOT writes to every index of its table, generates more WAL, and "
        "leaves dead index entries that only vacuum removes.",
        gain=gain_text(case, share) if share is not None else "",
        evidence=numbers | parts.pop("evidence"),
        seen=[*_seen(worst, of_records), *parts.pop("seen")],
        **parts,
    )


def _of_records(case: Case, worst: Misses) -> float | None:
    records = cost(case.costs, "wal_records")
    return min(worst.index_writes / records, 1.0) if records else None


def _share(case: Case, table: TableFacts, of_records: float | None) -> float | None:
    working = working_share(case)
    if working is None or of_records is None:
        return None
    return min(of_records * working, _working_for_writers(case, table))


def _working_for_writers(case: Case, table: TableFacts) -> float:
    """The share for statements that write the table or end a transaction; all if none names it.

    Reads beside them write no WAL, however much time they take.
    """
    writers = [one for one in statements_of(case) if fits(written_table(one.sql), table.name)]
    if not writers:
        return 1.0
    ends = [one for one in statements_of(case) if ends_transaction(one.sql)]
    return sum(working_share(case, one.number) or 0.0 for one in [*writers, *ends])


def _seen(worst: Misses, of_records: float | None) -> list[str]:
    counts = (
        f"Updates of {worst.table.name} per transaction: {significant(worst.updates)}, of which "
        f"{significant(worst.misses)} were not HOT."
    )
    entries = (
        f"They wrote {significant(worst.index_writes)} index entries per transaction into "
        f"{amount(len(worst.pages.indexes), 'index', 'indexes')}"
    )
    if of_records is None:
        return [counts, f"{entries}."]
    return [counts, f"{entries}: {percent(of_records)} of all WAL records."]


def _miss_text(worst: Misses) -> str:
    return f"{percent(worst.share)} of the updates of {worst.table.name} were not HOT"


def _row_bytes(worst: Misses) -> float:
    return (worst.pages.row_bytes or 0.0) + _HEADER_BYTES


def _free_versions(worst: Misses) -> int:
    page_bytes = PAGE_BYTES[POSTGRESQL]
    return free_row_versions(page_bytes, worst.pages.fillfactor / 100, _row_bytes(worst))


def _is_moving(worst: Misses) -> bool:
    """Whether the server counted that most new versions went to another page."""
    return worst.to_new_page > worst.misses / 2


def _room_text(worst: Misses) -> str:
    room = amount(_free_versions(worst), "new row version", "new row versions")
    return f"The fillfactor leaves room for {room} per page."


def _moved_text(worst: Misses) -> str:
    return f"New versions on another page per transaction: {significant(worst.to_new_page)}."


def _fillfactor_for(width: float) -> int:
    """Leaves room for one new version; a multiple of ten, not below 50."""
    return max(50, min(90, int((1 - width / PAGE_BYTES[POSTGRESQL]) * 10) * 10))


RULE = Rule(
    id="hot_updates",
    title="Non-HOT updates write to every index",
    look=look,
    covers=frozenset({"wal_write", "full_page_writes", "table_growth", "autovacuum_behind"}),
    accounts_for=WORKING,
    protocols=frozenset({POSTGRESQL}),
)
