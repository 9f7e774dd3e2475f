"""Shares in words: what a finding accounts for, and what none of them does.

The same sentences for terminals and pages.
"""

from dbdyno.model.record import Finding
from dbdyno.words import percent

_NO_REMAINDER = 0.005
_WHOLES = {
    "client time": "the clients' time",
    "lost throughput": "the lost throughput",
    "response time": "the response time",
}


def share_words(finding: Finding) -> str:
    """How much it accounts for; empty where that is not known, or nothing."""
    if not finding.share or not finding.share_of:
        return ""
    return f"{percent(finding.share)} of {_WHOLES[finding.share_of]}"


def remainder_words(unexplained: float | None) -> str:
    """The share of the clients' time that no finding accounts for."""
    if unexplained is None:
        return "Unexplained: not known, since the clients' sessions were not seen at the server."
    if unexplained < _NO_REMAINDER:
        return "Unexplained: nothing; the findings' shares of the clients' time may overlap."
    return f"Unexplained: {percent(unexplained)} of the clients' time; no finding accounts for it."
