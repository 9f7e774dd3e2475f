"""Findings that appeared or vanished: most runs of one side have them, few of the other."""

from collections.abc import Mapping, Sequence

from dbdyno.model.record import Finding, RunRecord, Severity

_ORDER: Mapping[Severity, int] = {"critical": 0, "major": 1, "minor": 2, "note": 3}
# What a finding may be about, by the names of its evidence.
_OBJECTS = ("table", "statement")
Key = tuple[str, str]
"""A rule, and the table or statement of which it speaks."""


def changed_findings(
    before: Sequence[RunRecord], after: Sequence[RunRecord], labels: tuple[str, str]
) -> list[str]:
    """One sentence for each, the most severe first."""
    first, second = _findings(before), _findings(after)
    found: list[tuple[int, str]] = []
    for own, runs, other, others, label in (
        (first, before, second, after, labels[0]),
        (second, after, first, before, labels[1]),
    ):
        for key, of_runs in own.items():
            if 2 * len(of_runs) > len(runs) and 2 * len(other.get(key, ())) < len(others):
                finding = of_runs[-1]
                share = "" if len(runs) == 1 else f" ({len(of_runs)} of {len(runs)} runs)"
                sentence = f"only in {label}{share}, {finding.severity}: {finding.summary}"
                found.append((_ORDER[finding.severity], sentence))
    return [sentence for _, sentence in sorted(found, key=lambda one: one[0])]


def _findings(runs: Sequence[RunRecord]) -> dict[Key, list[Finding]]:
    """The findings by rule and object, at most one of each in a run."""
    found: dict[Key, list[Finding]] = {}
    for run in runs:
        of_run = {}
        for finding in reversed(run.findings):
            named = (finding.evidence.get(name) for name in _OBJECTS)
            about = next((name for name in named if isinstance(name, str)), "")
            of_run[finding.id, about] = finding
        for key, finding in of_run.items():
            found.setdefault(key, []).append(finding)
    return found
