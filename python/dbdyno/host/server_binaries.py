"""Which installation of a server ``--server KIND`` would take here.

A kind that is not there is worth knowing, and no fault of the machine.
"""

from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Finding, Probe
from dbdyno.servers.products import product_of
from dbdyno.servers.spec import Kind, ServerSpec


def newest(kind: Kind) -> Finding:
    """The newest, or why there is none and how to come by one."""
    try:
        binaries = product_of(kind).find(ServerSpec(kind=kind))
    except DbdynoError as error:
        return Finding(level="note", found=error.message, mend=f"To have one: {error.hint}.")
    return Finding(level="ok", found=f"{binaries.version} ({binaries.origin}: {binaries.folder})")


def probe_of(kind: Kind) -> Probe:
    """The probe for servers of this kind: in the distribution's folders and on PATH."""
    return Probe(
        title=f"{product_of(kind).title} binaries",
        meaning=f"--server {kind} starts a private server.",
        look=lambda _root: newest(kind),
    )
