"""What a command imports: beside a load, every second of our own CPU time counts."""

import subprocess
import sys
from pathlib import Path

import pytest

import dbdyno

AGENT = Path(dbdyno.__file__).with_name("agent.py")
SLOW = {"numpy", "duckdb", "psycopg", "scipy", "jinja2", "rich", "asyncio"}
# What only tables, charts or help need.
SLOW_TO_RUN = {"scipy", "duckdb", "jinja2", "rich", "pandas"}
# A person waits for these commands, or a load runs beside them: what they must not import.
MUST_NOT = {
    "import dbdyno": SLOW | {"typing", "msgspec"},
    "import dbdyno.cli": SLOW | {"cyclopts"},  # Ctrl-C is handled only after this import
    "from dbdyno.cli import main; main(['--help'])": SLOW | {"cyclopts", "msgspec", "inspect"},
    "from dbdyno.cli import main; main(['runs'])": SLOW
    | {
        "dbdyno.databases.adapter",
        "dbdyno.run.options.run_options",
        "importlib.metadata",
        "secrets",
    },
    "from dbdyno.cli.commands import runs, server, data": SLOW,
    "from dbdyno.cli.commands import home, load, check": SLOW - {"numpy"},
    "from dbdyno.cli.commands import run, search, explain, report": SLOW_TO_RUN,
    "from dbdyno.cli.commands import compare, history, publish, study": SLOW_TO_RUN,
}


def modules_after(code: str, *options: str) -> set[str]:
    """The modules that an interpreter has imported at the end of a program."""
    program = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    command = [sys.executable, *options, "-c", program]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stderr.split())


@pytest.mark.parametrize("code", MUST_NOT)
def test_unneeded_modules_are_not_imported(code):
    assert not modules_after(code) & MUST_NOT[code]


def test_the_agent_imports_the_rust_module_and_hardly_more():
    load = f"__file__ = {str(AGENT)!r}; __name__ = ''; exec(open(__file__).read())"
    imported = modules_after(load, "-I", "-S")
    assert {name for name in imported if name.startswith("dbdyno")} == {"dbdyno", "dbdyno._engine"}
    assert not imported & {"typing", "re", "pathlib", "json", "subprocess", "importlib.util"}


def test_type_checkers_of_users_read_the_annotations():
    assert AGENT.with_name("py.typed").exists()


def test_algebra_has_no_threads_of_its_own():
    code = """
import os
from dbdyno.cli import main
main(["run", "no/such.sql"])
import numpy
assert len(os.listdir("/proc/self/task")) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
