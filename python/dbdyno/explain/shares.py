"""Shares as text: what a finding accounts for, and what no finding does.

The same sentences for terminals and pages.
"""

from dbdyno.formatting import percent
from dbdyno.model.record import Finding

_NO_REMAINDER = 0.005
_WHOLES = {
    "client time": "client time",
    "lost throughput": "the lost throughput",
    "response time": "response time",
}


def share_text(finding: Finding) -> str:
    """The share that it accounts for; empty if that is not known, or 0."""
    if not finding.share or not finding.share_of:
        return ""
    return f"{percent(finding.share)} of {_WHOLES[finding.share_of]}"


def remainder_text(unexplained: float | None) -> str:
    """The share of client time that no finding accounts for."""
    if unexplained is None:
        return "Unexplained: not known, because the clients' sessions were not sampled."
    if unexplained < _NO_REMAINDER:
        return "Unexplained: nothing; the findings' shares of client time may overlap."
    return f"Unexplained: {percent(unexplained)} of client time; no finding accounts for it."
