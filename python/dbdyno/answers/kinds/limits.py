"""What limited each point: the findings of its runs' own reports, the most severe first.

A study says which variant is better; the findings say what to look at to know why. A cause that
only some of a point's runs show is shown with their number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.answers.answer import Answer, Answered, TableOf, Trial, Trials
from dbdyno.answers.grouping import by_point, chosen, mean_of, point_cells, titles_of, varied
from dbdyno.explain.rule import SEVERITIES
from dbdyno.explain.shares import is_large_note, share_text
from dbdyno.formatting import NOTHING, percent
from dbdyno.model.record import Finding

SHOWN = 2
"""Causes of a point. All of them, with their evidence, are in the reports of its runs."""
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
    factors = varied(trials, among)
    return Answered(
        claims=[],
        shown=[
            TableOf(
                title="The most severe causes of every point",
                columns=(*titles_of(trials, factors), "most severe", "next", "unexplained"),
                rows=[
                    (*point_cells(point, factors), *_cells(runs))
                    for point, runs in by_point(among).items()
                ],
                numeric=frozenset({len(factors) + SHOWN}),
                note=NOTE,
            )
        ],
    )


def _cells(runs: Sequence[Trial]) -> Sequence[str]:
    texts = [cause.text for cause in causes(runs)[:SHOWN]] or ["none above severity note"]
    left = mean_of(runs, lambda trial: trial.record.unexplained)
    unexplained = NOTHING if left is None else percent(left)
    return [*texts, *[NOTHING] * (SHOWN - len(texts)), unexplained]


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
