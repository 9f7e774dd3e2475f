"""A command line of pgbench, read and checked: what it asks for, as values.

The checks are pgbench's, in its order and words; those that need a server or a script's text come
later.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dbdyno.peers.command_line import RefusalError, UsageError, understood
from dbdyno.peers.pgbench.builtin_scripts import BUILTINS, listed
from dbdyno.peers.pgbench.options import (
    OPTIONS,
    SCRIPTS_MAX,
    ChosenScript,
    error,
    refuse_bad_seed,
)

HINT = 'hint: Try "pgbench --help" for more information.'
STEPS_DEFAULT = "dtgvp"
TRANSACTIONS_DEFAULT = 10


@dataclass(frozen=True, kw_only=True)
class Command:
    """What is asked for. A field is the value of the options that name it."""

    initializes: bool = False
    steps: str = ""
    fillfactor: int = 100
    no_vacuum: bool = False
    quiet: bool = False
    scale: int | None = None
    foreign_keys: bool = False
    index_tablespace: str = ""
    partition_method: str = ""
    partitions: int = 0
    tablespace: str = ""
    unlogged: bool = False
    scripts: tuple[ChosenScript, ...] = ()
    clients: int = 1
    reconnects: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    threads: int = 1
    logs: bool = False
    limit_ms: float | None = None
    query_mode: str = "simple"
    progress_s: int = 0
    per_command: bool = False
    rate: float | None = None
    transactions: int = 0
    duration_s: int = 0
    vacuums_all: bool = False
    aggregate_s: int = 0
    continues: bool = False
    exits_on_abort: bool = False
    details_failures: bool = False
    log_prefix: str | None = None
    tries_max: int = 1
    has_timestamps: bool = False
    seed: str = ""
    sampling_rate: float = 0.0
    shown_script: None = None
    verbose_errors: bool = False
    debugs: bool = False
    database: str = ""
    host: str = ""
    port: str = ""
    user: str = ""
    asks_version: bool = False
    asks_help: bool = False

    @property
    def uses_builtins(self) -> bool:
        """Whether pgbench's own tables are needed."""
        return any(script.is_builtin for script in self.scripts)

    @property
    def times_transactions(self) -> bool:
        """Whether latencies are measured, and not calculated from the duration."""
        return bool(self.progress_s or self.rate or self.limit_ms)


class Answer(str):
    """What is shown in place of a run or of an initialization."""


def read_command(words: Sequence[str]) -> Command | Answer:
    """Return what the words ask for; what is wrong with them is refused."""
    values: dict[str, Any] = {}
    modes = set()
    arguments = []
    try:
        for option, text in ((given.option, given.text) for given in understood(words, OPTIONS)):
            if option is None:
                arguments.append(text)
                continue
            value: Any = option.read(option, text) if option.value or option.is_repeated else True
            if option.field == "scripts" and value is None:
                return Answer(listed())
            if option.field == "shown_script":
                return Answer(f"-- {value.name}: {value.description}\n{value.text}\n")
            if option.is_repeated:
                values[option.field] = (*values.get(option.field, ()), value)
                if len(values.get("scripts", ())) > SCRIPTS_MAX:
                    raise error(f"at most {SCRIPTS_MAX} SQL scripts are allowed")
            else:
                values[option.field] = value
            modes.add(option.mode)
    except UsageError as problem:
        raise RefusalError(*problem.lines, HINT) from None
    return _checked(values, modes, arguments)


def _checked(values: dict[str, Any], modes: set[str], arguments: list[str]) -> Command:
    is_run = not values.get("initializes")
    if is_run and not values.get("scripts"):
        values["scripts"] = (ChosenScript(BUILTINS[0].name, 1, is_builtin=True),)
    if is_run and not sum(script.weight for script in values["scripts"]):
        raise error("total script weight must not be zero")
    if arguments and not values.get("database"):
        values["database"] = arguments.pop(0)
    if arguments:
        problem = f'error: too many command-line arguments (first is "{arguments[0]}")'
        raise RefusalError(problem, HINT)
    command = Command(
        **{field.name: values[field.name] for field in fields(Command) if field.name in values}
    )
    if is_run:
        if "init" in modes:
            raise error("some of the specified options cannot be used in benchmarking mode")
        _refuse_contradictions(command)
        return command
    if "run" in modes:
        raise error("some of the specified options cannot be used in initialization (-i) mode")
    if command.partition_method and not command.partitions:
        raise error("--partition-method requires greater than zero --partitions")
    return command


def _refuse_contradictions(command: Command) -> None:
    for problem in _contradictions(command):
        raise error(problem)
    if not command.seed and (seed := os.environ.get("PGBENCH_RANDOM_SEED")):
        refuse_bad_seed(seed, "PGBENCH_RANDOM_SEED environment variable")


def _contradictions(command: Command) -> Iterator[str]:
    duration_s, aggregate_s = command.duration_s, command.aggregate_s
    if command.transactions and duration_s:
        yield "specify either a number of transactions (-t) or a duration (-T), not both"
    if command.sampling_rate and not command.logs:
        yield "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"
    if command.sampling_rate and aggregate_s:
        yield (
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used "
            "at the same time"
        )
    if aggregate_s and not command.logs:
        yield "log aggregation is allowed only when actually logging transactions"
    if command.log_prefix is not None and not command.logs:
        yield "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"
    if duration_s and aggregate_s > duration_s:
        yield (
            f"number of seconds for aggregation ({aggregate_s}) must not be higher than test "
            f"duration ({duration_s})"
        )
    if duration_s and aggregate_s and duration_s % aggregate_s:
        yield (
            f"duration ({duration_s}) must be a multiple of aggregation interval ({aggregate_s})"
        )
    if command.has_timestamps and not command.progress_s:
        yield "--progress-timestamp is allowed only under --progress"
    if not command.tries_max and not command.limit_ms and not duration_s:
        yield (
            "an unlimited number of transaction tries can only be used with --latency-limit or a "
            "duration (-T)"
        )


def usage() -> str:
    """Return the help."""
    titles = {"init": "Initialization options:", "run": "Benchmarking options:"}
    lines = [
        "pgbench is a benchmarking tool for PostgreSQL; this is dbdyno, which understands its "
        "command line.",
        "",
        "Usage:",
        "  pgbench [OPTION]... [DBNAME]",
    ]
    for mode in ("init", "run", ""):
        lines += ["", titles.get(mode, "Common options:")]
        for option in OPTIONS:
            if option.mode == mode:
                lines += [f"  {option.written}", f"                           {option.meaning}"]
    lines += ["", "Report bugs of this help to the authors of dbdyno, not of PostgreSQL.", ""]
    return "\n".join(lines)
