"""A loader in Python: a slow and simple implementation of the engine's contract for bulk loads."""

import struct
import time
from collections.abc import Iterator
from functools import cache

import msgspec
import psycopg
from psycopg import sql

from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.generators import Constant, Null, Template, value_at
from dbdyno.model.plan import Endpoint, LoadColumn, LoadPlan, LoadTable

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
ROWS_PER_FRAME = 50_000
FORMATS = {"int4": ">i", "int8": ">q", "timestamp": ">q"}


def load_slowly(plan: LoadPlan) -> Iterator[Progress | Loaded]:
    began = time.monotonic_ns()
    with psycopg.connect(conninfo_of(plan.endpoint)) as connection:
        for table in plan.tables:
            for piece in pieces_of(table):
                yield from load_piece(connection, table, piece)
                connection.commit()
    rows = sum(table.rows for table in plan.tables)
    yield Loaded(rows=rows, elapsed_ns=time.monotonic_ns() - began)


def pieces_of(table: LoadTable) -> list[range]:
    size = -(-table.rows // table.pieces_max)
    return [range(first, min(first + size, table.rows)) for first in range(0, table.rows, size)]


def load_piece(
    connection: psycopg.Connection, table: LoadTable, piece: range
) -> Iterator[Progress]:
    for statement in table.before:
        connection.execute(sql.SQL(statement))
    connection.execute(sql.SQL(table.note).format(first=piece.start, end=piece.stop))
    with connection.cursor().copy(sql.SQL(table.copy)) as copy:
        copy.write(HEADER)
        for first in range(piece.start, piece.stop, ROWS_PER_FRAME):
            beyond = min(first + ROWS_PER_FRAME, piece.stop)
            copy.write(rows_of(msgspec.json.encode(table.columns), first, beyond))
            yield Progress(table=table.name, rows=beyond, rows_total=table.rows)
        copy.write(TRAILER)


@cache
def rows_of(columns: bytes, first: int, beyond: int) -> bytes:
    """Cached from test to test: most load the same rows."""
    laws = msgspec.json.decode(columns, type=list[LoadColumn])
    return b"".join(row_of(laws, row) for row in range(first, beyond))


def row_of(columns: list[LoadColumn], row: int) -> bytes:
    fields = [field_of(column, row) for column in columns]
    return struct.pack(">h", len(fields)) + b"".join(fields)


def field_of(column: LoadColumn, row: int) -> bytes:
    value = value_of(column, row)
    if value is None:
        return struct.pack(">i", -1)
    is_number = isinstance(value, int)
    packed = struct.pack(FORMATS[column.kind], value) if is_number else str(value).encode()
    return struct.pack(">i", len(packed)) + packed


def value_of(column: LoadColumn, row: int) -> int | str | None:
    match column.generator:
        case Null():
            return None
        case Constant(text):
            return text
        case Template(pattern):
            return pattern.replace("@", "abcdefgh"[row % 8])
        case law:
            value = value_at(law, row)
            assert value is not None, f"no workload uses {law} yet"
            return value


def conninfo_of(endpoint: Endpoint) -> str:
    address = endpoint.address
    if address.tcp:
        host, port = address.tcp.host, address.tcp.port
    else:
        assert address.unix
        folder, _, name = address.unix.path.rpartition("/")
        host, port = folder, int(name.rpartition(".")[2])
    return psycopg.conninfo.make_conninfo(
        host=host,
        port=port,
        user=endpoint.user,
        password=endpoint.password,
        dbname=endpoint.database,
    )
