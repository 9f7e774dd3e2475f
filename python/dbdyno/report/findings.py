"""Sentences about findings, shared by the page and the terminal."""

from dbdyno.explain.shares import main_note, share_text
from dbdyno.model.record import Finding, RunRecord

_CERTAINTY = {
    "sure": "sure: two kinds of evidence agree",
    "likely": "likely: one kind of evidence",
    "hint": "a hint",
}


def is_grave(finding: Finding) -> bool:
    """Whether it reports a problem: everything but notes."""
    return finding.severity != "note"


def bearing(finding: Finding) -> str:
    """How much the cause accounts for, and how certain that is."""
    certainty = _CERTAINTY[finding.certainty]
    share = share_text(finding)
    return f"{share} · {certainty}" if share else certainty[0].upper() + certainty[1:]


def clean_text(record: RunRecord) -> str:
    """The sentence for a run without a grave finding."""
    if record.not_looked and record.unexplained is None:
        return "No finding above severity note, but some rules could not look."
    if note := main_note(record.findings):
        return f"No finding above severity note; the largest: {note.title}. {note.summary}"
    return "No finding above severity note: no rule sees a cause that limits this run."
