"""Finds the rules: every module of ``rules`` declares one as ``RULE``."""

from importlib import import_module

from dbdyno.explain import rules
from dbdyno.explain.manual import ManualPage, manual_page
from dbdyno.explain.rule import Rule
from dbdyno.registry import declared


def all_rules() -> dict[str, Rule]:
    """Every rule by the name of its file, in alphabetical order."""
    return declared(rules, "RULE")


def page_of(rule: Rule) -> ManualPage:
    """The rule's page in the manual: the docstring of its file."""
    return manual_page(import_module(rule.look.__module__).__doc__ or "")
