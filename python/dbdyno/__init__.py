"""A dynamometer for OLTP databases.

The Python API is :func:`open_run`. It imports what it needs when it is called: the command line
imports this package, too, and must not wait for numpy.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes longer than starting the engine
if TYPE_CHECKING:
    from pathlib import Path

    from dbdyno.store.run import RunFolder


def open_run(id_or_path: str | Path = "last") -> RunFolder:
    """Return a run, given its folder, its id, a part that only its id contains, or ``last``.

    Its ``record`` holds the results. Each table is an attribute, and so are its columns, as numpy
    arrays: ``run.intervals.completed_ok``. ``frame(name)`` returns a table as a data frame;
    ``tables`` lists the names.
    """
    from dbdyno.store import run  # noqa: PLC0415

    return run.open_run(id_or_path)
