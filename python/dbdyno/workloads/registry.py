"""Finds the workloads: every folder here has a ``workload.py`` that defines one or several.

One is called ``WORKLOAD``; a family whose members differ only in their scripts is ``WORKLOADS``.
"""

import importlib
import pkgutil
from functools import cache

from dbdyno import workloads
from dbdyno.errors import DbdynoError, nearest
from dbdyno.workloads.base import Workload


@cache
def all_workloads() -> dict[str, Workload]:
    """Return the workloads by name."""
    folders = [module.name for module in pkgutil.iter_modules(workloads.__path__) if module.ispkg]
    modules = [importlib.import_module(f"{workloads.__name__}.{name}.workload") for name in folders]
    families = [getattr(module, "WORKLOADS", None) or (module.WORKLOAD,) for module in modules]
    return {workload.name: workload for family in families for workload in family}


def default_texts() -> dict[str, dict[str, str]]:
    """Return the default parameters of each workload by name, as written after ``-D``."""
    return {
        workload.name: {one.name: one.default_text for one in workload.parameters}
        for workload in all_workloads().values()
    }


def find_workload(name: str) -> Workload:
    """Return the workload of this name; an error names the nearest."""
    known = all_workloads()
    if name in known:
        return known[name]
    message = f"unknown workload {name!r}"
    raise DbdynoError("unknown_workload", message, nearest(name, sorted(known)))
