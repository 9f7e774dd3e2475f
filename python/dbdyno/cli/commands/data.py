"""``dbdyno data``: lists and removes the prepared data that studies keep for their servers."""

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import Age, find_all
from dbdyno.cli.output import Exit, examples, print_aside, print_json, print_result, print_table
from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted, gigabytes
from dbdyno.servers import data_sets
from dbdyno.servers.data_sets import DataSet

app = command(
    "data",
    "dbdyno data list                  list data sets and their sizes",
    "dbdyno data prune --older 30d     remove data sets unused for 30 days",
    "dbdyno data prune KEY             remove one",
    "dbdyno data prune                 remove all that are not in use",
)
HEADINGS = ("data set", "workload", "server", "made", "used", "size")
app.help = """Manage prepared data sets that private servers copy.

A study loads each size of its data once and starts every server on a copy of it.
"""


@app.command(name="list", help_epilogue=examples("dbdyno data list"))
def list_(*, json: Json = False) -> int:
    """List the data sets."""
    found = data_sets.list_data_sets()
    if json:
        print_json({"data_sets": found})
    elif not found:
        print_aside("No data sets. Studies create them.")
    else:
        rows = (
            (
                one.key,
                one.about.workload,
                f"{one.product} {one.version}",
                one.made_at,
                one.used_at,
                gigabytes(one.bytes),
            )
            for one in found
        )
        print_table(HEADINGS, rows, left=len(HEADINGS) - 1)
        print_aside(f"{gigabytes(sum(data.bytes for data in found))} in total")
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno data prune",
        "dbdyno data prune --older 30d",
        "dbdyno data prune KEY",
    )
)
def prune(*keys: str, older: Age = None, json: Json = False) -> int:
    """Remove data sets that are not in use; a study that needs one prepares it again.

    Parameters
    ----------
    keys
        Keys of the data sets to remove; default all.
    older
        Only data sets that no server has used for this long: 30d, 12h; a bare number is in days.
    """
    chosen = find_all(keys, _found) or data_sets.list_data_sets()
    if older is not None:
        chosen = [data for data in chosen if data_sets.is_unused_for(data, older.total_seconds())]
    removed, kept = _removed(chosen)
    if json:
        print_json({"removed": removed, "in_use": kept})
        return Exit.OK
    for data in kept:
        print_aside(f"kept {data.key}: it is in use")
    freed = gigabytes(sum(data.bytes for data in removed))
    print_result(f"removed {counted(len(removed), 'data set')}, {freed}")
    return Exit.OK


def _removed(chosen: list[DataSet]) -> tuple[list[DataSet], list[DataSet]]:
    """Return the sets that were removed, and those that are in use."""
    removed, kept = [], []
    for data in chosen:
        try:
            data_sets.remove_data_set(data.key)
            removed.append(data)
        except DbdynoError as error:
            if error.code != "data_set_in_use":
                raise
            kept.append(data)
    return removed, kept


def _found(key: str) -> DataSet:
    data = data_sets.find_data_set(key)
    if data is None:
        raise data_sets.unknown_data_set(key)
    return data
