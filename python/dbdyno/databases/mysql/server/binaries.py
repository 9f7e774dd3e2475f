"""Where the programs of MariaDB and MySQL are: at a given path, or installed on this host.

Both give their server the same name in places, so each program is queried for its version. One that
does not run is skipped, and reported only if no other is left.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.servers.product import Binaries, Origin, reported_version
from dbdyno.servers.spec import ServerSpec

LOCAL_FOLDERS = ("/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/mysql/bin")
VERSION = re.compile(r"Ver (\d+\.\d+\.\d+)(-MariaDB)?")


class Brand(Struct, frozen=True):
    """The names of the programs of MariaDB or MySQL, and the package to install."""

    title: str
    is_mariadb: bool
    servers: tuple[str, ...]
    installers: tuple[str, ...]
    package: str

    def find(self, spec: ServerSpec) -> Binaries:
        """Return the requested programs; by default the newest on this host."""
        if spec.path is not None:
            return self._at_path(spec.path)
        tried = list(self._tried(_local_folders(self.servers), "local"))
        found = sorted((one for one in tried if isinstance(one, Binaries)), key=_newest_last)
        wanted = [one for one in found if spec.major in (None, one.major)]
        if wanted:
            return wanted[-1]
        broken = (one for one in tried if isinstance(one, DbdynoError))
        raise next(broken, None) or self._missing(spec, found)

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
        for found in self._tried(places, "path"):
            if isinstance(found, DbdynoError):
                raise found
            return found
        raise DbdynoError(
            "no_binaries",
            f"{path} does not contain {self.title}'s programs",
            f"name the folder that contains {self.title}'s {self.servers[0]}",
        )

    def _tried(self, folders: Iterable[Path], origin: Origin) -> Iterator[Binaries | DbdynoError]:
        """Yield installations of this brand, or the error of one that does not run."""
        for server in _programs(folders, self.servers):
            try:
                reported = reported_version(server, VERSION, "--no-defaults")
            except DbdynoError as error:
                yield error
                continue
            installer = next(_programs(_around(server), self.installers), None)
            if bool(reported[2]) == self.is_mariadb and installer:
                yield Binaries(server, installer, reported[1], origin)


def base_folder(binaries: Binaries) -> Path:
    """The folder of an installation's programs and messages."""
    return binaries.folder.parent


def _local_folders(names: Sequence[str]) -> list[Path]:
    on_path = [Path(found).resolve().parent for name in names if (found := shutil.which(name))]
    return list(dict.fromkeys([*on_path, *map(Path, LOCAL_FOLDERS)]))


def _around(server: Path) -> list[Path]:
    base = server.parent.parent
    return [server.parent, base / "bin", base / "scripts"]


def _programs(folders: Iterable[Path], names: Sequence[str]) -> Iterator[Path]:
    """Yield for each folder the first of the named programs that can be executed."""
    for folder in folders:
        here = (folder / name for name in names)
        program = next((path for path in here if os.access(path, os.X_OK)), None)
        if program is not None:
            yield program


def _newest_last(binaries: Binaries) -> tuple[int, ...]:
    return binaries.numbers
