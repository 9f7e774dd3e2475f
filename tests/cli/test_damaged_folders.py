"""Run folders that a disk, a copy or somebody else has damaged: every file, in every way.

The folder is that of a real run with all of telemetry, so that a new file is part of the test by
itself. No command may end in a traceback, and the runs beside it are not affected.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli import main
from dbdyno.cli.output import Exit
from dbdyno.errors import DbdynoError
from dbdyno.model.run import TABLES
from dbdyno.servers.base import Server
from dbdyno.store.errors import LeftOut
from dbdyno.store.files import is_locked
from dbdyno.store.query import sql
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.cli import made_up_runs
from tests.store import synthetic
from tests.store.hdr import HISTOGRAMS
from tests.telemetry.watched import measure

LINKED = "linked"
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "flipped": lambda content: bytes(
        255 - octet if place % 97 == 3 else octet for place, octet in enumerate(content)
    ),
    "of another kind": lambda _content: b"[1, 2]",
    # A link out of the folder to the very content: who followed it would notice nothing.
    LINKED: lambda content: content,
}
COMPARING = {"compare", "history"}
# Only the first two cannot be done without; a log is text.
NEEDED = {"run.json", "plan.json"}
NOT_DATA = {"log.txt", "lock"}


def damage(path: Path, how: str, content: bytes) -> None:
    """Put a file in place whose content was damaged so."""
    if how == LINKED:
        outside = path.parent.parent.parent / "outside"
        outside.mkdir(exist_ok=True)
        target = outside / path.name
        target.write_bytes(content)
        path.unlink(missing_ok=True)
        path.symlink_to(target)
    else:
        path.write_bytes(DAMAGES[how](content))


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: Server
) -> Iterator[tuple[Path, Path]]:
    """A home with a real run and another run; the folder of the real one."""
    home = tmp_path_factory.mktemp("whole")
    script = home / "script.sql"
    script.write_text("select count(*) from pg_class, pg_attribute;\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBDYNO_HOME", str(home))
        made_up_runs.run()
        run_id = measure(postgres_server, str(script), telemetry="full").record.run_id
        yield home, home / "runs" / run_id


@pytest.fixture(params=DAMAGES)
def damaged(
    request: pytest.FixtureRequest, whole: tuple[Path, Path], tmp_path: Path
) -> Iterator[Callable[[str], Path]]:
    """Damages one file of a fresh copy of the run; returns the copy's folder."""
    home, folder = whole
    shutil.copytree(home / "runs", tmp_path / "runs")
    copy = tmp_path / "runs" / folder.name

    def damage_one(name: str) -> Path:
        shutil.rmtree(copy)
        shutil.copytree(folder, copy)
        damage(copy / name, request.param, (folder / name).read_bytes())
        return copy

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOut)
        patch.setenv("DBDYNO_HOME", str(tmp_path))
        yield damage_one


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in NOT_DATA)


def test_every_command_names_the_file_or_reads_the_rest(
    whole: tuple[Path, Path], damaged: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    names = files_of(whole[1])
    assert {"intervals.parquet", "waits.parquet", "counters.parquet", "host.json"} <= {*names}
    (other,) = {path.name for path in whole[1].parent.iterdir()} - {whole[1].name, ".index"}
    for name in names:
        folder = damaged(name)
        commands = {
            "explain": ["explain", folder.name],
            "report": ["report", folder.name],
            "text": ["report", folder.name, "--text"],
            "compare": ["compare", other, folder.name],
            "history": ["history"],
            "sql": ["sql", f"select count(*) from {Path(name).stem}"],
            "runs": ["runs"],
        }
        if name.endswith(".json"):
            commands["sql"] = ["sql", "select count(*) from runs"]
        for command, words in commands.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", LeftOut)
                code = main(words)
            shown = capsys.readouterr()
            said = shown.err + "".join(str(one.message) for one in caught)
            if code == Exit.NOTHING_RUN:
                assert name in said, (name, command, said)
            else:
                verdicts = {Exit.OK, *([Exit.VERDICT_FAILED] if command in COMPARING else [])}
                assert code in verdicts, (name, command, code, said)
            assert "internal error" not in shown.out, (name, command, shown.out)
            if command in {"runs", "sql"}:
                assert code == 0, (name, command, shown.err)
        if name not in NEEDED:
            assert main(["report", folder.name, "--text"]) == 0, (name, capsys.readouterr().err)


def test_no_link_out_of_a_folder_is_followed(
    whole: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could lead to any file of the reader, who would then publish the report."""
    home, folder = whole
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path))
    copy = tmp_path / "runs" / folder.name
    for name in [*files_of(folder), *NOT_DATA]:
        shutil.copytree(home / "runs", tmp_path / "runs")
        damage(copy / name, LINKED, (folder / name).read_bytes())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said = _everything_read(copy)
        said += "".join(str(one.message) for one in caught)
        assert f"{name} is a link to " in said, (name, said)
        shutil.rmtree(tmp_path / "runs")


def _everything_read(folder: Path) -> str:
    """What goes wrong when all of a folder is read."""
    said = []
    reads: list[Callable[[], Any]] = [
        lambda: is_locked(folder),
        lambda: open_run(folder).load(HISTOGRAMS),
        lambda: open_run(folder).log,
    ]
    for read in reads:
        try:
            read()
        except DbdynoError as error:
            said.append(error.message)
    for table in TABLES:
        (rows,) = sql(f"select count(*) from {table} where run_id = '{folder.name}'").fetchall()
        path = folder / f"{table}.parquet"
        assert not path.is_symlink() or rows == (0,), table
    return "".join(said)


def test_from_python_only_the_damaged_part_is_missing(
    whole: tuple[Path, Path], damaged: Callable[[str], Path]
) -> None:
    for name in files_of(whole[1]):
        folder = damaged(name)
        if name in NEEDED:
            with pytest.raises(DbdynoError, match=name):
                open_run(folder).load(HISTOGRAMS)
            continue
        run = open_run(folder).load(HISTOGRAMS)
        table = Path(name).stem
        if name.endswith(".parquet") and table not in run.columns:
            with pytest.raises(DbdynoError, match=name):
                getattr(run, table)
        assert len(run.columns) >= len(TABLES) - 1


@pytest.mark.parametrize("how", DAMAGES)
def test_frames_of_a_run_that_was_killed(
    how: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunWriter(synthetic.record(), synthetic.plan(), home) as writer:
        for frame in synthetic.packed(synthetic.Shape(seconds=5, tps=50, done=False)):
            writer.append_frame(frame)
    path = writer.folder / "frames.bin"
    damage(path, how, path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOut)
        for words in (["explain"], ["report", "--text"], ["runs"]):
            code = main(words)
            shown = capsys.readouterr()
            assert code == 0 or "frames.bin" in shown.err, (words, shown.err)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(
    "case",
    [
        ("studies/20261101-120000-mine-0001/study.json", ["study", "report", "mine"], 1),
        ("studies/20261101-120000-mine-0001/study.json", ["study", "list"], 0),
        ("servers/mine/server.json", ["server", "list"], 0),
        ("data/mine/about.json", ["data", "list"], 0),
        ("data/mine/about.json", ["home"], 0),
    ],
)
def test_other_folders_of_the_home(
    how: str, case: tuple[str, list[str], int], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, command, code = case
    path = home / file
    path.parent.mkdir(parents=True)
    damage(path, how, b'{"format_version": 1, "study_id": "mine", "name": "mine"}')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert main(command) == code
    said = capsys.readouterr().err + "".join(str(one.message) for one in caught)
    assert command == ["home"] or path.name in said
    if how == LINKED and command != ["home"]:
        assert f"{path.name} is a link to " in said


def test_a_folder_of_somebody_else(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pipes for files, deep JSON, and links are told; nothing is waited for or executed."""
    run_id = made_up_runs.run()
    folder = home / "runs" / run_id
    for name in ("plan.json", "host.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
    assert main(["explain", run_id]) == 1
    assert "plan.json is not a file" in capsys.readouterr().err
    (folder / "run.json").write_text("[" * 100_000)
    with pytest.warns(LeftOut, match=r"run\.json is damaged"):
        assert main(["runs"]) == 0
