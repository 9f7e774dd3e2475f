"""What reports say of findings as a whole: the same sentences on the page and in a terminal."""

from dbdyno.model.record import Finding, RunRecord
from dbdyno.report.words import percent

_CERTAINTY = {
    "sure": "sure: two kinds of evidence agree",
    "likely": "likely: one kind of evidence",
    "hint": "a hint",
}
_SHOWN_REMAINDER = 0.1
_NO_REMAINDER = 0.005

ALL_EXPLAINED = "The findings account for all of the clients’ time; their shares may overlap."


def is_grave(finding: Finding) -> bool:
    """Whether it says that something is in the way: all but notes."""
    return finding.severity != "note"


def bearing(finding: Finding) -> str:
    """How much the cause accounts for, and how sure that is."""
    certainty = _CERTAINTY[finding.certainty]
    if finding.share is None:
        return certainty[0].upper() + certainty[1:]
    return f"{percent(finding.share)} of {_of_what(finding)} · {certainty}"


def _of_what(finding: Finding) -> str:
    if finding.share_of == "client time":
        return "the clients’ time"
    return "the " + (finding.share_of or "run")


def clean_words(record: RunRecord) -> str:
    """What a run without a grave finding is told."""
    if len(record.not_looked) and not record.findings and record.unexplained is None:
        return "Nothing was found, but little could be looked at."
    return "Nothing above a note was found: no rule sees a cause that holds this run back."


def unexplained_words(record: RunRecord) -> str:
    """The remainder, when it is large enough to matter; nothing when it is not known."""
    if record.unexplained is None:
        return ""
    if record.unexplained < _NO_REMAINDER:
        return ALL_EXPLAINED if record.findings else ""
    share = percent(record.unexplained)
    if record.unexplained < _SHOWN_REMAINDER:
        return f"Of the clients’ time {share} is accounted for by no finding."
    return f"Not explained: {share} of the clients’ time is accounted for by no finding."
