"""What the server asks of the command line: whatever computes on many runs.

Each answer is that of a command in a process of its own, with the same object, page or error: a
comparison takes neither this process's memory nor its time, and gives way to a load on this host.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore
from typing import Any

import msgspec

from dbdyno.errors import DbdynoError

PATIENCE_S = 300
_AT_ONCE = BoundedSemaphore(2)
_NICENESS = 10
COMMAND = (sys.executable, "-m", "dbdyno")


class _Told(msgspec.Struct):
    code: str
    message: str
    hint: str = ""


def word(text: str) -> str:
    """A name that somebody gave, as a word of a command: never an option, and never a path."""
    if text.startswith(("-", ".", "~")) or "/" in text or not text.isprintable() or not text:
        raise DbdynoError("usage", f"{text!a} is no name of a run, a study or a workload")
    return text


def object_of(words: Sequence[str]) -> msgspec.Raw:
    """The object that a command prints with --json."""
    printed = _run([*words, "--json"]).stdout
    if (error := error_of(printed)) is not None:
        raise error
    return msgspec.Raw(printed.strip())


def error_of(printed: bytes) -> DbdynoError | None:
    """The error that a command has printed with --json; None if it is a result."""
    try:
        told = msgspec.json.decode(printed, type=dict[str, Any]).get("error")
    except msgspec.DecodeError:
        return DbdynoError("failed", "the command ended without a result")
    if not isinstance(told, dict):
        return None  # of a search, the field is its precision
    error = msgspec.convert(told, _Told)
    return DbdynoError(error.code, error.message, error.hint)


def text_of(words: Sequence[str]) -> str:
    """What a command prints for people, its complaints included."""
    ended = _run(words)
    return (ended.stdout + ended.stderr).decode(errors="replace").strip()


def page_of(words: Sequence[str], into: str) -> str:
    """The page that a command writes ``into`` the file of this option."""
    with TemporaryDirectory(prefix="dbdyno-serve-") as folder:
        path = Path(folder) / "page.html"
        ended = _run([*words, into, str(path)])
        with suppress(FileNotFoundError):
            return path.read_text(encoding="utf-8")
    told = ended.stderr.decode(errors="replace")
    message, _, hint = told.partition("error: ")[2].partition("hint: ")
    raise DbdynoError("failed", " ".join(message.split()) or "no page", " ".join(hint.split()))


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    with (
        _AT_ONCE,
        subprocess.Popen(
            [*COMMAND, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)
