"""Generates a man page for each command from its declarations.

``python -m docs.man_pages FOLDER`` writes ``dbdyno.1`` and ``dbdyno-COMMAND.1``. A page says what
``--help`` does, so each command's own help is written, in man's macros instead of boxes.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cyclopts import App
from cyclopts.help import HelpPanel

from dbdyno.cli.app import make_app, version
from dbdyno.cli.commands import COMMANDS, GROUPS, first_sentence
from dbdyno.cli.front_page import ABOUT, EXAMPLES
from dbdyno.cli.help import plain, usage_of
from dbdyno.cli.output import Exit


class ManHelp:
    """Receives the help of a command from the library, in place of what would draw it."""

    def __init__(self) -> None:
        self.description: list[str] = []
        self.panels: list[str] = []

    def __call__(self, console: object, options: object, panel: HelpPanel) -> None:  # noqa: ARG002
        """A box of options, arguments or commands."""
        if panel.entries:
            self.panels.append(f".SS {_escaped(plain(panel.title))}")
        for entry in panel.entries:
            text = " ".join(plain(entry.description).split())
            chosen = f" One of: {', '.join(entry.choices)}." if entry.choices else ""
            default = f" Default: {entry.default}." if entry.default is not None else ""
            names = " ".join(entry.display_labels_with_metavar)
            self.panels += [".TP", f".B {_escaped(names)}", _escaped(f"{text}{chosen}{default}")]

    def render_usage(self, _console: object, _options: object, _usage: object) -> None:
        """The usage is the page's synopsis."""

    def render_description(self, _console: object, _options: object, description: Any) -> None:
        """What the command does, in paragraphs."""
        for paragraph in plain(description).strip().split("\n\n"):
            self.description += [".PP", _escaped(" ".join(paragraph.split()))]


def pages() -> Iterator[tuple[str, str]]:
    """Each page with the name of its file."""
    app = make_app(COMMANDS)
    yield "dbdyno.1", _text(_of_all())
    for name in COMMANDS:
        yield f"dbdyno-{name}.1", _text(_of_command(app, name))


def _of_all() -> Iterator[str]:
    yield from _heading("dbdyno", ABOUT.partition(":")[0])
    yield from [".SH SYNOPSIS", ".B dbdyno COMMAND", ".SH DESCRIPTION", _escaped(ABOUT)]
    yield ".SH COMMANDS"
    for title, names in GROUPS.items():
        yield f".SS {_escaped(title)}"
        for name in names:
            yield from [".TP", f".BR dbdyno\\-{name} (1)", _escaped(first_sentence(name))]
    yield ".SH EXIT STATUS"
    for code in Exit:
        yield from [".TP", f".B {code.value}", _escaped(code.meaning)]
    yield from _examples(EXAMPLES)


def _of_command(app: App, name: str) -> Iterator[str]:
    command = app[name]
    yield from _heading(f"dbdyno-{name}", first_sentence(name))
    own = [[name], *([name, below] for below in command if not below.startswith("-"))]
    yield ".SH SYNOPSIS"
    for words in own:
        usage = usage_of(words, _at(app, words)).removeprefix("Usage: ")
        yield from [f".B {_escaped(usage)}", ".br"]
    for words in own:
        shown = _help_of(app, words)
        is_whole = len(words) == 1
        title = "DESCRIPTION" if is_whole else f"dbdyno {' '.join(words)}"
        yield from [f".SH {_escaped(title)}", *shown.description, *shown.panels]
        yield from _examples(_example_lines(_at(app, words)), ".SH" if is_whole else ".SS")
    yield from [".SH SEE ALSO", ".BR dbdyno (1)"]


def _at(app: App, words: Sequence[str]) -> App:
    for word in words:
        app = app[word]
    return app


def _help_of(app: App, words: Sequence[str]) -> ManHelp:
    shown = ManHelp()
    command = _at(app, words)
    own = command.help_formatter, command.help_epilogue
    command.help_formatter, command.help_epilogue = shown, ""  # the library prints it by itself
    app.help_print(list(words))
    command.help_formatter, command.help_epilogue = own
    return shown


def _example_lines(command: App) -> list[str]:
    lines = str(command.help_epilogue).removeprefix("Examples:").strip("\n").split("\n")
    return [line.strip() for line in lines]


def _heading(name: str, purpose: str) -> list[str]:
    title = f'.TH "{_escaped(name.upper())}" 1 "" "dbdyno {version()}" "dbdyno"'
    return [title, ".SH NAME", f"{_escaped(name)} \\- {_escaped(purpose.rstrip('.'))}"]


def _examples(lines: Iterable[str], heading: str = ".SH") -> list[str]:
    return [f"{heading} EXAMPLES", ".nf", *map(_escaped, lines), ".fi"]


def _text(lines: Iterable[str]) -> str:
    return "\n".join(line for line in lines if line) + "\n"


def _escaped(text: str) -> str:
    """Text as man shows it: its backslashes and hyphens are themselves, and no line is a macro."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def main() -> None:
    """Writes all pages into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
