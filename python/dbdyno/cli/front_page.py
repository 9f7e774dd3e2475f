"""What ``dbdyno`` and ``dbdyno --help`` show: all commands, by what they are for.

It is made from what the files of the commands declare. None of them is imported, nor is the
library that reads their options and draws their own pages: those take longer than all else.
"""

import os
import sys
from collections.abc import Iterator, Sequence

from dbdyno.cli.commands import GROUPS, first_sentence
from dbdyno.cli.output import examples, screen
from dbdyno.layout import folded

_HELP = frozenset({"--help", "-h"})
EXAMPLES = (
    "dbdyno run tpcb -c 32 -T 60       load and measure a private PostgreSQL",
    "dbdyno run app.sql --target postgresql://db/app --rate 2000 -T 300",
    "dbdyno explain last               what limited the last run, with the evidence",
    "dbdyno report last                write the last run's report as an HTML page",
    "dbdyno doctor                     check this host before measuring",
    "dbdyno run --help                 all options of a command",
)
ABOUT = (
    "A dynamometer for OLTP databases: measures what a server can do and how certain that is, and "
    "explains what limits it."
)
_OPTIONS = (
    ("--help (-h)", "Display this message and exit."),
    ("--version", "Display application version."),
)
_COLUMNS = 80  # where the output is not a terminal, and looks like the commands' own pages
_WITHOUT_COLOURS = ("dumb", "unknown")
_BOLD, _CYAN, _PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[0m"


def is_meant(words: Sequence[str]) -> bool:
    """Whether the words of the command line name no command, and ask for help or nothing."""
    is_named = any(not word.startswith("-") for word in words)
    return not words or not (is_named or _HELP.isdisjoint(words))


def front_page() -> str:
    """Return the page, as wide as the terminal, and in colours unless they are not wanted."""
    columns = screen(sys.stdout) or _COLUMNS
    takes_colours = sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in _WITHOUT_COLOURS
    is_coloured = takes_colours and not os.environ.get("NO_COLOR")
    styles = (_BOLD, _CYAN, _PLAIN) if is_coloured else ("", "", "")
    return "\n".join([*_lines(columns, *styles), "", examples(*EXAMPLES).rstrip()])


def _lines(columns: int, bold: str, cyan: str, plain: str) -> Iterator[str]:
    yield f"{bold}Usage: dbdyno COMMAND{plain}"
    yield from ["", *folded(ABOUT, columns), ""]
    groups = {title: [(name, first_sentence(name)) for name in GROUPS[title]] for title in GROUPS}
    for title, entries in {**groups, "Help": _OPTIONS}.items():
        widest = max(len(name) for name, _ in entries)
        room = columns - widest - len("│   │") - 1
        yield f"╭─ {title} ".ljust(columns - 1, "─") + "╮"
        for name, text in entries:
            for number, line in enumerate(folded(text, room)):
                shown = "" if number else name
                yield f"│ {cyan}{shown:{widest}}{plain}  {line:{room}} │"
        yield f"╰{'':─<{columns - 2}}╯"
