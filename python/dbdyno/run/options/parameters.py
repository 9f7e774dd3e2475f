"""How an option is declared: its names, the group in its help, and the parser of its text.

The options of a run themselves are declared in ``run_options.py``.
"""

from collections.abc import Callable, Sequence
from typing import Any

from cyclopts import Group, Parameter, Token

from dbdyno.run.options import grammar

TARGET = Group("Target", sort_key=1)
WORK = Group("Work", sort_key=2)
LOAD = Group("Load", sort_key=3)
LIMITS = Group("Limits", sort_key=4)
TELEMETRY = Group("Telemetry", sort_key=5)
OUTPUT = Group("Output", sort_key=6)
PLACEMENT = Group("Placement of a private server and its load", sort_key=7)


def parsed(parse: Callable[[str], Any]) -> Callable[[object, Sequence[Token]], Any]:
    """Return a converter for the text of one option; a second one is refused."""

    def convert(_type: object, tokens: Sequence[Token]) -> Any:
        if len(tokens) > 1:
            what = tokens[-1].keyword or "the argument"
            raise ValueError(f"{what} takes one value, and there are {len(tokens)}")
        return parse(tokens[0].value)

    return convert


def each(parse: Callable[[str], Any]) -> Callable[[object, Sequence[Token]], Any]:
    """Return a converter for an option that may be repeated."""
    return lambda _type, tokens: tuple(parse(token.value) for token in tokens)


def flag(*names: str, group: Group, **more: Any) -> Parameter:
    """Declare an option of a group. A default that is off or empty is not shown."""
    return Parameter(name=names, group=group, negative=(), **{"show_default": False, **more})


def whole(*names: str, group: Group, **more: Any) -> Parameter:
    """Declare an option that takes a whole number."""
    return flag(*names, group=group, converter=parsed(grammar.whole_number), **more)


def span(*names: str, group: Group, bare_unit: str = "s", **more: Any) -> Parameter:
    """Declare an option that takes a duration."""
    return flag(
        *names,
        group=group,
        converter=parsed(lambda text: grammar.span_ns(text, bare_unit)),
        metavar="TIME",
        **more,
    )


def pairs(*names: str, group: Group) -> Parameter:
    """Declare an option that takes ``name=value`` and may be repeated."""
    return flag(
        *names,
        group=group,
        converter=each(grammar.assignment),
        n_tokens=1,
        metavar="NAME=VALUE",
    )


def worded(
    name: str, group: Group, converter: Callable[[Any, Sequence[Token]], Any], metavar: str
) -> Parameter:
    """Declare an option whose one word has a grammar of its own."""
    return flag(
        name, group=group, converter=converter, n_tokens=1, accepts_keys=False, metavar=metavar
    )


def place(name: str, parse: Callable[[str], Any], metavar: str) -> Parameter:
    """Declare a placement option with its own parser."""
    return worded(name, PLACEMENT, parsed(parse), metavar)
