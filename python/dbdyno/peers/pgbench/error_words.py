"""Errors in scripts in pgbench's words, which harnesses look for; those that it lacks stay ours."""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dbdyno.peers.command_line import RefusalError

_AT = re.compile(
    r"(?P<file>.*):(?P<line>\d+):(?P<column>\d+): (?P<what>.*?)(?: at \"(?P<token>.*)\")?"
)
_IN_COMMAND = ' in command "{word}"'
_REFUSED = [
    (r"this script has no commands", 'empty command list for script "{file}"'),
    (r"this block has no \\endif", r"\if without matching \endif"),
    (r"this has no matching \\if", r"\{word} without matching \if"),
    (r"the block already has an \\else", r"\{word} after \else"),
    (r"this must follow a SQL command", r"\{word} must follow an SQL command"),
    (r"there is no such meta-command", f"invalid command{_IN_COMMAND}"),
    (r"there is no function of this name", f"unexpected function name ({{token}}){_IN_COMMAND}"),
    (r"\w+ takes 1 to 16 arguments", f"at least one argument expected ({{token}}){_IN_COMMAND}"),
    (r"\w+ takes .*", f"unexpected number of arguments ({{token}}){_IN_COMMAND}"),
    (
        r"an expression cannot contain this character",
        f"unexpected character ({{token}}){_IN_COMMAND}",
    ),
    (
        r"a unit of time is expected.*",
        f"unrecognized time unit, must be us, ms or s ({{token}}){_IN_COMMAND}",
    ),
    (r"a (?:number|command) is expected here", f"missing argument{_IN_COMMAND}"),
    (r"the variable's name is expected here", f"missing argument{_IN_COMMAND}"),
    (r".* is expected here", f"syntax error{_IN_COMMAND}"),
    (r"the expression should end before this", f"syntax error{_IN_COMMAND}"),
]
_ENDED = [
    (r"the range from \S+ to \S+ is empty", "empty range given to random"),
    (r"the range from \S+ to \S+ is too wide", "random range is too large"),
    (
        r"a gaussian parameter must be at least 2, not (\S+)",
        "gaussian parameter must be at least 2.000000 (not {0:.6f})",
    ),
    (
        r"an exponential parameter must be above 0, not (\S+)",
        "exponential parameter must be greater than zero (not {0:.6f})",
    ),
    (
        r"a zipfian parameter must be from 1.001 to 1000, not (\S+)",
        "zipfian parameter must be in range [1.001, 1000] (not {0:.6f})",
    ),
    (
        r"the size of a permutation must be above 0, not \S+",
        "permute size parameter must be greater than zero",
    ),
    (
        r'variable (\w+): the text "(.*)" is neither a number nor a boolean',
        'malformed variable "{0}" value: "{1}"',
    ),
    (r"variable (\w+) has no value", 'undefined variable "{0}"'),
    (r"cannot use double as int: (\S+)", "double to int overflow for {0:.6f}"),
    (r"cannot use (\w+) as (\w+): .*", "cannot coerce {0} to {1}"),
    (r"\S+ plus \S+ does not fit in 64 bits", "bigint add out of range"),
    (r"\S+ minus \S+ does not fit in 64 bits", "bigint sub out of range"),
    (r"\S+ times \S+ does not fit in 64 bits", "bigint mul out of range"),
    (r"\S+ divided by \S+ does not fit in 64 bits", "bigint div out of range"),
    (
        r'the shell command must print a whole number, not "(.*)"',
        '{program}: shell command must return an integer (not "{0}")',
    ),
    (r"the shell command failed: .*", "{program}: could not {shell_task} shell command"),
]
_NUMBER = re.compile(r"-?\d[\d.e+-]*")
_GAVE_UP = re.compile(
    r"the run was aborted: client (?P<client>\d+) gave up in script (?P<script>.*), "
    r"line (?P<line>\d+): (?P<message>.*)",
    re.DOTALL,
)
_ONE_ROW = re.compile(r"\\gset needs exactly one row, not (\d+)")
_LEFT_OPEN = "the script ends inside a transaction block"


def refusal(message: str) -> RefusalError:
    """Return how pgbench refuses a script, by the compiler's first error."""
    first = message.split("\n", maxsplit=1)[0]
    found = _AT.fullmatch(first)
    source = _line_of(found["file"], int(found["line"])) if found else None
    if found is None or source is None:
        return RefusalError(*(f"error: {line}" for line in message.split("\n")))
    command = source.partition("\\")[2]
    word = re.match(r"\w*", command)
    assert word is not None
    values = {**found.groupdict(), "word": word[0]}
    words = _refused(found["what"], values)
    if not source:
        return RefusalError(f"error: {words}")
    caret = f"{' ' * (int(found['column']) - 1)}^ error found here"
    place = f"{found['file']}:{found['line']}"
    return RefusalError(f"error: {place}: {words}", text=f"{source}\n{caret}\n")


def _refused(what: str, values: dict[str, str]) -> str:
    word, token = values["word"], values["token"] or ""
    if what == "nothing more is expected here":
        known = "unexpected argument" if word in ("else", "endif") else "too many arguments"
        return f'{known} in command "{word}"'
    if what == "this number is too large":
        kind = "bigint" if token.isdecimal() else "double"
        return f'{kind} constant overflow ({token}) in command "{word}"'
    if what == "a command is expected here" and word == "shell":
        return 'missing command in command "shell"'
    for pattern, words in _REFUSED:
        if re.fullmatch(pattern, what):
            return words.format(**values)
    return what if not token else f'{what} at "{token}"'


def _line_of(file: str, number: int) -> str | None:
    """None if the script has no lines that can be read again."""
    try:
        with Path(file).open(encoding="utf-8", errors="replace") as lines:
            return next((text.rstrip("\n") for text in islice(lines, number - 1, None)), "")
    except OSError:
        return None


class GivenUp(NamedTuple):
    """A client that gave up, as the verdict of a run says it."""

    client: int
    script: str
    line: int
    message: str


def given_up(reason: str) -> GivenUp | None:
    """Return who gave up, if that is the reason."""
    found = _GAVE_UP.fullmatch(reason)
    if found is None:
        return None
    return GivenUp(int(found["client"]), found["script"], int(found["line"]), found["message"])


def abortion(one: GivenUp, script: int, commands: Sequence[tuple[int, str]]) -> list[str]:
    """Return what pgbench says of a client that gave up in one of these commands.

    ``commands`` are those of its script, each with its line.
    """
    places = [place for place, (line, _) in enumerate(commands) if line <= one.line]
    place = places[-1] if places else 0
    if one.message == _LEFT_OPEN:
        return [
            f"client {one.client} aborted: end of script reached without completing the last "
            "transaction"
        ]
    if found := _ONE_ROW.fullmatch(one.message):
        return [
            f"client {one.client} script {script} command {place} query 0: expected one row, got "
            f"{found[1]}"
        ]
    words = commands[place][1].split() if commands else []
    word = words[0].removeprefix("\\") if words else ""
    program = (words[2:] if word == "setshell" else words[1:])[:1]
    what = "execution" if word in ("shell", "setshell", "sleep") else "evaluation"
    return [
        _ended(one.message, program[0] if program else "", word),
        f"client {one.client} aborted in command {place} ({word}) of script {script}; "
        f"{what} of meta-command failed",
    ]


def _ended(message: str, program: str, word: str) -> str:
    shell_task = "read result of" if word == "setshell" else "launch"
    for pattern, words in _ENDED:
        if found := re.fullmatch(pattern, message):
            values = (float(one) if _NUMBER.fullmatch(one) else one for one in found.groups())
            return words.format(*values, program=program, shell_task=shell_task)
    return message
