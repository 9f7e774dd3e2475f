"""What limited each point: the findings of its runs' own reports, the most severe first.

A study says which variant is better; the findings say what to look at to know why. A cause that
only some of a point's runs show is shown with their number.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.answers.answer import Answer, Answered, Trial, Trials
from dbdyno.answers.grouping import chosen
from dbdyno.answers.measuring import mean_of
from dbdyno.answers.tables import Points, or_nothing
from dbdyno.explain.rule import SEVERITIES
from dbdyno.explain.shares import is_large_note, share_text
from dbdyno.formatting import NOTHING, percent
from dbdyno.model.record import Finding

NOTE = (
    "Severe causes come before mild ones, as in the report of each run, which has the evidence; "
    "shares are means over the runs that show the cause. A note is what normally limits such a "
    "load. Unexplained is the share of client time that no finding accounts for."
)


class _Cause(Struct, frozen=True):
    """A finding of some of the runs of a point."""

    findings: Sequence[Finding]
    runs: int

    @property
    def weight(self) -> tuple[int, float]:
        """Sort key: severity in all runs together, then share."""
        gravity = sum(SEVERITIES.index(found.severity) for found in self.findings)
        return gravity, sum(found.share or 0.0 for found in self.findings)

    @property
    def text(self) -> str:
        """``Row-lock convoy (72 % of client time, 2 of 3 runs)``."""
        first = self.findings[0]
        mean = sum(found.share or 0.0 for found in self.findings) / len(self.findings)
        seen = len(self.findings)
        parts = (
            share_text(replace(first, share=mean)),
            "a note" if all(found.severity == "note" for found in self.findings) else "",
            f"{seen} of {self.runs} runs" if seen < self.runs else "",
        )
        more = ", ".join(filter(None, parts))
        return f"{first.title} ({more})" if more else first.title


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each point."""
    among = chosen(trials, options.get("at"))
    if all(trial.record.unexplained is None and not trial.record.findings for trial in among):
        return Answered(claims=[], missing="the runs were not explained: telemetry was off")
    points = Points(trials, among)

    def cause(place: int) -> Callable[[Sequence[Trial]], str]:
        nothing = NOTHING if place else "none above severity note"
        return lambda runs: next((one.text for one in causes(runs)[place:]), nothing)

    shown = points.table(
        "The most severe causes of every point",
        points.runs,
        {
            "most severe": cause(0),
            "next": cause(1),
            "unexplained": lambda runs: or_nothing(
                mean_of(runs, lambda trial: trial.record.unexplained), percent
            ),
        },
        texts=("most severe", "next"),
        note=NOTE,
    )
    return Answered(claims=[], shown=[shown])


def causes(runs: Sequence[Trial]) -> list[_Cause]:
    """What limited these runs, the most severe first; notes only if they account for much."""
    found: dict[str, list[Finding]] = {}
    for finding in (finding for trial in runs for finding in trial.record.findings):
        if finding.severity != "note" or is_large_note(finding):
            found.setdefault(finding.id, []).append(finding)
    named = [_Cause(findings, len(runs)) for findings in found.values()]
    return sorted(named, key=lambda cause: cause.weight, reverse=True)


ANSWER = Answer(
    id="limits",
    title="What limited the runs",
    options={"at": "levels of factors to select runs; default: all runs"},
    judges=False,
    answer=answer,
)
