"""The server a command uses: an existing one, a kept one, or a new private one.

Options are parsed into this choice once, before there is a server; everything after asks it.
"""

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from dbdyno.databases import connecting
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Protocol
from dbdyno.run.options.run_options import RunOptions
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.kept import find_kept, product_of_kept
from dbdyno.servers.placement import ANYWHERE, Placement
from dbdyno.servers.private import start_private
from dbdyno.servers.product import product_of
from dbdyno.servers.spec import ServerSpec, kind_of, parse_spec
from dbdyno.store.secrets import without_password

# Control connections, and connections that servers reserve, in addition to the clients.
CONNECTIONS_SPARE = 10


@dataclass(frozen=True)
class Existing:
    """A server that others run; the load is spread over it and further ones with its login."""

    url: str = field(repr=False)  # may contain a password
    further: tuple[str, ...] = field(default=(), repr=False)
    is_passing: ClassVar[bool] = False

    @property
    def protocol(self) -> Protocol:
        """The protocol that it speaks."""
        return connecting.protocol_of(self.url)

    def open(self, _clients: int) -> Server:
        """Return the running server; a context manager that leaves it running."""
        return use_existing(self.url, self.further)


@dataclass(frozen=True)
class Kept:
    """A server that ``dbdyno server start`` has started under this name."""

    name: str
    is_passing: ClassVar[bool] = False

    @property
    def protocol(self) -> Protocol:
        """The protocol that it speaks; refused if there is none of this name."""
        return product_of_kept(self.name).protocol

    def open(self, _clients: int) -> Server:
        """Return the running server; a context manager that leaves it running."""
        return find_kept(self.name)


@dataclass(frozen=True)
class New:
    """A private server, which disappears with its data when the command ends."""

    spec: ServerSpec
    placement: Placement = ANYWHERE
    is_passing: ClassVar[bool] = True

    @property
    def protocol(self) -> Protocol:
        """The protocol that it will speak."""
        return product_of(self.spec.kind).protocol

    def open(self, clients: int) -> Server:
        """Start it for so many clients; a context manager that stops it."""
        return start_private(self.spec, clients + CONNECTIONS_SPARE, placement=self.placement)


ServerChoice: TypeAlias = Existing | Kept | New


def choose_server(options: RunOptions) -> ServerChoice:
    """Return the server that the options choose; refuse what is only for another choice."""
    placement = Placement(
        numa=options.numa,
        server_cpus=options.server_cpus,
        server_cores=options.server_cores,
        server_memory_bytes=options.server_memory_bytes,
        data_folder=options.data_folder,
        wal_folder=options.wal_folder,
    )
    if options.target is not None:
        _refuse_placement(placement, options.target)
        return Existing(options.target, options.further_targets)
    if options.further_targets:
        raise DbdynoError(
            code="usage",
            message="--further-target needs a --target",
            hint="Give the first server, which is observed, as --target.",
        )
    if options.server is not None and kind_of(options.server) is None:
        _refuse_placement(placement, options.server)
        _refuse_settings(options, options.server)
        return Kept(options.server)
    spec = parse_spec(options.server) if options.server is not None else ServerSpec()
    spec = spec.with_settings(dict(options.settings)).with_durability(options.durability)
    return New(spec, placement)


def refuse_passing_server(server: ServerChoice, doing: str) -> None:
    """Refuse a private server: it would disappear with its data when the command ends."""
    if server.is_passing:
        raise DbdynoError(
            code="usage",
            message=f"{doing} needs a database that keeps running",
            hint="Give --target URL, or --server NAME of a kept server (dbdyno server start).",
        )


def _refuse_placement(placement: Placement, running: str) -> None:
    """Refuse placement options for a server that is already running."""
    if placement == ANYWHERE:
        return
    requested = ", ".join(placement.as_options())
    raise DbdynoError(
        code="usage",
        message=f"{without_password(running)} is already running "
        f"and cannot be placed ({requested})",
        hint="Placement is only for new private servers. --engine-cpus, which places the load "
        "generator, works with any target.",
    )


def _refuse_settings(options: RunOptions, name: str) -> None:
    """Refuse settings for a kept server."""
    given = {"--set": options.settings, "--durability": options.durability}
    for flag, value in given.items():
        if value:
            raise DbdynoError(
                code="usage",
                message=f"{flag} cannot change {name}, which is already running",
                hint="Give it to dbdyno server start.",
            )
