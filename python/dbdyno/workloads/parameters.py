"""Parameters of a workload, declared once for the command line, the checks and the docs."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.databases.schema import Partitioning, PartitionMethod
from dbdyno.errors import DbdynoError, nearest

Value: TypeAlias = int | bool | str
Values: TypeAlias = Mapping[str, Value]

BOOLEANS = {
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter. ``least`` and ``most`` bound an ``int``; a ``choice`` has ``choices``."""

    name: str
    kind: Literal["int", "bool", "choice"]
    default: Value
    description: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The accepted values, for display."""
        if self.kind == "bool":
            return "on, off"
        if self.kind == "choice":
            return ", ".join(self.choices)
        return f"{self.least} to {self.most}"

    @property
    def default_text(self) -> str:
        """The default as written after ``-D``."""
        texts = {True: "on", False: "off"}
        return texts[self.default] if isinstance(self.default, bool) else str(self.default)

    def read(self, given: Value) -> Value:
        """Return the value of a user's word or of a program's value."""
        text = str(given).strip().lower()
        value: Value | None
        match self.kind:
            case "bool":
                value = BOOLEANS.get(text)
            case "choice":
                value = text if text in self.choices else None
            case "int":
                value = self._read_int(text)
        if value is None:
            raise DbdynoError(
                "bad_parameter", f"{self.name} cannot be {given}", f"{self.name}: {self.range}"
            )
        return value

    def _read_int(self, text: str) -> int | None:
        try:
            number = int(text)
        except ValueError:
            return None
        low = self.least is None or number >= self.least
        high = self.most is None or number <= self.most
        return number if low and high else None


class Drawn(Struct, frozen=True):
    """A number that is drawn once, when data is loaded, and kept with the data."""

    name: str
    low: int
    high: int

    def draw(self, seed: int) -> int:
        """Return the number for data loaded with this seed."""
        return Random(f"{self.name} {seed}").randint(self.low, self.high)


def read_all(parameters: Sequence[Parameter], given: Mapping[str, Value]) -> dict[str, Value]:
    """Return the given values, checked; raise an error for an unknown name."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            message = f"the workload has no parameter {name}"
            raise DbdynoError("unknown_parameter", message, nearest(name, known))
    return {name: known[name].read(value) for name, value in given.items()}


def with_defaults(parameters: Sequence[Parameter], read: Mapping[str, Value]) -> dict[str, Value]:
    """Return the value of every parameter."""
    return {parameter.name: read.get(parameter.name, parameter.default) for parameter in parameters}


SCALE = Parameter(
    name="scale",
    kind="int",
    default=1,
    least=1,
    most=21_474,  # beyond, the rows do not fit the four-byte keys of the small tables
    description="size of the data: 100 000 rows each",
)
FILLFACTOR = Parameter(
    name="fillfactor",
    kind="int",
    default=100,
    least=10,
    most=100,
    description="fill factor of the pages in percent; less than 100 leaves room for HOT updates",
)
UNLOGGED = Parameter(
    name="unlogged",
    kind="bool",
    default=False,
    description="use unlogged tables: no WAL, not durable",
)
PARTITION_METHOD = Parameter(
    name="partition_method",
    kind="choice",
    default="range",
    choices=("range", "hash"),
    description="partitioning method",
)
FOREIGN_KEYS = Parameter(
    name="foreign_keys",
    kind="bool",
    default=False,
    description="create foreign keys between the tables",
)


def partitioning(values: Values, column: str) -> Partitioning | None:
    """Return how the ``partitions`` and their method divide a table; None if there are none."""
    method: PartitionMethod = "hash" if values["partition_method"] == "hash" else "range"
    count = int(values["partitions"])
    return Partitioning(method, column, count) if count else None
