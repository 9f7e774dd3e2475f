"""The program: one command from its words to its exit code, and the handling of its errors.

The library that reads command lines is imported after a help page that needs no command.
"""

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import FrameType
from typing import NoReturn

from dbdyno.cli import front_page
from dbdyno.cli.commands import PEERS, SCRIPTED
from dbdyno.cli.output import Exit, flush_result, print_aside, print_error, print_result
from dbdyno.errors import DbdynoError
from dbdyno.run.interrupts import heeded

# Net allocations before the garbage collector runs; the interpreter's default is 700.
GARBAGE_THRESHOLD = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    words = with_script_options([*_link(), *sys.argv[1:]] if arguments is None else arguments)
    as_json = "--json" in words
    _spare_processors()
    # SIGTERM from a supervisor and a closed terminal have the same effect as Ctrl-C: servers are
    # stopped, data is kept.
    for number in heeded():
        signal.signal(number, _interrupt)
    try:
        _refuse_undecodable(words)
        with _full_disk_reported():
            result = _result_of(words)
        flush_result()
    except DbdynoError as error:
        print_error(error.code, error.message, error.hint, as_json=as_json)
        return error.exit_code
    except KeyboardInterrupt:
        print_error("interrupted", "interrupted", "", as_json=as_json)
        return Exit.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader of our output has closed it; the library that prints help exits in this case.
        sys.stderr.close()
        return Exit.OK
    return result if isinstance(result, int) else Exit.OK


def _result_of(words: Sequence[str]) -> object:
    if front_page.is_meant(words):
        print_result(front_page.front_page())
        return Exit.OK
    if words[0] in PEERS and (_link() or words[1:] != ["--help"]):
        return import_module(f"dbdyno.peers.{words[0]}.program").main(words[1:])
    from dbdyno.cli import app  # noqa: PLC0415 - takes longer than all that was imported before

    return app.call(words)


def _link() -> list[str]:
    """Return the command for which the link stands by which the program was called, if any."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 - pathlib is slow to import
    return [name] if name in PEERS else []


def with_script_options(words: Sequence[str]) -> list[str]:
    """Turn what follows ``--`` into options, for commands that run a script."""
    if "--" not in words or words[0] not in SCRIPTED:
        return list(words)
    end = words.index("--")
    own = [f"--script-option={word}" for word in words[end + 1 :]]
    return [*words[:end], *own]


def start() -> NoReturn:
    """Run the whole program: one command, then exit with its code.

    The interpreter is not finalized, module by module: that would be a fifth of the Python time of
    a short run, and whatever has to be closed is closed when the command returns.
    """
    _begin_again_in_utf_8()
    warnings.showwarning = _print_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names and messages of servers contain any character, and JSON is always UTF-8.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = main()
    with contextlib.suppress(OSError, ValueError):  # no reader any more, or already reported
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _begin_again_in_utf_8() -> None:
    """Replace this process by one in Python's UTF-8 mode, unless names and words are UTF-8 already.

    In another locale, a word of the command line is not the text that its bytes spell, and some
    file names can be neither opened nor recorded.
    """
    if sys.getfilesystemencoding() == "utf-8" or os.environ.get("PYTHONUTF8") == "1":
        return
    arguments = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, arguments, {**os.environ, "PYTHONUTF8": "1"})


def _refuse_undecodable(words: Sequence[str]) -> None:
    """Refuse words that no record can hold: its files are UTF-8."""
    for word in words:
        raw = os.fsencode(word)
        with contextlib.suppress(UnicodeDecodeError):
            raw.decode()
            continue
        shown = raw.decode(errors="backslashreplace")
        raise DbdynoError("usage", f"{shown} is not UTF-8 text", "rename the file, or correct it")


@contextlib.contextmanager
def _full_disk_reported() -> Iterator[None]:
    """Report a full disk as an error of dbdyno, wherever it was met."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DbdynoError(
            "disk_full",
            f"no space left while writing {error.filename or 'to the disk'}",
            "free some space there, or set DBDYNO_HOME to a folder on another disk",
        ) from error


def _spare_processors() -> None:
    """Avoid useless work of the interpreter and of numpy during a load.

    OpenBLAS starts a thread for each core, which spins for a tenth of a second; nothing here
    multiplies matrices. And nearly all objects live until the end: repeated garbage collections
    find next to nothing.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(GARBAGE_THRESHOLD)


def _print_warning(message: Warning | str, *_where: object, **_more: object) -> None:
    """Show only the message: the place in the program does not help the user."""
    print_aside(f"warning: {message}")


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
