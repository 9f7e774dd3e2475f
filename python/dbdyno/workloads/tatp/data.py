"""The four tables of the register and their population, as TATP's definition has them.

A subscriber has one to four kinds of access and of facilities, and a facility forwards calls at
none to three of the three times at which that can begin: so a look-up of a random kind finds one in
62.5 % of the cases, and one of a random time as well in 31.25 %.
"""

from string import ascii_uppercase

from msgspec.structs import replace

from dbdyno.databases.schema import Column, ForeignKey, Index, Table
from dbdyno.model.generators import (
    Choice,
    Generator,
    Number,
    OneOf,
    Padded,
    Permutation,
    Random,
    Sequence,
    Shared,
    Sum,
    Text,
)
from dbdyno.workloads.parameters import FILLFACTOR, UNLOGGED, Parameter, Values

SUBSCRIBERS_OF_SCALE = 100_000

PARAMETERS = (
    Parameter(
        name="scale",
        kind="int",
        default=1,
        least=1,
        most=20_000,
        description="size of the data: 100 000 subscribers each",
    ),
    FILLFACTOR,
    UNLOGGED,
    Parameter(
        name="foreign_keys",
        kind="bool",
        default=False,
        description="create the foreign keys of the definition",
    ),
)

_MOST_KINDS = 4
_FACILITIES = Shared("facilities", Random(1, _MOST_KINDS))
# A child's kinds and times are those of a random order, so that none comes twice.
_SF_TYPE = Shared("sf_type", Permutation(_MOST_KINDS, level=1), level=1)
_START_TIME = Shared("start_time", Permutation(3, start=0, step=8, level=2), level=2)
_BYTE = Random(0, 255)
_NUMBER = 15  # digits


def subscribers(values: Values) -> int:
    """Return how many subscribers there are."""
    return SUBSCRIBERS_OF_SCALE * int(values["scale"])


def _int(name: str, generator: Generator) -> Column:
    return Column(name, "int", generator, not_null=True)


def subscriber(_values: Values) -> Table:
    """All know a subscriber by an identifier or by a number of fifteen digits."""
    number = Padded(Sequence(), _NUMBER)
    return Table(
        name="subscriber",
        columns=(
            _int("s_id", Sequence()),
            Column("sub_nbr", "char(15)", number, not_null=True),
            *(_int(f"bit_{place}", Random(0, 1)) for place in range(1, 11)),
            *(_int(f"hex_{place}", Random(0, 15)) for place in range(1, 11)),
            *(_int(f"byte2_{place}", _BYTE) for place in range(1, 11)),
            _int("msc_location", Random(1, 2**31 - 1)),
            _int("vlr_location", Random(1, 2**31 - 1)),
        ),
        rows=0,
        primary_key=("s_id",),
        indexes=(Index("subscriber_number", ("sub_nbr",), unique=True),),
    )


def access_info(values: Values) -> Table:
    """Up to four kinds of access, each at most once."""
    return Table(
        name="access_info",
        columns=(
            _int("s_id", Sequence()),
            _int("ai_type", Permutation(_MOST_KINDS, level=1)),
            _int("data1", _BYTE),
            _int("data2", _BYTE),
            Column("data3", "char(3)", Text(3, 3, ascii_uppercase), not_null=True),
            Column("data4", "char(5)", Text(5, 5, ascii_uppercase), not_null=True),
        ),
        rows=0,
        per=(Random(1, _MOST_KINDS),),
        primary_key=("s_id", "ai_type"),
        foreign_keys=_foreign_keys(values, ForeignKey(("s_id",), "subscriber", ("s_id",))),
    )


def special_facility(values: Values) -> Table:
    """Up to four kinds of facilities, each at most once."""
    is_active = OneOf((Choice(85, Number(1)), Choice(15, Number(0))))
    return Table(
        name="special_facility",
        columns=(
            _int("s_id", Sequence()),
            _int("sf_type", _SF_TYPE),
            _int("is_active", is_active),
            _int("error_cntrl", _BYTE),
            _int("data_a", _BYTE),
            Column("data_b", "char(5)", Text(5, 5, ascii_uppercase), not_null=True),
        ),
        rows=0,
        per=(_FACILITIES,),
        primary_key=("s_id", "sf_type"),
        foreign_keys=_foreign_keys(values, ForeignKey(("s_id",), "subscriber", ("s_id",))),
    )


def call_forwarding(values: Values) -> Table:
    """Rows come and go, half of all that there can be."""
    facility = ForeignKey(("s_id", "sf_type"), "special_facility", ("s_id", "sf_type"))
    return Table(
        name="call_forwarding",
        columns=(
            _int("s_id", Sequence()),
            _int("sf_type", _SF_TYPE),
            _int("start_time", _START_TIME),
            _int("end_time", Sum((_START_TIME, Random(1, 8)))),
            Column("numberx", "char(15)", Text(_NUMBER, _NUMBER, "0123456789"), not_null=True),
        ),
        rows=0,
        per=(_FACILITIES, Random(0, 3)),
        primary_key=("s_id", "sf_type", "start_time"),
        foreign_keys=_foreign_keys(values, facility),
        is_queue=True,
    )


_TABLES = (subscriber, access_info, special_facility, call_forwarding)


def tables(values: Values) -> tuple[Table, ...]:
    """Return the four tables, in an order in which keys can be added."""
    return tuple(
        replace(
            table(values),
            rows=subscribers(values),
            fillfactor=int(values["fillfactor"]),
            unlogged=bool(values["unlogged"]),
        )
        for table in _TABLES
    )


def _foreign_keys(values: Values, *keys: ForeignKey) -> tuple[ForeignKey, ...]:
    return keys if values["foreign_keys"] else ()
