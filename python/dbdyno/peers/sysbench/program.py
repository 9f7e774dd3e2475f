"""sysbench as a program: its words in, its exit code out."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata

from dbdyno.errors import DbdynoError
from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.streams import Streams
from dbdyno.peers.sysbench.command import Command, read_command, usage
from dbdyno.peers.sysbench.options import OTHER_TESTS

LIKE = "1.0.20"
"""The version whose options and output these are."""


def main(words: Sequence[str]) -> int:
    """Do what the words ask for; return the exit code."""
    streams = Streams("sysbench")
    try:
        command = read_command(words)
    except RefusalError as refusal:
        return _refused(refusal, streams)
    try:
        return _done(command, streams)
    except RefusalError as refusal:
        return _refused(refusal, streams)
    except DbdynoError as problem:
        _, unknown, name = problem.message.partition("invalid option: --")
        if unknown:
            streams.aside(f"invalid option: {command.word_of(name)}\n")
        else:
            streams.result(f"FATAL: {problem.message}\n")
    return 1


def _refused(refusal: RefusalError, streams: Streams) -> int:
    streams.result("".join(f"{line}\n" for line in refusal.lines))
    streams.aside(refusal.text)
    return 1


def _done(command: Command, streams: Streams) -> int:
    if "help" in command.options or "--help" in command.words:
        streams.result(usage())
        return 0
    if "--version" in command.words:
        streams.result(f"sysbench {LIKE}\n")
        return 0
    if not command.test:
        streams.aside(usage())
        return 1
    streams.result("".join(f"WARNING: {warning}\n" for warning in command.warnings))
    streams.result(f"sysbench {LIKE} (using dbdyno {metadata.version('dbdyno')})\n\n")
    if command.test in OTHER_TESTS:
        raise RefusalError(
            f"FATAL: the {command.test} test uses no database, which dbdyno measures: "
            "run it with sysbench itself"
        )
    return _with_script(command, streams)


def _with_script(command: Command, streams: Streams) -> int:
    from dbdyno.peers.sysbench import script  # noqa: PLC0415 - heavy

    job = script.job_of(command)
    if not command.command:
        raise RefusalError(
            "FATAL: Command is required. Supported commands: prepare, run, cleanup, help"
        )
    if command.command == "help":
        script.show_help(job)
    elif command.command == "run":
        return script.run_script(command, replace(job, reports_transactions=True), streams)
    else:
        script.execute_command(command, job, streams)
    return 0
