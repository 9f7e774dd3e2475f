"""Two profiles of the server's CPU time side by side: what takes more, what takes less."""

from collections.abc import Sequence
from functools import partial

from dbdyno.analysis.processor.subsystems import CLASSES, TITLES
from dbdyno.formatting import NOTHING, milliseconds
from dbdyno.model.comparison import Comparison, ProfileDifference
from dbdyno.report.charts.icicle import IciclePart, draw_icicle
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.content import Block, Figure, Table, Text

_ROWS_MAX = 15
_MEANING = (
    "CPU time per transaction, after less before, with its 95 % interval between runs; * marks "
    "what differs by more than chance, judged with all others of its table (Holm)."
)


def profile_blocks(comparison: Comparison) -> list[Block]:
    """Both tables, and an icicle that is coloured by what changed; nothing without profiles."""
    if not comparison.server_subsystems:
        return []
    return [
        Text(text=_MEANING),
        _table("By subsystem", comparison.server_subsystems[:_ROWS_MAX]),
        _table("By function", comparison.server_functions[:_ROWS_MAX]),
        _figure(comparison),
    ]


def _table(caption: str, parts: Sequence[ProfileDifference]) -> Table:
    has_functions = any(part.function for part in parts)
    names = ("Function", "Subsystem") if has_functions else ("Subsystem",)
    return Table(
        caption=caption,
        columns=("", *names, "Processes", "Before", "After", "Difference", "95 % interval"),
        rows=[
            (
                "*" if part.has_changed else "",
                *((part.function,) if has_functions else ()),
                _title(part),
                _processes(part),
                milliseconds(part.before_us / 1e3),
                milliseconds(part.after_us / 1e3),
                signed(part.difference_us),
                _interval(part),
            )
            for part in parts
        ],
        numeric=frozenset(range(len(names) + 2, len(names) + 6)),
        code=frozenset({1}) if has_functions else frozenset(),
    )


def signed(us: float) -> str:
    """A difference of times, with its sign."""
    return f"{'+' if us > 0 else '−' if us < 0 else ''}{milliseconds(abs(us) / 1e3)}"


def _interval(part: ProfileDifference) -> str:
    if part.low_us is None or part.high_us is None:
        return NOTHING
    return f"{signed(part.low_us)} to {signed(part.high_us)}"


def _title(part: ProfileDifference) -> str:
    return TITLES.get(part.subsystem, part.subsystem)


def _processes(part: ProfileDifference) -> str:
    return CLASSES.get(part.processes, part.processes)


def _figure(comparison: Comparison) -> Figure:
    """As wide as the larger of both sides: what is gone is seen as well as what is new."""
    functions = comparison.server_functions
    parts = [
        _part(
            whole,
            f"{_title(whole)} ({_processes(whole)})",
            [
                _part(part, part.function)
                for part in functions
                if (part.processes, part.subsystem) == (whole.processes, whole.subsystem)
            ],
        )
        for whole in sorted(comparison.server_subsystems, key=_width, reverse=True)
    ]
    return Figure(
        id="server-cpu-difference",
        caption="Subsystems, and below them the functions that changed most. Width: CPU time per "
        "transaction on the side that has more of it.",
        summary=_MEANING,
        table=_table("By function", functions),
        svg=at_each_width(partial(draw_icicle, parts, 2)),
        key=[
            ("--red", f"more in {comparison.after}"),
            ("--blue", f"less in {comparison.after}"),
            ("--grey", "no difference beyond chance"),
        ],
    )


def _width(part: ProfileDifference) -> float:
    return max(part.before_us, part.after_us)


def _part(part: ProfileDifference, name: str, parts: Sequence[IciclePart] = ()) -> IciclePart:
    more = "red" if part.difference_us > 0 else "blue"
    text = f"{milliseconds(part.after_us / 1e3)}, {signed(part.difference_us)}"
    return IciclePart(name, _width(part), text, parts, more if part.has_changed else "grey")
