"""Resolves a study file for one size: words merged, levels chosen. Reads nothing, runs nothing.

The words of a point come from the base, then the size, then each factor's level; tables (``set``,
``define``, ``scripts``) are merged name by name, everything else is replaced.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dbdyno.model.study import Factor, Level, OptionTable
from dbdyno.run.options.words import TABLES, option_text
from dbdyno.study.file import FactorTable, Scalar, SizeTable, bad_study, known_or_refused

SEPARATORS = (",", "=")
"""These separate the parts of a point's key, so no level may contain them."""


def merged(*layers: Mapping[str, Any]) -> OptionTable:
    """Merge the words of all layers; later ones take precedence, name by name within tables."""
    options: OptionTable = {}
    for layer in layers:
        for name, value in layer.items():
            if name in TABLES and isinstance(value, Mapping):
                options[name] = {**options.get(name, {}), **value}
            else:
                options[name] = value
    return options


def factor_of(path: Path, table: FactorTable, size: SizeTable) -> Factor:
    """Return a factor with its levels at this size."""
    levels = _levels(table.name, table.levels)
    chosen = size.levels.get(table.name)
    if isinstance(chosen, Mapping):
        for name in chosen:
            known_or_refused(path, f"levels.{table.name}", name, [level.name for level in levels])
        levels = [
            replace(level, options=merged(level.options, chosen.get(level.name, {})))
            for level in levels
        ]
    elif chosen is not None:
        levels = _chosen(path, table, levels, chosen)
    names = [level.name for level in levels]
    for name in (table.name, *names):
        if not name or any(separator in name for separator in SEPARATORS):
            hint = "Give it another name: [factor.levels.NAME]"
            raise bad_study(path, f"factor {table.name}: {name!r} is not a valid level name", hint)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise bad_study(path, f"factor {table.name} has the level {min(twice)!r} twice")
    return Factor(
        name=table.name, title=table.title or table.name, levels=tuple(levels), unit=table.unit
    )


def option_table(name: str, value: object) -> OptionTable:
    """Return an option's value as words: ``set.jit`` is a name within a table."""
    table, dot, inner = name.partition(".")
    return {table: {inner: value}} if dot else {name: value}


def _levels(name: str, levels: Sequence[Scalar] | Mapping[str, OptionTable]) -> list[Level]:
    if isinstance(levels, Mapping):
        return [Level(name=level, options=options) for level, options in levels.items()]
    return [Level(name=option_text(value), options=option_table(name, value)) for value in levels]


def _chosen(
    path: Path, table: FactorTable, levels: Sequence[Level], chosen: Sequence[Scalar]
) -> list[Level]:
    """Return other values of an option or, if levels are tables, the levels named."""
    if not isinstance(table.levels, Mapping):
        return _levels(table.name, chosen)
    by_name = {level.name: level for level in levels}
    names = [option_text(value) for value in chosen]
    for name in names:
        known_or_refused(path, f"levels.{table.name}", name, by_name)
    return [by_name[name] for name in names]
