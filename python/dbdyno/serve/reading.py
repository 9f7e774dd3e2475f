"""What the server reads of runs: by name only, never by a path, and at most once while it is shown.

A report takes tenths of a second to make: the last few are kept for as long as their run does not
change.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar

from dbdyno.model.run import Histograms, Run
from dbdyno.store.errors import StoreError
from dbdyno.store.files import RECORD
from dbdyno.store.ids import folder_meant
from dbdyno.store.listing import RUN, run_folders, runs_folder
from dbdyno.store.run import RunFolder

Made = TypeVar("Made")
_KEPT_MAX = 4
_LAST = re.compile(r"last(~\d+)?", re.ASCII)


def run_named(name: str) -> Path:
    """The folder of the run with exactly this name, or of ``last``."""
    runs = runs_folder()
    if _LAST.fullmatch(name):
        return folder_meant(name, run_folders(), RUN, runs)
    folder = runs / name
    if not is_name(name) or not (folder / RECORD).is_file():
        raise StoreError("no_run", f"No run is named {name!r}.", RUN.hint)
    return folder


def is_name(text: str) -> bool:
    """Whether this could be the name of a run, and leads nowhere else."""
    return bool(text) and text == Path(text).name and text[0] != "." and text.isprintable()


class Reader:
    """Reads runs, in any thread."""

    def __init__(self, histograms: Histograms) -> None:
        self.histograms = histograms
        self._kept: OrderedDict[object, object] = OrderedDict()
        self._lock = Lock()

    def run(self, name: str) -> Run:
        """The whole run, as far as it has come; what of it is damaged is left out."""
        return RunFolder(run_named(name)).load(self.histograms)

    def made(self, make: Callable[[Run], Made], name: str) -> Made:
        """What is made of a run; made once for a run that has ended."""
        folder = run_named(name)
        found = (folder / RECORD).stat()
        key = (make, folder.name, found.st_mtime_ns, found.st_ino)
        with self._lock:  # one report at a time: each takes the memory of a run
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]  # type: ignore[return-value]
            run = self.run(folder.name)
            result = make(run)
            if run.record.status != "running":
                self._kept[key] = result
                while len(self._kept) > _KEPT_MAX:
                    self._kept.popitem(last=False)
            return result
