"""Every option of pgbench, and what becomes of it here: its parser, help and manual are made of it.

The messages are pgbench's own, since harnesses and people look for them.
"""

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from dbdyno.peers.command_line import Option, RefusalError, leading_number
from dbdyno.peers.pgbench.builtin_scripts import find_builtin

INT_MAX = 2**31 - 1
SCRIPTS_MAX = 128
_VARIABLE_NAME = re.compile(r"[^\W\x80-\x9f]+")
_INT = re.compile(r"(\s*[-+]?\d+)?\s*", re.ASCII)
_STEPS = "dtgGvpf"


class ChosenScript(NamedTuple):
    """A script of the command line: its file, or the beginning of a builtin's name."""

    name: str
    weight: int
    is_builtin: bool


def error(message: str) -> RefusalError:
    """Return the error with this message."""
    return RefusalError(f"error: {message}")


def _whole(least: int, most: int = INT_MAX) -> Callable[[Option, str], int]:
    def read(option: Option, text: str) -> int:
        shown = f"-{option.letter}/--{option.name}" if option.letter else f"--{option.name}"
        if not _INT.fullmatch(text):
            raise error(f'invalid value "{text}" for option {shown}')
        number = int(text.strip() or 0)
        if not least <= number <= most:
            raise error(f"{shown} must be in range {least}..{most}")
        return number

    return read


def _above_zero(what: str, most: float = float("inf")) -> Callable[[Option, str], float]:
    def read(_option: Option, text: str) -> float:
        number = leading_number(text)
        if not 0 < number <= most:
            raise error(f'invalid {what}: "{text}"')
        return number

    return read


def _one_of(problem: str, *values: str) -> Callable[[Option, str], str]:
    def read(_option: Option, text: str) -> str:
        if text not in values:
            raise error(f'{problem} "{text}"')
        return text

    return read


def _weighted(text: str) -> tuple[str, int]:
    name, at, weight = text.rpartition("@")
    if not at:
        return text, 1
    if not re.fullmatch(r"\s*[-+]?\d+", weight, re.ASCII):
        raise error(f"invalid weight specification: @{weight}")
    if not 0 <= int(weight) <= INT_MAX:
        raise error(f"weight specification out of range (0 .. {INT_MAX}): {int(weight)}")
    return name, int(weight)


def _builtin(_option: Option, text: str) -> ChosenScript | None:
    """None is a request for the list."""
    if text == "list":
        return None
    name, weight = _weighted(text)
    return ChosenScript(find_builtin(name).name, weight, is_builtin=True)


def _script_file(_option: Option, text: str) -> ChosenScript:
    name, weight = _weighted(text)
    try:
        if name != "-":
            os.close(os.open(name, os.O_RDONLY))
    except OSError as problem:
        raise error(f'could not open file "{name}": {problem.strerror}') from None
    return ChosenScript(name, weight, is_builtin=False)


def _fixed(builtin: str) -> Callable[[Option, str], ChosenScript]:
    return lambda _option, _text: ChosenScript(builtin, 1, is_builtin=True)


def _variable(_option: Option, text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name or not value:
        raise error(f'invalid variable definition: "{text}"')
    if not _VARIABLE_NAME.fullmatch(name):
        raise error(f'option: invalid variable name: "{name}"')
    return name, value


def _init_steps(_option: Option, text: str) -> str:
    if not text:
        raise error("no initialization steps specified")
    for step in text:
        if step not in f"{_STEPS} ":
            raise RefusalError(
                f'error: unrecognized initialization step "{step}"',
                f'detail: Allowed step characters are: "{_STEPS}".',
            )
    return text


def _seed(_option: Option, text: str) -> str:
    refuse_bad_seed(text, "--random-seed option")
    return text


def refuse_bad_seed(text: str, source: str) -> None:
    """Refuse a random seed that is neither a number nor a word for one."""
    if text not in ("time", "rand") and not re.fullmatch(r"\s*\+?\d+\s*", text, re.ASCII):
        raise RefusalError(
            f'error: unrecognized random seed option "{text}"',
            'detail: Expecting an unsigned integer, "time" or "rand".',
            f"error: error while setting random seed from {source}",
        )


def _tries(_option: Option, text: str) -> int:
    tries = int(leading_number(text))
    if tries < 0:
        raise error(f'invalid number of maximum tries: "{text}"')
    return tries


def _option(spelling: str, field: str, meaning: str, becomes: str, **more: Any) -> Option:
    """Declare an option by its spelling: ``-c --client=NUM``."""
    names, _, value = spelling.partition("=")
    words = names.split()
    letter = words[0][1:] if not words[0].startswith("--") else ""
    name = words[-1][2:] if words[-1].startswith("--") else ""
    return Option(
        letter=letter, name=name, value=value, field=field, meaning=meaning, becomes=becomes, **more
    )


_INIT: dict[str, Any] = {"mode": "init"}
_RUN: dict[str, Any] = {"mode": "run"}
_SAME_STATEMENT = "the same statement"
_NO_WARMUP = "There is no warm-up, as there."

OPTIONS = (
    _option("-i --initialize", "initializes", "create and fill the tables", "steps of their own"),
    _option(
        "-I --init-steps=[dtgGvpf]+",
        "steps",
        "the steps, in this order: d(rop), t(ables), g(enerate), G(enerate in the server), "
        'v(acuum), p(rimary keys), f(oreign keys); default "dtgvp"',
        "the same steps",
        read=_init_steps,
        **_INIT,
        differs="g copies binary rows, table by table, and each table is emptied in the "
        "transaction that fills it: this is faster, and leaves the same rows.",
    ),
    _option(
        "-F --fillfactor=NUM",
        "fillfactor",
        "fill factor of the tables",
        _SAME_STATEMENT,
        read=_whole(10, 100),
        **_INIT,
    ),
    _option("-n --no-vacuum", "no_vacuum", "do not vacuum", "nothing is vacuumed"),
    _option("-q --quiet", "quiet", "progress each 5 s", "the same", **_INIT),
    _option(
        "-s --scale=NUM",
        "scale",
        "scale of the tables; in a run, the variable scale of scripts",
        "-s",
        read=_whole(1),
    ),
    _option("--foreign-keys", "foreign_keys", "step f, too", _SAME_STATEMENT, **_INIT),
    _option(
        "--index-tablespace=TABLESPACE",
        "index_tablespace",
        "tablespace of the indexes",
        _SAME_STATEMENT,
        **_INIT,
    ),
    _option(
        "--partition-method=(range|hash)",
        "partition_method",
        "how pgbench_accounts is partitioned; default range",
        _SAME_STATEMENT,
        read=_one_of(
            'invalid partition method, expecting "range" or "hash", got:', "range", "hash"
        ),
        **_INIT,
    ),
    _option(
        "--partitions=NUM",
        "partitions",
        "number of partitions of pgbench_accounts",
        _SAME_STATEMENT,
        read=_whole(0),
        **_INIT,
    ),
    _option(
        "--tablespace=TABLESPACE",
        "tablespace",
        "tablespace of the tables",
        _SAME_STATEMENT,
        **_INIT,
    ),
    _option("--unlogged-tables", "unlogged", "unlogged tables", _SAME_STATEMENT, **_INIT),
    _option(
        "-b --builtin=NAME[@W]",
        "scripts",
        "run this builtin script, by the beginning of its name; list lists them",
        "the workload tpcb, simple-update or select-only",
        read=_builtin,
        is_repeated=True,
        **_RUN,
    ),
    _option(
        "-f --file=FILENAME[@W]",
        "scripts",
        "run this script; - is standard input",
        "-f",
        read=_script_file,
        is_repeated=True,
        **_RUN,
    ),
    _option(
        "-N --skip-some-updates",
        "scripts",
        "-b simple-update",
        "the workload simple-update",
        read=_fixed("simple-update"),
        is_repeated=True,
        **_RUN,
    ),
    _option(
        "-S --select-only",
        "scripts",
        "-b select-only",
        "the workload select-only",
        read=_fixed("select-only"),
        is_repeated=True,
        **_RUN,
    ),
    _option(
        "-c --client=NUM",
        "clients",
        "number of clients; default 1",
        "-c",
        read=_whole(1),
        **_RUN,
    ),
    _option("-C --connect", "reconnects", "a connection for each transaction", "-C", **_RUN),
    _option(
        "-D --define=VARNAME=VALUE",
        "variables",
        "variable of the scripts",
        "-D",
        read=_variable,
        is_repeated=True,
        **_RUN,
    ),
    _option(
        "-j --jobs=NUM",
        "threads",
        "number of threads; default 1",
        "-j",
        read=_whole(1),
        **_RUN,
    ),
    _option(
        "-l --log",
        "logs",
        "write a line for each transaction to a file",
        "a line for each transaction, in pgbench's files",
        **_RUN,
    ),
    _option(
        "-L --latency-limit=NUM",
        "limit_ms",
        "count transactions of more ms as late; with -R skip those that are late already",
        "-L",
        read=_above_zero("latency limit"),
        **_RUN,
    ),
    _option(
        "-M --protocol=simple|extended|prepared",
        "query_mode",
        "query protocol; default simple",
        "-M",
        read=_one_of("invalid query mode (-M):", "simple", "extended", "prepared"),
        **_RUN,
        differs="A variable that is NULL is bound as NULL, and not as the text NULL; where the "
        "server takes no parameter, the value is written into the statement. \\gset and \\aset "
        "of a NULL make the variable NULL, and not the empty text.",
    ),
    _option(
        "-P --progress=NUM",
        "progress_s",
        "report progress every NUM seconds",
        "lines of the run's measurement intervals",
        read=_whole(1),
        **_RUN,
        differs="The standard deviation of a progress line comes from buckets of an eighth of an "
        "octave; that of the summary from the run's histogram, which has three digits.",
    ),
    _option(
        "-r --report-per-command",
        "per_command",
        "report latencies, failures and retries per command",
        "the statements of the record",
        **_RUN,
        differs="Commands of the client (\\set and so on) have the time 0: theirs is part of the "
        "transaction's, and not measured for each.",
    ),
    _option(
        "-R --rate=NUM",
        "rate",
        "transactions per second, on a schedule",
        "--rate",
        read=_above_zero("rate limit"),
        **_RUN,
        differs="The schedule is one for all clients, and not one for each thread: whichever "
        "client is free takes the next transaction. The maximum lag is that of the slowest "
        "transactions of each second.",
    ),
    _option(
        "-t --transactions=NUM",
        "transactions",
        "number of transactions per client; default 10",
        "-t",
        read=_whole(1),
        **_RUN,
    ),
    _option(
        "-T --time=NUM",
        "duration_s",
        "duration in seconds",
        "-T",
        read=_whole(1),
        **_RUN,
    ),
    _option(
        "-v --vacuum-all",
        "vacuums_all",
        "vacuum and analyze pgbench_accounts, too",
        _SAME_STATEMENT,
        **_RUN,
    ),
    _option(
        "--aggregate-interval=NUM",
        "aggregate_s",
        "a line of the log for every NUM seconds",
        "the same",
        read=_whole(1),
        **_RUN,
    ),
    _option(
        "--continue-on-error",
        "continues",
        "a client goes on after an error of its SQL",
        "--max-failures 100%",
        **_RUN,
    ),
    _option(
        "--exit-on-abort",
        "exits_on_abort",
        "end the run when a client aborts",
        "the run ends within a measurement interval of the first such error",
        **_RUN,
    ),
    _option(
        "--failures-detailed",
        "details_failures",
        "report failures by kind",
        "the failures of the record",
        **_RUN,
    ),
    _option("--log-prefix=PREFIX", "log_prefix", "prefix of the log's files", "the same", **_RUN),
    _option(
        "--max-tries=NUM",
        "tries_max",
        "tries of a transaction; 0 for no limit; default 1",
        "--max-tries",
        read=_tries,
        **_RUN,
    ),
    _option(
        "--progress-timestamp",
        "has_timestamps",
        "progress lines begin with the Unix time",
        "the same",
        **_RUN,
    ),
    _option(
        "--random-seed=SEED",
        "seed",
        "random seed: time, rand or a number",
        "--seed",
        read=_seed,
        differs="The same seed draws the same numbers on any number of threads, but not those "
        "that pgbench draws: their streams are made in another way. Their distributions are equal.",
        **_RUN,
    ),
    _option(
        "--sampling-rate=NUM",
        "sampling_rate",
        "share of the transactions that the log has",
        "the same",
        read=_above_zero("sampling rate", 1),
        **_RUN,
    ),
    _option(
        "--show-script=NAME",
        "shown_script",
        "show a builtin script and exit",
        "the same",
        read=lambda _option, text: find_builtin(text),
    ),
    _option(
        "--verbose-errors",
        "verbose_errors",
        "print the messages of all errors",
        "one message for each kind of error, with its number, at the end",
        differs="An error that happens a thousand times is one line.",
        **_RUN,
    ),
    _option(
        "--debug",
        "debugs",
        "print what each client does",
        "nothing",
        differs="What each client does is not printed: it would change the measurement.",
    ),
    _option("-d --dbname=DBNAME", "database", "database, or a connection string", "--target"),
    _option("-h --host=HOSTNAME", "host", "host, or the socket's folder", "--target"),
    _option("-p --port=PORT", "port", "port", "--target"),
    _option("-U --username=USERNAME", "user", "user", "--target"),
    _option("-V --version", "asks_version", "show the version", "the same"),
    _option("-? --help", "asks_help", "show the options", "the same"),
)

DIFFERENCES = {
    "A client whose statement fails": "goes on with its next transaction, and is not aborted: a "
    "server is measured by how many users it serves, and with clients that leave one by one it "
    "serves fewer for another reason than its own. The summary counts these as other failures, "
    "the last line is that of an aborted run, and the exit code is 2, as there. A script that "
    "never works ends the run.",
    "The built-in scripts": "are dbdyno's workloads of the same statements. Tables that pgbench, "
    "or -i here, has made are used as they are.",
    "Without -n": "pgbench_history is emptied and the small tables are vacuumed before a run, as "
    "there: it is what was asked for, and dbdyno run would never do it.",
    "Initial connection time": "is that of the slowest connection: all connect at once, also "
    "those of one thread.",
    "A run": "is recorded, with the telemetry of dbdyno run: dbdyno runs lists it, dbdyno explain "
    "last explains it. That it is not valid is a warning, and no exit code.",
    "Errors in scripts": "are those of pgbench. A caret stands where the error begins: pgbench's "
    "stands where it ends. Instead of the number of a command, the line of the script is named.",
    "Errors that pgbench meets while a script runs": "are found before it runs where they can be: "
    "a variable that nothing sets, a name that no variable can have, a pipeline that is opened "
    "twice, not closed or asked for with -M simple. The exit code is then 1, as for other errors "
    "in scripts, and not 2.",
    "Limits": "of 255 parameters and of 255 words of a shell command do not exist. A column that "
    "has no name of a variable is not stored by \\gset, and no error.",
    "A transaction that a script leaves open": "is no processed transaction.",
    "Tables": "that lack most rows of their scale are refused: reads would find nothing.",
    "Passwords": "are not asked for: PGPASSWORD and the password file have them.",
}
"""What is different of all that is no option, and why."""
