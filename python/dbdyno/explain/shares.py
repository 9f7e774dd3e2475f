"""Shares as text: what a finding accounts for, and what no finding does.

The same sentences for terminals and pages.
"""

from collections.abc import Mapping, Sequence

from dbdyno.explain.rule import NOTICED
from dbdyno.formatting import percent
from dbdyno.model.record import Finding

MUCH = 0.1
"""Of client time: a part of which a summary speaks."""
_NO_REMAINDER = 0.005
_WHOLES = {
    "client time": "client time",
    "lost throughput": "the lost throughput",
    "response time": "response time",
}

_KINDS = {
    "cpu": "the server at work on a CPU",
    "cpu_queue": "the server waiting for a CPU",
    "active": "the server at work, or waiting without saying for what",
    "lock": "waiting for locks",
    "lwlock": "waiting for the server's internal locks",
    "io": "reading or writing data",
    "wal": "writing or flushing the log",
    "client_or_network": "on the way between client and server",
    "other_wait": "other waits in the server",
    "unconnected": "without a connection",
    "not_seen": "seen by no sample",
}


def share_text(finding: Finding) -> str:
    """The share that it accounts for; empty if that is not known, or 0."""
    if not finding.share or not finding.share_of:
        return ""
    return f"{percent(finding.share)} of {_WHOLES[finding.share_of]}"


def is_large_note(finding: Finding) -> bool:
    """Whether it names a normal limit of the load that accounts for much of client time.

    What is normal is a note, however much time it takes.
    """
    is_of_clients = finding.severity == "note" and finding.share_of == "client time"
    return is_of_clients and (finding.share or 0.0) >= MUCH


def main_note(findings: Sequence[Finding]) -> Finding | None:
    """The note that accounts for most of client time, if it accounts for much of it."""
    notes = filter(is_large_note, findings)
    return max(notes, key=lambda note: note.share or 0.0, default=None)


def remainder_text(unexplained: float | None, parts: Mapping[str, float]) -> str:
    """The share of client time that no finding accounts for; if it is large, what it was.

    What clients waited for is known even where the cause is not.
    """
    if unexplained is None:
        return "Unexplained: not known, because the clients' sessions were not sampled."
    if unexplained < _NO_REMAINDER:
        return "Unexplained: nothing; the findings' shares of client time may overlap."
    known = [
        (share, _KINDS.get(kind, kind))
        for kind, share in parts.items()
        if share >= NOTICED and unexplained >= MUCH
    ]
    return (
        f"Unexplained: {percent(unexplained)} of client time; no finding accounts for it"
        f"{': ' if known else ''}{_parts_text(known, unexplained)}."
    )


def _parts_text(known: Sequence[tuple[float, str]], whole: float) -> str:
    """The parts with their shares; a single one that is the whole needs no share again."""
    if len(known) == 1 and percent(known[0][0]) == percent(whole):
        return known[0][1]
    return ", ".join(f"{percent(share)} {kind}" for share, kind in known)
