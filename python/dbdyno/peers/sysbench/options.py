"""sysbench's general options and what becomes of them here; a script's own options are its own.

Those of 1.0 and of 1.1 are known; the output is that of 1.0.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from dbdyno.peers.command_line import Option, RefusalError
from dbdyno.run.lua.sysbench_target import CONNECTION_OPTIONS, DRIVERS

OTHER_TESTS = ("cpu", "memory", "threads", "mutex", "fileio")
"""The tests that use no database."""
OLD_NAMES = {
    "num_threads": "threads",
    "max_requests": "events",
    "max_time": "time",
    "tx_rate": "rate",
}


RAND_TYPES = ("uniform", "gaussian", "special", "pareto", "zipfian")


def _whole(fatal: str = "", within: range = range(2**63)) -> Callable[[Option, str], int]:
    """A whole number; no text is 0. ``fatal`` is what sysbench says of one that is not within."""

    def read(_option: Option, text: str) -> int:
        if not re.fullmatch(r"(-?\d+)?", text, re.ASCII):
            raise ValueError(text)
        number = int(text or 0)
        if number in within:
            return number
        if fatal:
            raise RefusalError(*fatal.format(number).split("\n"))
        raise ValueError(text)

    return read


def _switch(option: Option, text: str) -> bool:
    if text not in ("", "on", "off", "true", "false", "1", "0"):
        raise RefusalError(text=f"invalid option: --{option.name}={text}\n")
    return text in ("", "on", "true", "1")


def _one_of(names: Sequence[str], fatal: str) -> Callable[[Option, str], str]:
    def read(_option: Option, text: str) -> str:
        if text not in names:
            raise RefusalError(fatal.format(text))
        return text

    return read


def _instants(_option: Option, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")] if text else []
    for part in parts:
        if not re.fullmatch(r"\d+", part, re.ASCII):
            raise RefusalError(f"FATAL: Invalid value for --report-checkpoints: '{part}'")
    return tuple(sorted(map(int, parts)))


def _forced_shutdown(_option: Option, text: str) -> int | None:
    if text == "off":
        return None
    if not re.fullmatch(r"\d*", text, re.ASCII):
        raise RefusalError(f"FATAL: Invalid value for --forced-shutdown: '{text}'")
    return int(text or 0)


def _option(spelling: str, meaning: str, becomes: str, **more: Any) -> Option:
    name, _, value = spelling.partition("=")
    field = name.removeprefix("--").replace("-", "_")
    return Option(
        name=name.removeprefix("--"),
        value=value,
        field=field,
        meaning=meaning,
        becomes=becomes,
        **more,
    )


_DIFFERENT_WAY = "what it asks for is always done, or never"
OPTIONS = (
    _option(
        "--threads=N",
        "number of threads",
        "-c",
        read=_whole("FATAL: Invalid value for --threads: {}.\n", range(1, 2**31)),
    ),
    _option(
        "--events=N",
        "number of events of all threads; 0 for no limit",
        "-t of each client",
        read=_whole(),
        differs="Each client has the same number of events, rounded up, and without --time there "
        "is no limit on the time: with --events alone, the events end the run.",
    ),
    _option("--time=N", "seconds; 0 for no limit; default 10", "-T", read=_whole()),
    _option("--warmup-time=N", "seconds that are not counted (1.1)", "--warmup", read=_whole()),
    _option("--rate=N", "events per second; 0 for no limit", "--rate", read=_whole()),
    _option(
        "--report-interval=N",
        "seconds between lines of the report; 0 for none",
        "lines of the run's measurement intervals",
        read=_whole(),
    ),
    _option(
        "--report-checkpoints=LIST",
        "seconds after which to report everything and begin to count anew",
        "the same",
        read=_instants,
    ),
    _option(
        "--percentile=N",
        "percentile of latency statistics; 0 for none; default 95",
        "the same",
        read=_whole("FATAL: Invalid value for --percentile: {}", range(101)),
    ),
    _option("--histogram=on|off", "print a histogram of latencies", "the same", read=_switch),
    _option(
        "--forced-shutdown=N|off",
        "seconds to wait for threads at the end",
        "the grace period of every run",
        read=_forced_shutdown,
        differs="Events in flight at the end always have a grace period, and are then cancelled.",
    ),
    _option("--thread-stack-size=SIZE", "stack of a thread", _DIFFERENT_WAY),
    _option("--thread-init-timeout=N", "seconds for thread_init (1.1)", _DIFFERENT_WAY),
    _option("--debug=on|off", "print more", _DIFFERENT_WAY, read=_switch),
    _option("--validate=on|off", "validate results", "the script's own", read=_switch),
    _option(
        "--verbosity=N",
        "how much to print",
        _DIFFERENT_WAY,
        read=_whole("Invalid value for verbosity: {}", range(6)),
    ),
    _option("--config-file=FILENAME", "file of general options", "the same"),
    _option("--luajit-cmd=STRING", "command of LuaJIT (1.1)", _DIFFERENT_WAY),
    _option("--rand-seed=N", "seed; 0 for the time", "--seed", read=_whole()),
    _option(
        "--rand-type=STRING",
        "distribution; default special, as of 1.0",
        "the script's own",
        read=_one_of(RAND_TYPES, "FATAL: Invalid random numbers distribution: {}."),
    ),
    _option(
        "--db-driver=STRING",
        "mysql or pgsql; default mysql",
        "--target",
        read=_one_of(DRIVERS, "FATAL: invalid database driver name: '{}'"),
    ),
    _option(
        "--db-ps-mode=auto|disable",
        "prepared statements",
        "-M prepared or simple",
        read=_one_of(("auto", "disable"), "FATAL: Invalid value for db-ps-mode: {}"),
    ),
    _option("--db-debug=on|off", "print more of the driver", _DIFFERENT_WAY, read=_switch),
    *(
        _option(f"--{name.replace('_', '-')}=…", "where the server is, and the login", "--target")
        for name in sorted(CONNECTION_OPTIONS)
    ),
)

DIFFERENCES = {
    "cpu, memory, threads, mutex and fileio": "use no database: sysbench itself runs them.",
    "A run": "is recorded, with the telemetry of dbdyno run: dbdyno runs lists it, dbdyno explain "
    "last explains it. That it is not valid is a warning on standard error, and no exit code.",
    "--rate": "has a schedule that is drawn in advance: a generator that is late delays no event's "
    "clock. There is no queue that could be full.",
    "Random numbers": "have the same distributions and another generator.",
    "A script from standard input": "is not read: name a file.",
    "A script's help": "has its columns at a fixed width, and the name of the script's file.",
    "A query that finds no row": "counts as other, not as read, unless the script uses its result.",
    "Negative numbers": "are refused: to sysbench they are large ones, or no limit.",
    "A server that cannot be reached": "is described after FATAL: in other words.",
    "Without a test": "the usage is shown, with exit code 1.",
    "The script's own report hooks": "print to the log of the run.",
}
"""What is different of all that is no option, and why."""
