"""A run's options as words in a table, as studies write them: ``clients = 4``, ``set.jit = "off"``.

The words are those of the command line, read by the same class with the same grammars: everything
that ``dbdyno run`` accepts can be written in a study, and every point of a study can be run alone.
Knows nothing of studies: errors name the word, and the caller adds the place in its file.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from dbdyno.errors import DbdynoError
from dbdyno.run.grammar import WeightedName, weighted_name
from dbdyno.run.options import SCRIPT_OPTION, RunOptions

WORKLOAD = "workload"
SCRIPTS = "scripts"
TABLES = ("set", "define", SCRIPTS, SCRIPT_OPTION.removeprefix("--"))
"""Words whose values are tables of names and values, merged name by name."""

# Set by the caller of a run: the seed by the order of the study, the rest for the output.
RESERVED = frozenset({"seed", "tag", "report", "json", "progress"})


def items_from(options: Mapping[str, Any]) -> list[WeightedName]:
    """Return what is run: the workload and script files, which precede the options."""
    named = options.get(WORKLOAD, ())
    try:
        return [weighted_name(str(name)) for name in _listed(named)]
    except ValueError as error:
        raise DbdynoError("bad_option", f"{WORKLOAD}: {error}") from error


def options_from(options: Mapping[str, Any], scripts_folder: Path = Path()) -> RunOptions:
    """Return the options; ``scripts_folder`` contains the texts of ``scripts`` as files."""
    return read_options(_option_tokens(options, scripts_folder))


def read_options(tokens: Sequence[str]) -> RunOptions:
    """Parse options from a command line."""
    try:
        options: RunOptions = _application()(
            list(tokens),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        raise DbdynoError(
            "bad_option", " ".join(str(error).split()), "See dbdyno run --help."
        ) from error
    return options


def _option_tokens(options: Mapping[str, Any], scripts_folder: Path) -> list[str]:
    """Return the words as on a command line, without what is run."""
    return [
        token
        for name, value in options.items()
        if name != WORKLOAD
        for token in _tokens(name, value, scripts_folder)
    ]


def script_path(folder: Path, name: str) -> Path:
    """Path of the file with the text of a script from a study."""
    return folder / f"{name}.sql"


def option_text(value: object) -> str:
    """Write a value as on a command line and in settings."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


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


def _tokens(name: str, value: object, scripts_folder: Path) -> Iterator[str]:
    flag = f"--{name}"
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
