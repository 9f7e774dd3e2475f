"""Temporary files: sorts and hashes that did not fit into work_mem.

Looks for: temporary files that the server wrote during the measurement.

Arithmetic: files and bytes per transaction, as the server counts them. Each byte is written and
read again; the waits for that are a share of client time, while copying to and from the page cache
does not show as a wait. Where at least one transaction in ten writes a file, the finding is at
least minor. A hash that does not fit is split into many small files: it needs memory for those of
one execution together. Fewer files than one in a hundred transactions are not reported: other
sessions may have written them. MariaDB and MySQL count temporary tables on disk and merge passes of
sorts (Created_tmp_disk_tables, Sort_merge_passes), from which telemetry's own are subtracted.

Source: PostgreSQL manual, pg_stat_database (temp_files, temp_bytes), work_mem, log_temp_files;
MySQL manual, internal temporary table use.

Wrong when: another session's query in the same database wrote them.
"""

import numpy as np
from msgspec import Struct, structs

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed, grown, server_facts
from dbdyno.explain.rule import SEVERITIES, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.sentences import amount, and_so_on
from dbdyno.explain.settings import size_bytes
from dbdyno.explain.statements import Statement, statements_of, times_run
from dbdyno.formatting import percent, significant, size
from dbdyno.model.record import Finding, Severity

OFTEN = 0.1
RARE = 0.01
_STATUS = "global_status"
_DATABASE = "pg_stat_database"
_EVENTS = frozenset({"buffileread", "buffilewrite"})
"""In lower case: servers spell them differently."""


class _Spilled(Struct, frozen=True):
    """Files and bytes per transaction; the setting they exceed; client time in waits."""

    files: float
    bytes: float
    work_mem_bytes: float
    waiting_share: float | None
    executions: float
    """Executions per transaction of the statements that could have sorted; 0 if none is known."""

    @property
    def file_bytes(self) -> float:
        """Mean size of a file."""
        return self.bytes / self.files

    @property
    def is_of_each_execution(self) -> bool:
        """Whether there are as many files as executions, about; also if those are not known."""
        return self.files >= OFTEN * self.executions

    @property
    def execution_bytes(self) -> float:
        """What one execution wrote, if all of them did; at least a file."""
        return max(self.bytes / (self.executions or 1.0), self.file_bytes)


def look(case: Case) -> Outcome:
    """Report the files, and the statements that could have sorted."""
    return _tables_on_disk(case) if case.protocol == MYSQL else _files(case)


def _tables_on_disk(case: Case) -> Outcome:
    """MariaDB and MySQL count tables and sorts that went to disk, and no bytes."""
    done = committed(case)
    tables = max(grown(case, _STATUS, "Created_tmp_disk_tables") - _our_own(case), 0.0) / done
    merges = grown(case, _STATUS, "Sort_merge_passes") / done
    if tables + merges < RARE:
        return NotFound("hardly a temporary table or sort went to disk")
    suspects = [one.text for one in statements_of(case) if _may_sort(one)]
    return found(
        "Intermediate results do not fit into memory: "
        f"{amount(tables, 'on-disk table', 'on-disk tables')} and "
        f"{amount(merges, 'sort merge pass', 'sort merge passes')} per transaction.",
        title="Temporary tables and sorts on disk",
        severity="minor" if tables + merges >= OFTEN else "note",
        certainty="likely",
        evidence={"disk_tables": tables, "merge_passes": merges, "statements": suspects},
        seen=[f"Statements that may sort or group: {and_so_on(suspects)}"] if suspects else [],
        why="What does not fit, or has a column of unbounded length, is written out and read back.",
        advice=[
            "Raise tmp_table_size and max_heap_table_size for tables, sort_buffer_size for sorts.",
            "Or create an index that provides the order, and leave TEXT and BLOB columns out of "
            "what is grouped or sorted.",
        ],
        refute="Raise them for one run: both numbers must fall to zero.",
    )


def _our_own(case: Case) -> int:
    """Each list of sessions that telemetry queries is such a table."""
    samples = case.recording.tables["samples"]
    is_list = np.isin(samples["source"], ("waits", "sessions"))
    measured = (samples["time_s"] > 0) & (samples["time_s"] <= (case.record.duration_s or 0.0))
    return int((is_list & measured).sum())


def _files(case: Case) -> Outcome:
    """Files and bytes, as PostgreSQL counts them."""
    files = grown(case, _DATABASE, "temp_files") / committed(case)
    if not files:
        return NotFound("no temporary file was written")
    if files < RARE:
        return NotFound("hardly a temporary file was written")
    suspects = [one for one in statements_of(case) if _may_sort(one)]
    spilled = _Spilled(
        files,
        grown(case, _DATABASE, "temp_bytes") / committed(case),
        size_bytes(server_facts(case), "work_mem"),
        _waiting_share(case),
        sum(times_run(case, one.number) for one in suspects) / committed(case),
    )
    return _finding(spilled, [one.text for one in suspects])


def _finding(spilled: _Spilled, suspects: list[str]) -> Finding:
    files, share = spilled.files, spilled.waiting_share
    least: Severity = "minor" if files >= OFTEN else "note"
    return found(
        f"A sort or hash does not fit into work_mem ({size(spilled.work_mem_bytes)}): "
        f"{amount(files, 'temporary file', 'temporary files')} and {size(spilled.bytes)} per "
        "transaction.",
        share=share,
        share_of="client time" if share is not None else "",
        severity=max(least, severity_of(share or 0.0), key=SEVERITIES.index),
        certainty="sure" if share else "likely",
        evidence=structs.asdict(spilled) | {"statements": suspects},
        seen=[
            f"{significant(files)} files of {size(spilled.file_bytes)} per transaction.",
            *([f"Statements that may sort or hash: {and_so_on(suspects)}"] if suspects else []),
            *([f"Waits for them took {percent(share)} of client time."] if share else []),
        ],
        why="What does not fit is written out and read back, through the page cache or storage, in "
        "every transaction.",
        advice=[
            f"Set work_mem above {size(3 * spilled.execution_bytes)} for these statements: rows "
            "take more space in memory than in the file. Each client may need as much."
            if spilled.is_of_each_execution
            else "Find what writes them: log_temp_files = 0. Most executions write none.",
            "Or create an index that provides the sort order.",
        ],
        refute="Raise work_mem and run again: temporary files must disappear.",
    )


def _waiting_share(case: Case) -> float | None:
    if case.budget is None:
        return None
    return sum(
        case.budget.share("io", event=event)
        for event in {part.wait_event for part in case.budget.parts}
        if event.casefold() in _EVENTS
    )


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
