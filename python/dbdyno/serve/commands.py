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

import msgspec

from dbdyno.errors import DbdynoError

PATIENCE_S = 300
_AT_ONCE = BoundedSemaphore(2)
_NICENESS = 10
_COMMAND = (sys.executable, "-m", "dbdyno")


class _Told(msgspec.Struct):
    code: str
    message: str
    hint: str = ""


class _Failed(msgspec.Struct):
    """An error as --json has it; an object that is none has no such field."""

    error: _Told | None = None


def word(text: str) -> str:
    """A name that somebody gave, as a word of a command: never an option, and never a path."""
    if text.startswith(("-", ".", "~")) or "/" in text or not text.isprintable() or not text:
        raise DbdynoError("usage", f"{text!a} is no name of a run, a study or a workload")
    return text


def object_of(words: Sequence[str]) -> msgspec.Raw:
    """The object that a command prints with --json."""
    printed = _run([*words, "--json"]).stdout
    try:
        failed = msgspec.json.decode(printed, type=_Failed).error
    except msgspec.DecodeError as error:
        raise DbdynoError("failed", f"dbdyno {' '.join(words)} ended without a result") from error
    if failed is not None:
        raise DbdynoError(failed.code, failed.message, failed.hint)
    return msgspec.Raw(printed.strip())


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
            [*_COMMAND, *words],
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
