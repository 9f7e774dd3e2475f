"""``volume``: one row by its primary key in a table of any size, to show the effect of its size.

Its table's name is a common one, so a table without our mark is never used, nor replaced unless
requested. ``hot_rows`` limits the updates to a part of the table, as with real traffic.
"""

from pathlib import Path

from dbdyno.model.plan import Script
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import NotFewer, Unchanged
from dbdyno.workloads.keyed_table import keyed_table
from dbdyno.workloads.parameters import FILLFACTOR, UNLOGGED, Parameter, Values

FOLDER = Path(__file__).parent

ROWS_OF_TEST = "rows of test"
ROWS_PROBED = "rows of test at a thousand keys"
KEYS_PROBED = 1_000
ROWS_MAX = 2**31 - 1  # of a four-byte key

ROWS = Parameter(
    name="rows",
    kind="int",
    default=100_000,
    least=1,
    most=ROWS_MAX,
    description="rows of the table",
)
OPERATION = Parameter(
    name="operation",
    kind="choice",
    default="select",
    choices=("select", "update"),
    description="what each transaction does",
)
HOT_ROWS = Parameter(
    name="hot_rows",
    kind="int",
    default=0,
    least=0,
    most=ROWS_MAX,
    description="update only this many first rows, each with a read of any row; 0 for all rows",
)


def _measures(values: Values) -> dict[str, str]:
    """Return the measures: all rows, and those at keys spread over the table.

    Counting all rows of a large table takes longer than a run, and would warm every cache before
    it.
    """
    rows = int(values["rows"])
    keys = sorted({1 + number * (rows - 1) // (KEYS_PROBED - 1) for number in range(KEYS_PROBED)})
    probe = f"select count(*) from test where id in ({', '.join(map(str, keys))})"
    return {ROWS_OF_TEST: "select count(*) from test", ROWS_PROBED: probe}


def _scripts(values: Values, sql_dialect: str) -> list[Script]:
    is_hot = values["operation"] == "update" and int(values["hot_rows"]) > 0
    return [script_file(FOLDER, "update-hot" if is_hot else str(values["operation"]), sql_dialect)]


WORKLOAD = Workload(
    name="volume",
    summary="one select or update by primary key in a table of any size",
    question="How many look-ups, updates and inserts a second, one statement each?",
    parameters=(ROWS, FILLFACTOR, UNLOGGED, OPERATION, HOT_ROWS),
    data="volume",
    tables=lambda values: (keyed_table("test", "int", int(values["rows"]), values),),
    scripts=_scripts,
    measures=_measures,
    laws=lambda _values: (Unchanged((ROWS_PROBED,)),),
    balances=(NotFewer(ROWS_OF_TEST),),
    # At most as many hot rows as there are rows.
    variables=lambda values, _clients, _seed: {
        "rows": int(values["rows"]),
        "hot_rows": min(int(values["hot_rows"]), int(values["rows"])),
    },
    scale_name="rows",
    only_reads=lambda values: values["operation"] == "select",
)
