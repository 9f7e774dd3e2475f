"""Which MySQL a private server can be made of."""

from pathlib import Path

from dbdyno.host.doctor import Finding, Probe
from dbdyno.host.server_binaries import newest


def look(_root: Path) -> Finding:
    """Looks in the distribution's folders and on PATH."""
    return newest("mysql")


PROBE = Probe(
    title="MySQL binaries",
    meaning="--server mysql starts a private server of its own.",
    look=look,
)
