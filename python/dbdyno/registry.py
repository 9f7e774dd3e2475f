"""Finds what extends dbdyno: in some folders, each module declares one thing, by a common name.

``declared(rules, "RULE")`` is every ``RULE = …`` of the modules in ``rules``. To add a thing is to
add its file: no list names it.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def modules_of(folder: ModuleType) -> dict[str, ModuleType]:
    """Return the modules of a folder by name, in alphabetical order."""
    names = sorted(module.name for module in iter_modules(folder.__path__))
    return {name: import_module(f"{folder.__name__}.{name}") for name in names}


def declared(folder: ModuleType, what: str) -> dict[str, Any]:
    """Return what each module of a folder declares as ``what``, by the name of the module."""
    return {name: getattr(module, what) for name, module in modules_of(folder).items()}
