"""A study's file settled on one size: words merged, levels chosen. Reads nothing, runs nothing.

The words of a point come from the base, then the size, then each factor's level; tables
(``set``, ``define``, ``scripts``) are merged name by name, everything else is replaced.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.model.study import Factor, Level, Words
from dbdyno.run.words import TABLES, spoken
from dbdyno.study.file import FactorTable, Scalar, SizeTable, bad_study, known_or_refused

SEPARATORS = (",", "=")
"""A point's key is written with these, so no level may hold them."""


def merged(*layers: Mapping[str, Any]) -> Words:
    """The words of all layers; the later wins, name by name within tables."""
    words: Words = {}
    for layer in layers:
        for name, value in layer.items():
            if name in TABLES and isinstance(value, Mapping):
                words[name] = {**words.get(name, {}), **value}
            else:
                words[name] = value
    return words


def factor_of(path: Path, table: FactorTable, size: SizeTable) -> Factor:
    """A factor with the levels that this size has of it."""
    levels = _levels(table.name, table.levels)
    chosen = size.levels.get(table.name)
    if isinstance(chosen, Mapping):
        levels = _changed(path, table.name, levels, chosen)
    elif chosen is not None:
        levels = _chosen(path, table, levels, chosen)
    _refuse_names(path, table.name, levels)
    return Factor(
        name=table.name, title=table.title or table.name, levels=tuple(levels), unit=table.unit
    )


def option_words(name: str, value: object) -> Words:
    """What a value of an option is as words: ``set.jit`` is a name within a table."""
    table, dot, inner = name.partition(".")
    return {table: {inner: value}} if dot else {name: value}


def _levels(name: str, levels: Sequence[Scalar] | Mapping[str, Words]) -> list[Level]:
    if isinstance(levels, Mapping):
        return [Level(name=level, words=words) for level, words in levels.items()]
    return [Level(name=spoken(value), words=option_words(name, value)) for value in levels]


def _chosen(
    path: Path, table: FactorTable, levels: Sequence[Level], chosen: Sequence[Scalar]
) -> list[Level]:
    """Other values of an option; of levels that are tables, those that are named."""
    if not isinstance(table.levels, Mapping):
        return _levels(table.name, chosen)
    by_name = {level.name: level for level in levels}
    names = [spoken(value) for value in chosen]
    for name in names:
        known_or_refused(path, f"levels.{table.name}", name, by_name)
    return [by_name[name] for name in names]


def _changed(
    path: Path, factor: str, levels: Sequence[Level], changes: Mapping[str, Words]
) -> list[Level]:
    """The same levels, some of them with further words."""
    for name in changes:
        known_or_refused(path, f"levels.{factor}", name, [level.name for level in levels])
    return [
        Level(name=level.name, words=merged(level.words, changes.get(level.name, {})))
        for level in levels
    ]


def _refuse_names(path: Path, factor: str, levels: Sequence[Level]) -> None:
    names = [level.name for level in levels]
    for name in (factor, *names):
        if not name or any(separator in name for separator in SEPARATORS):
            hint = "Give it another name: [factor.levels.NAME]"
            raise bad_study(path, f"factor {factor}: {name!r} is not a valid level name", hint)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise bad_study(path, f"factor {factor} has the level {min(twice)!r} twice")
