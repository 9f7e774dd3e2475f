"""Sentences with code in them: which parts of a text are words, and which are to be typed.

Writers of findings mark code with backticks; a text that begins as a command is one.
"""

import re

_CODE = re.compile(r"`([^`]+)`")
_COMMAND = "dbdyno "


def phrases(text: str) -> list[tuple[str, bool]]:
    """The parts in order, each with whether it is code."""
    if text.startswith(_COMMAND) and "`" not in text:
        return [(text, True)]
    parts = _CODE.split(text)  # what was between backticks stands at the odd places
    return [(part, bool(place % 2)) for place, part in enumerate(parts) if part]
