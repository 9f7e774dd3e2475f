"""The pages of ``--help``, with each description as one paragraph.

Where the lines of a docstring end is the source's business, not that of a reader's terminal.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from cyclopts.help.formatters import DefaultFormatter
    from rich.console import Console, ConsoleOptions


class FlowingHelp:
    """The library's own pages but for their descriptions. Without help nothing is imported."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """Prints one box of options, arguments or commands."""
        flowing = panel.copy(entries=[_flowing(entry) for entry in panel.entries])
        _pages()(console, options, flowing)

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        """Prints the line that begins with Usage."""
        _pages().render_usage(console, options, usage)

    def render_description(
        self, console: "Console", options: "ConsoleOptions", description: Any
    ) -> None:
        """Prints what the command is for."""
        _pages().render_description(console, options, description)


def _pages() -> "DefaultFormatter":
    from cyclopts.help.formatters import DefaultFormatter  # noqa: PLC0415 - only help needs it

    return DefaultFormatter()


def _flowing(entry: "HelpEntry") -> "HelpEntry":
    from cyclopts.help.inline_text import InlineText  # noqa: PLC0415 - only help needs it

    text = getattr(entry.description, "primary_renderable", entry.description)
    paragraph = " ".join(str(text).split())
    return entry.copy(description=InlineText.from_format(paragraph, "plaintext"))
