"""Finds the targets: every package here that ends in ``TARGET = …``."""

import importlib
import pkgutil
from functools import cache

from dbdyno import targets
from dbdyno.targets.base import Target


@cache
def all_targets() -> dict[str, Target]:
    """The targets by name."""
    packages = [module.name for module in pkgutil.iter_modules(targets.__path__) if module.ispkg]
    found = [importlib.import_module(f"{targets.__name__}.{name}").TARGET for name in packages]
    return {target.name: target for target in found}
