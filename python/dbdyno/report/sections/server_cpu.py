"""Where the server's CPU time goes, per committed transaction: by process, subsystem, function."""

from collections.abc import Sequence
from functools import partial

from dbdyno.analysis.processor.subsystems import CLASSES, TITLES
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import NOTHING, milliseconds, percent
from dbdyno.model.record import ProcessorPart, RunRecord, ServerProfile
from dbdyno.model.run import Run
from dbdyno.report.charts.icicle import Icicle, IciclePart, draw_icicle
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.content import Block, Figure, Section, Table, Text

_SUBSYSTEMS_IN_SHORT = 6
_SHARE_MIN = 0.005
"""Of the server's CPU time: a subsystem of less is in the data, not in the table."""


def build(run: Run) -> Sequence[Block]:
    """The subsystems as a table; all of it as an icicle, with the functions as its data."""
    record = explained_record(run)
    counted = [_by_processes(record.server_processes)] if record.server_processes else []
    profile = record.server_profile
    if profile is None:
        return counted
    return [
        *counted,
        Text(text=_counted(profile)),
        _subsystems([one for one in profile.subsystems if one.share >= _SHARE_MIN]),
        _figure(profile),
    ]


def summary(record: RunRecord) -> Sequence[Block]:
    """The largest subsystems, in one line."""
    if record.server_profile is None:
        return []
    largest = record.server_profile.subsystems[:_SUBSYSTEMS_IN_SHORT]
    parts = ", ".join(f"{_title(part)} {milliseconds(part.us / 1e3)}" for part in largest)
    return [Text(text=f"Server CPU per transaction: {parts}.")]


def _counted(profile: ServerProfile) -> str:
    if profile.source == "cycles" and profile.counted_s is not None:
        return (
            "The processor's cycles were sampled, and shared out among the "
            f"{profile.counted_s:.1f} s of CPU time that the kernel counted."
        )
    sampled = f"{profile.sampled_s:.1f} s of CPU time were sampled"
    if profile.counted_s is None:
        return f"{sampled}; what the kernel counted is not known."
    part = percent(profile.sampled_s / profile.counted_s) if profile.counted_s else NOTHING
    return f"{sampled}: {part} of the {profile.counted_s:.1f} s that the kernel counted."


def _title(part: ProcessorPart) -> str:
    return TITLES.get(part.subsystem, part.subsystem)


def _processes(part: ProcessorPart) -> str:
    return CLASSES.get(part.processes, part.processes)


def _row(part: ProcessorPart, *names: str) -> tuple[str, ...]:
    interval = (
        NOTHING
        if part.low is None or part.high is None
        else f"{milliseconds(part.low / 1e3)} to {milliseconds(part.high / 1e3)}"
    )
    return (*names, milliseconds(part.us / 1e3), interval, percent(part.share))


_NUMBERS = ("Per transaction", "95 % interval within this run", "Share")


def _by_processes(parts: Sequence[ProcessorPart]) -> Table:
    return Table(
        caption="Server CPU time by processes, as the kernel counts it",
        columns=("Processes", *_NUMBERS),
        rows=[_row(part, _processes(part)) for part in parts],
        numeric=frozenset({1, 2, 3}),
    )


def _subsystems(parts: Sequence[ProcessorPart]) -> Table:
    return Table(
        caption="Server CPU time by subsystem",
        columns=("Processes", "Subsystem", *_NUMBERS),
        rows=[_row(part, _processes(part), _title(part)) for part in parts],
        numeric=frozenset({2, 3, 4}),
    )


def _functions(profile: ServerProfile) -> Table:
    return Table(
        caption="Server CPU time by function",
        columns=("Function", "In", "Subsystem", "Processes", *_NUMBERS),
        rows=[
            _row(part, part.function, part.file, _title(part), _processes(part))
            for part in profile.functions
        ],
        numeric=frozenset({4, 5, 6}),
        code=frozenset({0, 1}),
    )


def _figure(profile: ServerProfile) -> Figure:
    parts = [
        _part(
            whole,
            _processes(whole),
            [
                _part(
                    part,
                    _title(part),
                    [
                        _part(one, one.function)
                        for one in profile.functions
                        if (one.processes, one.subsystem) == (part.processes, part.subsystem)
                    ],
                )
                for part in profile.subsystems
                if part.processes == whole.processes
            ],
        )
        for whole in profile.processes
    ]
    icicle = Icicle(parts, levels=3)
    return Figure(
        id="server-cpu-chart",
        caption="Server CPU time: processes, their subsystems, and the functions of these. "
        "What is written below another is a part of it.",
        summary=" ".join(f"{part.name}: {part.text}." for part in parts),
        table=_functions(profile),
        svg=at_each_width(partial(draw_icicle, icicle)),
        shows=icicle,
    )


def _part(part: ProcessorPart, name: str, parts: Sequence[IciclePart] = ()) -> IciclePart:
    return IciclePart(name, part.us, f"{milliseconds(part.us / 1e3)}, {percent(part.share)}", parts)


SECTION = Section(id="server-cpu", title="Server CPU per transaction", build=build, summary=summary)
