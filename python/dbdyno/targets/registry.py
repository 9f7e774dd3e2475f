"""Finds the targets: every package here that defines ``TARGET``."""

import importlib
import pkgutil
from functools import cache

from dbdyno import targets
from dbdyno.targets.base import Target


def find_target(name: str) -> Target:
    """Return the target of this name without importing others: each needs its own driver."""
    target: Target = importlib.import_module(f"{targets.__name__}.{name}").TARGET
    return target


@cache
def all_targets() -> dict[str, Target]:
    """Return all targets by name."""
    packages = [module.name for module in pkgutil.iter_modules(targets.__path__) if module.ispkg]
    return {name: find_target(name) for name in packages}
