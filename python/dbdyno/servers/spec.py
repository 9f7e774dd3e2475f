"""What a person wrote after ``--server``: ``postgres[:VERSION|PATH][,setting=value…]``."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.errors import DbdynoError

KINDS = ("postgres",)
EXAMPLE = "for example postgres, postgres:17, postgres:/opt/pg/bin or postgres:17,fsync=off"


class ServerSpec(Struct, frozen=True):
    """A private server as asked for; ``major`` and ``path`` exclude each other."""

    major: int | None = None
    path: Path | None = None
    settings: dict[str, str] = {}

    def with_settings(self, further: dict[str, str]) -> "ServerSpec":
        """The same, with ``--set name=value`` on top."""
        return replace(self, settings={**self.settings, **further})


def parse_spec(text: str) -> ServerSpec:
    """Reads the words; what they name is looked for later."""
    head, *rest = text.split(",")
    kind, _, which = head.partition(":")
    if kind not in KINDS:
        raise _bad(text, f"unknown kind of server {kind!r}; known: {', '.join(KINDS)}")
    settings = _parse_settings(text, rest)
    if not which:
        return ServerSpec(settings=settings)
    if which.isdecimal():
        return ServerSpec(major=int(which), settings=settings)
    if "/" in which or which.startswith((".", "~")):
        return ServerSpec(path=Path(which).expanduser().absolute(), settings=settings)
    raise _bad(text, f"{which!r} is neither a major version nor a path")


def _parse_settings(text: str, parts: list[str]) -> dict[str, str]:
    """A part without ``=`` goes on with the value before it, whose comma it was."""
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
