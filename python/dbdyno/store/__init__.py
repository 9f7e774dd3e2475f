"""Run folders: write, read, list, query.

They are the only thing that passes from measuring to explaining, in open formats (JSON and
Parquet). Queries stand in :mod:`dbdyno.store.query`, which a run has no need to import.
"""

from dbdyno.store.errors import LeftOut, StoreError
from dbdyno.store.listing import find_run, remove_run
from dbdyno.store.places import runs_folder
from dbdyno.store.run import Run, open_run
from dbdyno.store.summary import RunSummary, list_runs, read_records
from dbdyno.store.writer import RunWriter

__all__ = [
    "LeftOut",
    "Run",
    "RunSummary",
    "RunWriter",
    "StoreError",
    "find_run",
    "list_runs",
    "open_run",
    "read_records",
    "remove_run",
    "runs_folder",
]
