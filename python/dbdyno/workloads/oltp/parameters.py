"""The components of the family's transactions, under sysbench's names."""

from dbdyno.workloads.parameters import Parameter


def _count(name: str, default: int, description: str, least: int = 0) -> Parameter:
    return Parameter(
        name=name, kind="int", default=default, least=least, most=1000, description=description
    )


SKIP_TRX = Parameter(
    name="skip_trx",
    kind="bool",
    default=False,
    description="no explicit transaction: each statement commits by itself",
)
COLLISIONS = Parameter(
    name="collisions",
    kind="bool",
    default=True,
    description="any client writes any row, as with sysbench; off: each has rows of its own to "
    "write, so that none waits for another or finds its key taken",
)
POINT_SELECTS = _count("point_selects", 10, "point selects per transaction")
RANGES = (
    Parameter(name="range_selects", kind="bool", default=True, description="run the range queries"),
    _count("range_size", 100, "ids per range", least=1),
    _count("simple_ranges", 1, "simple range selects per transaction"),
    _count("sum_ranges", 1, "SUM queries over a range per transaction"),
    _count("order_ranges", 1, "ORDER BY queries over a range per transaction"),
    _count("distinct_ranges", 1, "SELECT DISTINCT queries over a range per transaction"),
)
INDEX_UPDATES = _count("index_updates", 1, "updates of the indexed column per transaction")
NON_INDEX_UPDATES = _count(
    "non_index_updates", 1, "updates of a column without an index per transaction"
)
DELETE_INSERTS = _count(
    "delete_inserts", 1, "pairs of DELETE and INSERT of the same id per transaction"
)
RANDOM_POINTS = _count("random_points", 10, "keys per IN list", least=1)
NUMBER_OF_RANGES = _count("number_of_ranges", 10, "key ranges per query", least=1)
DELTA = _count("delta", 5, "width of each key range")

READS = (POINT_SELECTS, *RANGES)
WRITES = (INDEX_UPDATES, NON_INDEX_UPDATES, DELETE_INSERTS, COLLISIONS)
