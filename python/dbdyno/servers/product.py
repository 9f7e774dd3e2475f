"""What dbdyno can start: the shape of ``PRODUCT``, and of a server's folder on the way to it.

Says nothing of processes: how a server is started, watched and ended is the same for all.
"""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct

from dbdyno.model.plan import Protocol
from dbdyno.servers.huge_pages import HugePages
from dbdyno.servers.placement import ANYWHERE, Placement
from dbdyno.servers.privileges import Identity
from dbdyno.servers.settings import Machine, Setting
from dbdyno.servers.spec import Kind, ServerSpec
from dbdyno.targets.connection import Connection

Origin = Literal["path", "local", "embedded", "maven"]


class Binaries(Struct, frozen=True):
    """The programs of one installation: the server, and what makes its data folder."""

    server: Path
    installer: Path
    version: str
    origin: Origin

    @property
    def folder(self) -> Path:
        """The folder that holds the server."""
        return self.server.parent

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version, to be compared: 10.11.6 comes before 11."""
        words = self.version.split("-")[0].split(".")
        return tuple(int(word) for word in words if word.isdecimal())

    @property
    def major(self) -> int:
        """The major version."""
        return self.numbers[0]


class Blueprint(Struct, frozen=True):
    """What a private server is to be: found and checked before anything is made."""

    product: "Product"
    place: Path
    binaries: Binaries
    settings: tuple[Setting, ...]
    tcp: bool
    identity: Identity
    placement: Placement = ANYWHERE


class Cluster(Struct, frozen=True):
    """One server's folder, laid out. ``password`` is for TCP; the socket needs none.

    ``data`` is the server's own folder; ``wal`` takes its log of changes where that is apart.
    """

    folder: Path
    socket_folder: Path
    data: Path
    wal: Path | None
    port: int
    password: str
    blueprint: Blueprint

    @property
    def log(self) -> Path:
        """What the installer and the server print."""
        return self.folder / "log.txt"

    @property
    def folders(self) -> list[Path]:
        """All that goes when the server goes."""
        elsewhere = [] if self.data.is_relative_to(self.folder) else [self.data]
        apart = [] if self.wal is None else [self.wal]
        return list(dict.fromkeys([self.folder, self.socket_folder, *elsewhere, *apart]))

    @property
    def wal_place(self) -> Path:
        """Where the log of changes lies."""
        return self.wal or self.data / self.blueprint.product.wal_folder

    @property
    def socket(self) -> Path:
        """Where it listens for its owner."""
        return self.socket_folder / self.blueprint.product.socket_name(self.port)

    @property
    def target(self) -> str:
        """How a control connection reaches it. Holds the password, if one is needed."""
        return self.blueprint.product.target(self)

    def commands(self) -> list[list[str]]:
        """The installer, then the server."""
        command = self.blueprint.identity.command
        return [command(*words) for words in self.blueprint.product.commands(self)]


@dataclass(frozen=True, kw_only=True)
class Product:
    """A server that dbdyno can start, and what differs from one such to the next.

    ``name`` stands after ``--server``. ``settings`` suit a machine and so many connections.
    ``configure`` writes the files that the commands name. ``failure_reason`` is the line of a log
    that says best why the server did not start. ``stop_signal`` is the quickest way to end it for
    good; nothing in its folder is read again. ``clean_signal`` lets it write all out, so that its
    data can be kept, and ``is_clean`` says whether it did. ``wal_folder`` in the data holds the
    log of changes under the names of ``wal_names``; ``shaping`` are the settings that the files
    are made for. ``warm`` reads tables into the caches, and says how.
    """

    name: Kind
    title: str
    protocol: Protocol
    stop_signal: signal.Signals
    clean_signal: signal.Signals
    wal_folder: str
    wal_names: tuple[str, ...]
    shaping: tuple[str, ...]
    huge_pages: HugePages
    find: Callable[[ServerSpec], Binaries]
    settings: Callable[[Machine, int, Binaries], Sequence[Setting]]
    check: Callable[[Binaries, Sequence[Setting]], None]
    socket_name: Callable[[int], str]
    configure: Callable[[Cluster], None]
    commands: Callable[[Cluster], list[list[object]]]
    target: Callable[[Cluster], str]
    is_ready: Callable[[Cluster, int], bool]
    is_clean: Callable[[Cluster], bool]
    failure_reason: Callable[[Sequence[str]], str | None]
    warm: Callable[[Connection, Sequence[str]], str]

    def shape_of(self, settings: Sequence[Setting]) -> dict[str, str]:
        """Those of the settings that the data files are made for."""
        return {s.name: s.value for s in settings if s.name in self.shaping}
