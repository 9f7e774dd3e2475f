"""Which rows of large tables a run reads before and after it, for its invariants.

Reading a hundred million takes longer than many a run, and would warm every cache before it. Up to
a number of rows all are read. Beyond, it is stretches of consecutive keys, spread over the table:
most laws of a whole table hold for any of its rows. What no stretch shows, such as how many rows
were added, is not read. ``check`` reads everything.
"""

ROWS_READ_MAX = 10_000_000
STRETCHES = 10
ROWS_OF_STRETCH = 10_000


def are_all_read(rows: int) -> bool:
    """Whether a run reads all of so many rows."""
    return rows <= ROWS_READ_MAX


def rows_of_stretches() -> int:
    """Return the number of rows in all stretches of a table."""
    return STRETCHES * ROWS_OF_STRETCH


def stretches(key: str, rows: int) -> list[str]:
    """Return the condition for each stretch of the keys from 1 to ``rows``, in their order."""
    # From the beginning of the table to its end.
    last = rows - ROWS_OF_STRETCH
    firsts = (1 + number * last // (STRETCHES - 1) for number in range(STRETCHES))
    return [f"{key} between {first} and {first + ROWS_OF_STRETCH - 1}" for first in firsts]
