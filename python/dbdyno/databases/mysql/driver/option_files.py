"""The user's option files: ``~/.my.cnf`` and the like, with their includes; and one for clients.

Reads only what clients read, without interpreting it; a world-writable file is ignored, and an
option outside of the groups refused, as by the servers' own clients.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dbdyno.errors import DbdynoError
from dbdyno.home import user_folder
from dbdyno.model.plan import Endpoint

GROUPS = ("client", "client-server", "client-mariadb", "dbdyno")
SYSTEM_FILES = (Path("/etc/my.cnf"), Path("/etc/mysql/my.cnf"))
INCLUDE_DEPTH_MAX = 10
ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_COMMENT = re.compile(r"""((?:[^'"#]|'(?:\\.|[^'\\])*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$))*)(?:#.*)?$""")
"""All up to the comment: a quote that is open, also within a value, protects ``#``."""


class Option(NamedTuple):
    """A value and its origin, as named in error messages."""

    value: str
    origin: str


def read_option_files(environment: Mapping[str, str]) -> dict[str, Option]:
    """Return the options of all files that exist, by name; later files take precedence."""
    options: dict[str, Option] = {}
    for path in _places(environment):
        options.update(_options(path, INCLUDE_DEPTH_MAX))
    return options


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    yield from SYSTEM_FILES
    if folder := environment.get("MYSQL_HOME"):
        yield Path(folder, "my.cnf")
    if own := user_folder():
        yield own / ".my.cnf"


def _options(path: Path, depth: int) -> Iterator[tuple[str, Option]]:
    group = ""
    for number, line in _lines(path):
        if line.startswith("["):
            group = line[1:].partition("]")[0].strip().lower()
        elif line.startswith("!"):
            for included in _included(line):
                if depth > 0:  # files may include each other
                    yield from _options(included, depth - 1)
        elif not group:
            raise DbdynoError(
                "bad_target",
                f"{path}, line {number}: an option before the first group",
                "begin the file with [client]",
            )
        elif group in GROUPS:
            name, _, value = line.partition("=")
            option = Option(_value(value.strip()), str(path))
            yield name.strip().lower().replace("_", "-"), option


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the numbered lines that are neither blank nor comments; none of an ignored file."""
    try:
        if path.stat().st_mode & stat.S_IWOTH:
            return []
        lines = path.read_text(encoding="utf-8-sig", errors="surrogateescape").splitlines()
    except OSError:
        return []
    stripped = enumerate((line.strip() for line in lines), start=1)
    return [each for each in stripped if each[1] and not each[1].startswith(("#", ";"))]


def _included(line: str) -> list[Path]:
    word, _, place = line.partition(" ")
    path = Path(place.strip())
    if word == "!include":
        return [path]
    if word == "!includedir" and os.access(path, os.R_OK | os.X_OK):
        return sorted(path.glob("*.cnf"))
    return []


def _value(text: str) -> str:
    """Parse a value as the clients do: ``#`` outside of quotes begins a comment.

    Quotes are removed if the value both begins and ends with the same one. Of backslashes, only
    those of known sequences are removed.
    """
    bare = _COMMENT.sub(r"\1", text).rstrip()
    if len(bare) > 1 and bare[0] in "'\"" and bare[0] == bare[-1]:
        bare = bare[1:-1]
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), bare)


def client_environment(endpoint: Endpoint, folder: Path) -> dict[str, str | None]:
    """Write an option file for the endpoint, and return the variables by which clients find it.

    Files of the system override variables, but come before this one.
    """
    client = {"user": endpoint.user, "password": endpoint.password}
    if endpoint.address.tcp:
        tcp = endpoint.address.tcp
        client |= {"host": tcp.host, "port": str(tcp.port), "protocol": "tcp"}
    elif endpoint.address.unix:
        client |= {"host": "localhost", "socket": endpoint.address.unix.path}
    lines = [f"{name} = {_quoted(value)}" for name, value in client.items() if value is not None]
    text = [*("[client]", *lines), *("[mysql]", f"database = {_quoted(endpoint.database)}", "")]
    (folder / "my.cnf").write_text("\n".join(text), encoding="utf-8")
    return {"MARIADB_HOME": None, "MYSQL_HOME": str(folder)}


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
