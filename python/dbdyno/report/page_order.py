"""The sections of a run's report, in the order in which they are read.

Each is a module of :mod:`dbdyno.report.sections` that declares itself as ``SECTION``; its name is
the section's id, with underscores.
"""

from importlib import import_module

from dbdyno.report.content import Section

PAGE_ORDER = (
    # The answer, and what it means for the numbers at the top.
    "findings",
    "audit",
    "stages",
    "failovers",
    "servers",
    "standbys",
    "costs",
    "server-cpu",
    # Over time.
    "throughput",
    "waits",
    "events",
    "latency",
    "response-parts",
    # Over all transactions, then statement by statement.
    "heat-map",
    "percentiles",
    "locks",
    "statements",
    "slowest",
    "failures",
    # The conditions.
    "workers",
    "host",
    "server",
    "telemetry",
    "plan",
)


def all_sections() -> list[Section]:
    """Every section, in the order of the page."""
    names = (section_id.replace("-", "_") for section_id in PAGE_ORDER)
    return [import_module(f"dbdyno.report.sections.{name}").SECTION for name in names]
