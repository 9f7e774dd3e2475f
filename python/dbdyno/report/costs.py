"""How costs per transaction are formatted, and which of them are at the top of a report."""

from collections.abc import Sequence

from dbdyno.formatting import THIN_SPACE, milliseconds, significant, size
from dbdyno.model.record import CostRecord

# The most important of each side; the whole list has a section of its own.
_FIRST = ("server_cpu_us", "engine_cpu_us", "wal_bytes", "round_trips")


def cost_text(cost: CostRecord, value: float | None = None) -> str:
    """The value of this cost with its unit; another value may be given."""
    return amount_text(cost.value if value is None else value, cost.unit)


def amount_text(amount: float, unit: str) -> str:
    """A number with its unit; times and sizes in a suitable unit."""
    if unit in ("B", "bytes"):
        return size(amount)
    if unit in ("µs", "ms"):
        return milliseconds(amount / 1000 if unit == "µs" else amount)
    return f"{significant(amount)}{THIN_SPACE}{unit}".rstrip(THIN_SPACE)


def interval_text(cost: CostRecord) -> str:
    """The interval of a cost; empty if there is none."""
    if cost.low is None or cost.high is None:
        return ""
    return f"{cost_text(cost, cost.low)} to {cost_text(cost, cost.high)}"


def first_costs(costs: Sequence[CostRecord]) -> list[CostRecord]:
    """The few that are shown beside throughput at the top."""
    of_all = {cost.id: cost for cost in costs if not cost.script}
    return [of_all[wanted] for wanted in _FIRST if wanted in of_all]
