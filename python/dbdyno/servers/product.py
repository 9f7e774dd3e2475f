"""What dbdyno can start: the type of ``PRODUCT``, and of a server's folder during its creation.

Knows nothing about processes: all servers are started, monitored and stopped in the same way.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from msgspec import Struct

from dbdyno.databases.connection import Connection
from dbdyno.databases.durability import meaning
from dbdyno.databases.known import startable
from dbdyno.errors import DbdynoError
from dbdyno.model.database import Database, Promise
from dbdyno.model.plan import Protocol
from dbdyno.servers.huge_pages import HugePages
from dbdyno.servers.placement import ANYWHERE, Placement
from dbdyno.servers.privileges import Identity
from dbdyno.servers.settings import Machine, Setting
from dbdyno.servers.spec import EXAMPLE, Kind, ServerSpec

Origin = Literal["path", "local", "embedded", "maven"]


class Binaries(Struct, frozen=True):
    """The programs of one installation: the server, and the one that creates its data folder."""

    server: Path
    installer: Path
    version: str
    origin: Origin

    @property
    def folder(self) -> Path:
        """The folder that contains the server."""
        return self.server.parent

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers, for comparison: 10.11.6 is less than 11."""
        numbers = self.version.split("-")[0].split(".")
        return tuple(int(number) for number in numbers if number.isdecimal())

    @property
    def major(self) -> int:
        """The major version."""
        return self.numbers[0]


def reported_version(program: Path, pattern: re.Pattern[str], *options: str) -> re.Match[str]:
    """Return the match of the pattern in the version output; raise an error if it does not run."""
    try:
        command = [str(program), *options, "--version"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        why = error.strerror or str(error)
    else:
        if match := pattern.search(result.stdout):
            return match
        why = (result.stderr or result.stdout).strip() or f"exit {result.returncode}"
    raise DbdynoError("bad_binaries", f"{program} does not run: {why}", "name another path")


class Blueprint(Struct, frozen=True):
    """The specification of a private server: found and checked before anything is created."""

    product: "Product"
    place: Path
    binaries: Binaries
    settings: tuple[Setting, ...]
    tcp: bool
    identity: Identity
    placement: Placement = ANYWHERE
    standbys: int = 0
    """How many servers will follow it."""
    primary: "Cluster | None" = None
    """The server that a standby follows; None if it is none."""
    number: int = 0
    """Which standby it is, from 1; 0 if it is none."""


class Cluster(Struct, frozen=True):
    """One server's folder. ``password`` is for TCP; the socket needs none.

    ``data`` is the server's own folder; ``wal`` contains its WAL or redo log if that is elsewhere.
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
        """The output of the installer and the server."""
        return self.folder / "log.txt"

    @property
    def folders(self) -> list[Path]:
        """All folders that are removed with the server."""
        elsewhere = [] if self.data.is_relative_to(self.folder) else [self.data]
        apart = [] if self.wal is None else [self.wal]
        return list(dict.fromkeys([self.folder, self.socket_folder, *elsewhere, *apart]))

    @property
    def wal_place(self) -> Path:
        """The folder of the WAL or redo log."""
        return self.wal or self.data / self.blueprint.product.wal_folder

    @property
    def socket(self) -> Path:
        """The socket on which it listens for its owner."""
        return self.socket_folder / self.blueprint.product.socket_name(self.port)

    @property
    def target(self) -> str:
        """The target for control connections. Contains the password, if one is needed."""
        return self.blueprint.product.target(self)

    def commands(self) -> list[list[str]]:
        """Return the commands of the installer and of the server."""
        command = self.blueprint.identity.command
        return [command(*arguments) for arguments in self.blueprint.product.commands(self)]


@dataclass(frozen=True, kw_only=True)
class Replication:
    """How servers of a product follow another one, and take its place.

    ``copies_primary`` tells whether the installer copies a primary that runs; otherwise a standby
    begins with the same data. ``over_tcp`` tells whether a standby can only connect over TCP.
    ``settings`` are those that a primary and its standbys need; ``of_standby`` returns those of a
    standby for those of its primary. ``begin`` makes the second server follow the first, whose
    folder is given. ``position`` returns how far a primary is, and ``has`` whether a standby has
    applied everything up to there: it waits for that for a second. ``trouble`` returns why a
    standby does not follow at present; empty if it does. ``promote`` makes a primary of a standby
    once it has applied all that it has received. ``is_synchronous`` tells whether, by these
    settings, a commit is acknowledged only when all of so many standbys have received it, and
    ``waits`` whether a primary with such settings does wait at present. ``refuse_unmet`` refuses
    settings with which commits wait for more than so many standbys, for ever.
    """

    copies_primary: bool
    over_tcp: bool
    settings: Sequence[Setting]
    of_standby: Callable[[Sequence[Setting]], Sequence[Setting]]
    begin: Callable[[Connection, Connection, Cluster], None]
    position: Callable[[Connection], str]
    has: Callable[[Connection, str], bool]
    trouble: Callable[[Connection], str]
    promote: Callable[[Connection], None]
    is_synchronous: Callable[[Mapping[str, str], int], bool]
    waits: Callable[[Connection], bool]
    refuse_unmet: Callable[[Mapping[str, str], int], None] = lambda _settings, _standbys: None


@dataclass(frozen=True, kw_only=True)
class Product:
    """A server that dbdyno can start, with everything that differs between such servers.

    ``name`` is the word after ``--server``. ``settings`` returns settings suited to a host and a
    number of connections. ``configure`` writes the files that the commands name. ``failure_reason``
    returns the line of a log that best says why the server did not start. ``stop_signal`` ends it
    for good in the quickest way; nothing in its folder is read again. ``clean_signal`` lets it
    write everything to disk, so that its data can be kept, and ``is_clean`` returns whether it did.
    ``wal_folder`` in the data contains the WAL or redo log, in files that match ``wal_names``;
    ``shaping`` names the settings with which the files are created; ``loading`` returns, for the
    chosen settings, those under which data that is to be copied is loaded. ``format_of`` returns
    what, beyond the version, a program's files depend on. ``warm`` reads tables into the caches,
    and returns a description. ``releaser`` is a program which, given the data folder of a server
    that was killed, releases what outlives it elsewhere; empty if nothing does. ``replication``
    is how its standbys follow; None if it can have none.
    """

    name: Kind
    title: str
    database: Database
    stop_signal: signal.Signals
    clean_signal: signal.Signals
    wal_folder: str
    wal_names: tuple[str, ...]
    shaping: tuple[str, ...]
    loading: Callable[[Sequence[Setting]], Mapping[str, str]]
    format_of: Callable[[Path], str]
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
    releaser: str = ""
    replication: Replication | None = None

    @property
    def protocol(self) -> Protocol:
        """The protocol that it speaks."""
        return self.database.protocol

    def release(self, data: Path) -> list[str]:
        """Return the command that releases what outlives a killed server; empty if nothing does."""
        return [sys.executable, "-I", "-S", self.releaser, str(data)] if self.releaser else []

    def shape_of(self, settings: Sequence[Setting]) -> dict[str, str]:
        """Return the settings with which the data files are created."""
        return {s.name: s.value for s in settings if s.name in self.shaping}


def product_of(kind: Kind) -> Product:
    """Import and return a product; only on demand, since each imports its own driver."""
    if kind not in startable():
        raise DbdynoError("unknown_product", f"dbdyno cannot start {kind}", EXAMPLE)
    module = import_module(f"dbdyno.databases.{startable()[kind]}.server.product")
    product: Product = module.PRODUCT
    return product


def promised_settings(database: Database, promise: Promise | None) -> list[Setting]:
    """Return the settings for a durability level; none if none was requested."""
    if promise is None:
        return []
    source = f"durability {promise}"
    return [Setting(name, value, source) for name, value in database.durability[promise].items()]


def settings_by_level(promise: Promise) -> list[str]:
    """Describe a durability level, and the settings of each kind of server for it."""
    titles: dict[str, list[str]] = {}
    for kind in startable():
        database = product_of(kind).database
        settings = database.durability[promise]
        text = ", ".join(f"{name}={value}" for name, value in settings.items())
        if limit := database.durability_limits.get(promise):
            text += f"\n{limit}"
        titles.setdefault(text, []).append(database.title)
    width = max(len(" and ".join(names)) for names in titles.values())
    lines = [f"durability {promise}: {meaning(promise)}"]
    for text, names in titles.items():
        first, *further = text.splitlines()
        lines.append(f"  {' and '.join(names):{width}}  {first}")
        lines += [f"  {'':{width}}  {line}" for line in further]
    return lines
