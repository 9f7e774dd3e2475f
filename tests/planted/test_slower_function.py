"""One function of the server got slower by 2 µs: two builds are compared, and it is named first.

Both are the same programs in folders of their own, with the same library before the C library; in
one of them a function of that library burns CPU time. Throughput may say anything on a busy host:
what a transaction costs does not.
"""

import json
import subprocess
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.databases.postgresql.server.binaries import find_binaries
from dbdyno.servers.spec import ServerSpec

SLOWER_US = 2.0
PAIRS = 5
STUDY = """
name = "builds"
title = "Two builds"
question = "Which function got slower?"
repeats = {pairs}
restore = "once"
metrics = ["server_cpu_us"]

[base]
workload = "select-only"
clients = 2
time = "3s"
warmup = "500ms"
telemetry = "full"
profile = 997

[[factor]]
name = "build"
[factor.levels.before]
server = "postgres:{before}"
[factor.levels.after]
server = "postgres:{after}"

[[contrast]]
factor = "build"
before = "before"
after = "after"
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    library = tmp_path / "slower_function.so"
    source = Path(__file__).with_name("slower_function.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    library.chmod(0o755)
    return library


def build(folder: Path, library: Path, slower_us: float) -> Path:
    """A folder with PostgreSQL's programs, of which the server loads this library first."""
    folder.mkdir()
    installed = find_binaries(ServerSpec()).folder
    for program in installed.iterdir():
        (folder / program.name).symlink_to(program)
    server = folder / "postgres"
    server.unlink()
    loaded = f"LD_PRELOAD={library} SLOWER_NS={slower_us * 1e3:.0f}"
    server.write_text(f'#!/bin/sh\n{loaded} exec {installed / "postgres"} "$@"\n')
    server.chmod(0o755)
    return folder


@pytest.mark.usefixtures("home", "own_signals")
def test_the_function_that_got_slower_is_named_first(
    tmp_path: Path, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = build(tmp_path / "before", library, 0.0)
    after = build(tmp_path / "after", library, SLOWER_US)
    study = tmp_path / "builds.toml"
    study.write_text(STUDY.format(pairs=PAIRS, before=before, after=after))
    assert main(["study", "run", str(study)]) == 0
    assert "Where the server's CPU time differs" in capsys.readouterr().out
    assert main(["compare", "builds:build=before", "builds:build=after", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert len(compared["runs"]["after"]) == PAIRS
    slowest = compared["server_functions"][0]
    assert (slowest["function"], slowest["file"]) == ("send", library.name)
    assert slowest["low_us"] > 0
    assert SLOWER_US / 2 < slowest["difference_us"] < SLOWER_US * 2
