"""The server a command works on: one that exists, one that is kept, or a private one of its own."""

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Protocol
from dbdyno.run.options import TargetOptions
from dbdyno.servers import connecting
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.kept import find_kept, product_of_kept
from dbdyno.servers.private import start_private
from dbdyno.servers.products import product_of
from dbdyno.servers.spec import ServerSpec, kind_of, parse_spec

# Control connections and those that servers reserve, beside the clients.
CONNECTIONS_SPARE = 10


def open_server(options: TargetOptions, clients: int) -> Server:
    """A server that answers; a context manager that stops what this command started."""
    if options.target is not None:
        return use_existing(options.target)
    if _is_kept(options):
        return _kept(options)
    return start_private(spec_of(options), connections=clients + CONNECTIONS_SPARE)


def protocol_of(options: TargetOptions) -> Protocol:
    """What the server will speak, before there is one."""
    if options.target is not None:
        return connecting.protocol_of(options.target)
    if options.server is not None and _is_kept(options):
        return product_of_kept(options.server).protocol
    return product_of(spec_of(options).kind).protocol


def is_passing(options: TargetOptions) -> bool:
    """Whether the server would be gone, with its data, when the command ends."""
    return options.target is None and not _is_kept(options)


def _is_kept(options: TargetOptions) -> bool:
    """Whether ``--server`` is the name of one that is kept, and not a kind of server."""
    return options.server is not None and kind_of(options.server) is None


def spec_of(options: TargetOptions) -> ServerSpec:
    """The private server that is asked for."""
    spec = parse_spec(options.server) if options.server is not None else ServerSpec()
    return spec.with_settings(dict(options.settings)).with_durability(options.durability)


def _kept(options: TargetOptions) -> Server:
    assert options.server is not None
    given = {"--set": options.settings, "--durability": options.durability}
    for flag, value in given.items():
        if value:
            raise DbdynoError(
                code="usage",
                message=f"{flag} cannot change {options.server}, which is running already",
                hint="Give it to dbdyno server start.",
            )
    return find_kept(options.server)
