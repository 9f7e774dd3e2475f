"""What must hold for the data itself at every instant, whatever has run: conditions as queries.

Laws (``invariants``) are about what a run changed; a condition is about the rows as they are. Its
query returns the rows that break it, so that a broken one can be shown, not only counted.
"""

from decimal import Decimal

from msgspec import Struct

from dbdyno.databases.adapter import Dialect
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import listed

Shown = int | str | None


class Checked(Struct, frozen=True, kw_only=True):
    """What was found: the number of rows that break the condition, and the first of them."""

    id: str
    claim: str
    ok: bool
    rows: int
    example: dict[str, Shown] | None

    @property
    def message(self) -> str:
        """What is broken, with its example."""
        assert self.example
        shown = ", ".join(f"{name} = {value}" for name, value in self.example.items())
        few = "1 row" if self.rows == 1 else f"{self.rows} rows, the first"
        return f"condition {self.id}, {self.claim}: broken by {few} with {shown}"


class Condition(Struct, frozen=True, kw_only=True):
    """A condition under its ``id``, and in words.

    ``broken`` is a standard query of the rows that break it, which has these ``columns``: a row's
    keys, and the values that disagree.
    """

    id: str
    claim: str
    columns: tuple[str, ...]
    broken: str

    def check(self, dialect: Dialect, connection: Connection) -> Checked:
        """Count the rows that break it; look at the first by its keys if there are any."""
        rows = int(connection.execute(f"select count(*) from ({self.broken}) b").fetchone()[0])
        example = None
        if rows:
            columns = listed(self.columns)
            query = f"select {columns} from ({self.broken}) b order by {columns}"
            first = connection.execute(dialect.first_row(query)).fetchone()
            example = dict(zip(self.columns, map(_shown, first), strict=True))
        return Checked(id=self.id, claim=self.claim, ok=not rows, rows=rows, example=example)


def _shown(value: object) -> Shown:
    """Return a value as shown: money keeps its digits, and a sum of whole numbers is one."""
    if value is None or isinstance(value, int):
        return value
    is_whole = isinstance(value, Decimal) and value.as_tuple().exponent == 0
    return int(str(value)) if is_whole else str(value)
