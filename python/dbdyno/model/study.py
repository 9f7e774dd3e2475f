"""Studies: what is varied, which runs were made, and the result of each.

A study file defines *factors* and their *levels*; a *point* is one choice of a level for each
factor, and a *turn* is one run of a point within a *block*: every block runs every point once, in
an order of its own. The words of a point are the options of ``dbdyno run``, so that any option of a
run can be a factor.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

STUDY_FORMAT_VERSION = 1
# The tags that identify a study's runs.
STUDY, POINT, BLOCK = "study", "point", "block"
# The tags of runs that were made to differ, or to be judged by the command that made them.
MADE_FOR = (STUDY, "search", "verifies")

Size: TypeAlias = Literal["tiny", "small", "full"]
Cache: TypeAlias = Literal["warm", "cold", "as it is"]
Restore: TypeAlias = Literal["each run", "each block", "once"]
TurnStatus: TypeAlias = Literal["done", "invalid", "failed"]

OptionTable: TypeAlias = dict[str, Any]
"""Options of a run by their long names without dashes, as in the study file.

``workload`` and ``scripts`` select what is run; tables (``set``, ``define``) map names to values.
"""


class Level(Struct, frozen=True, kw_only=True):
    """One setting of a factor: its name, and the options that it adds to a point."""

    name: str
    options: OptionTable = field(name="words")
    hook: str = ""
    """The shell command before each of its runs, which brings the server into its state."""


class Factor(Struct, frozen=True, kw_only=True):
    """What is varied. ``unit`` is for display; levels are in the order of the file."""

    name: str
    title: str
    levels: tuple[Level, ...]
    unit: str = ""

    @property
    def numbers(self) -> list[float] | None:
        """The levels as numbers, or None unless all of them are numbers."""
        try:
            return [float(level.name) for level in self.levels]
        except ValueError:
            return None


MARGIN = 0.03


class Contrast(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two levels of a factor to compare, at equal levels of all other factors."""

    factor: str
    before: str
    after: str
    metrics: tuple[str, ...] = ()
    """IDs in ``analysis/compare/metrics.py``; empty for the metrics of the study."""
    margin: float = MARGIN
    """Changes smaller than this share count as *the same*."""


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer that the study requests: the name of a module of ``answers`` and its options."""

    answer: str
    options: dict[str, Any] = {}
    verdict: bool = False
    """Whether its first claim is a part of the verdict."""


class Published(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of published figures, of which only the shape is compared with the measured one."""

    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    found: tuple[str, ...] = ()
    """The conclusions of the authors, each a sentence."""


class StudySpec(Struct, frozen=True, kw_only=True):
    """A study file, read and checked for one size."""

    name: str
    title: str
    question: str
    size: Size
    factors: tuple[Factor, ...]
    base: OptionTable
    """The options of every point, before those of its levels."""
    excluded: tuple[dict[str, tuple[str, ...]], ...] = ()
    """Excluded points: those that match all factors of one of these."""
    repeats: int = 3
    cache: Cache = "warm"
    restore: Restore = "each run"
    metrics: tuple[str, ...] = ("throughput_tps", "response_p95_ms")
    contrasts: tuple[Contrast, ...] = ()
    answers: tuple[Question, ...] = ()
    published: tuple[Published, ...] = ()
    budget_s: float | None = None
    seed: int = 0
    """The seed of the order of turns and of what each run draws."""


class Point(Struct, frozen=True, kw_only=True):
    """One choice of levels. ``key`` is its name: ``clients=4,order=branches-first``."""

    key: str
    levels: dict[str, str]
    """Maps a factor's name to the level's name."""
    options: OptionTable = field(name="words")
    hook: str = ""
    """The shell command before each of its runs."""


def key_of(levels: Mapping[str, str]) -> str:
    """Return a point's name."""
    return ",".join(f"{factor}={level}" for factor, level in levels.items())


def levels_of(key: str) -> dict[str, str]:
    """Return the levels that a point's name contains."""
    parts = (part.partition("=") for part in key.split(","))
    return {factor: level for factor, _, level in parts}


class Turn(Struct, frozen=True, kw_only=True):
    """One planned run. All points of a block share a seed, so that they do the same work."""

    number: int
    block: int
    point: str
    seed: int


class Spent(Struct, frozen=True, kw_only=True):
    """The seconds of one turn, by purpose."""

    prepare_s: float = 0.0
    """Restore, load, server start, vacuum, checkpoint, cache made warm or cold."""
    load_s: float = 0.0
    """The part of ``prepare_s`` in which data was loaded, which later turns copy."""
    run_s: float = 0.0
    """Warm-up, measured time and drain."""
    other_s: float = 0.0

    @property
    def whole_s(self) -> float:
        """All of it."""
        return self.prepare_s + self.run_s + self.other_s


class TurnResult(Struct, frozen=True, kw_only=True):
    """The result of a turn. A failed one has its reason and does not stop the others."""

    turn: Turn
    status: TurnStatus
    run_id: str = ""
    began_at: str = ""
    spent: Spent = Spent()
    error: dict[str, str] | None = None
    """``code``, ``message`` and ``hint``."""
    notes: list[str] = []
    """What was verified or noticed in this turn: placement, a clock that jumped."""


class DataLoad(Struct, frozen=True, kw_only=True):
    """The cost of loading a point's data, at its first use: other runs got a copy of it."""

    rows: int
    rows_per_s: float
    phases_s: dict[str, float]
    """Seconds of each phase by name: fill, keys, vacuum."""


class StudyRecord(Struct, frozen=True, kw_only=True):
    """The content of a study's folder: the spec, the order, and the results so far."""

    format_version: int = STUDY_FORMAT_VERSION
    study_id: str
    spec: StudySpec
    points: list[Point]
    turns: list[Turn]
    started_at: str
    status: Literal["running", "done", "interrupted"] = "running"
    results: list[TurnResult] = []
    source: str = ""
    """The file from which it was read."""
    scripts: dict[str, str] = {}
    """The script files that the points run, with the SHA-256 of their texts."""
    overrides: dict[str, Any] = {}
    """What the command line set instead of the file: ``repeats``, ``server``."""
    looks: list[int] = []
    """The number of repeats each time that all turns were done and the study was continued."""
    loads: dict[str, DataLoad] = {}
    """By the point's key; empty for points whose data the study did not prepare."""
    stopped: dict[str, str] | None = None
    """Why it ended before its last turn: ``code``, ``message`` and ``hint``."""

    @property
    def has_hooks(self) -> bool:
        """Whether it is a pair: a study whose points differ by their hooks."""
        return any(point.hook for point in self.points)

    @property
    def lost(self) -> list[TurnResult]:
        """The turns that do not count."""
        return [result for result in self.results if result.status != "done"]

    @property
    def spent(self) -> Spent:
        """The seconds of all turns so far."""
        parts = [result.spent for result in self.results]
        return Spent(
            prepare_s=sum(one.prepare_s for one in parts),
            load_s=sum(one.load_s for one in parts),
            run_s=sum(one.run_s for one in parts),
            other_s=sum(one.other_s for one in parts),
        )

    @property
    def to_continue(self) -> str:
        """The command that continues it."""
        return f"dbdyno {'pair --resume' if self.has_hooks else 'study resume'} {self.study_id}"

    def with_more(self, pairs: int) -> str:
        """Return the command that adds so many pairs, whatever was lost; empty if none."""
        return self.further(self.spec.repeats + pairs) if pairs else ""

    def further(self, repeats: int) -> str:
        """Return the command that continues the study until it has this many repeats."""
        return f"{self.to_continue} --{'pairs' if self.has_hooks else 'repeats'} {repeats}"
