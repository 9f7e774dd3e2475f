"""How a command is called: its arguments, and the options of a script that follow.

Imports no command: the usage line with its arguments is made when its help is requested.
"""

from collections.abc import Iterator, Sequence
from inspect import Parameter as Declared

from cyclopts import App, Argument

# Commands that accept a script's own options after ``--``.
SCRIPTED = ("run", "search", "load", "script")


def with_script_options(arguments: Sequence[str]) -> list[str]:
    """Turn what follows ``--`` into options, for commands that run a script."""
    if "--" not in arguments or arguments[0] not in SCRIPTED:
        return list(arguments)
    end = arguments.index("--")
    own = [f"--script-option={argument}" for argument in arguments[end + 1 :]]
    return [*arguments[:end], *own]


def name_arguments(app: App, tokens: Sequence[str]) -> None:
    """Name the optional arguments in the requested help, where the library prints ``[ARGS]``."""
    arguments, apps, _ = app.parse_commands(
        [argument for argument in tokens if argument not in app.help_flags]
    )
    apps[-1].usage = usage_of(arguments, apps[-1])


def usage_of(arguments: Sequence[str], app: App) -> str:
    """Return the usage line: ``Usage: dbdyno study resume [OPTIONS] [STUDY]``."""
    taken = _taken(app) if app.default_command else ["COMMAND"]
    own = ["[-- SCRIPT OPTIONS]"] if arguments and arguments[0] in SCRIPTED else []
    return " ".join(["Usage: dbdyno", *arguments, *taken, *own])


def _taken(app: App) -> Iterator[str]:
    arguments = [argument for argument in app.assemble_argument_collection() if argument.show]
    if any(argument.index is None for argument in arguments):
        yield "[OPTIONS]"
    yield from (_place(argument) for argument in arguments if argument.index is not None)


def _place(argument: Argument) -> str:
    name = argument.name.lstrip("-").upper()
    if argument.field_info.kind == Declared.VAR_POSITIONAL:
        name += "..."
    return name if argument.required else f"[{name}]"
