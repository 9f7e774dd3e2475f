"""sysbench-tpcc, scripts for sysbench that are a load like ``tpcc``'s, and the data of both.

They are not part of sysbench: ``SYSBENCH_TPCC`` names a folder with a copy of them. Each database
has the tables of both, of as many warehouses: the scripts' own have names with a number. They
keep more indexes than the definition asks for, and no foreign keys here, as ``tpcc`` by default.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from bench.data import Data, load_data
from bench.dbdyno_tool import DBDYNO
from bench.process import run_to_end
from bench.sysbench import SYSBENCH, login, settle_tables
from bench.tool import Load, Tool, dbdyno_path
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint

FOLDER = "SYSBENCH_TPCC"
WAREHOUSES = 10
LOADERS = 4
SIZE = (f"--scale={WAREHOUSES}", "--tables=1", "--use_fk=0")
TABLES = ("warehouse", "district", "customer", "history", "orders", "order_line", "stock", "item")


def find_script() -> str:
    """The main script; an error if there is no copy."""
    script = Path(os.environ.get(FOLDER, ""), "tpcc.lua")
    if FOLDER not in os.environ or not script.is_file():
        hint = f"clone github.com/Percona-Lab/sysbench-tpcc, and set {FOLDER} to its folder"
        raise DbdynoError("no_peer", "sysbench-tpcc was not found", hint)
    return str(script)


def prepare(endpoint: Endpoint) -> float:
    """Creates the scripts' tables, in a database without others; the seconds that this took."""
    arguments = [*SIZE, f"--threads={LOADERS}", *login(endpoint), "prepare"]
    return run_to_end([_env(), *_with_modules(), find_script(), *arguments]).elapsed_s


def _load(endpoint: Endpoint) -> None:
    """Theirs first: prepare waits until the database has nine tables.

    ``--replace``, since their tables would be a reason to ask first; it drops none of them.
    """
    prepare(endpoint)
    load_data(endpoint, "tpcc", "-s", str(WAREHOUSES), "--replace")


def _settle(endpoint: Endpoint) -> None:
    theirs = [f"{name}1" for name in (*TABLES, "new_orders")]
    settle_tables(endpoint, [*TABLES, "new_order", *theirs])


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = [f"--threads={load.clients}", f"--time={load.seconds}"]
    return [*_with_modules(), find_script(), *load.options, *numbers, *login(endpoint), "run"]


def _with_modules() -> list[str]:
    """The tool looks for a script's modules in the current folder, but not in the script's."""
    folder = Path(find_script()).parent
    return [f"LUA_PATH={folder}/?.lua;;", SYSBENCH.find()]


def _env() -> str:
    """It becomes sysbench, with a variable more."""
    path = shutil.which("env")
    assert path
    return path


def _by_dbdyno() -> str:
    find_script()
    return dbdyno_path()


def _arguments_by_dbdyno(load: Load, endpoint: Endpoint) -> list[str]:
    options = (find_script(), *load.options)
    return DBDYNO.arguments(replace(load, options=options), endpoint)


SYSBENCH_TPCC_DATA = Data(name="sysbench_tpcc", load=_load, settle=_settle)
SYSBENCH_TPCC = Tool(
    name="sysbench with sysbench-tpcc", find=_env, arguments=_arguments, read=SYSBENCH.read
)
BY_DBDYNO = Tool(
    name="dbdyno with sysbench-tpcc",
    find=_by_dbdyno,
    arguments=_arguments_by_dbdyno,
    read=DBDYNO.read,
)
