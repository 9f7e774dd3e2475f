"""A run's options as words: on a command line, and in a table such as ``clients = 4`` of a study.

Both are read by the same class with the same grammars: everything that ``dbdyno run`` accepts can
be written in a study, and every point of a study can be run alone. Each option's flag is declared
only in ``run_options.py``; how a value is written follows from its type, the inverse of
``grammar.py``. Knows nothing of studies: errors name the word, and the caller adds the place in
its file.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, get_type_hints

from cyclopts import App, CycloptsError, Parameter

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Stage, Think
from dbdyno.run.options.grammar import WeightedName, share_text, span_text, weighted_name
from dbdyno.run.options.run_options import SCRIPT_OPTION, RunOptions

WORKLOAD = "workload"
SCRIPTS = "scripts"
SCRIPT_FILE = "file"
TABLES = ("set", "define", SCRIPTS, SCRIPT_OPTION.removeprefix("--"))
"""Words whose values are tables of names and values, merged name by name."""

# Set by the caller of a run: the seed by the order of the study, the rest for the output.
RESERVED = frozenset({"seed", "tag", "report", "json", "progress"})
# These concern only the output: another run of the same kind has its own.
_NOT_OF_THE_RUN = frozenset({"progress_ns", "tags", "report", "json"})
_SHARES = frozenset({"failures_max", "disturbance_max"})


def arguments_of(items: Sequence[WeightedName], options: RunOptions) -> list[str]:
    """Return the words after ``dbdyno run`` that request this run, without its output."""
    return [*map(_text, items), *(word for words in _written(options).values() for word in words)]


def command_of(arguments: Sequence[str], *more: str) -> str:
    """Return a shell command for these words, with further words appended."""
    return shlex.join(["dbdyno", "run", *arguments, *more])


def parse_arguments(arguments: Sequence[str]) -> tuple[list[WeightedName], RunOptions]:
    """Parse the words of a run: the inverse of :func:`arguments_of`."""
    items = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    return [*map(weighted_name, items)], read_options(arguments[len(items) :])


def read_options(words: Sequence[str]) -> RunOptions:
    """Parse options from a command line."""
    try:
        options: RunOptions = _application()(
            list(words),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        raise DbdynoError(
            "bad_option", " ".join(str(error).split()), "See dbdyno run --help."
        ) from error
    return options


def files_from(table: Mapping[str, Any]) -> list[str]:
    """Return the names of the script files that are given as options."""
    return [weighted_name(name).name for name in texts_of(table.get(SCRIPT_FILE, ()))]


def texts_of(value: object) -> list[str]:
    """Return an option's values as on a command line; those of a table as ``name=value``."""
    if isinstance(value, Mapping):
        return [f"{name}={option_text(one)}" for name, one in value.items()]
    return [option_text(one) for one in _listed(value)]


def option_table(options: RunOptions) -> dict[str, Any]:
    """Return the options as words in a table, as ``options_from`` reads them."""
    table: dict[str, Any] = {}
    for flag, words in _written(options).items():
        values = [word.removeprefix(f"{flag}=") for word in words if word != flag]
        table[flag.removeprefix("--")] = values if values else True
    return table


def items_from(table: Mapping[str, Any]) -> list[WeightedName]:
    """Return what is run: the workload and script files, which precede the options."""
    try:
        return [weighted_name(str(name)) for name in _listed(table.get(WORKLOAD, ()))]
    except ValueError as error:
        raise DbdynoError("bad_option", f"{WORKLOAD}: {error}") from error


def options_from(table: Mapping[str, Any], scripts_folder: Path = Path()) -> RunOptions:
    """Return the options; ``scripts_folder`` contains the texts of ``scripts`` as files."""
    entries = (_words(name, value, scripts_folder) for name, value in table.items())
    return read_options([word for words in entries for word in words])


def script_path(folder: Path, name: str) -> Path:
    """Path of the file with the text of a script from a study."""
    return folder / f"{name}.sql"


def option_text(value: object) -> str:
    """Write a table's value as on a command line and in settings."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


@cache
def flags() -> Mapping[str, str]:
    """The long flag of each field of the options."""
    hints = get_type_hints(RunOptions, include_extras=True)
    found = {}
    for field in fields(RunOptions):
        metadata = hints[field.name].__metadata__
        parameter = next(one for one in metadata if isinstance(one, Parameter))
        found[field.name] = next(name for name in parameter.name or () if name.startswith("--"))
    return found


@cache
def known_options() -> frozenset[str]:
    """The long names of options, and the words for the other parts of the command line."""
    arguments = _application().assemble_argument_collection()
    names = [name for argument in arguments for name in argument.names]
    long = {name.removeprefix("--") for name in names if name.startswith("--")}
    return frozenset((long | {WORKLOAD, SCRIPTS}) - RESERVED)


@cache
def _application() -> App:
    """A command that only parses its options."""
    app = App(
        name="run",
        default_parameter=Parameter(negative=()),
        version_flags=[],
        help_flags=[],
    )

    @app.default
    def read(*, options: RunOptions = RunOptions()) -> RunOptions:
        return options

    return app


def _words(name: str, value: object, scripts_folder: Path) -> Iterator[str]:
    """Yield a table's entry as on a command line; what is run is none of the options."""
    flag = f"--{name}"
    if name == WORKLOAD:
        return
    if name == SCRIPTS and isinstance(value, Mapping):
        for script, about in value.items():
            path = script_path(scripts_folder, script)
            yield f"--file={path}@{about.get('weight', 1)}"
    elif isinstance(value, bool):
        if value:
            yield flag
    elif isinstance(value, Mapping):
        dashes = "--" if flag == SCRIPT_OPTION else ""
        for key, inner in value.items():
            yield f"{flag}={dashes}{key}={option_text(inner)}"
    else:
        for one in _listed(value):
            yield f"{flag}={option_text(one)}"  # as one word: a value may begin with dashes


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else (value,)


def _written(options: RunOptions) -> dict[str, list[str]]:
    """Return the words of each option by its flag; defaults are omitted."""
    written: dict[str, list[str]] = {}
    for field in fields(RunOptions):
        value, flag = getattr(options, field.name), flags()[field.name]
        if field.name in _NOT_OF_THE_RUN or value == field.default:
            continue
        if value is True:
            written[flag] = [flag]
        elif isinstance(value, tuple) and not isinstance(value[0], Stage):
            written[flag] = []
            for text in map(_text, value):
                # Joined with =, a value that begins with a dash is not taken for an option.
                written[flag] += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
        elif field.name.endswith("_ns"):
            written[flag] = [flag, span_text(value)]
        elif field.name in _SHARES:
            written[flag] = [flag, share_text(value)]
        else:
            written[flag] = [flag, _text(value)]
    return written


def _text(value: Any) -> str:
    """Write one value in the syntax of the grammar."""
    match value:
        case float():
            text = f"{value:.12g}"
        case WeightedName():
            text = str(value)
        case Think():
            text = f"{span_text(value.mean_ns)},{value.law}"
        case Stage():
            load = f"{value.clients}c" if value.rate_tps is None else f"{value.rate_tps:.12g}/s"
            text = f"{span_text(value.duration_ns or 0)}:{load}"
        case (Stage(), *_):
            text = ",".join(map(_text, value))
        case (name, assigned):
            text = f"{name}={assigned}"
        case _:
            text = str(value)
    return text
