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
from dbdyno.servers.privileges import Identity
from dbdyno.servers.settings import Machine, Setting
from dbdyno.servers.spec import Kind, ServerSpec

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


class Cluster(Struct, frozen=True):
    """One server's folder, laid out. ``password`` is for TCP; the socket needs none."""

    folder: Path
    socket_folder: Path
    port: int
    password: str
    blueprint: Blueprint

    @property
    def data(self) -> Path:
        """The server's own folder."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What the installer and the server print."""
        return self.folder / "log.txt"

    @property
    def folders(self) -> list[Path]:
        """All that goes when the server goes."""
        return list(dict.fromkeys([self.folder, self.socket_folder]))

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
    that says best why the server did not start. ``stop_signal`` is the quickest way
    to end it for good; nothing in its folder is read again.
    """

    name: Kind
    title: str
    protocol: Protocol
    stop_signal: signal.Signals
    find: Callable[[ServerSpec], Binaries]
    settings: Callable[[Machine, int, Binaries], Sequence[Setting]]
    check: Callable[[Binaries, Sequence[Setting]], None]
    socket_name: Callable[[int], str]
    configure: Callable[[Cluster], None]
    commands: Callable[[Cluster], list[list[object]]]
    target: Callable[[Cluster], str]
    is_ready: Callable[[Cluster, int], bool]
    failure_reason: Callable[[Sequence[str]], str | None]
