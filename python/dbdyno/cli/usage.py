"""How a command is called: what it takes, and what follows of a script's own.

Imports nothing of a command: the line that names what one takes is made when its help is asked for.
"""

from collections.abc import Iterator, Sequence
from inspect import Parameter as Declared

from cyclopts import App, Argument

# Commands that take a script's own options after ``--``.
SCRIPTED = ("run", "search", "load", "script")


def with_script_options(words: Sequence[str]) -> list[str]:
    """What stands after ``--`` is a script's own, where a command runs one."""
    if "--" not in words or words[0] not in SCRIPTED:
        return list(words)
    end = words.index("--")
    own = [f"--script-option={word}" for word in words[end + 1 :]]
    return [*words[:end], *own]


def name_arguments(app: App, tokens: Sequence[str]) -> None:
    """Lets the help that is asked for name what may be left out: the library says ``[ARGS]``."""
    words, apps, _ = app.parse_commands([word for word in tokens if word not in app.help_flags])
    apps[-1].usage = usage_of(words, apps[-1])


def usage_of(words: Sequence[str], app: App) -> str:
    """``Usage: dbdyno study resume [OPTIONS] [STUDY]``."""
    taken = _taken(app) if app.default_command else ["COMMAND"]
    own = ["[-- SCRIPT OPTIONS]"] if words and words[0] in SCRIPTED else []
    return " ".join(["Usage: dbdyno", *words, *taken, *own])


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
