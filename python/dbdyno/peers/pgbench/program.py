"""pgbench as a program: its words in, its exit code out."""

from collections.abc import Sequence
from importlib import metadata

from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.pgbench.command import Answer, read_command, usage
from dbdyno.peers.streams import Streams

LIKE = "18"
"""The version whose options and output these are."""


def main(words: Sequence[str]) -> int:
    """Do what the words ask for; return the exit code."""
    streams = Streams("pgbench")
    try:
        return _done(words, streams)
    except RefusalError as refusal:
        streams.refuse(refusal)
        return 1


def _done(words: Sequence[str], streams: Streams) -> int:
    command = read_command(words)
    version = metadata.version("dbdyno")
    if isinstance(command, Answer):
        streams.aside(command)
    elif command.asks_help:
        streams.result(usage())
    elif command.asks_version:
        streams.result(f"pgbench (PostgreSQL) {LIKE} (dbdyno {version})\n")
    elif command.initializes:
        from dbdyno.peers.pgbench.initialization import initialize  # noqa: PLC0415 - heavy

        initialize(command, streams)
    else:
        from dbdyno.peers.pgbench.benchmark import benchmark  # noqa: PLC0415 - heavy

        return benchmark(command, streams, version)
    return 0
