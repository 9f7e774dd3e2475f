"""What the transactions of the family can be made of, under sysbench's names."""

from dbdyno.workloads.parameters import Parameter


def _count(name: str, default: int, description: str, least: int = 0) -> Parameter:
    return Parameter(
        name=name, kind="int", default=default, least=least, most=1000, description=description
    )


SKIP_TRX = Parameter(
    name="skip_trx",
    kind="bool",
    default=False,
    description="every statement is a transaction of its own",
)
COLLISIONS = Parameter(
    name="collisions",
    kind="bool",
    default=True,
    description="any client writes any row, as with sysbench; off: each has rows of its own to "
    "write, so that none waits for another or finds its key taken",
)
POINT_SELECTS = _count("point_selects", 10, "rows read by id in a transaction")
RANGES = (
    Parameter(name="range_selects", kind="bool", default=True, description="ranges are read"),
    _count("range_size", 100, "ids of a range", least=1),
    _count("simple_ranges", 1, "ranges read in a transaction"),
    _count("sum_ranges", 1, "ranges summed up in a transaction"),
    _count("order_ranges", 1, "ranges sorted in a transaction"),
    _count("distinct_ranges", 1, "ranges sorted without duplicates in a transaction"),
)
INDEX_UPDATES = _count("index_updates", 1, "updates of the indexed column in a transaction")
NON_INDEX_UPDATES = _count("non_index_updates", 1, "updates of another column in a transaction")
DELETE_INSERTS = _count("delete_inserts", 1, "rows replaced under their id in a transaction")
RANDOM_POINTS = _count("random_points", 10, "keys looked for at once", least=1)
NUMBER_OF_RANGES = _count("number_of_ranges", 10, "ranges of keys looked for at once", least=1)
DELTA = _count("delta", 5, "width of such a range")

READS = (POINT_SELECTS, *RANGES)
WRITES = (INDEX_UPDATES, NON_INDEX_UPDATES, DELETE_INSERTS, COLLISIONS)
