"""The telemetry of the run: its level, its cost, and what could not be read."""

from collections.abc import Sequence

from dbdyno.formatting import count, milliseconds, percent, seconds, significant
from dbdyno.model.recording import rows
from dbdyno.report.content import Block, Facts, Section, Subject, Table


def build(subject: Subject) -> Sequence[Block]:
    """Nothing for a run of a version without telemetry."""
    facts = [Facts(pairs=_pairs(subject))] if subject.record.telemetry else []
    return [*facts, *_lacks(subject)]


def _pairs(subject: Subject) -> list[tuple[str, str]]:
    telemetry = subject.record.telemetry
    pairs = [("Level", str(telemetry.get("level", "")))]
    if telemetry.get("samples"):
        pairs.append(("Readings", count(telemetry["samples"])))
    if telemetry.get("waits_hz"):
        pairs.append(("Session samples", f"{significant(telemetry['waits_hz'])} per second"))
    if telemetry.get("locks_hz"):
        pairs.append(("Lock samples", f"{significant(telemetry['locks_hz'])} per second"))
    for field, title in (("cpu_us", "Own CPU time"), ("server_cpu_us", "Server CPU time caused")):
        if telemetry.get(field) is not None:
            pairs.append((title, _cpu_text(telemetry[field], telemetry.get("seconds"))))
    return pairs


def _cpu_text(cpu_us: float, over_s: float | None) -> str:
    share = f", {percent(cpu_us / 1e6 / over_s)} of a core" if over_s else ""
    return f"{milliseconds(cpu_us / 1000)}{share}"


def _lacks(subject: Subject) -> list[Table]:
    lacks = rows(subject.recording.tables["lacks"], ("time_s", "source", "reason"))
    if not lacks:
        return []
    return [
        Table(
            caption="Sources that could not be read",
            columns=("Since", "Source", "Why"),
            rows=[(seconds(time_s), source, reason) for time_s, source, reason in lacks],
            numeric=frozenset({0}),
            code=frozenset({1}),
        )
    ]


SECTION = Section(id="telemetry", title="Telemetry", order=95, build=build)
