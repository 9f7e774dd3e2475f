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

from typing import ClassVar

import numpy as np

from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.explain.needs import committed, grown, server_facts
from dbdyno.explain.resources.settings import size_bytes
from dbdyno.explain.rule import SEVERITIES, Claim, NotFound, Rule, severity_of
from dbdyno.explain.sentences import amount, and_so_on
from dbdyno.explain.statements.statements import statements_of, times_run
from dbdyno.formatting import percent, significant, size
from dbdyno.model.counters import GlobalStatus, PgDatabase
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run

OFTEN = 0.1
RARE = 0.01
_EVENTS = frozenset({"buffileread", "buffilewrite"})
"""In lower case: servers spell them differently."""


class TemporaryFiles(Claim, frozen=True, kw_only=True):
    """Files and bytes per transaction; the setting they exceed; client time in waits."""

    files: float
    bytes: float
    work_mem_bytes: float
    waiting_share: float | None
    executions: float
    """Executions per transaction of the statements that could have sorted; 0 if none is known."""
    statements: list[str]

    @property
    def file_bytes(self) -> float:
        """Mean size of a file."""
        return self.bytes / self.files

    @property
    def severity(self) -> Severity:
        least: Severity = "minor" if self.files >= OFTEN else "note"
        return max(least, severity_of(self.share or 0.0), key=SEVERITIES.index)

    @property
    def certainty(self) -> Certainty:
        return "sure" if self.share else "likely"

    @property
    def summary(self) -> str:
        return (
            f"A sort or hash does not fit into work_mem ({size(self.work_mem_bytes)}): "
            f"{amount(self.files, 'temporary file', 'temporary files')} and {size(self.bytes)} per "
            "transaction."
        )

    @property
    def seen(self) -> list[str]:
        suspects = f"Statements that may sort or hash: {and_so_on(self.statements)}"
        return [
            f"{significant(self.files)} files of {size(self.file_bytes)} per transaction.",
            *([suspects] if self.statements else []),
            *([f"Waits for them took {percent(self.share)} of client time."] if self.share else []),
        ]

    why: ClassVar[str] = (
        "What does not fit is written out and read back, through the page cache or storage, in "
        "every transaction."
    )

    @property
    def advice(self) -> list[str]:
        """The memory is what one execution needs, if there are about as many files as executions.

        That is assumed if these are not known.
        """
        execution_bytes = max(self.bytes / (self.executions or 1.0), self.file_bytes)
        return [
            f"Set work_mem above {size(3 * execution_bytes)} for these statements: rows "
            "take more space in memory than in the file. Each client may need as much."
            if self.files >= OFTEN * self.executions
            else "Find what writes them: log_temp_files = 0. Most executions write none.",
            "Or create an index that provides the sort order.",
        ]

    refute: ClassVar[str] = "Raise work_mem and run again: temporary files must disappear."


class TablesOnDisk(Claim, frozen=True, kw_only=True):
    """Tables and sorts that went to disk, per transaction: their bytes are not counted."""

    disk_tables: float
    merge_passes: float
    statements: list[str]
    """Those that could have sorted or grouped."""
    title: ClassVar[str] = "Temporary tables and sorts on disk"

    @property
    def severity(self) -> Severity:
        return "minor" if self.disk_tables + self.merge_passes >= OFTEN else "note"

    @property
    def summary(self) -> str:
        return (
            "Intermediate results do not fit into memory: "
            f"{amount(self.disk_tables, 'on-disk table', 'on-disk tables')} and "
            f"{amount(self.merge_passes, 'sort merge pass', 'sort merge passes')} per transaction."
        )

    @property
    def seen(self) -> list[str]:
        if not self.statements:
            return []
        return [f"Statements that may sort or group: {and_so_on(self.statements)}"]

    why: ClassVar[str] = (
        "What does not fit, or has a column of unbounded length, is written out and read back."
    )
    advice: ClassVar[list[str]] = [
        "Raise tmp_table_size and max_heap_table_size for tables, sort_buffer_size for sorts.",
        "Or create an index that provides the order, and leave TEXT and BLOB columns out of what "
        "is grouped or sorted.",
    ]
    refute: ClassVar[str] = "Raise them for one run: both numbers must fall to zero."


def look(run: Run) -> TemporaryFiles | TablesOnDisk | NotFound:
    """Report the files, and the statements that could have sorted."""
    return _tables_on_disk(run) if run.database.has("innodb") else _files(run)


def _tables_on_disk(run: Run) -> TablesOnDisk | NotFound:
    """MariaDB and MySQL count tables and sorts that went to disk, and no bytes."""
    done = committed(run)
    tables = max(grown(run, GlobalStatus.Created_tmp_disk_tables) - _our_own(run), 0.0) / done
    merges = grown(run, GlobalStatus.Sort_merge_passes) / done
    if tables + merges < RARE:
        return NotFound("hardly a temporary table or sort went to disk")
    suspects = [one.text for one in statements_of(run) if one.sql.may_need_memory]
    return TablesOnDisk(disk_tables=tables, merge_passes=merges, statements=suspects)


def _our_own(run: Run) -> int:
    """Each list of sessions that telemetry queries is such a table."""
    samples = run.samples
    is_list = np.isin(samples.source, ("waits", "sessions"))
    measured = (samples.time_s > 0) & (samples.time_s <= (full_record(run).duration_s or 0.0))
    return int((is_list & measured).sum())


def _files(run: Run) -> TemporaryFiles | NotFound:
    """Files and bytes, as PostgreSQL counts them."""
    files = grown(run, PgDatabase.temp_files) / committed(run)
    if not files:
        return NotFound("no temporary file was written")
    if files < RARE:
        return NotFound("hardly a temporary file was written")
    suspects = [one for one in statements_of(run) if one.sql.may_need_memory]
    waiting_share = _waiting_share(run)
    return TemporaryFiles(
        share=waiting_share,
        files=files,
        bytes=grown(run, PgDatabase.temp_bytes) / committed(run),
        work_mem_bytes=size_bytes(server_facts(run), "work_mem"),
        waiting_share=waiting_share,
        executions=sum(times_run(run, one.number) for one in suspects) / committed(run),
        statements=[one.text for one in suspects],
    )


def _waiting_share(run: Run) -> float | None:
    spent = known_budget(run)
    if spent is None:
        return None
    return sum(
        spent.share("io", event=event)
        for event in {part.wait_event for part in spent.parts}
        if event.casefold() in _EVENTS
    )


RULE = Rule(
    id="temporary_files",
    title="Temporary files: work_mem is too small",
    look=look,
    accounts_for=frozenset({"io"}),
)
