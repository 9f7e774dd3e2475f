"""The small grammars of options: durations, stages, think times, weights, assignments.

Text in, values out; text that does not fit raises ``ValueError`` with a sentence that shows the
right form. What selects runs raises an error with a hint. Knows nothing of options that contradict
each other.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from dbdyno.analysis.search.objective import QUANTILES, Measure, Objective, name_of
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Scalar, Stage, Think

_UNIT_NS = {
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_UNIT_BYTES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SPAN_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|min|m|h|d)", re.ASCII)
_SPAN = re.compile(rf"(?:{_SPAN_PART.pattern}\s*)+", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
# The engine counts nanoseconds in 64 bits; ten years is longer than any run.
_SPAN_MAX_NS = 10 * 365 * _UNIT_NS["d"]

_Number = TypeVar("_Number", int, float)


Role: TypeAlias = Literal["read", "write"]
"""Where a script runs: on a standby, or on the primary."""


class WeightedName(NamedTuple):
    """A workload or a script file, its weight relative to the others, and where it runs."""

    name: str
    weight: int
    role: Role = "write"

    def __str__(self) -> str:
        """Return it as it can be written."""
        if self.role == "read":
            return f"{self.name}@{self.weight}@read"
        return self.name if self.weight == 1 else f"{self.name}@{self.weight}"


def span_ns(text: str, bare_unit: str = "s") -> int:
    """Parse a duration, in nanoseconds: ``30``, ``1.5s``, ``200ms``, ``1h30m``."""
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        stripped += bare_unit
    if not _SPAN.fullmatch(stripped):
        raise ValueError(
            f'"{text}" is not a duration: write 30s, 200ms, 5m or 1h30m '
            f"(a bare number is in {bare_unit})"
        )
    total = sum(float(n) * _UNIT_NS[unit] for n, unit in _SPAN_PART.findall(stripped))
    if total > _SPAN_MAX_NS:
        raise ValueError(f'"{text}" is longer than ten years')
    return round(total)


def span_text(ns: int) -> str:
    """Write a duration in the largest unit that gives a whole number."""
    for unit in ("h", "m", "s", "ms"):
        if ns and ns % _UNIT_NS[unit] == 0:
            return f"{ns // _UNIT_NS[unit]}{unit}"
    whole, rest = divmod(ns, _UNIT_NS["us"])
    fraction = f".{rest:03}" if rest else ""
    return f"{whole}{fraction}us" if ns else "0s"


def stages(text: str) -> tuple[Stage, ...]:
    """Parse stages: ``30s:8c,60s:32c`` (clients) or ``1m:500/s,1m:1000/s`` (arrivals)."""
    parsed = tuple(_stage(part) for part in text.split(","))
    if len({stage.clients is None for stage in parsed}) > 1:
        raise ValueError(f'"{text}" mixes clients and rates: use one or the other in all stages')
    return parsed


def _stage(text: str) -> Stage:
    match = re.fullmatch(
        r"\s*(?P<span>[^:]+):\s*(?:(?P<clients>\d+)c|(?P<rate>\d+(?:\.\d+)?)/s)\s*", text, re.ASCII
    )
    if match is None:
        raise ValueError(
            f'"{text}" is not a stage: write DURATION:CLIENTSc as in 30s:8c, '
            "or DURATION:RATE/s as in 30s:500/s, separated by commas"
        )
    duration_ns = span_ns(match["span"])
    if duration_ns == 0:
        raise ValueError(f'the stage "{text}" has no duration')
    if match["clients"]:
        return Stage(duration_ns=duration_ns, clients=_positive(int(match["clients"]), text))
    return Stage(duration_ns=duration_ns, rate_tps=_positive(float(match["rate"]), text))


def _positive(number: _Number, text: str) -> _Number:
    if number <= 0:
        raise ValueError(f'the stage "{text}" has no load')
    return number


def think(text: str) -> Think:
    """Parse a pause between transactions: ``10ms`` (constant) or ``10ms,exponential``."""
    mean, _, law = text.partition(",")
    match law.strip():
        case "" | "constant":
            return Think(law="constant", mean_ns=span_ns(mean))
        case "exponential":
            return Think(law="exponential", mean_ns=span_ns(mean))
        case _:
            raise ValueError(f'"{text}" is not a think time: write 10ms or 10ms,exponential')


def number(text: str) -> float:
    """Parse a finite number: ``500``, ``1.5``, ``1e6``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f'"{text}" is not a number: write 500 or 1.5')
    return value


def whole_number(text: str) -> int:
    """Parse a whole number; one with a fraction is refused, not rounded."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a whole number') from None


def percentage(text: str) -> float:
    """Parse a share: ``1%``, ``0.5%`` or ``0.01``; between 0 and 1.

    A bare 1 is refused: some readers take it for everything, others for one per cent.
    """
    stripped = text.strip()
    is_bare = not stripped.endswith("%")
    try:
        share = float(stripped) if is_bare else float(stripped[:-1]) / 100
    except ValueError:
        share = -1.0
    if is_bare and 1 <= share <= 100:
        raise ValueError(f'"{text}" is not a share: write {stripped}%, or 0.01 for a hundredth')
    if not 0 <= share <= 1:
        raise ValueError(f'"{text}" is not a share: write 1% or 0.01')
    return share


PROFILE_HZ = 199
"""The frequency of a profile that is only asked for: a prime, lest it keep step with anything."""
_PROFILE_HZ_MAX = 4999


def profile_hz(text: str) -> int:
    """Parse how often a profile samples each CPU: ``off``, ``on`` or a frequency in Hz."""
    known = {"off": 0, "on": PROFILE_HZ}
    if text in known:
        return known[text]
    if not text.isascii() or not text.isdecimal() or int(text) > _PROFILE_HZ_MAX:
        raise ValueError(f"{text!r}: write on, off or a frequency up to {_PROFILE_HZ_MAX} Hz")
    return int(text)


def share_text(share: float) -> str:
    """Write a share as its option takes it."""
    return "100%" if share == 1 else f"{share:.12g}"


_MEASURES: tuple[Measure, ...] = (*QUANTILES, "mean", "failures")
_OBJECTIVE = re.compile(r"\s*(?P<measure>[\w.]+)\s*<=?\s*(?P<limit>[^<>=]+)", re.ASCII)


def objective(text: str) -> Objective:
    """Parse an objective of a service: ``p99<10ms``, ``mean<2ms`` or ``failures<1%``."""
    match = _OBJECTIVE.fullmatch(text)
    named = {name: measure for measure in _MEASURES for name in (measure, name_of(measure))}
    if match is None or match["measure"] not in named:
        raise ValueError(
            f'"{text}" is not an objective: write "p99<10ms" or "failures<1%", in quotes because '
            f"of the shell; measures are {', '.join(map(name_of, _MEASURES))}"
        )
    measure = named[match["measure"]]
    is_share = measure == "failures"
    limit = percentage(match["limit"]) if is_share else span_ns(match["limit"], "ms") / 1e6
    if limit == 0 or (is_share and limit >= 1):
        raise ValueError(
            f'"{text}" is not a valid limit: it must be above 0, for failures below 100%'
        )
    return Objective(measure=measure, limit=limit)


def byte_count(text: str) -> int:
    """Parse a size: ``2GB``, ``512MB``; as database servers count, a kilobyte is 1024 bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)?", text.strip(), re.ASCII)
    count = round(float(match[1]) * _UNIT_BYTES[match[2] or "B"]) if match else 0
    if count <= 0:
        raise ValueError(f'"{text}" is not a size: write 512MB or 2GB')
    return count


def weighted_name(text: str) -> WeightedName:
    """Parse a name with an optional weight and role: ``app.sql``, ``app.sql@3@read``."""
    if "://" in text:  # not quoted: it may contain a password
        raise ValueError("a database's URL is not a workload or a script: write --target URL")
    weighted, _, word = text.rpartition("@")
    role: Role = "read" if weighted and word == "read" else "write"
    if not weighted or word not in {"read", "write"}:
        weighted = text
    name, at, weight = weighted.rpartition("@")
    if not at:
        return WeightedName(weighted, 1, role)
    if not name or not re.fullmatch(r"\d{1,9}", weight, re.ASCII):
        raise ValueError(
            f'"{text}" has no weight after @: write NAME@3, a non-negative integer, or '
            "NAME@3@read for a script that runs on standbys"
        )
    return WeightedName(name, int(weight), role)


def script_name(text: str) -> WeightedName:
    """Parse the name of a script file with an optional weight, or ``-`` for standard input."""
    named = weighted_name(text)
    if named.name.startswith("-") and named.name != "-":
        raise ValueError(f'"{text}" is not a file: name one, or - for standard input')
    return named


def assignment(text: str) -> tuple[str, str]:
    """Parse ``name=value``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f'"{text}" is not an assignment: write name=value')
    return name.strip(), value


def tags_of(text: str) -> dict[str, str] | None:
    """Return the tags of ``tag:name=value,…``; None for words that select runs otherwise."""
    kind, colon, rest = text.partition(":")
    return dict(assignments(rest, "tag:variant=a")) if colon and kind == "tag" else None


def assignments(text: str, example: str) -> Iterator[tuple[str, str]]:
    """Yield each assignment of ``name=value,…``."""
    for part in text.split(","):
        try:
            yield assignment(part)
        except ValueError as error:
            message = f'"{part}" has no value: write {example}'
            raise DbdynoError("usage", message, "See dbdyno compare --help.") from error


def names_and_tags(words: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Divide words that select runs into parts of names, and all tags."""
    found = [(word, tags_of(word)) for word in words]
    tags = [tag for _, its in found for tag in (its or {}).items()]
    return [word for word, its in found if its is None], tags


def scalar(text: str) -> Scalar:
    """Parse a variable's value: what pgbench would print unchanged is a number or a boolean.

    Everything else stays text (``0050``, ``1.50``), which expressions read as a number.
    """
    if text.lower() == "null":
        return None
    if text in {"true", "false"}:
        return text == "true"
    if re.fullmatch(r"0|-?[1-9]\d{0,18}", text, re.ASCII) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text, re.ASCII) and f"{float(text):.15g}" == text:
        return float(text)
    return text


def scalar_text(value: Scalar) -> str:
    """Write a variable's value as its option takes it."""
    return value if isinstance(value, str) else json.dumps(value)
