"""Loads by INSERT where LOAD DATA LOCAL is not allowed, which takes up to half as long again."""

from dbdyno.targets.base import LoadFallback
from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.dialect import MysqlDialect
from dbdyno.targets.schema import Table

REASON = (
    "by INSERT, since local_infile is off on the server: SET GLOBAL local_infile = ON is faster"
)


class InsertingDialect(MysqlDialect):
    """MySQL's dialect, with INSERT in place of LOAD DATA."""

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Rows are appended to it, many to a statement."""
        assert not frozen
        columns = ", ".join(column.name for column in table.columns if column.differs)
        return f"insert into {table.name} ({columns}) values"


def load_fallback(connection: Connection) -> LoadFallback | None:
    """Needed where ``local_infile`` is off."""
    is_on = connection.execute("select @@global.local_infile").fetchone()[0]
    return None if is_on else LoadFallback(InsertingDialect(), REASON)
