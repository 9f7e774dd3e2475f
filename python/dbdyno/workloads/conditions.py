"""What must hold for the data itself at every instant, whatever has run: conditions as queries.

Laws (``invariants``) are about what a run changed; a condition is about the rows as they are. Its
query returns the rows that break it, so that a broken one can be shown, not only counted.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.databases.adapter import Dialect
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import listed
from dbdyno.model.record import CheckRecord


class Condition(Struct, frozen=True, kw_only=True):
    """A condition under its ``id``, and in words.

    ``broken`` is a standard query of the rows that break it, which has these ``columns``: a row's
    keys, and the values that disagree. One that ``is_cheap`` reads so little that it may be read
    again and again while a load runs. One that ``isolation_decides`` may be broken below the
    level ``serializable`` by a server that keeps all its promises: a run counts the rows before and
    after it, and only at that level more of them are a fault.
    """

    id: str
    claim: str
    columns: tuple[str, ...]
    broken: str
    is_cheap: bool = False
    isolation_decides: bool = False

    def check(self, dialect: Dialect, connection: Connection) -> CheckRecord:
        """Count the rows that break it; look at the first by its keys if there are any."""
        rows = int(connection.execute(f"select count(*) from ({self.broken}) b").fetchone()[0])
        example = None
        if rows:
            columns = listed(self.columns)
            query = f"select {columns} from ({self.broken}) b order by {columns}"
            first = connection.execute(dialect.first_row(query)).fetchone()
            example = dict(zip(self.columns, map(_shown, first), strict=True))
        return CheckRecord(id=self.id, claim=self.claim, ok=not rows, rows=rows, example=example)


def told(broken: CheckRecord) -> str:
    """Return what is broken, with its example."""
    assert broken.example
    shown = ", ".join(f"{name} = {value}" for name, value in broken.example.items())
    few = "1 row" if broken.rows == 1 else f"{broken.rows} rows, the first"
    at = "" if broken.broken_at_s is None else f", {broken.broken_at_s:.0f} s after the load began"
    before = f"; before the load by {broken.rows_before}" if broken.rows_before else ""
    return f"condition {broken.id}, {broken.claim}: broken by {few} with {shown}{at}{before}"


def all_readings(readings: Iterable[Sequence[CheckRecord]]) -> dict[str, CheckRecord]:
    """Return what several readings, in the order of time, found of each condition, by its ID.

    Of one that was broken, the first reading that found it so tells most.
    """
    found: dict[str, CheckRecord] = {}
    for one in (one for reading in readings for one in reading):
        known = found.get(one.id)
        seen = one if known is None or known.ok else known
        found[one.id] = replace(seen, times=known.times + 1 if known else 1)
    return found


def _shown(value: object) -> int | str | None:
    """Return a value as shown: money keeps its digits, and a sum of whole numbers is one."""
    if value is None or isinstance(value, int):
        return value
    is_whole = isinstance(value, Decimal) and value.as_tuple().exponent == 0
    return int(str(value)) if is_whole else str(value)
