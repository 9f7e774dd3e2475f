"""The server a command uses: an existing one, a kept one, or a private one of its own."""

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Protocol
from dbdyno.run.options import PlacementOptions, RunOptions, TargetOptions
from dbdyno.servers import connecting
from dbdyno.servers.base import Server
from dbdyno.servers.data_sets import DataSet
from dbdyno.servers.existing import use_existing
from dbdyno.servers.kept import find_kept, product_of_kept
from dbdyno.servers.placement import ANYWHERE, Placement
from dbdyno.servers.private import start_private
from dbdyno.servers.products import product_of
from dbdyno.servers.spec import ServerSpec, kind_of, parse_spec
from dbdyno.store.secrets import without_password

# Control connections, and connections that servers reserve, in addition to the clients.
CONNECTIONS_SPARE = 10


def open_server(options: TargetOptions, clients: int, data: DataSet | None = None) -> Server:
    """Return a running server; a context manager that stops what this command started.

    A private server starts on a copy of ``data``, if given.
    """
    placement = placement_of(options) if isinstance(options, RunOptions) else ANYWHERE
    if not is_passing(options):
        _refuse_placement(placement, options)
    if options.further_targets and options.target is None:
        raise DbdynoError(
            code="usage",
            message="--further-target needs a --target",
            hint="Give the first server, which is observed, as --target.",
        )
    if options.target is not None:
        return use_existing(options.target, options.further_targets)
    if _is_kept(options):
        return _kept(options)
    connections = clients + CONNECTIONS_SPARE
    return start_private(spec_of(options), connections, data=data, placement=placement)


def protocol_of(options: TargetOptions) -> Protocol:
    """Return the protocol that the server will speak, before there is one."""
    if options.target is not None:
        return connecting.protocol_of(options.target)
    if options.server is not None and _is_kept(options):
        return product_of_kept(options.server).protocol
    return product_of(spec_of(options).kind).protocol


def is_passing(options: TargetOptions) -> bool:
    """Whether the server disappears, with its data, when the command ends."""
    return options.target is None and not _is_kept(options)


def refuse_passing_server(options: TargetOptions, doing: str) -> None:
    """Refuse a private server: it would disappear with its data when the command ends."""
    if is_passing(options):
        raise DbdynoError(
            code="usage",
            message=f"{doing} needs a database that keeps running",
            hint="Give --target URL, or --server NAME of a kept server (dbdyno server start).",
        )


def _is_kept(options: TargetOptions) -> bool:
    """Whether ``--server`` names a kept server, and not a kind of server."""
    return options.server is not None and kind_of(options.server) is None


def spec_of(options: TargetOptions) -> ServerSpec:
    """Return the private server that the options request."""
    spec = parse_spec(options.server) if options.server is not None else ServerSpec()
    return spec.with_settings(dict(options.settings)).with_durability(options.durability)


def placement_of(options: PlacementOptions) -> Placement:
    """Return the placement of a private server."""
    return Placement(
        numa=options.numa,
        server_cpus=options.server_cpus,
        server_cores=options.server_cores,
        server_memory_bytes=options.server_memory_bytes,
        data_folder=options.data_folder,
        wal_folder=options.wal_folder,
    )


def _refuse_placement(placement: Placement, options: TargetOptions) -> None:
    """Refuse placement options for a server that is already running."""
    if placement == ANYWHERE:
        return
    requested = ", ".join(placement.as_options())
    raise DbdynoError(
        code="usage",
        message=f"{without_password(options.target or options.server or '')} is already running "
        f"and cannot be placed ({requested})",
        hint="Placement is only for new private servers. --engine-cpus, which places the load "
        "generator, works with any target.",
    )


def _kept(options: TargetOptions) -> Server:
    assert options.server is not None
    given = {"--set": options.settings, "--durability": options.durability}
    for flag, value in given.items():
        if value:
            raise DbdynoError(
                code="usage",
                message=f"{flag} cannot change {options.server}, which is already running",
                hint="Give it to dbdyno server start.",
            )
    return find_kept(options.server)
