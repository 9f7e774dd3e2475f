"""The commands of ``dbdyno``, and the handling of their errors.

A command's module is imported when that command is called: ``dbdyno --help`` must not wait for
numpy.
"""

import contextlib
import errno
import gc
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError

from dbdyno.cli.help import FlowingHelp, hint_for, name_arguments, takes_host, with_script_options
from dbdyno.cli.output import Exit, flush_result, print_aside, print_error
from dbdyno.errors import DbdynoError
from dbdyno.run.interrupts import heeded

EXAMPLES = (
    "dbdyno run tpcb -c 32 -T 60       load and measure a private PostgreSQL",
    "dbdyno run app.sql --target postgresql://db/app --rate 2000 -T 300",
    "dbdyno explain last               what limited the last run, with the evidence",
    "dbdyno report last                write the last run's report as an HTML page",
    "dbdyno doctor                     check this host before measuring",
    "dbdyno run --help                 all options of a command",
)

# Net allocations before the garbage collector runs; the interpreter's default is 700.
GARBAGE_THRESHOLD = 100_000

# In the order in which they are needed; each name is that of a file in ``commands``.
GROUPS = {
    "Measure": (
        "run",
        "pair",
        "search",
        "study",
        "workloads",
    ),
    "Understand results": (
        "explain",
        "report",
        "compare",
        "history",
        "publish",
        "runs",
        "serve",
        "sql",
    ),
    "Databases, data and host": (
        "load",
        "check",
        "script",
        "server",
        "data",
        "home",
        "doctor",
    ),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
_FOLDER = Path(__file__).parent / "commands"
# A command's description is that of its application, or of the function that is its default.
_DESCRIPTION = re.compile(r'^(?:app\.help = |@app\.default\n(?:.+\n)+?    )"""(.+)', re.MULTILINE)
_OPTIONS = Group("Options")


def examples(*lines: str) -> str:
    """Return the examples for the end of a command's help."""
    return "\n".join(["Examples:", "", *(f"  {line}" for line in lines), ""])


def command(name: str, *lines: str) -> App:
    """Return the application of one command, with examples below its options."""
    return App(
        name=name,
        help_format="plaintext",
        help_formatter=FlowingHelp(),
        help_epilogue=examples(*lines),
        group_parameters=_OPTIONS,
        # A default that is off or empty is not shown; options show others themselves.
        default_parameter=Parameter(negative=(), show_default=False),
        version_flags=[],
        suppress_keyboard_interrupt=False,
    )


def first_sentence(name: str) -> str:
    """Return the first line of a command's description from its file, which is not imported."""
    found = _DESCRIPTION.search((_FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    assert found is not None, f"the command {name} has no description"
    return found[1]


def make_app(called: Container[str] = (), *, is_listed: bool = True) -> App:
    """Return the application with the commands that are ``called``; the others are only listed.

    Those are not imported. If no list ``is_listed``, they do not need their descriptions, either.
    """
    app = command("dbdyno", *EXAMPLES)
    app.help = (
        "A dynamometer for OLTP databases: measures what a server can do and how certain that "
        "is, and explains what limits it."
    )
    app.version = version
    app.version_flags = ["--version"]
    last = Group("Help", sort_key=len(GROUPS))
    for option in ("--help", "--version"):
        app[option].group = last
    for place, (title, names) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=place)
        for order, name in enumerate(names):
            if name in called:
                file = f"dbdyno.cli.commands.{name}:app"
                app.command(file, name=name, group=group, sort_key=order)
            else:
                text = first_sentence(name) if is_listed else ""
                app.command(App(name=name, help=text, group=group, sort_key=order))
    return app


def version() -> str:
    """Return the version of the installed package."""
    from importlib import metadata  # noqa: PLC0415 - an eighth of the time of --help

    return metadata.version("dbdyno")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    tokens = with_script_options(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in tokens
    if tokens and tokens[0] in COMMANDS and takes_host(tokens[1:]):
        print_error("usage", "-h means help", hint_for("--host"), as_json=as_json)
        return Exit.NOTHING_RUN
    _spare_processors()
    # SIGTERM from a supervisor and a closed terminal have the same effect as Ctrl-C: servers are
    # stopped, data is kept.
    for number in heeded():
        signal.signal(number, _interrupt)
    try:
        _refuse_undecodable(tokens)
        app = make_app(tokens, is_listed=not tokens or tokens[0].startswith("-"))
        if not set(tokens).isdisjoint(app.help_flags):
            name_arguments(app, tokens)
        with _full_disk_reported():
            result = app(
                tokens, exit_on_error=False, print_error=False, result_action="return_value"
            )
        flush_result()
    except CycloptsError as error:
        print_error("usage", " ".join(str(error).split()), _hint(error), as_json=as_json)
        return Exit.NOTHING_RUN
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


def _hint(error: CycloptsError) -> str:
    """Return what replaces an option of pgbench or sysbench; else refer to the help."""
    if isinstance(error, UnknownOptionError):
        instead = hint_for(error.token.keyword or error.token.value)
        if instead:
            return instead
    return f"See {' '.join(['dbdyno', *(error.command_chain or ()), '--help'])}."


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
