"""How many threads are ready to run, on average."""

from dbdyno.host import files
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read the average of a minute."""
    text = files.text(f"{host.root}/proc/loadavg")
    return {"": {"ready": float(text.split()[0])}} if text else {}


SOURCE = HostSource(
    name="load_average",
    read=read,
    watches="threads that are ready to run, as an average of the last minute",
    objects="none: the host as a whole",
    counters=frozenset(),
    levels=frozenset({"ready"}),
    files="/proc/loadavg",
)
