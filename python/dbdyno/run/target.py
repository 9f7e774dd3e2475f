"""The server a command works on: one that exists, one that is kept, or a private one of its own."""

from dbdyno.errors import DbdynoError
from dbdyno.run.options import TargetOptions
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.kept import find_kept
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import KINDS, ServerSpec, parse_spec

# Control connections and superuser_reserved_connections, beside the clients.
CONNECTIONS_SPARE = 10


def open_server(options: TargetOptions, clients: int) -> Server:
    """A server that answers; a context manager that stops what this command started."""
    if options.target is not None:
        return use_existing(options.target)
    if options.server is not None and not names_a_kind(options.server):
        return _kept(options)
    spec = parse_spec(options.server) if options.server is not None else ServerSpec()
    return start_private(
        spec.with_settings(dict(options.settings)), connections=clients + CONNECTIONS_SPARE
    )


def names_a_kind(text: str) -> bool:
    """Whether ``--server`` asks for a new server, and not for one that is kept by this name."""
    return text.partition(",")[0].partition(":")[0] in KINDS


def _kept(options: TargetOptions) -> Server:
    if options.settings:
        raise DbdynoError(
            code="usage",
            message=f"--set cannot change {options.server}, which is running already",
            hint="Give the settings to dbdyno server start.",
        )
    assert options.server is not None
    return find_kept(options.server)
