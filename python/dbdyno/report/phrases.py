"""Sentences with code in them: which parts of a text are prose, and which are code.

A number stays on one line with its percent sign.
Findings mark code with backticks; a text that begins as a command is code as a whole.
"""

import re

from dbdyno.formatting import THIN_SPACE

_CODE = re.compile(r"`([^`]+)`")
_COMMAND = "dbdyno "
_PERCENT = re.compile(r"(?<=\d) (?=%)")


def phrases(text: str) -> list[tuple[str, bool]]:
    """The parts in order, each with whether it is code."""
    if text.startswith(_COMMAND) and "`" not in text:
        return [(text, True)]
    parts = _CODE.split(text)  # text between backticks is at the odd indexes
    return [
        (part, True) if place % 2 else (_PERCENT.sub(THIN_SPACE, part), False)
        for place, part in enumerate(parts)
        if part
    ]
