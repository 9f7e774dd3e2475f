"""Two profiles of the server's CPU time side by side: what takes more, what takes less."""

from collections.abc import Sequence
from functools import partial

from dbdyno.analysis.compare.profile_differences import (
    changed_texts,
    interval_text,
    processes_text,
    signed_text,
    subsystem_text,
    time_text,
)
from dbdyno.answers.answer import ProfileOf
from dbdyno.model.comparison import Comparison, ProfileDifference
from dbdyno.report.charts.icicle import Icicle, IciclePart, draw_icicle
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
    profile = ProfileOf(
        title="Server CPU time per transaction",
        after=comparison.after,
        subsystems=comparison.server_subsystems,
        functions=comparison.server_functions,
    )
    return [
        Text(text=_MEANING),
        _table("By subsystem", comparison.server_subsystems[:_ROWS_MAX]),
        _table("By function", comparison.server_functions[:_ROWS_MAX]),
        profile_figure(profile, "server-cpu-difference"),
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
                subsystem_text(part),
                processes_text(part),
                time_text(part.before_us),
                time_text(part.after_us),
                signed_text(part.difference_us),
                interval_text(part),
            )
            for part in parts
        ],
        numeric=frozenset(range(len(names) + 2, len(names) + 6)),
        code=frozenset({1}) if has_functions else frozenset(),
    )


def profile_figure(profile: ProfileOf, name: str) -> Figure:
    """As wide as the larger of both sides: what is gone is seen as well as what is new."""
    parts = [
        _part(
            whole,
            f"{subsystem_text(whole)} ({processes_text(whole)})",
            [
                _part(part, part.function)
                for part in profile.functions
                if (part.processes, part.subsystem) == (whole.processes, whole.subsystem)
            ],
        )
        for whole in sorted(profile.subsystems, key=_width, reverse=True)
    ]
    icicle = Icicle(parts, levels=2)
    changed = changed_texts(profile.subsystems, profile.functions)
    return Figure(
        id=name,
        caption=f"{profile.title}: subsystems, and below them the functions that changed most. "
        "Width: CPU time per transaction on the side that has more of it.",
        summary=f"Differs by more than chance: {'; '.join(changed) or 'nothing'}.",
        table=_table("By function", profile.functions),
        svg=at_each_width(partial(draw_icicle, icicle)),
        shows=icicle,
        key=[
            ("--red", f"more in {profile.after}"),
            ("--blue", f"less in {profile.after}"),
            ("--grey", "no difference beyond chance"),
        ],
    )


def _width(part: ProfileDifference) -> float:
    return max(part.before_us, part.after_us)


def _part(part: ProfileDifference, name: str, parts: Sequence[IciclePart] = ()) -> IciclePart:
    more = "red" if part.difference_us > 0 else "blue"
    text = f"{time_text(part.after_us)}, {signed_text(part.difference_us)}"
    return IciclePart(name, _width(part), text, parts, more if part.has_changed else "grey")
