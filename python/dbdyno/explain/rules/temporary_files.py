"""Temporary files: sorts and hashes that did not fit into work_mem.

Looks for: files that the server wrote beside its tables while the run was measured.

Arithmetic: files and bytes per transaction, as the server counts them. Each byte is written
and read again; the waits for that are a share of the clients' time, the copying to and from
the page cache is not seen as a wait. Where one transaction in ten and more writes a file it is
minor at least.

Source: PostgreSQL manual, pg_stat_database (temp_files, temp_bytes), work_mem, log_temp_files.

Wrong when: somebody else's query in the same database wrote them.
"""

from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed, grown, server_facts
from dbdyno.explain.rule import SEVERITIES, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.settings import size_bytes
from dbdyno.explain.statements import Statement, statements_of
from dbdyno.explain.words import amount, and_so_on
from dbdyno.words import percent, significant, size

OFTEN = 0.1
_EVENTS = ("BufFileRead", "BufFileWrite")


def look(case: Case) -> Outcome:
    """The files, and the statements that could have sorted."""
    files = grown(case, "pg_stat_database", "temp_files") / committed(case)
    size_each = grown(case, "pg_stat_database", "temp_bytes") / committed(case)
    if not files:
        return NotFound("no temporary file was written")
    share = _waiting_share(case)
    least = "minor" if files >= OFTEN else "note"
    work_mem = size_bytes(server_facts(case), "work_mem")
    suspects = [one.words for one in statements_of(case) if _may_sort(one)]
    return found(
        f"A sort or hash does not fit into work_mem ({size(work_mem)}): "
        f"{amount(files, 'temporary file', 'temporary files')} and {size(size_each)} a "
        "transaction.",
        share=share,
        share_of="client time" if share is not None else "",
        severity=max(least, severity_of(share or 0.0), key=SEVERITIES.index),
        certainty="sure",
        evidence={
            "files_per_transaction": files,
            "bytes_per_transaction": size_each,
            "work_mem_bytes": work_mem,
            "statements": suspects,
        },
        seen=[
            f"{significant(files)} files of {size(size_each / files)} a transaction.",
            *([f"Statements that may sort or hash: {and_so_on(suspects)}"] * bool(suspects)),
            *([f"Waits for them took {percent(share)} of the clients' time."] if share else []),
        ],
        why="What does not fit is written out and read in again, through the page cache or "
        "storage, in every transaction.",
        advice=[
            f"Set work_mem above {size(3 * size_each / files)} for these statements: rows take "
            "more room in memory than in the file.",
            "Or give the sort an index that has the order already.",
        ],
        refute="Raise work_mem and run again: temporary files must go.",
    )


def _waiting_share(case: Case) -> float | None:
    if case.budget is None:
        return None
    return sum(case.budget.share("io", event=event) for event in _EVENTS)


def _may_sort(statement: Statement) -> bool:
    text = statement.sql.lower()
    return any(word in text for word in ("order by", "group by", "distinct", " join ", "union"))


RULE = Rule(
    id="temporary_files",
    title="Temporary files: work_mem is too small",
    look=look,
    covers=frozenset({"cpu_server"}),
    accounts_for=frozenset({"io"}),
)
