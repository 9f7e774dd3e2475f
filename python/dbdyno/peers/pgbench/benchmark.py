"""A benchmark of pgbench as a run of ours: from its command to the request and the exit code."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.errors import DbdynoError
from dbdyno.home import home_folder
from dbdyno.model.frame import FailureCount
from dbdyno.model.run import Run
from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.pgbench.builtin_scripts import Builtin, find_builtin
from dbdyno.peers.pgbench.command import TRANSACTIONS_DEFAULT, Command
from dbdyno.peers.pgbench.database import Tables, connected_to, read_tables, target_of, vacuum
from dbdyno.peers.pgbench.error_words import GivenUp, abortion, given_up, refusal
from dbdyno.peers.pgbench.options import ChosenScript
from dbdyno.peers.pgbench.progress import BenchmarkProgress, aborts
from dbdyno.peers.pgbench.summary import ShownScript, Summary
from dbdyno.peers.pgbench.transaction_logs import TransactionLogs
from dbdyno.peers.streams import Streams
from dbdyno.run.job import Job, check
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.runner import run
from dbdyno.run.tools import engine_tools
from dbdyno.store.files import LOG
from dbdyno.store.listing import RUNS

ABORTED = 2
SQLSTATE = 5
"""The length of the server's codes: ours are words."""
_DEBUG = re.compile(r"debug\(script=.*")


@dataclass(frozen=True)
class Request:
    """The run that a command asks for, as ``dbdyno run`` takes it.

    ``order`` are the numbers of the scripts in the run, in the order of the command.
    """

    items: tuple[WeightedName, ...]
    options: RunOptions
    order: tuple[int, ...]


def benchmark(command: Command, streams: Streams, version: str) -> int:
    """Run it and show the result as pgbench does; return its exit code."""
    request, tools = request_of(command), engine_tools()
    try:
        job = check(request.items, request.options, tools, streams.say)
    except DbdynoError as problem:
        raise refusal(problem.message) from None
    if command.seed:
        streams.say(f"setting random seed to {job.seed}")
    tables = _begun(command, streams, version)
    progress = BenchmarkProgress(command, streams)
    try:
        recording = _run(command, request.order, job, progress)
    except DbdynoError as problem:
        raise RefusalError(f"error: {problem.message}") from None
    _show_debugging(recording, streams)
    if progress.has_enough:
        _say_failures(command, recording, streams)
        streams.say("error: Run was aborted due to an error in thread 0")
        return ABORTED
    scripts = [
        ShownScript.of(chosen, number)
        for chosen, number in zip(command.scripts, request.order, strict=True)
    ]
    lines = Summary(command, recording, tables, scripts, progress.retried).lines()
    streams.result("".join(f"{line}\n" for line in lines))
    return _exit_code(command, request.order, recording, streams)


def _begun(command: Command, streams: Streams, version: str) -> Tables:
    """Do what precedes the load on the server; return what there is to say of the tables."""
    with connected_to(command) as connected:
        server = connected.description().version
        streams.result(f"pgbench (dbdyno {version}, server {server})\n")
        tables = read_tables(connected, command)
        if command.scale and command.uses_builtins:
            streams.say(
                "warning: scale option ignored, using count from pgbench_branches table "
                f"({tables.scale})"
            )
        if not command.no_vacuum:
            vacuum(connected.control, streams, also_accounts=command.vacuums_all)
    return tables


def _run(command: Command, order: tuple[int, ...], job: Job, progress: BenchmarkProgress) -> Run:
    if not command.logs:
        return run(job, engine_tools(), progress)
    with TransactionLogs(command, order) as logs:
        progress.logs = logs
        recording = run(replace(job, reports_transactions=True), engine_tools(), progress)
        logs.finish()
    return recording


def request_of(command: Command) -> Request:
    """Return the request: the first builtin script as the workload, the others as files."""
    chosen = list(enumerate(command.scripts))
    first = next((one for one in chosen if one[1].is_builtin and one[1].weight), None)
    others = [one for one in chosen if one is not first]
    items: list[WeightedName] = []
    if first is not None:
        items.append(WeightedName(_builtin(first[1]).workload, first[1].weight))
    ordered = [*([first] if first else []), *others]
    number_of = {place: number for number, (place, _) in enumerate(ordered)}
    limit_ns = round(command.limit_ms * 1e6) if command.limit_ms else None
    transactions = None if command.duration_s else command.transactions or TRANSACTIONS_DEFAULT
    reads_variables = any(not script.is_builtin for script in command.scripts)
    options = RunOptions(
        target=target_of(command),
        script_files=tuple(
            WeightedName(_builtin(script).path if script.is_builtin else script.name, script.weight)
            for _, script in others
        ),
        scale=None if command.uses_builtins else command.scale,
        define=command.variables if reads_variables else (),
        query_mode=command.query_mode,  # type: ignore[arg-type] # one of them was read
        clients=command.clients,
        threads=min(command.threads, command.clients),
        duration_ns=command.duration_s * SECOND_NS or None,
        transactions=transactions,
        warmup_ns=0,
        rate_tps=command.rate,
        latency_limit_ns=limit_ns,
        reconnect=command.reconnects,
        tries_max=command.tries_max,
        # Without a duration, the latency limit bounds the tries, as there.
        retry_time_ns=limit_ns if not command.tries_max and transactions else None,
        failures_max=1.0 if command.continues else RunOptions.failures_max,
        allow_shell=True,
        seed=_seed(command.seed),
    )
    return Request(tuple(items), options, tuple(number_of[place] for place, _ in chosen))


def _builtin(script: ChosenScript) -> Builtin:
    return find_builtin(script.name)


def _seed(text: str) -> int | None:
    """None draws one, as ``rand`` and the lack of the option do."""
    text = text or os.environ.get("PGBENCH_RANDOM_SEED", "")
    if text == "time":
        return time.time_ns() // 1000
    return None if text in ("", "rand") else int(text) % 2**63


def _show_debugging(recording: Run, streams: Streams) -> None:
    """Show what ``debug()`` printed: it is in the log of the run."""
    log = home_folder(RUNS) / recording.record.run_id / LOG
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if found := _DEBUG.search(line):
                streams.aside(f"{found[0]}\n")


def _exit_code(command: Command, order: tuple[int, ...], recording: Run, streams: Streams) -> int:
    record = recording.record
    _say_failures(command, recording, streams)
    is_ended = record.status != "done"
    for reason in record.invalid_reasons:
        one = given_up(reason)
        for line in _abortion(one, order, recording) if one else [reason]:
            streams.say(f"{'error' if is_ended else 'warning'}: {line}")
    if is_ended or any(aborts(command, failure) for failure in _failures(recording)):
        streams.say("error: Run was aborted; the above results are incomplete.")
        return ABORTED
    return 0


def _abortion(one: GivenUp, order: tuple[int, ...], recording: Run) -> list[str]:
    number = [script.name for script in recording.plan.scripts].index(one.script)
    texts = recording.statement_texts
    own = texts.where(texts.script == number)
    statements = [*zip(own.line.tolist(), own.sql.tolist(), strict=True)]
    meta_commands = [
        (line, text.strip())
        for line, text in enumerate(recording.plan.scripts[number].text.splitlines(), 1)
        if re.match(r"\s*\\(?![ga]set\b)", text)
    ]
    return abortion(one, order.index(number), sorted([*statements, *meta_commands]))


def _failures(recording: Run) -> Sequence[FailureCount]:
    done = recording.engine.done
    return done.failures if done else ()


def _say_failures(command: Command, recording: Run, streams: Streams) -> None:
    reasons = map(given_up, recording.record.invalid_reasons)
    said = {one.message for one in reasons if one}
    for failure in _failures(recording):
        if failure.message in said:
            continue
        if command.verbose_errors or failure.failure_class not in ("serialization", "deadlock"):
            severity = "ERROR:  " if len(failure.code) == SQLSTATE else ""
            place = _place(recording, failure)
            streams.say(f"error: {failure.count} failed{place}: {severity}{failure.message}")


def _place(recording: Run, failure: FailureCount) -> str:
    """Return where in the scripts it failed first, as far as it is known."""
    texts = recording.statement_texts
    if failure.statement is None or failure.statement >= len(texts):
        return ""
    script, index = texts.script[failure.statement], texts.index[failure.statement]
    return f" in command {index} of script {script}"
