"""What is compared, and what is to be reached."""

from dataclasses import dataclass
from pathlib import Path

from bench.tools import Load

SCRIPTS = Path(__file__).parent / "scripts"
SCALE = 50
THREADS = 2


@dataclass(frozen=True)
class Case:
    """A load, and the bounds of its ratios (ours over pgbench's)."""

    name: str
    load: Load
    over_tcp: bool
    tps_at_least: float | None
    """Of the ratio itself; None: the interval must not lie below 1."""
    cpu_at_most: float


def cases(seconds: int) -> list[Case]:
    """All comparisons, each run lasting so long."""

    def load(workload: str, builtin: str, script: str | None, clients: int) -> Load:
        path = SCRIPTS / script if script else None
        return Load(workload, path, builtin, SCALE, clients, THREADS, seconds)

    select = load("select-only", "select-only", None, 8)
    crowd = load("select-only", "select-only", None, 500)
    tpcb = load("tpcb", "tpcb-like", None, 8)
    update = load("pk", "", "pk-update.sql", 8)
    return [
        Case("select-only, 8 clients", select, False, 1.2, 0.60),
        Case("select-only, 500 clients", crowd, False, 1.25, 0.75),
        Case("tpcb, 8 clients", tpcb, False, None, 0.75),
        Case("pk update, 8 clients", update, False, None, 0.75),
        Case("select-only, 8 clients", select, True, None, 0.75),
        Case("select-only, 500 clients", crowd, True, None, 0.75),
        Case("tpcb, 8 clients", tpcb, True, None, 0.75),
        Case("pk update, 8 clients", update, True, None, 0.75),
    ]
