"""The page of a rule in the manual: its file's docstring, split into parts.

The docstring is a title, then paragraphs of which four begin with their name and a colon:

    Looks for: what the rule takes for the cause.
    Arithmetic: how its numbers are computed.
    Source: where the arithmetic comes from.
    Wrong when: in which cases the finding misleads.
"""

import inspect

from msgspec import Struct

LABELS = {
    "Looks for": "looks_for",
    "Arithmetic": "arithmetic",
    "Source": "source",
    "Wrong when": "wrong_when",
}


class ManualPage(Struct, frozen=True, kw_only=True):
    """The parts of a rule's description; a part that it does not have is empty."""

    title: str
    looks_for: str = ""
    arithmetic: str = ""
    source: str = ""
    wrong_when: str = ""


def manual_page(docstring: str) -> ManualPage:
    """The parts of a docstring; paragraphs without a name belong to the part before them."""
    title, *paragraphs = inspect.cleandoc(docstring).split("\n\n")
    parts: dict[str, list[str]] = {}
    name = "looks_for"
    for paragraph in paragraphs:
        label, colon, text = paragraph.partition(":")
        is_named = bool(colon) and label in LABELS
        name = LABELS[label] if is_named else name
        parts.setdefault(name, []).append(text.strip() if is_named else paragraph)
    return ManualPage(title=title, **{key: _sentences(part) for key, part in parts.items()})


def _sentences(paragraphs: list[str]) -> str:
    """Join paragraphs without the line breaks of the docstring; the first gets a capital."""
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return text[:1].upper() + text[1:]
