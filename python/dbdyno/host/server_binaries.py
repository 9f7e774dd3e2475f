"""Which installation of a server ``--server KIND`` would use here.

A missing one is worth knowing, but not a problem of the host.
"""

from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Probe, ProbeResult
from dbdyno.servers.products import product_of
from dbdyno.servers.spec import Kind, ServerSpec


def newest(kind: Kind) -> ProbeResult:
    """Return the newest installation, or why there is none and how to install one."""
    try:
        binaries = product_of(kind).find(ServerSpec(kind=kind))
    except DbdynoError as error:
        return ProbeResult(level="note", found=error.message, remedy=f"To have one: {error.hint}.")
    return ProbeResult(
        level="ok", found=f"{binaries.version} ({binaries.origin}: {binaries.folder})"
    )


def probe_of(kind: Kind) -> Probe:
    """Return the probe for this kind: it searches the distribution's folders and PATH."""
    return Probe(
        title=f"{product_of(kind).title} binaries",
        meaning=f"Only runs with --server {kind} need them.",
        check=lambda _root: newest(kind),
    )
