r"""The transactions of the family, as scripts generated from their parameters.

The table is drawn once for each group of similar statements, as sysbench does. A table's name
cannot be a parameter, so every group is repeated for each table, and ``\if`` finds the drawn table
by bisection.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from dbdyno.workloads.oltp.data import C_PATTERN, PAD_PATTERN
from dbdyno.workloads.parameters import Values

ANY_ID = "random(1, :table_size)"
# The client's own part of the keys.
OWN_KEY = "(:table_size / :clients) * :client_id + random(1, greatest(1, :table_size / :clients))"
# Rows whose number modulo the clients is the client's number belong to that client alone.
OWN_ID = "1 + :client_id + :clients * random(0, (:table_size - 1 - :client_id) / :clients)"
INT_LEAST = 2**31

RANGES = {
    "simple_ranges": "SELECT c FROM {table} WHERE id BETWEEN :{low} AND :{high};",
    "sum_ranges": "SELECT SUM(k) FROM {table} WHERE id BETWEEN :{low} AND :{high};",
    "order_ranges": "SELECT c FROM {table} WHERE id BETWEEN :{low} AND :{high} ORDER BY c;",
    "distinct_ranges": (
        "SELECT DISTINCT c FROM {table} WHERE id BETWEEN :{low} AND :{high} ORDER BY c;"
    ),
}


class Group(Struct, frozen=True):
    """Statements on one table, with ``{table}`` in their text, and the draws before them."""

    draws: list[str]
    statements: list[str]


def text_of(groups: Sequence[Group], values: Values, *, in_transaction: bool) -> str:
    """Return the script of these groups."""
    tables = int(values["tables"])
    lines: list[str] = []
    for number, group in enumerate(groups):
        lines += group.draws
        if tables > 1:
            lines.append(f"\\set table{number} random(1, {tables})")
        lines += _on_drawn_table(f":table{number}", range(1, tables + 1), group)
    if in_transaction and not values["skip_trx"]:
        lines = ["BEGIN;", *lines, "COMMIT;"]
    return "".join(f"{line}\n" for line in lines)


def text_on(drawn: str, group: Group, tables: int) -> str:
    """Return the script of one group, on the table that its draws have selected."""
    lines = [*group.draws, *_on_drawn_table(drawn, range(1, tables + 1), group)]
    return "".join(f"{line}\n" for line in lines)


def _on_drawn_table(drawn: str, tables: range, group: Group) -> Iterator[str]:
    """Yield the group for each of the tables; each test excludes half of them."""
    if len(tables) == 1:
        yield from (text.format(table=f"sbtest{tables[0]}") for text in group.statements)
        return
    middle = len(tables) // 2
    yield f"\\if {drawn} <= {tables[middle - 1]}"
    yield from _on_drawn_table(drawn, tables[:middle], group)
    yield "\\else"
    yield from _on_drawn_table(drawn, tables[middle:], group)
    yield "\\endif"


def point_selects(values: Values) -> Group:
    """Return selects of rows by ID."""
    ids = _numbers("point", values["point_selects"])
    return Group(
        [f"\\set {name} {ANY_ID}" for name in ids],
        [f"SELECT c FROM {{table}} WHERE id=:{name};" for name in ids],
    )


def ranges(values: Values) -> list[Group]:
    """Return selects of ID ranges, one group for each kind."""
    if not values["range_selects"]:
        return []
    return [_range_group(kind, values) for kind in RANGES]


def _range_group(kind: str, values: Values) -> Group:
    lows = _numbers(f"{kind}_low", values[kind])
    highs = _numbers(f"{kind}_high", values[kind])
    pairs = list(zip(lows, highs, strict=True))
    draws = [
        line
        for low, high in pairs
        for line in (f"\\set {low} {ANY_ID}", f"\\set {high} :{low} + {values['range_size']} - 1")
    ]
    # The table's name is filled in later.
    return Group(
        draws,
        [RANGES[kind].format(table="{table}", low=low, high=high) for low, high in pairs],
    )


def index_updates(values: Values) -> Group:
    """Return updates of the indexed column."""
    ids = _numbers("index", values["index_updates"])
    return Group(
        [f"\\set {name} {_written_id(values)}" for name in ids],
        [f"UPDATE {{table}} SET k=k+1 WHERE id=:{name};" for name in ids],
    )


def non_index_updates(values: Values) -> Group:
    """Return updates of a column without an index."""
    return _repeated(
        values["non_index_updates"],
        lambda n: [f"\\set other{n} {_written_id(values)}", f"\\settext c{n} {C_PATTERN}"],
        lambda n: [f"UPDATE {{table}} SET c=:c{n} WHERE id=:other{n};"],
    )


def delete_inserts(values: Values) -> Group:
    """Return deletes of a row, each followed by an insert with the same ID."""
    return _repeated(
        values["delete_inserts"],
        lambda n: [f"\\set gone{n} {_written_id(values)}", *_new_row(f"{n}")],
        lambda n: [f"DELETE FROM {{table}} WHERE id=:gone{n};", _insert(f":gone{n}", f"{n}")],
    )


def deletes() -> Group:
    """Return a delete of one row, if it exists."""
    return Group([f"\\set gone {ANY_ID}"], ["DELETE FROM {table} WHERE id=:gone;"])


def numbered_insert() -> Group:
    """Return an insert of a row that the server numbers."""
    return Group(_new_row(""), [_insert("0", "")])


def scattered_insert() -> Group:
    """Return an insert of a row with a negative ID that no other row of any client has."""
    counting = [
        "\\set inserted :inserted + 1",
        f"\\set fresh permute(:inserted * :clients + :client_id, {INT_LEAST}) - {INT_LEAST}",
    ]
    return Group([*counting, *_new_row("")], [_insert(":fresh", "")])


def random_points(values: Values) -> Group:
    """Return a select of rows by several keys from the client's own part of the keys."""
    keys = _numbers("key", values["random_points"])
    found = ", ".join(f":{name}" for name in keys)
    return Group(
        [f"\\set {name} {OWN_KEY}" for name in keys],
        [f"SELECT id, k, c, pad FROM {{table}} WHERE k IN ({found});"],
    )


def random_ranges(values: Values) -> Group:
    """Return a select that counts the rows of several short key ranges."""
    lows = _numbers("key", values["number_of_ranges"])
    conditions = " OR ".join(f"k BETWEEN :{low} AND :{low}_end" for low in lows)
    ends = [f"\\set {low}_end :{low} + {values['delta']}" for low in lows]
    return Group(
        [*(f"\\set {low} {OWN_KEY}" for low in lows), *ends],
        [f"SELECT count(k) FROM {{table}} WHERE {conditions};"],
    )


def _written_id(values: Values) -> str:
    return ANY_ID if values["collisions"] else OWN_ID


def _new_row(suffix: str) -> list[str]:
    return [
        f"\\set new_k{suffix} {ANY_ID}",
        f"\\settext new_c{suffix} {C_PATTERN}",
        f"\\settext new_pad{suffix} {PAD_PATTERN}",
    ]


def _insert(row: str, suffix: str) -> str:
    values = f"{row}, :new_k{suffix}, :new_c{suffix}, :new_pad{suffix}"
    return f"INSERT INTO {{table}} (id, k, c, pad) VALUES ({values});"


def _repeated(
    times: object, draws: Callable[[int], Iterable[str]], statements: Callable[[int], Iterable[str]]
) -> Group:
    counted = range(1, int(str(times)) + 1)
    return Group(
        [line for number in counted for line in draws(number)],
        [line for number in counted for line in statements(number)],
    )


def _numbers(name: str, times: object) -> list[str]:
    return [f"{name}{number}" for number in range(1, int(str(times)) + 1)]
