"""Where the programs of MariaDB and MySQL are: a given path, or this machine.

Both call their server by the same name in places, so each is asked what it is.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.servers.product import Binaries, Origin
from dbdyno.servers.spec import ServerSpec

LOCAL_FOLDERS = ("/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/mysql/bin")
VERSION = re.compile(r"Ver (\d+\.\d+\.\d+)(-MariaDB)?")


class Brand(Struct, frozen=True):
    """How the programs of one of the two are called, and how to come by them."""

    title: str
    is_mariadb: bool
    servers: tuple[str, ...]
    installers: tuple[str, ...]
    package: str

    def find(self, spec: ServerSpec) -> Binaries:
        """Those that the spec asks for; by default the newest of this machine."""
        if spec.path is not None:
            return self._at_path(spec.path)
        found = sorted(self._usable(_local_folders(self.servers), "local"), key=_newest_last)
        wanted = [one for one in found if spec.major in (None, one.major)]
        if wanted:
            return wanted[-1]
        raise self._missing(spec, found)

    def _missing(self, spec: ServerSpec, found: Sequence[Binaries]) -> DbdynoError:
        here = ", ".join(one.version for one in found)
        what = self.title if spec.major is None else f"{self.title} {spec.major}"
        return DbdynoError(
            "no_binaries",
            f"{what} is not installed here{f' (found: {here})' if here else ''}",
            f"apt-get install {self.package}, or name its folder: "
            f"--server {spec.kind}:/path/to/bin",
        )

    def _at_path(self, path: Path) -> Binaries:
        places = [path.parent] if path.is_file() else [path, path / "bin", path / "sbin"]
        found = list(self._usable(places, "path"))
        if not found:
            raise DbdynoError(
                "no_binaries",
                f"{path} does not hold {self.title}'s programs",
                f"name the folder in which {self.servers[0]} is",
            )
        return found[0]

    def _usable(self, folders: Iterable[Path], origin: Origin) -> Iterator[Binaries]:
        for server in _programs(folders, self.servers):
            version = _version(server, is_mariadb=self.is_mariadb)
            installer = next(_programs(_around(server), self.installers), None)
            if version and installer:
                yield Binaries(server, installer, version, origin)


def base_folder(binaries: Binaries) -> Path:
    """The folder under which an installation's programs and messages lie."""
    return binaries.folder.parent


def _local_folders(names: Sequence[str]) -> list[Path]:
    on_path = [Path(found).resolve().parent for name in names if (found := shutil.which(name))]
    return list(dict.fromkeys([*on_path, *map(Path, LOCAL_FOLDERS)]))


def _around(server: Path) -> list[Path]:
    base = server.parent.parent
    return [server.parent, base / "bin", base / "scripts"]


def _programs(folders: Iterable[Path], names: Sequence[str]) -> Iterator[Path]:
    """In each folder the first of the names that can be run."""
    for folder in folders:
        here = (folder / name for name in names)
        program = next((path for path in here if os.access(path, os.X_OK)), None)
        if program is not None:
            yield program


def _version(server: Path, *, is_mariadb: bool) -> str | None:
    """The version, if this is the brand's server; an error when it does not run at all."""
    command = [str(server), "--no-defaults", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    match = VERSION.search(result.stdout)
    if match is None:
        why = (result.stderr or result.stdout).strip() or f"exit {result.returncode}"
        raise DbdynoError("bad_binaries", f"{server} does not run: {why}", "name another path")
    return match[1] if bool(match[2]) == is_mariadb else None


def _newest_last(binaries: Binaries) -> tuple[int, ...]:
    return binaries.numbers
