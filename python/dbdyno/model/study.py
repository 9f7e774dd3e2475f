"""Studies: what is varied, what was run, and what each run came to.

A study's file says which *factors* there are and at which *levels*; a *point* is one choice of
a level for each factor, and a *turn* one run of a point within a *block*: every block runs every
point once, in an order of its own. The words of a point are those of ``dbdyno run``'s options,
so whatever a run can be asked for can be a factor.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

STUDY_FORMAT_VERSION = 1
# The tags by which a study's runs are known.
STUDY, POINT, BLOCK = "study", "point", "block"

Size: TypeAlias = Literal["tiny", "small", "full"]
Cache: TypeAlias = Literal["warm", "cold", "as it is"]
Restore: TypeAlias = Literal["each run", "each block", "once"]
TurnStatus: TypeAlias = Literal["done", "invalid", "failed"]

Words: TypeAlias = dict[str, Any]
"""Options of a run by their long names without dashes, as a study's file has them.

``workload`` and ``scripts`` say what is run; tables (``set``, ``define``) hold names and values.
"""


class Level(Struct, frozen=True, kw_only=True):
    """One setting of a factor: its name, and the words that it adds to a point."""

    name: str
    words: Words


class Factor(Struct, frozen=True, kw_only=True):
    """What is varied. ``unit`` is for people; levels stand in the order of the file."""

    name: str
    title: str
    levels: tuple[Level, ...]
    unit: str = ""

    @property
    def numbers(self) -> list[float] | None:
        """The levels as numbers, when all of them are."""
        try:
            return [float(level.name) for level in self.levels]
        except ValueError:
            return None


class Contrast(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two levels of a factor to be compared, at equal levels of all others."""

    factor: str
    before: str
    after: str
    metrics: tuple[str, ...] = ()
    """Ids of ``analysis/metrics.py``; empty for those of the study."""
    margin: float = 0.03
    """Changes below this share are *the same* for the asker."""


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer that the study asks for: the id of a module of ``answers`` and its options."""

    answer: str
    options: dict[str, Any] = {}


class Published(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of figures that somebody published, shown beside ours as shape alone."""

    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    found: tuple[str, ...] = ()
    """What the authors concluded, each a sentence."""


class StudySpec(Struct, frozen=True, kw_only=True):
    """A study's file, read, checked, and settled on one size."""

    name: str
    title: str
    question: str
    size: Size
    factors: tuple[Factor, ...]
    base: Words
    """The words of every point, before those of its levels."""
    excluded: tuple[dict[str, tuple[str, ...]], ...] = ()
    """Points that are left out: those that match all factors of one of these."""
    repeats: int = 3
    cache: Cache = "warm"
    restore: Restore = "each run"
    metrics: tuple[str, ...] = ("throughput_tps", "response_p95_ms")
    contrasts: tuple[Contrast, ...] = ()
    answers: tuple[Question, ...] = ()
    published: tuple[Published, ...] = ()
    budget_s: float | None = None
    seed: int = 0
    """Of the order of turns and of what each run draws."""


class Point(Struct, frozen=True, kw_only=True):
    """One choice of levels. ``key`` names it: ``clients=4,order=branches-first``."""

    key: str
    levels: dict[str, str]
    """Factor's name to level's name."""
    words: Words


def key_of(levels: Mapping[str, str]) -> str:
    """A point's name."""
    return ",".join(f"{factor}={level}" for factor, level in levels.items())


def levels_of(key: str) -> dict[str, str]:
    """The levels that a point's name tells."""
    parts = (part.partition("=") for part in key.split(","))
    return {factor: level for factor, _, level in parts}


class Turn(Struct, frozen=True, kw_only=True):
    """One run that is to be made. All points of a block share a seed: the same work."""

    number: int
    block: int
    point: str
    seed: int


class Spent(Struct, frozen=True, kw_only=True):
    """Seconds of one turn by what they went to."""

    prepare_s: float = 0.0
    """Restore, load, server start, vacuum, checkpoint, cache made warm or cold."""
    run_s: float = 0.0
    """Warm-up, measured time and drain."""
    other_s: float = 0.0


class TurnResult(Struct, frozen=True, kw_only=True):
    """What became of a turn. A failed one keeps its reason and does not stop the others."""

    turn: Turn
    status: TurnStatus
    run_id: str = ""
    began_at: str = ""
    spent: Spent = Spent()
    error: dict[str, str] | None = None
    """``code``, ``message`` and ``hint``."""
    notes: list[str] = []
    """What was verified or seen around it: placement, a clock that jumped."""


class DataLoad(Struct, frozen=True, kw_only=True):
    """What loading a point's data took, when it was loaded: other runs got it as a copy."""

    rows: int
    rows_per_s: float
    phases_s: dict[str, float]
    """Seconds of each phase by its name: fill, keys, vacuum."""


class StudyRecord(Struct, frozen=True, kw_only=True):
    """A study's folder as one value: the spec, the order, and what was done so far."""

    format_version: int = STUDY_FORMAT_VERSION
    study_id: str
    spec: StudySpec
    points: list[Point]
    turns: list[Turn]
    started_at: str
    status: Literal["running", "done", "interrupted"] = "running"
    results: list[TurnResult] = []
    source: str = ""
    """The file that it was read from."""
    overrides: dict[str, Any] = {}
    """What the command line said instead of the file: ``repeats``, ``server``."""
    looks: list[int] = []
    """How many repeats there were each time that all turns were made, and it was gone on with."""
    loads: dict[str, DataLoad] = {}
    """By the key of the point; nothing for points whose data the study did not prepare."""
    stopped: dict[str, str] | None = None
    """Why it ended before its last turn: ``code``, ``message`` and ``hint``."""

    def further(self, repeats: int) -> str:
        """The command that goes on with it until there are so many repeats."""
        return f"dbdyno study resume {self.study_id} --repeats {repeats}"
