"""A script as a transaction: its steps, which row each locks, and which must stay in order.

A statement must come after those whose variables it uses, and must not pass one that touches the
same table if either of the two writes. A statement whose effects its text does not show stays
between its neighbours. Triggers and foreign keys are not known here.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.engine import Dialect
from dbdyno.explain.statements.script_text import Command, commands
from dbdyno.explain.statements.sql import the_one

_READABLE = frozenset({"select", "insert", "update", "delete"})


class UnorderableError(Exception):
    """A script whose statements cannot be reordered; the message is the reason."""


class UnknownRowsError(Exception):
    """The number of rows of a table was not recorded; the message names the table."""


class TimedScript(Struct, frozen=True, kw_only=True):
    """A script, its share of the transactions, and the seconds that each of its statements takes.

    Without lock waits: those are what another order changes. A round trip takes at most
    ``round_trip_s``, the time of the fastest statement of all, whatever it waits for.
    """

    name: str
    share: float
    text: str
    dialect: Dialect = "standard"
    seconds: Sequence[float]
    round_trip_s: float


class Step(Struct, frozen=True):
    """A command between the begin and the end of a transaction."""

    command: Command
    seconds: float
    locks: str
    """The table of which it locks a row until the end; empty for none."""
    probability: float
    """The probability that another transaction locks the same row."""


class Transaction(Struct, frozen=True):
    """A parsed script: what precedes its steps, the steps, and what ends it."""

    script: TimedScript
    before: list[Command]
    steps: list[Step]
    after: list[Command]
    end_s: float


def transaction(script: TimedScript, rows: Mapping[str, float]) -> Transaction:
    """Parse the script; refuse one with control flow."""
    found = commands(script.text, script.dialect)
    statements = [command for command in found if command.is_sql]
    if len(statements) != len(script.seconds):
        raise UnorderableError(f"the statements of {script.name} cannot be matched to its text")
    begin, end = _block(script.name, found)
    seconds = iter(script.seconds)
    timed = [(command, next(seconds) if command.is_sql else 0.0) for command in found]
    return Transaction(
        script=script,
        before=found[: begin + 1],
        steps=[_step(command, spent_s, rows) for command, spent_s in timed[begin + 1 : end]],
        after=found[end:],
        end_s=timed[end][1],
    )


def _block(name: str, found: Sequence[Command]) -> tuple[int, int]:
    """The positions of the begin and the end of its only transaction."""
    begins = [place for place, command in enumerate(found) if command.sql.begins_transaction]
    ends = [place for place, command in enumerate(found) if command.sql.ends_transaction]
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise UnorderableError(f"{name} is not one transaction from BEGIN to END")
    inside = found[begins[0] + 1 : ends[0]]
    unknown = [one.verb for one in inside if not one.is_sql and one.verb != "\\set"]
    if unknown:
        raise UnorderableError(f"{name} has {unknown[0]} within its transaction")
    return begins[0], ends[0]


def _step(command: Command, spent_s: float, rows: Mapping[str, float]) -> Step:
    written = _locked_table(command)
    if not written:
        return Step(command, spent_s, "", 0.0)
    table = the_one(written, rows)
    if table is None or not rows[table]:
        raise UnknownRowsError(f"the number of rows of {written} was not recorded")
    one_row = bool(command.sql.equal_columns())
    return Step(command, spent_s, table, 1 / rows[table] if one_row else 1.0)


def _locked_table(command: Command) -> str:
    """The table that it locks; INSERT counts as none, since nobody else wants the new row yet.

    Shared locks do not conflict with each other, and SKIP LOCKED waits for nobody.
    """
    if command.verb in ("update", "delete"):
        return command.sql.written_table or ""
    if command.verb == "select" and not command.sql.skips_locked:
        return command.sql.locked_table or ""
    return ""


def stays_before(earlier: Step, later: Step) -> bool:
    """Whether the two must stay in this order."""
    first, second = earlier.command, later.command
    if not first.is_sql and not second.is_sql:
        return True  # random numbers are drawn in the order of the script
    if first.assigned & (second.used | second.assigned) or second.assigned & first.used:
        return True
    if (first.keeps_answer and second.used) or (second.keeps_answer and first.used):
        return True  # the script does not show which variables a result sets
    return first.is_sql and second.is_sql and _touch(first, second)


def _touch(first: Command, second: Command) -> bool:
    """Whether two statements may read or overwrite each other's work."""
    if not (_is_readable(first) and _is_readable(second)):
        return True
    written = {first.sql.written_table, second.sql.written_table} - {None}
    return bool(set(first.sql.tables) & set(second.sql.tables) & written)


def _is_readable(command: Command) -> bool:
    """Whether its text shows everything that it touches."""
    is_plain = command.verb in _READABLE and not command.sql.uses_sequence
    return is_plain and bool(command.sql.tables)
