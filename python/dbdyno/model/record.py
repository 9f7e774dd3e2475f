"""The record of one run: the object of ``run --json`` and of ``run.json`` in the folder.

The names are what people's scripts read, so they stay; a field that is added changes
nothing for them, a field that changes its meaning raises ``FORMAT_VERSION``. The record
holds what was measured and what was said about it, never how to draw it.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

FORMAT_VERSION = 1

Status: TypeAlias = Literal["running", "done", "failed", "interrupted"]
Severity: TypeAlias = Literal["note", "minor", "major", "critical"]
Certainty: TypeAlias = Literal["sure", "likely", "hint"]


class TransactionCounts(Struct, frozen=True, kw_only=True):
    """Transactions of the measured part; the words are those of ``frame.Counters``."""

    ok: int
    failed: int
    skipped: int
    unfinished: int
    waiting: int = 0
    late: int = 0
    retried: int


class FailureRecord(Struct, frozen=True, kw_only=True):
    """Failures of one class and code, and the first message seen."""

    failure_class: str = field(name="class")
    code: str
    count: int
    message: str
    statement: str = ""
    """The text of the statement that this message was the answer to, where that is known."""
    took_s: float | None = None
    """The time of the tries that ended so, all together; None of older runs, and of those that were
    ended by force."""


class Throughput(Struct, frozen=True, kw_only=True):
    """Transactions a second.

    ``low`` and ``high`` are the 95 % interval *within this run*, autocorrelation counted:
    they say how well the run knows its own mean, not how the next run will differ.
    ``min`` and ``max`` are over the intervals of the run.
    """

    value: float
    low: float | None
    high: float | None
    min: float | None
    max: float | None
    interval: Literal["within-run 95 %"] = "within-run 95 %"
    samples: int
    samples_effective: float | None
    coefficient_of_variation: float | None


class Latency(Struct, frozen=True, kw_only=True):
    """A distribution of times in milliseconds; None where there was nothing to measure."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    p9999: float
    max: float


class StageRecord(Struct, frozen=True, kw_only=True):
    """One stage of a load that was meant to change: what was asked for, and how it went.

    Of ``clients`` and ``rate_tps`` one is None. So is each number of a stage that the run did not
    reach. ``p50_ms`` and ``p99_ms`` are the medians of what they were in its intervals.
    """

    duration_s: float
    clients: int | None
    rate_tps: float | None
    tps: float | None
    failed_per_s: float | None
    p50_ms: float | None
    p99_ms: float | None


class ScriptRecord(Struct, frozen=True, kw_only=True):
    """One script's share of the run."""

    name: str
    weight: int
    ok: int
    failed: int
    skipped: int
    response_ms: Latency | None
    service_ms: Latency | None


class StatementRecord(Struct, frozen=True, kw_only=True):
    """One statement; ``script`` is the script's name, ``index`` its place among the commands."""

    script: str
    index: int
    sql: str
    count: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class ClientCost(Struct, frozen=True, kw_only=True):
    """What the load cost on the side that made it."""

    cpu_us_per_transaction: float | None


class CostRecord(Struct, frozen=True, kw_only=True):
    """What one committed transaction cost, of something that noise hardly moves.

    ``low`` and ``high`` are the 95 % interval within this run. ``script`` names the one it is
    of; empty for all together. ``side`` is whose cost it is.
    """

    id: str
    title: str
    unit: str
    side: Literal["server", "client", "network"]
    value: float
    low: float | None
    high: float | None
    script: str = ""


class Finding(Struct, frozen=True, kw_only=True):
    """A claim about a run with its evidence, from one rule.

    ``summary`` is one sentence: cause first, number second. ``share`` is the part of ``share_of``
    that the cause accounts for, None where the rule can bound nothing; ``certainty`` is *sure*
    when two independent kinds of evidence agree, *likely* with one, else *hint*.
    """

    id: str
    title: str
    severity: Severity
    summary: str
    evidence: dict[str, Any]
    seen: list[str] = []
    """What was seen, each a sentence with its numbers."""
    why: str = ""
    """Why it matters."""
    share: float | None = None
    share_of: Literal["client time", "lost throughput", "response time", ""] = ""
    certainty: Certainty = "hint"
    advice: list[str] = []
    """What to try, each a sentence."""
    gain: str = ""
    """What that would change, as far as it can be bounded."""
    refute: str = ""
    """The counter-experiment that would refute the claim, as a command where there is one."""
    wrong_when: str = ""
    """When this rule is wrong."""


class NotLooked(Struct, frozen=True, kw_only=True):
    """A rule that could not look, and what it would have needed."""

    id: str
    title: str
    reason: str


class RunRecord(Struct, frozen=True, kw_only=True):
    """One measured load on one target.

    While the run lasts only what was known before it is filled in. ``server`` carries at
    least ``cpu_us_per_transaction`` once that was measured; the settings stand in
    ``server.json`` beside it.
    """

    format_version: int = FORMAT_VERSION
    run_id: str
    status: Status
    started_at: str
    workload: str
    target: str
    server: dict[str, Any] = {}
    seed: int
    command: list[str] = []
    """The words after ``dbdyno run`` that asked for it, without passwords."""
    tags: dict[str, str] = {}
    valid: bool | None = None
    invalid_reasons: list[str] = []
    doubts: list[str] = []
    invariants_read: list[str] = []
    """The numbers that the workload's invariants were held against; none where nobody looked."""
    duration_s: float | None = None
    stages: list[StageRecord] = []
    """None of a load that was to stay one: its numbers are the run's."""
    scripts: list[ScriptRecord] = []
    transactions: TransactionCounts | None = None
    failures: list[FailureRecord] = []
    tried_again: list[FailureRecord] = []
    """Tries that failed and were followed by another, known once the run is done."""
    throughput_tps: Throughput | None = None
    response_ms: Latency | None = None
    service_ms: Latency | None = None
    statements: list[StatementRecord] = []
    client: ClientCost | None = None
    costs: list[CostRecord] = []
    findings: list[Finding] = []
    not_looked: list[NotLooked] = []
    unexplained: float | None = None
    """The share of the clients' time that no finding accounts for."""
    telemetry: dict[str, Any] = {}
    """``level`` and what telemetry itself cost."""
