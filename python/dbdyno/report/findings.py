"""What reports say of findings as a whole: the same sentences on the page and in a terminal."""

from dbdyno.explain.shares import share_words
from dbdyno.model.record import Finding, RunRecord

_CERTAINTY = {
    "sure": "sure: two kinds of evidence agree",
    "likely": "likely: one kind of evidence",
    "hint": "a hint",
}


def is_grave(finding: Finding) -> bool:
    """Whether it says that something is in the way: all but notes."""
    return finding.severity != "note"


def bearing(finding: Finding) -> str:
    """How much the cause accounts for, and how sure that is."""
    certainty = _CERTAINTY[finding.certainty]
    share = share_words(finding)
    return f"{share} · {certainty}" if share else certainty[0].upper() + certainty[1:]


def clean_words(record: RunRecord) -> str:
    """What a run without a grave finding is told."""
    if record.not_looked and record.unexplained is None:
        return "No finding above severity note, but some rules could not look."
    return "No finding above severity note: no rule sees a cause that limits this run."
