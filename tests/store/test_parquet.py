"""Tables as files: of an older dbdyno, and while an interrupt comes, which stays one."""

import signal

import duckdb
import pytest

from dbdyno.store import parquet
from dbdyno.store.errors import LeftOut, StoreError
from dbdyno.store.parquet import interruptible, read_table, write_tables
from dbdyno.store.query import sql
from dbdyno.store.run import open_run
from tests.store import synthetic
from tests.store.hdr import HISTOGRAMS
from tests.store.test_run_folder import write_run

MINUTES = "SELECT sum(a.range * b.range) FROM range(100000) a, range(3000000) b"


@pytest.fixture
def interrupts():
    """Another signal takes the place of Ctrl-C: it need not be told from that of the user."""

    def interrupt(_signal, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_a_query_and_stays_one(tmp_path):
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        sql(MINUTES, tmp_path)


def test_another_error_stays_as_it_is():
    with pytest.raises(RuntimeError, match="another"), interruptible():
        raise RuntimeError("another")


def folder_without(column, base):
    write_run(base, synthetic.packed(synthetic.Shape(seconds=2, tps=50)))
    folder = open_run("last", base).folder
    path = parquet.table_path(folder, "intervals")
    rest = f"SELECT * EXCLUDE ({column}) FROM read_parquet('{path}')"
    duckdb.sql(f"COPY (FROM ({rest})) TO '{path}'")
    return folder


def test_a_count_that_an_older_folder_lacks_is_zero(tmp_path):
    folder = folder_without("paused_us", tmp_path)
    columns = read_table(folder, "intervals")
    assert columns["paused_us"].tolist() == [0] * len(columns["interval"])


def test_another_absent_column_is_damage(tmp_path):
    folder = folder_without("phase", tmp_path)
    with pytest.raises(StoreError, match=r"intervals.parquet is damaged: it has no column 'phase'"):
        read_table(folder, "intervals")


def test_a_name_that_is_no_text_is_damage(tmp_path):
    """Python cannot be told such a name, so that DuckDB raises an error that is not its own."""
    write_run(tmp_path, synthetic.packed(synthetic.Shape(seconds=2, tps=50)))
    folder = open_run("last", tmp_path).folder
    path = parquet.table_path(folder, "intervals")
    path.write_bytes(path.read_bytes().replace(b"paused_us", b"\xff" * len("paused_us")))
    with pytest.raises(StoreError, match=r"intervals.parquet is damaged: "):
        read_table(folder, "intervals")
    with pytest.warns(LeftOut, match=r"intervals.parquet is damaged: "):
        assert sql("select * from intervals", tmp_path).fetchall() == []


def interrupted(*_arguments):
    raise RuntimeError("Query interrupted")


def test_an_interrupt_while_a_table_is_read_stays_one(tmp_path, monkeypatch):
    write_run(tmp_path, synthetic.packed(synthetic.Shape(seconds=2, tps=50)))
    folder = open_run("last", tmp_path).folder
    monkeypatch.setattr(parquet, "quoted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_table(folder, "intervals")


def test_an_interrupt_while_tables_are_written_leaves_no_part_of_them(tmp_path, monkeypatch):
    write_run(tmp_path, synthetic.packed(synthetic.Shape(seconds=2, tps=50)))
    tables = open_run("last", tmp_path).load(HISTOGRAMS).columns
    sync, written = parquet.sync, []

    def second_interrupted(*arguments):
        sync(*arguments)
        written.append(arguments)
        if len(written) == 2:
            interrupted()

    monkeypatch.setattr(parquet, "sync", second_interrupted)
    (folder := tmp_path / "tables").mkdir()
    with pytest.raises(KeyboardInterrupt):
        write_tables(folder, tables)
    assert not list(folder.iterdir())
