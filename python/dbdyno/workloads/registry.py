"""Finds the workloads: every folder here whose ``workload.py`` ends in ``WORKLOAD = …``."""

import difflib
import importlib
import pkgutil
from functools import cache

from dbdyno import workloads
from dbdyno.errors import DbdynoError
from dbdyno.workloads.base import Workload


@cache
def all_workloads() -> dict[str, Workload]:
    """The workloads by name."""
    folders = [module.name for module in pkgutil.iter_modules(workloads.__path__) if module.ispkg]
    modules = [importlib.import_module(f"{workloads.__name__}.{name}.workload") for name in folders]
    return {module.WORKLOAD.name: module.WORKLOAD for module in modules}


def find_workload(name: str) -> Workload:
    """The workload of this name; an error names the nearest."""
    known = all_workloads()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(known))}"
    raise DbdynoError("unknown_workload", f"there is no workload {name!r}", hint)
