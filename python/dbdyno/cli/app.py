"""The application of each command, as the library that reads command lines needs it.

A command's module is imported when that command is called.
"""

from collections.abc import Container, Sequence
from typing import Annotated, TypeAlias

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError

from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.help import FlowingHelp, hint_for, name_arguments, takes_host
from dbdyno.cli.output import examples
from dbdyno.errors import DbdynoError

_OPTIONS = Group("Options")

Json: TypeAlias = Annotated[
    bool, Parameter(negative=(), help="Print one JSON object to standard output, and nothing else.")
]


def call(words: Sequence[str]) -> object:
    """Run the command that the words name; return its result.

    Words that it does not accept are a DbdynoError with the code ``usage``.
    """
    if words[0] in COMMANDS and takes_host(words[1:]):
        raise DbdynoError("usage", "-h means help", hint_for("--host"))
    app = make_app(words)
    try:
        if not set(words).isdisjoint(app.help_flags):
            name_arguments(app, words)
        return app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        raise DbdynoError("usage", " ".join(str(error).split()), _hint(error)) from error


def command(name: str, *lines: str) -> App:
    """Return the application of one command, with examples below its options."""
    return App(
        name=name,
        help_format="plaintext",
        help_formatter=FlowingHelp(),
        help_epilogue=examples(*lines),
        group_parameters=_OPTIONS,
        # A default that is off or empty is not shown; options show others themselves.
        default_parameter=Parameter(negative=(), show_default=False),
        version_flags=[],
        suppress_keyboard_interrupt=False,
    )


def make_app(called: Container[str] = ()) -> App:
    """Return the application with the commands that are ``called``; of others only the names.

    Those are not imported.
    """
    app = command("dbdyno")
    app.version = version
    app.version_flags = ["--version"]
    for name in COMMANDS:
        if name in called:
            app.command(f"dbdyno.cli.commands.{name}:app", name=name)
        else:
            app.command(App(name=name))
    return app


def version() -> str:
    """Return the version of the installed package."""
    from importlib import metadata  # noqa: PLC0415 - an eighth of the time of --help

    return metadata.version("dbdyno")


def _hint(error: CycloptsError) -> str:
    """Return what replaces an option of pgbench or sysbench; else refer to the help."""
    if isinstance(error, UnknownOptionError):
        instead = hint_for(error.token.keyword or error.token.value)
        if instead:
            return instead
    return f"See {' '.join(['dbdyno', *(error.command_chain or ()), '--help'])}."
