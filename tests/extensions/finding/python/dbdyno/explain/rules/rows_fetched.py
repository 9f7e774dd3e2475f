"""Rows fetched: how many rows the server looks up for a transaction.

Looks for: rows that the server fetched during the measurement.

Arithmetic: rows fetched by indexes, as the server counts them, per committed transaction.

Source: PostgreSQL manual, pg_stat_database (tup_fetched).

Wrong when: other sessions read in the same database.
"""

from dbdyno.explain.needs import committed, grown
from dbdyno.explain.rule import Claim, NotFound, Rule
from dbdyno.formatting import significant
from dbdyno.model.counters import PgDatabase
from dbdyno.model.run import Run


class RowsFetched(Claim, frozen=True, kw_only=True):
    """Rows per transaction."""

    rows: float

    @property
    def summary(self) -> str:
        return f"A transaction fetches {significant(self.rows)} rows."


def look(run: Run) -> RowsFetched | NotFound:
    """Report any row."""
    rows = grown(run, PgDatabase.tup_fetched) / committed(run)
    return RowsFetched(rows=rows) if rows else NotFound("no row was fetched")


RULE = Rule(id="rows_fetched", title="Rows are fetched", look=look)
