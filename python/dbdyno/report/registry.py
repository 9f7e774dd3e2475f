"""Finds the sections: every module of ``sections`` declares one as ``SECTION``."""

import pkgutil
from importlib import import_module

from dbdyno.report import sections
from dbdyno.report.content import Section


def all_sections() -> list[Section]:
    """Every section, in the order of the page."""
    modules = pkgutil.iter_modules(sections.__path__, f"{sections.__name__}.")
    found: list[Section] = [import_module(module.name).SECTION for module in modules]
    return sorted(found, key=lambda section: section.order)
