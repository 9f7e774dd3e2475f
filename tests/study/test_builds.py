"""Builds of one version share prepared data where they can read it, and only there."""

import shutil
import struct
from pathlib import Path

import pytest

from dbdyno.databases.postgresql.server.binaries import catalog_of, embedded_binaries
from dbdyno.run.tools import engine_tools
from dbdyno.servers.data_sets import list_data_sets
from dbdyno.study.execute import execute
from dbdyno.study.folder import begin_study
from dbdyno.study.rates import Rates
from dbdyno.study.spec import AS_WRITTEN, read_study
from tests.study.files import HEAD, written
from tests.study.test_execute import BASE
from tests.study.watcher import Watcher

CATALOG_OFFSET = 12  # in pg_control, in all versions


@pytest.fixture
def build() -> Path:
    """The folder of a PostgreSQL build that can be moved."""
    return embedded_binaries()[0].server.parents[1]


def another(build: Path, folder: Path, catalog: int | None = None) -> Path:
    """A separate build of the same version, with another catalog version if one is given."""
    (folder / "package" / "bundle").mkdir(parents=True)
    for libraries in build.parents[1].glob(f"{build.parent.name}.libs"):
        (folder / libraries.name).symlink_to(libraries)  # where initdb looks, from its own folder
    folder = folder / "package" / "bundle"
    program = folder / "bin" / "postgres"
    program.parent.mkdir()
    for name in ("postgres", "initdb"):
        shutil.copy(build / "bin" / name, program.parent)
    for name in ("lib", "share"):
        (folder / name).symlink_to(build / name)
    if catalog:
        old = int(catalog_of(program))
        code = program.read_bytes().replace(struct.pack("=I", old), struct.pack("=I", catalog))
        program.write_bytes(code.replace(str(old).encode(), str(catalog).encode()))
    return folder


def run_on(folder: Path, *builds: Path):
    levels = "".join(
        f'[factor.levels.b{place}]\nserver = "postgres:{build}"\n'
        for place, build in enumerate(builds)
    )
    text = f'{HEAD.replace("repeats = 2", "repeats = 1")}{BASE}[[factor]]\nname = "build"\n{levels}'
    path = written(folder, text)
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        return execute(writer, engine_tools(), Watcher(), Rates())


@pytest.mark.usefixtures("home")
def test_builds_with_one_catalog_share_data_and_one_with_another_has_its_own(tmp_path, build):
    same = another(build, tmp_path / "same")
    other = another(build, tmp_path / "other", catalog=int(catalog_of(build / "bin/postgres")) + 1)
    record = run_on(tmp_path, build, same, other)
    assert [result.status for result in record.results] == ["done"] * 3, record.results
    written_in = {
        struct.unpack_from(
            "=I", (data.folder / "data/global/pg_control").read_bytes(), CATALOG_OFFSET
        )[0]
        for data in list_data_sets()
    }
    assert len(list_data_sets()) == 2
    assert written_in == {int(catalog_of(one / "bin/postgres")) for one in (build, other)}


def test_a_rebuilt_program_is_examined_again(tmp_path, build):
    program = another(build, tmp_path / "one") / "bin" / "postgres"
    assert catalog_of(program) == catalog_of(build / "bin" / "postgres")
    program.write_bytes(b"\0PG_19_202601019\0")
    assert catalog_of(program) == "202601019"


def test_a_program_that_does_not_report_it_has_no_catalog(tmp_path):
    program = tmp_path / "mariadbd"
    program.write_bytes(b"nothing of the kind")
    assert catalog_of(program) == ""
