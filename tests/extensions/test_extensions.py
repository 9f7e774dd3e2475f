"""One extension of each kind is added as CONTRIBUTING says, and the real commands find it.

Each row of its table has a folder beside this file: what a contributor would write, at the paths
that the row names, and in ``lines.diff`` what goes into files that exist. All of them are added to
a copy of the sources in which nothing else is changed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases.foreign.test_adding_a_database import FILE, PAGE

ROOT = Path(__file__).parents[2]
COPIED = ("python", "bench", "docs", "tests", "crates", "mkdocs.yml", "Makefile", "README.md")
BUILT = (
    "python/dbdyno/_engine.abi3.so",
    "python/dbdyno/report/static/live.js",
    "python/dbdyno/report/static/report.js",
)
TABLE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| new | write |\n")[1]
ROWS = {
    re.sub(r"\W+", "_", row): text
    for row, text in re.findall(r"^\| (\w[^|]*) \| (.+) \|$", TABLE.split("\n\n")[0], re.MULTILINE)
}


class Example:
    """What a contributor writes for one row: its files, and its lines in others."""

    def __init__(self, row: str) -> None:
        folder = Path(__file__).parent / row
        self.lines = folder / "lines.diff"
        self.files = {
            str(file.relative_to(folder)): file.read_text(encoding="utf-8")
            for file in folder.rglob("*.*")
            if file != self.lines and file.suffix != ".pyc"
        }
        if row == "database":
            place = "python/dbdyno/databases/h2"
            steps = [("__init__.py", ""), *FILE.findall(PAGE.read_text(encoding="utf-8"))]
            self.files = {f"{place}/{name}": text for name, text in steps}

    @property
    def paths(self) -> set[str]:
        """Everything that is added or changed."""
        diff = self.lines.read_text(encoding="utf-8") if self.lines.exists() else ""
        return {*self.files, *re.findall(r"^\+\+\+ b/(.+)$", diff, re.MULTILINE)}

    def add_to(self, tree: Path) -> None:
        """Only lines may go into what exists."""
        for name, text in self.files.items():
            file = tree / name
            assert not file.exists()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if self.lines.exists():
            subprocess.run(["git", "apply", self.lines], cwd=tree, check=True)


class Copy:
    """A copy of the sources, with a home for what is measured with it."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        listed = subprocess.run(
            ["git", "ls-files", "-z", *COPIED], cwd=ROOT, capture_output=True, check=True, text=True
        )
        for name in filter(None, listed.stdout.split("\0")):
            file = tree / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, file)
        for name in BUILT:
            (tree / name).parent.mkdir(exist_ok=True)
            (tree / name).symlink_to(ROOT / name)

    def python(self, *arguments: str) -> str:
        """What a Python program of the copy prints."""
        places = f"{self.tree / 'python'}:{self.tree}"
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.tree,
            env=os.environ | {"PYTHONPATH": places, "DBDYNO_HOME": str(self.tree / "home")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def dbdyno(self, *words: str) -> str:
        """What a command of the copy prints."""
        return self.python("-m", "dbdyno", *words)

    def page(self, name: str) -> str:
        """A page of the generated reference."""
        return (self.tree / f"docs/reference/{name}.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """The copy with all extensions, their pages in the reference, and a run of the workload."""
    copy = Copy(tmp_path_factory.mktemp("sources"))
    for row in ROWS:
        Example(row).add_to(copy.tree)
    copy.python("-m", "docs.reference")
    copy.dbdyno("run", "read-any", "--server", "postgres", "-c", "1", "-T", "2", "--warmup", "0s")
    yield copy
    shutil.rmtree(copy.tree)


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_an_example_at_its_paths(row: str) -> None:
    assert f"test_{row}" in globals(), "add an example, and a test that finds it"
    named = tuple(re.findall(r"`([\w/.]+)`", ROWS[row]))
    assert [path for path in Example(row).paths if not path.startswith(named)] == []


def test_workload(copy: Copy) -> None:
    record = json.loads(copy.dbdyno("report", "last", "--json"))
    assert (record["workload"], record["status"], record["valid"]) == ("read-any", "done", True)
    assert record["transactions"]["ok"] > 0
    assert "| `scale` |" in copy.page("workloads").split("## read-any\n")[1].split("\n## ")[0]
    assert "read-any" in copy.dbdyno("workloads")


def test_database(copy: Copy) -> None:
    """Runs on it are in ``tests/databases/foreign``."""
    assert "| H2 | `h2` |" in copy.page("databases")
    assert "| `postgresql_h2` | H2 |" in copy.page("databases")


def test_finding(copy: Copy) -> None:
    assert "A transaction fetches " in copy.dbdyno("explain", "last")
    assert "**Looks for.** Rows that the server fetched" in copy.page("rules")


def test_counter_that_is_read(copy: Copy) -> None:
    explained = copy.dbdyno("explain", str(ROOT / "tests/explain/golden/clean-pk"), "--json")
    evidence = {found["id"]: found["evidence"] for found in json.loads(explained)["findings"]}
    assert evidence["rows_fetched"]["rows"] > 1


def test_study(copy: Copy) -> None:
    assert "read-any" in copy.dbdyno("study", "list")
    assert "2 points × 2 repeats" in copy.dbdyno("study", "plan", "read-any")


def test_answer_of_a_study(copy: Copy) -> None:
    copy.dbdyno("study", "run", "read-any")
    assert "4 runs were made." in copy.dbdyno("study", "verdict", "last")
    assert "## runs-made\n\nRuns that were made." in copy.page("answers")


@pytest.mark.parametrize("form", ["html", "text", "markdown", "json"])
def test_report_section(copy: Copy, form: str) -> None:
    page = copy.tree / f"page.{form}"
    copy.dbdyno("report", "last", "--format", form, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert "All transactions" in text
    assert "succeeded" in text


def test_probe_of_the_doctor(copy: Copy) -> None:
    assert "uptime: up for " in copy.dbdyno("doctor")
    assert "| uptime |" in copy.page("doctor")


def test_source_of_the_host_s_numbers(copy: Copy) -> None:
    query = "select count(*) from levels where source = 'load_average' and name = 'ready'"
    ((count,),) = json.loads(copy.dbdyno("sql", query, "--json"))["rows"]
    assert count > 0
    assert "| levels | `ready` |" in copy.page("machine")


def test_column_of_a_table(copy: Copy) -> None:
    query = "select sum(completed) = sum(completed_ok + completed_failed) from intervals"
    assert json.loads(copy.dbdyno("sql", query, "--json"))["rows"] == [[True]]
    assert "| `completed` | UINTEGER | transactions that ended in it |" in copy.page("tables")


def test_command(copy: Copy) -> None:
    assert copy.dbdyno("where") == f"{copy.tree / 'home'}\n"
    assert "where" in copy.dbdyno("--help")
    assert "## where\n" in copy.page("commands")


def test_tool_for_the_bench_to_compare_with(copy: Copy) -> None:
    """Whether a host is quiet enough for a comparison is another question."""
    listed = "the parts are: .*; one thread: any row, 1 clients, PostgreSQL, socket"
    with pytest.raises(AssertionError, match=listed):
        copy.python("-m", "bench", "--only", "none of them")


def test_nothing_else_has_to_be_written(copy: Copy) -> None:
    """The tests of what is declared accept all of it."""
    declared = ("tests/test_layers.py", "tests/docs/test_reference.py")
    copy.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *declared)
