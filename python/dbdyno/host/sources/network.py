"""Network traffic, as far as this container sees it."""

from dbdyno.host import files
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers

# Positions after the interface's name in /proc/net/dev.
_PLACES = {"received_bytes": 0, "received_packets": 1, "sent_bytes": 8, "sent_packets": 9}


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read each interface; retransmits are counted for all of them together."""
    interfaces = files.keyed(files.text(f"{host.root}/proc/net/dev") or "")
    rows = {name: row.split() for name, row in interfaces.items() if "|" not in name}
    numbers: dict[str, Numbers] = {
        name: {column: int(row[place]) for column, place in _PLACES.items()}
        for name, row in rows.items()
    }
    if (again := _retransmits(files.text(f"{host.root}/proc/net/snmp") or "")) is not None:
        numbers[""] = {"retransmits": again}
    return numbers


def _retransmits(snmp: str) -> int | None:
    """Parse the two lines that begin with ``Tcp:``: names, then values."""
    lines = [line.split() for line in snmp.splitlines() if line.startswith("Tcp:")]
    if len(lines) != 2:
        return None
    found = dict(zip(*lines, strict=False)).get("RetransSegs")
    return None if found is None else int(found)


SOURCE = HostSource(
    name="network",
    read=read,
    watches="bytes and packets of each interface; retransmitted TCP segments",
    objects="the interface; empty for TCP as a whole",
    counters=frozenset({*_PLACES, "retransmits"}),
    files="/proc/net/dev, /proc/net/snmp",
)
