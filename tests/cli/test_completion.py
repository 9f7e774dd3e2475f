"""What a shell completes: with the printed script, in a real bash on a terminal of its own."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.workloads.registry import all_workloads
from tests.cli import made_up_runs as made_up

pytestmark = pytest.mark.usefixtures("home", "own_signals")
PATIENCE_S = 60
PROMPT = "ready> "


@pytest.fixture(scope="module")
def scripts(tmp_path_factory) -> Path:
    """A folder with the script of each shell, and with dbdyno as a command."""
    folder = tmp_path_factory.mktemp("completion")
    command = folder / "dbdyno"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m dbdyno "$@"\n')
    command.chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        printed = subprocess.run(
            [command, "completion", shell], check=True, capture_output=True, text=True
        )
        (folder / f"dbdyno.{shell}").write_text(printed.stdout)
    return folder


class Bash:
    """An interactive bash that has read the script."""

    def __init__(self, scripts: Path) -> None:
        self._terminal, end = pty.openpty()
        path = f"{scripts}:{os.environ['PATH']}"
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=end,
            stdout=end,
            stderr=end,
            env=os.environ | {"PATH": path, "PS1": PROMPT, "TERM": "dumb", "INPUTRC": "/dev/null"},
            start_new_session=True,
        )
        os.close(end)
        self._typed(f"source {scripts}/dbdyno.bash; bind 'set bell-style none'; echo read''y\n")
        self._until("ready\r\n")
        self._until(PROMPT)

    def completed(self, line: str) -> str:
        """The line after the tabulator, as bash itself would run it."""
        self._typed(f"{line}\t")
        self._typed("'' \x01echo [\x05]\n")  # readline: to the beginning, to the end
        self._until("\r\n[")
        shown = self._until("]\r\n").removesuffix("]\r\n")
        self._until(PROMPT)
        return shown.rstrip()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def _typed(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _until(self, end: str) -> str:
        seen = ""
        while not seen.endswith(end):
            readable, _, _ = select.select([self._terminal], [], [], PATIENCE_S)
            assert readable, f"bash has not shown {end!r}, but {seen!r}"
            seen += os.read(self._terminal, 1).decode(errors="replace")
        return seen


@pytest.fixture
def bash(scripts, home):
    shell = Bash(scripts)
    yield shell
    shell.end()


def test_bash_completes_what_the_commands_declare(bash):
    for typed, completed in {
        "dbdyno exp": "dbdyno explain",
        "dbdyno study pl": "dbdyno study plan",
        "dbdyno run tpcb --dura": "dbdyno run tpcb --durability",
        "dbdyno run --durability rel": "dbdyno run --durability relaxed",
        "dbdyno completion f": "dbdyno completion fish",
    }.items():
        assert bash.completed(typed) == completed


def test_bash_completes_the_names_that_there_are(bash):
    run_id = made_up.run(workload="tpcb")
    assert bash.completed(f"dbdyno explain {run_id[:12]}") == f"dbdyno explain {run_id}"
    assert bash.completed("dbdyno run smallb") == "dbdyno run smallbank"


@pytest.mark.parametrize("words", [["explain", "la"], ["report", ""], ["runs", "rm", "x"]])
def test_names_of_runs_are_asked_for(capsys, words):
    main(["__complete", *words])
    assert "last" in capsys.readouterr().out.split()


@pytest.mark.parametrize("command", ["run", "search", "load", "check", "workloads", "history"])
def test_names_of_workloads_are_asked_for(capsys, command):
    main(["__complete", command, ""])
    offered = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert set(all_workloads()) <= set(offered)


def test_the_scripts_of_the_other_shells_have_every_command(scripts):
    assert (scripts / "dbdyno.zsh").read_text().startswith("#compdef dbdyno\n")
    assert "complete -c dbdyno" in (scripts / "dbdyno.fish").read_text()
