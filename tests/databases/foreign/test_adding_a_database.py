"""The steps of docs/adding-a-database.md, followed: one folder, and nothing else is touched."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import databases
from dbdyno.databases import adapters, known
from dbdyno.databases.connecting import open_connection
from dbdyno.databases.identify import identify
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.store.run import open_run
from tests.databases.foreign.servers import FOREIGN, running
from tests.run.test_runner import Observer
from tests.support.running import run

PAGE = Path(__file__).parents[3] / "docs/adding-a-database.md"
FILE = re.compile(r'```python title="([a-z_]+\.py)"\n(.*?)```', re.DOTALL)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """H2, which no folder of ours describes."""
    (h2,) = (one for one in FOREIGN if one.name == "H2")
    with running(h2) as url:
        with open_connection(url) as connection:
            connection.execute("create table t (id int, v int)")
            connection.execute("insert into t values (1, 7)")
        yield url


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder as the page has it, in another place where databases are looked for."""
    folder = tmp_path / "more" / "h2"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(databases, "__path__", [*databases.__path__, str(folder.parent)])
    forget()
    yield folder
    forget()


def forget() -> None:
    """Let databases be looked for anew."""
    known.all_databases.cache_clear()
    adapters.all_adapters.cache_clear()
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if name.startswith("dbdyno.databases.h2")]:
        del sys.modules[name]


def test_its_description_alone_is_enough_for_own_scripts(
    home: Path, steps: Path, url: str, tmp_path: Path
) -> None:
    (steps / "over_postgresql.py").unlink()
    record = measured(url, tmp_path)
    assert record.transactions.ok == 5
    assert open_run("last").server["database"] == "h2"


def test_its_adapter_describes_it(home: Path, steps: Path, url: str, tmp_path: Path) -> None:
    with open_connection(url) as connection:
        database = identify("postgresql", connection)
    assert (database.title, database.terms.put_off) == ("H2", "compaction of its file")
    assert adapters.adapter_of(database, "postgresql").name == "postgresql_h2"
    measured(url, tmp_path)
    server = open_run("last").server
    assert (server["product"], server["version_number"] > 20_000) == ("h2", True)


def measured(url: str, folder: Path):
    script = folder / "read.sql"
    script.write_text("select v from t where id = 1;\n")
    options = RunOptions(target=url, clients=1, transactions=5, warmup_ns=0)
    return run([WeightedName(str(script), 1)], options, engine_tools(), Observer()).record
