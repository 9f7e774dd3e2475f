"""The command line of a run, generated from its options.

Each option's flag is declared only in ``run/options.py``; how a value is written follows from its
type, the inverse of ``run/grammar.py``. Options with their default value are omitted, and so are
options that only say where the result goes.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, get_type_hints

from cyclopts import Parameter

from dbdyno.model.plan import Stage, Think
from dbdyno.run.grammar import WeightedName, share_text, span_text, weighted_name
from dbdyno.run.option_tables import read_options
from dbdyno.run.options import RunOptions

# These concern only the output: another run of the same kind has its own.
_NOT_OF_THE_RUN = frozenset({"progress_ns", "tags", "report", "json"})
_SHARES = frozenset({"failures_max", "disturbance_max"})


def arguments_of(items: Sequence[WeightedName], options: RunOptions) -> list[str]:
    """Return the words after ``dbdyno run`` that request this run."""
    return [*map(_text, items), *_option_arguments(options)]


def option_table(options: RunOptions) -> dict[str, Any]:
    """Return the options as words in a table, as ``options_from`` reads them."""
    table: dict[str, Any] = {}
    for field in fields(RunOptions):
        value = getattr(options, field.name)
        if field.name in _NOT_OF_THE_RUN or value == field.default:
            continue
        flag = flags()[field.name]
        words = [word.removeprefix(f"{flag}=") for word in _written(flag, field.name, value)]
        values = [word for word in words if word != flag]
        table[flag.removeprefix("--")] = values if values else True
    return table


def parse_arguments(arguments: Sequence[str]) -> tuple[list[WeightedName], RunOptions]:
    """Parse the words of a run: the inverse of :func:`arguments_of`."""
    items = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    return [*map(weighted_name, items)], read_options(arguments[len(items) :])


def command_of(arguments: Sequence[str], *more: str) -> str:
    """Return a shell command for these words, with further words appended."""
    return shlex.join(["dbdyno", "run", *arguments, *more])


def _option_arguments(options: RunOptions) -> Iterator[str]:
    for field in fields(RunOptions):
        value = getattr(options, field.name)
        if field.name not in _NOT_OF_THE_RUN and value != field.default:
            yield from _written(flags()[field.name], field.name, value)


@cache
def flags() -> Mapping[str, str]:
    """The long flag of each field of the options."""
    hints = get_type_hints(RunOptions, include_extras=True)
    return {field.name: _long_name(hints[field.name].__metadata__) for field in fields(RunOptions)}


def _long_name(metadata: Sequence[object]) -> str:
    parameter = next(one for one in metadata if isinstance(one, Parameter))
    return next(name for name in parameter.name or () if name.startswith("--"))


def _written(flag: str, field: str, value: Any) -> Iterator[str]:
    if value is True:
        yield flag
    elif isinstance(value, tuple) and not isinstance(value[0], Stage):
        for one in map(_text, value):
            # Joined with =, a value that begins with a dash is not taken for an option.
            yield from (f"{flag}={one}",) if one.startswith("-") else (flag, one)
    elif field.endswith("_ns"):
        yield from (flag, span_text(value))
    elif field in _SHARES:
        yield from (flag, share_text(value))
    else:
        yield from (flag, _text(value))


def _text(value: Any) -> str:
    """Write one value in the syntax of the grammar."""
    write: Callable[[], str] = {
        float: lambda: f"{value:.12g}",
        Path: value.__str__,
        WeightedName: lambda: value.name if value.weight == 1 else f"{value.name}@{value.weight}",
        Think: lambda: f"{span_text(value.mean_ns)},{value.law}",
        tuple: partial(_tuple_text, value),
    }.get(type(value), lambda: str(value))
    return write()


def _tuple_text(value: tuple[Any, ...]) -> str:
    """Write an assignment, or stages."""
    if isinstance(value[0], Stage):
        return ",".join(map(_stage_text, value))
    name, assigned = value
    return f"{name}={assigned}"


def _stage_text(stage: Stage) -> str:
    load = f"{stage.clients}c" if stage.rate_tps is None else f"{stage.rate_tps:.12g}/s"
    return f"{span_text(stage.duration_ns or 0)}:{load}"
