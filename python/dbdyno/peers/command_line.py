"""Options of another tool as data, and how GNU's getopt_long reads them from a command line.

Abbreviated names, values beside or after their option, and arguments between options are allowed,
as there; what is wrong is said in its words, which harnesses match. What an option means is for the
tool's own folder.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


class RefusalError(Exception):
    """The end of a command without its result: what to write to standard error.

    The tool writes its name before each of the ``lines``, and ``text`` as it is after them.
    """

    def __init__(self, *lines: str, text: str = "") -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.text = text


class UsageError(RefusalError):
    """A command line that cannot be read: the tool refers to its help."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of the tool: how it is written, what it means there, and what becomes of it here.

    ``read`` makes its value of the text; without ``value`` it is a flag. ``becomes`` is the option
    of ``dbdyno run`` that it is turned into, or what is done in its place; ``differs`` is what is
    not as there, and why.
    """

    letter: str = ""
    name: str
    value: str = ""
    read: Callable[["Option", str], Any] = lambda _option, text: text
    field: str
    is_repeated: bool = False
    mode: str = ""
    meaning: str
    becomes: str
    differs: str = ""

    @property
    def written(self) -> str:
        """How a manual writes it."""
        name = f"--{self.name}" if self.name else ""
        names = ", ".join(filter(None, (self.letter and f"-{self.letter}", name)))
        return f"{names}={self.value}" if self.value else names


@dataclass(frozen=True)
class Given:
    """A word of the command line as it was understood; an argument has no option."""

    option: Option | None
    text: str


def understood(words: Sequence[str], options: Sequence[Option]) -> Iterator[Given]:
    """Yield the options with their texts in order, then the arguments.

    What is no option, or lacks its value, raises :class:`UsageError`.
    """
    letters = {option.letter: option for option in options if option.letter}
    names = {option.name: option for option in options}
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            arguments += rest
        elif word.startswith("--"):
            yield _long(word, names, rest)
        elif word.startswith("-") and word != "-":
            yield from _short(word[1:], letters, rest)
        else:
            arguments.append(word)
    yield from (Given(None, argument) for argument in arguments)


def _long(word: str, names: dict[str, Option], rest: Iterator[str]) -> Given:
    name, equals, text = word[2:].partition("=")
    found = [names[name]] if name in names else [o for n, o in names.items() if n.startswith(name)]
    if not found:
        raise UsageError(f"unrecognized option '{word}'")
    if len(found) > 1:
        possible = " ".join(f"'--{option.name}'" for option in found)
        raise UsageError(f"option '{word}' is ambiguous; possibilities: {possible}")
    (option,) = found
    if equals and not option.value:
        raise UsageError(f"option '--{option.name}' doesn't allow an argument")
    if option.value and not equals:
        after = next(rest, None)
        if after is None:
            raise UsageError(f"option '--{option.name}' requires an argument")
        text = after
    return Given(option, text)


def _short(cluster: str, letters: dict[str, Option], rest: Iterator[str]) -> Iterator[Given]:
    for place, letter in enumerate(cluster, 1):
        option = letters.get(letter)
        if option is None:
            raise UsageError(f"invalid option -- '{letter}'")
        if not option.value:
            yield Given(option, "")
            continue
        text = cluster[place:] or next(rest, None)
        if text is None:
            raise UsageError(f"option requires an argument -- '{letter}'")
        yield Given(option, text)
        return


_BEGINS_AS_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?)", re.IGNORECASE)


def leading_number(text: str) -> float:
    """Return the number that a text begins with, as C's ``atof`` does: 0 if there is none."""
    match = _BEGINS_AS_NUMBER.match(text)
    return float(match[0]) if match else 0.0
