"""Finds the rules, and their pages in the manual.

Every module of ``rules`` declares one as ``RULE``. The module's docstring is the rule's page: a
title, then paragraphs of which four begin with their name and a colon:

    Looks for: what the rule takes for the cause.
    Arithmetic: how its numbers are computed.
    Source: where the arithmetic comes from.
    Wrong when: in which cases the finding misleads.
"""

import inspect
from importlib import import_module

from msgspec import Struct

from dbdyno.explain import rules
from dbdyno.explain.rule import Rule
from dbdyno.registry import declared

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


def all_rules() -> dict[str, Rule]:
    """Every rule by the name of its file, in alphabetical order."""
    return declared(rules, "RULE")


def page_of(rule: Rule) -> ManualPage:
    """The rule's page; paragraphs without a name belong to the part before them."""
    docstring = import_module(rule.look.__module__).__doc__ or ""
    title, *paragraphs = inspect.cleandoc(docstring).split("\n\n")
    parts: dict[str, list[str]] = {}
    name = "looks_for"
    for paragraph in paragraphs:
        label, colon, text = paragraph.partition(":")
        is_named = bool(colon) and label in LABELS
        name = LABELS[label] if is_named else name
        # Without the line breaks of the docstring.
        unbroken = " ".join((text if is_named else paragraph).split())
        parts.setdefault(name, []).append(unbroken)
    texts = {key: "\n\n".join(part) for key, part in parts.items()}
    return ManualPage(
        title=title, **{key: text[:1].upper() + text[1:] for key, text in texts.items()}
    )
