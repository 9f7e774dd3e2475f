"""What ``--help`` shows, how a command is called, and what to write instead of others' options.

Of one command: that of all is ``front_page.py``. The usage line with its arguments is made when
help is requested.
"""

from collections.abc import Iterator, Sequence
from inspect import Parameter as Declared
from typing import TYPE_CHECKING, Any

from cyclopts import App

from dbdyno.cli.commands import SCRIPTED

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from cyclopts.help.formatters import DefaultFormatter
    from cyclopts.help.inline_text import InlineText
    from rich.console import Console, ConsoleOptions

_TARGET = "Give the server as a URL: --target postgresql://USER@HOST:PORT/DATABASE"
_MYSQL = "Give the server as a URL: --target mysql://USER@HOST:PORT/DATABASE"
_SCRIPT_OPTION = (
    "Set a workload's parameter with -D, as in -D table_size=100000; options of a sysbench script "
    "follow --, as in: dbdyno run FILE.lua -- --table-size=100000"
)
_KEPT = "Leave it out: every run records this, and dbdyno report and dbdyno sql show it."

_INSTEAD = {
    "-S --select-only": "Give the workload as an argument: dbdyno run select-only",
    "-N --skip-some-updates": "Give the workload as an argument: dbdyno run simple-update",
    "-b --builtin": "Give the workload as an argument: dbdyno run tpcb (or select-only, …)",
    "-i --initialize -I --init-steps": "To load data: dbdyno load tpcb -s SCALE --target URL",
    "-F --fillfactor": "Set the workload's parameter: -D fillfactor=90",
    "--unlogged-tables": "Set the workload's parameter: -D unlogged=on",
    "--foreign-keys": "Set the workload's parameter: -D foreign_keys=on",
    "--partitions": "Set the workload's parameter: -D partitions=4",
    "--partition-method": "Set the workload's parameter: -D partition_method=hash",
    "-h --host -p --port -U --username -d --dbname": _TARGET,
    "--pgsql-host --pgsql-port --pgsql-user --pgsql-password --pgsql-db": _TARGET,
    "--mysql-host --mysql-port --mysql-user --mysql-password --mysql-db --mysql-socket": _MYSQL,
    "--db-driver": "The target's URL determines the driver: --target mysql://… or postgresql://…",
    "-r --report-per-command --report-latencies --percentile --histogram": _KEPT,
    "-l --log --aggregate-interval --sampling-rate --log-prefix --failures-detailed": _KEPT,
    "-v --vacuum-all": "Leave it out: dbdyno vacuums a private server, and what it loads.",
    "--random-seed --rand-seed": "Use --seed NUMBER.",
    "--events": "Use -t NUMBER, which is per client.",
    "--warmup-time": "Use --warmup TIME.",
    "--report-interval": "Use -P TIME.",
    "--tables --table-size --rand-type": _SCRIPT_OPTION,
    "--dry-run": "To see what a study would run, without running it: dbdyno study plan NAME",
}
_HINTS = {option: hint for options, hint in _INSTEAD.items() for option in options.split()}
OPTIONS = frozenset(_HINTS)
"""Options of pgbench, sysbench and other tools that ``dbdyno run`` does not have.

Those that it has mean the same as there. Nothing is guessed."""


class FlowingHelp:
    """The library's own pages with other descriptions. Imports nothing unless help is requested."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """Print one box of options, arguments or commands."""
        entries = [
            entry.copy(description=_inline(" ".join(plain(entry.description).split())))
            for entry in panel.entries
        ]
        _pages()(console, options, panel.copy(entries=entries))

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        """Print the line that begins with Usage."""
        _pages().render_usage(console, options, usage)

    def render_description(
        self, console: "Console", options: "ConsoleOptions", description: Any
    ) -> None:
        """Print the description of the command, one paragraph after the other."""
        paragraphs = plain(description).split("\n\n")
        flowing = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        _pages().render_description(console, options, _inline(flowing))
        console.print()


def _pages() -> "DefaultFormatter":
    from cyclopts.help.formatters import DefaultFormatter  # noqa: PLC0415 - only help needs it

    return DefaultFormatter()


def plain(text: Any) -> str:
    """Return the text of what the library may have made a renderable."""
    return str(getattr(text, "primary_renderable", text))


def _inline(text: str) -> "InlineText":
    from cyclopts.help.inline_text import InlineText  # noqa: PLC0415 - only help needs it

    return InlineText.from_format(text, "plaintext")


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
    for argument in arguments:
        if argument.index is not None:
            name = argument.name.lstrip("-").upper()
            if argument.field_info.kind == Declared.VAR_POSITIONAL:
                name += "..."
            yield name if argument.required else f"[{name}]"


def hint_for(option: str) -> str:
    """Return what to write instead of this option; empty for unknown ones."""
    name = option.partition("=")[0]
    return _HINTS.get(name) or ("" if name.startswith("--") else _HINTS.get(name[:2], ""))


def takes_host(arguments: Sequence[str]) -> bool:
    """Whether ``-h`` means pgbench's option: it is followed by a value, while help stands alone."""
    if "-h" not in arguments[:-1]:
        return False
    return not arguments[arguments.index("-h") + 1].startswith("-")
