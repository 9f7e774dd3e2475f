"""The telemetry of the run: its level, its cost, and what could not be read."""

from collections.abc import Sequence

from dbdyno.explain.explain import explained_record
from dbdyno.formatting import count, milliseconds, percent, seconds, significant
from dbdyno.model.run import Run
from dbdyno.model.tables import rows
from dbdyno.report.content import Block, Facts, Section, Table


def build(run: Run) -> Sequence[Block]:
    """Nothing for a run of a version without telemetry."""
    telemetry, blocks = explained_record(run).telemetry, list[Block]()
    if telemetry:
        pairs = [("Level", str(telemetry.get("level", "")))]
        if telemetry.get("samples"):
            pairs.append(("Readings", count(telemetry["samples"])))
        for field, title in (("waits_hz", "Session samples"), ("locks_hz", "Lock samples")):
            if telemetry.get(field):
                pairs.append((title, f"{significant(telemetry[field])} per second"))
        for field, title in (
            ("cpu_us", "Own CPU time"),
            ("server_cpu_us", "Server CPU time caused"),
        ):
            if (cpu_us := telemetry.get(field)) is not None:
                over_s = telemetry.get("seconds")
                share = f", {percent(cpu_us / 1e6 / over_s)} of a core" if over_s else ""
                pairs.append((title, f"{milliseconds(cpu_us / 1000)}{share}"))
        blocks.append(Facts(pairs=pairs))
    if lacks := rows(run.lacks.time_s, run.lacks.source, run.lacks.reason):
        table = Table(
            caption="Sources that could not be read",
            columns=("Since", "Source", "Why"),
            rows=[(seconds(time_s), source, reason) for time_s, source, reason in lacks],
            numeric=frozenset({0}),
            code=frozenset({1}),
        )
        blocks.append(table)
    return blocks


SECTION = Section(id="telemetry", title="Telemetry", build=build)
