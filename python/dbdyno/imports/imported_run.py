"""One run as another tool's text tells it: what is not told is None."""

from dataclasses import dataclass, field
from typing import NamedTuple

from dbdyno.model.record import PrintedFigure

UNIX_TIME_MIN_S = 1e9
"""No run lasts so long, and there was no tool in 2001 that printed the time."""


class Part(NamedTuple):
    """What was printed about a part of the time, by the names of the table ``progress``."""

    line: int
    printed: dict[str, float]
    """``time_s`` is the end of the part, since the beginning of the run or since 1970; ``tps`` is
    always there."""


@dataclass(kw_only=True)
class ImportedScript:
    """One of several scripts."""

    name: str
    weight: int = 1
    ok: int = 0
    failed: int | None = None
    skipped: int | None = None
    mean_ms: float | None = None


@dataclass(kw_only=True)
class ImportedStatement:
    """A statement, or a command of the script, with its mean latency."""

    script: str
    index: int
    sql: str
    mean_ms: float | None


@dataclass(kw_only=True)
class ImportedRun:
    """One run of another tool."""

    tool: str
    first_line: int
    last_line: int
    version: str = ""
    is_complete: bool = False
    is_log: bool = False
    """Whether its parts were counted in a log, and not printed."""
    command: str = ""
    workload: str = ""
    product: str = ""
    """Of the server, if the tool measures no other, or says so."""
    server_version: str = ""
    began_unix_s: float | None = None
    clients: int | None = None
    threads: int | None = None
    scale: int | None = None
    query_mode: str | None = None
    rate_tps: float | None = None
    duration_s: float | None = None
    ok: int | None = None
    failed: int | None = None
    skipped: int | None = None
    retried: int | None = None
    late: int | None = None
    tps: float | None = None
    nopm: float | None = None
    latencies_ms: dict[str, float] = field(default_factory=dict)
    """By the names of ``Latency``."""
    is_open_loop: bool = False
    scripts: list[ImportedScript] = field(default_factory=list)
    statements: list[ImportedStatement] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    figures: list[PrintedFigure] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    failure: str = ""
    """Why the tool itself says that the run failed."""

    @property
    def has_unix_times(self) -> bool:
        """Whether the times of its parts count from 1970."""
        return bool(self.parts) and self.parts[0].printed["time_s"] >= UNIX_TIME_MIN_S

    @property
    def has_result(self) -> bool:
        """Whether anything was measured: settings alone are no run."""
        return bool(self.parts or self.latencies_ms or self.statements) or (
            self.tps is not None or self.ok is not None or self.nopm is not None
        )
