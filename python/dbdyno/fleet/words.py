"""Where the engines of a load run, as ``--workers`` says it.

``local*4,ssh:h1,ssh:h2*2,ray:*2,exec:'CMD'``: an entry is a kind of place, and how many agents it
has. A file has such entries in lines; one that is called like an entry is named by its folder, too.
"""

import itertools
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from dbdyno.fleet.processes import Process

OnLost: TypeAlias = Literal["stop", "continue"]

AGENT = Path(__file__).parents[1] / "agent.py"
"""The agent's program, whose module loads the engine."""
COUNT_MAX = 10_000
KINDS = (
    "local, ssh:HOST, ray:[RESOURCE], ray://HOST:PORT[/RESOURCE] or exec:'COMMAND', each with *N "
    "for N agents, or a file with these in lines"
)

# Nobody can answer questions. Forwardings of the user's own configuration would only collide.
_SSH = (
    *("ssh", "-T", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes"),
    *("-o", "ConnectTimeout=10", "--"),
)


@dataclass(frozen=True)
class Place:
    """Where one agent runs: what it is called in results, and the command that starts it."""

    name: str
    command: tuple[str, ...]

    def start(self) -> "Process":
        """Start it; raise an OSError if there is no such command."""
        from dbdyno.fleet.processes import Command  # noqa: PLC0415 - no word needs it

        return Command(self.command)


@dataclass(frozen=True)
class Entry:
    """One entry of ``--workers``, as it was written."""

    kind: Literal["local", "ssh", "ray", "exec"]
    detail: str
    """The host, as ssh is told it, with the path of its dbdyno if it has one; the cluster's
    address and resource; or the command."""
    count: int

    def command(self, number: int) -> tuple[str, ...]:
        """Return the command that starts the agent of this number; for Ray, those of the entry."""
        match self.kind:
            case "local":
                return (sys.executable, "-I", "-S", str(AGENT))
            case "ssh":
                host, slash, path = self.detail.partition("/")
                program = shlex.quote(slash + path) if path else "dbdyno"
                return (*_SSH, host, f"{program} agent")
            case "ray":
                return (
                    sys.executable,
                    "-P",
                    "-m",
                    "dbdyno.fleet.ray_driver",
                    *_cluster(self.detail),
                )
            case "exec":
                return ("/bin/sh", "-c", self.detail.replace("{n}", str(number)))


@dataclass(frozen=True)
class Workers:
    """The entries of ``--workers``."""

    text: str
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        """Return it as it was written."""
        return self.text

    @property
    def has_counts(self) -> bool:
        """Whether the agents have equal shares of the load, instead of one for each CPU."""
        return any(entry.count > 1 for entry in self.entries)

    def places(self) -> list[Place]:
        """Return the places of all agents, in order; each name is another one."""
        found: list[Place] = []
        # A host may be called like the second agent of another one, or like a local agent.
        taken: set[str] = set()
        for entry in self.entries:
            of_entry: list[Place] = []
            for _ in range(entry.count):
                number = len(found) + len(of_entry) + 1
                name = f"{entry.kind}-{number}"
                if entry.kind == "ssh":
                    name = entry.detail.partition("/")[0].rpartition("@")[2]
                name = _other_than(taken, name)
                taken.add(name)
                of_entry.append(Place(name, entry.command(number)))
            if entry.kind == "ray":
                from dbdyno.fleet.ray_cluster import on_cluster  # noqa: PLC0415 - seldom used

                of_entry = on_cluster(of_entry)
            found += of_entry
        return found


def _other_than(taken: set[str], name: str) -> str:
    """Return a name, with a number from 2 on if it is taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return name if name not in taken else next(it for it in numbered if it not in taken)


def worker_list(text: str) -> Workers:
    """Parse ``--workers``; a shell's quotes keep commas together."""
    entries: list[Entry] = []
    for word in _words(text, ","):
        # Path.is_file() raises for a word that is longer than the name of any file.
        if _begins_as_entry(word):
            entries.append(_entry(word))
        elif os.path.isfile(word):  # noqa: PTH113
            entries += _entries_of(Path(word))
        else:
            raise ValueError(f"{word!r} is no file, and no entry: write {KINDS}")
    if not entries:
        raise ValueError(f"no workers: write {KINDS}")
    if sum(entry.count for entry in entries) > COUNT_MAX:
        raise ValueError(f"{text!r}: more than {COUNT_MAX} agents")
    return Workers(text, tuple(entries))


def _entries_of(file: Path) -> list[Entry]:
    """Read a file; what is wrong with it is said with its name."""
    try:
        # Editors of Windows begin a file with a byte order mark.
        text = file.read_text(encoding="utf-8-sig")
        return [_entry(word) for word in _words(text, "\r\n", comments="#")]
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text in UTF-8") from error
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _begins_as_entry(word: str) -> bool:
    return word.partition("*")[0] == "local" or word.startswith(("ssh:", "ray:", "exec:"))


def _words(text: str, separators: str, comments: str = "") -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = separators, True, comments
    try:
        return [word.strip() for word in lexer]
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error


def _cluster(detail: str) -> tuple[str, str]:
    """Return the address of a cluster, as Ray is told it, and the resource that nodes must have."""
    if not detail.startswith("//"):
        return "auto", detail
    address, _, resource = detail[2:].partition("/")
    return f"ray://{address}", resource


def _entry(word: str) -> Entry:
    head, star, number = word.rpartition("*")
    has_count = bool(star) and (number.isdecimal() or head == "local")
    if has_count and (not number.isdecimal() or int(number) == 0):
        raise ValueError(f"{word!r}: *N needs a number above 0")
    place, count = (head, int(number)) if has_count else (word, 1)
    kind, colon, detail = place.partition(":")
    if place == "local":
        return Entry("local", "", count)
    if kind == "ssh" and detail.partition("/")[0]:
        return Entry("ssh", detail, count)
    if kind == "ray" and colon and re.fullmatch(r"\w*|//[^/\s]+:\d+(/\w+)?", detail):
        return Entry("ray", detail, count)
    if kind == "exec" and detail:
        return Entry("exec", detail, count)
    raise ValueError(f"{word!r}: write {KINDS}")
