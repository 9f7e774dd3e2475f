"""The value of ``--server``: ``KIND[:VERSION|PATH][,setting=value…]``."""

from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.databases.known import startable
from dbdyno.errors import DbdynoError
from dbdyno.model.database import Promise

Kind: TypeAlias = str
"""A database that dbdyno can start, by its word after ``--server``."""
STANDBYS, STANDBYS_MAX = "standbys", 8
EXAMPLE = "for example postgres, postgres:17, mariadb, mysql:/opt/mysql or postgres,jit=off"


class ServerSpec(Struct, frozen=True):
    """A private server as requested; ``major`` and ``path`` exclude each other."""

    kind: Kind = "postgres"
    major: int | None = None
    path: Path | None = None
    settings: dict[str, str] = {}
    durability: Promise | None = None
    standbys: int = 0
    """How many servers follow it, which can take its place."""

    sharing: int = 1
    """Among how many servers the host is divided at least, so that others are like this one."""

    @property
    def servers(self) -> int:
        """How many servers that makes."""
        return 1 + self.standbys

    @property
    def parts(self) -> int:
        """Among how many servers the host is divided."""
        return max(self.servers, self.sharing)

    def with_settings(self, further: dict[str, str]) -> "ServerSpec":
        """Return the same with ``--set name=value`` added."""
        return replace(self, settings={**self.settings, **further})

    def with_durability(self, promise: Promise | None) -> "ServerSpec":
        """Return the same with ``--durability``."""
        return replace(self, durability=promise)


def kind_of(text: str) -> Kind | None:
    """Return the kind of server with which the text begins, if it names one."""
    if "://" in text:  # not quoted: it may contain a password
        raise DbdynoError("bad_server", "--server does not take a URL", "write --target URL")
    word = text.partition(",")[0].partition(":")[0]
    return word if word in startable() else None


def parse_spec(text: str) -> ServerSpec:
    """Parse the text; what it names is located later."""
    head, *rest = text.split(",")
    word, _, which = head.partition(":")
    kind = kind_of(text)
    if kind is None:
        raise _bad(text, f"unknown kind of server {word!r}; known: {', '.join(startable())}")
    settings = _parse_settings(text, rest)
    standbys = settings.pop(STANDBYS, "0")
    if standbys not in map(str, range(STANDBYS_MAX + 1)):
        raise _bad(text, f"{STANDBYS}={standbys} is no number up to {STANDBYS_MAX}")
    spec = ServerSpec(kind, settings=settings, standbys=int(standbys))
    if not which:
        return spec
    if which.isdecimal():
        return replace(spec, major=int(which))
    if "/" in which or which.startswith((".", "~")):
        try:
            path = Path(which).expanduser().absolute()
        except RuntimeError as error:
            raise _bad(text, f"{which} names no home directory") from error
        return replace(spec, path=path)
    raise _bad(text, f"{which!r} is neither a major version nor a path")


def _parse_settings(text: str, parts: list[str]) -> dict[str, str]:
    """Parse the settings; a part without ``=`` continues the value before it, which has a comma."""
    settings: dict[str, str] = {}
    name = ""
    for part in parts:
        if "=" in part:
            name, value = (word.strip() for word in part.split("=", 1))
            settings[name] = value
        elif name:
            settings[name] += f",{part}"
        else:
            raise _bad(text, f"{part!r} is not setting=value")
    return settings


def _bad(text: str, why: str) -> DbdynoError:
    return DbdynoError("bad_server", f"cannot read --server {text}: {why}", EXAMPLE)
