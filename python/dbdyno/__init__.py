"""A dynamometer for OLTP databases.

The Python API is :func:`open_run`. What it needs is imported when it is called: the command
line starts here, too, and must not wait for numpy.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing takes longer to import than the engine takes to start
if TYPE_CHECKING:
    from pathlib import Path

    from dbdyno.store.run import Run


def open_run(id_or_path: str | Path = "last") -> Run:
    """A run by its folder, its id, what only its id has in it, or ``last``.

    Its ``record`` holds the results, ``frame(name)`` a table as a data frame, ``columns(name)``
    the same as numpy columns; ``tables`` lists the names.
    """
    from dbdyno.store import run  # noqa: PLC0415

    return run.open_run(id_or_path)
