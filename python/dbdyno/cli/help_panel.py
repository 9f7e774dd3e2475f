"""The pages of ``--help``, with each description as one paragraph.

Line breaks within a docstring concern the source, not the user's terminal.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from cyclopts.help.formatters import DefaultFormatter
    from cyclopts.help.inline_text import InlineText
    from rich.console import Console, ConsoleOptions


class FlowingHelp:
    """The library's own pages with other descriptions. Imports nothing unless help is requested."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """Print one box of options, arguments or commands."""
        flowing = panel.copy(entries=[_flowing(entry) for entry in panel.entries])
        _pages()(console, options, flowing)

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        """Print the line that begins with Usage."""
        _pages().render_usage(console, options, usage)

    def render_description(
        self, console: "Console", options: "ConsoleOptions", description: Any
    ) -> None:
        """Print the description of the command, one paragraph after the other."""
        _pages().render_description(console, options, _paragraphs(description))
        console.print()


def _pages() -> "DefaultFormatter":
    from cyclopts.help.formatters import DefaultFormatter  # noqa: PLC0415 - only help needs it

    return DefaultFormatter()


def _flowing(entry: "HelpEntry") -> "HelpEntry":
    return entry.copy(description=_inline(" ".join(_plain(entry.description).split())))


def _paragraphs(description: Any) -> "InlineText":
    """Keep blank lines between paragraphs, and join the lines of each."""
    paragraphs = _plain(description).split("\n\n")
    return _inline("\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))


def _plain(text: Any) -> str:
    return str(getattr(text, "primary_renderable", text))


def _inline(text: str) -> "InlineText":
    from cyclopts.help.inline_text import InlineText  # noqa: PLC0415 - only help needs it

    return InlineText.from_format(text, "plaintext")
