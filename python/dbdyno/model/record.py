"""The record of one run: the object of ``run --json`` and of ``run.json`` in the run folder.

Users' scripts read these names, so they are stable: a new field changes nothing for them, and a
field that changes its meaning raises ``FORMAT_VERSION``. The record contains what was measured and
concluded, never how to draw it.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

FORMAT_VERSION = 1

Status: TypeAlias = Literal["running", "done", "failed", "interrupted"]
Severity: TypeAlias = Literal["note", "minor", "major", "critical"]
Certainty: TypeAlias = Literal["sure", "likely", "hint"]


class TransactionCounts(Struct, frozen=True, kw_only=True):
    """Transactions of the measured part, under the names of ``frame.Counters``."""

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
    """The statement that failed with this message, if it is known."""
    took_s: float | None = None
    """The total time of the tries that failed so; None in older runs, and in runs that were ended
    by force."""


class Throughput(Struct, frozen=True, kw_only=True):
    """Transactions a second.

    ``low`` and ``high`` are the 95 % interval *within this run*, with autocorrelation taken into
    account: how precisely the run knows its own mean, not how far the next run will differ. ``min``
    and ``max`` are over the measurement intervals of the run.
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
    """A distribution of times in milliseconds; None if nothing was measured."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    p9999: float
    max: float


class StageRecord(Struct, frozen=True, kw_only=True):
    """One stage of a load that changes in stages: what was requested, and how it went.

    One of ``clients`` and ``rate_tps`` is None. So is every number of a stage that the run did not
    reach. ``p50_ms`` and ``p99_ms`` are medians over the stage's measurement intervals.
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
    """One statement; ``script`` is the script's name, ``index`` its position among the commands."""

    script: str
    index: int
    sql: str
    count: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class ClientCost(Struct, frozen=True, kw_only=True):
    """What the load cost the load generator."""

    cpu_us_per_transaction: float | None


class CostRecord(Struct, frozen=True, kw_only=True):
    """What one committed transaction cost, in a resource that noise hardly affects.

    ``low`` and ``high`` are the 95 % interval within this run. ``script`` is the script whose
    transactions these are; empty for all together. ``side`` is where the cost arose.
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
    that the cause accounts for, None if the rule cannot bound it. ``certainty`` is *sure* if two
    independent kinds of evidence agree, *likely* with one kind, otherwise *hint*.
    """

    id: str
    title: str
    severity: Severity
    summary: str
    evidence: dict[str, Any]
    seen: list[str] = []
    """What was observed, each a sentence with its numbers."""
    why: str = ""
    """Why it matters."""
    share: float | None = None
    share_of: Literal["client time", "lost throughput", "response time", ""] = ""
    certainty: Certainty = "hint"
    advice: list[str] = []
    """What to try, each a sentence."""
    gain: str = ""
    """What that would gain, as far as it can be bounded."""
    refute: str = ""
    """The experiment that would refute the claim, as a command if there is one."""
    wrong_when: str = ""
    """When this rule may be wrong."""


class UnevaluatedRule(Struct, frozen=True, kw_only=True):
    """A rule that could not be evaluated, and what it would have needed."""

    id: str
    title: str
    reason: str


class RunRecord(Struct, frozen=True, kw_only=True):
    """One measured load on one target.

    While the run lasts, only the fields known beforehand are set. ``server`` contains at least
    ``cpu_us_per_transaction`` once it has been measured; the settings are in ``server.json`` beside
    it.
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
    """The arguments of ``dbdyno run``, without passwords."""
    tags: dict[str, str] = {}
    valid: bool | None = None
    invalid_reasons: list[str] = []
    doubts: list[str] = []
    invariants_read: list[str] = []
    """The numbers that the workload's invariants were checked against; empty if nothing was
    checked."""
    duration_s: float | None = None
    stages: list[StageRecord] = []
    """Empty if the load did not change: its numbers are then the run's."""
    scripts: list[ScriptRecord] = []
    transactions: TransactionCounts | None = None
    failures: list[FailureRecord] = []
    tried_again: list[FailureRecord] = []
    """Tries that failed and were retried, known once the run is done."""
    throughput_tps: Throughput | None = None
    response_ms: Latency | None = None
    service_ms: Latency | None = None
    statements: list[StatementRecord] = []
    client: ClientCost | None = None
    costs: list[CostRecord] = []
    findings: list[Finding] = []
    not_looked: list[UnevaluatedRule] = []
    unexplained: float | None = None
    """The share of client time that no finding accounts for."""
    telemetry: dict[str, Any] = {}
    """``level``, and the cost of telemetry itself."""
