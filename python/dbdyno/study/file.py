"""Study files: where they are, and their structure, parsed from TOML; reports every mistake.

An error names the file and the key, and suggests the nearest known name for an unknown one. The
words of a run are not interpreted here.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from dbdyno.errors import DbdynoError, nearest, why_unreadable
from dbdyno.model.study import MARGIN, Cache, OptionTable, Published, Question, Restore, Size

_Kind = TypeVar("_Kind")

Scalar = str | int | float | bool
Repeats = Annotated[int, Meta(ge=1)]

SIZES: tuple[Size, ...] = get_args(Size)

# The keys whose values are a choice; the keys of ``sizes`` are one themselves.
_CHOICES: dict[str, Any] = {"cache": Cache, "restore": Restore, "sizes": Size}
_REPEATED = ("factor", "contrast", "exclude", "answers", "published")
_TYPES = {
    "int": "a whole number",
    "float": "a decimal number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}

CATALOGUE = Path(__file__).parent / "catalog"
ENDING = ".toml"


class FactorTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[factor]]``: levels are values of the option with its name, or tables of words."""

    name: str
    levels: list[Scalar] | dict[str, OptionTable]
    title: str = ""
    unit: str = ""


class ContrastTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[contrast]]``; its levels are written as in the factor, numbers without quotes."""

    factor: str
    before: Scalar
    after: Scalar
    metrics: tuple[str, ...] = ()
    margin: float = MARGIN


class StudyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything in a file, for any size."""

    name: str
    title: str
    question: str
    base: OptionTable
    factor: tuple[FactorTable, ...]
    repeats: Repeats = 3
    cache: Cache = "warm"
    restore: Restore = "each run"
    metrics: tuple[str, ...] = ("throughput_tps", "response_p95_ms")
    budget: str | None = None
    seed: int = 0
    exclude: tuple[dict[str, Scalar | list[Scalar]], ...] = ()
    contrast: tuple[ContrastTable, ...] = ()
    answers: tuple[Question, ...] = ()
    published: tuple[Published, ...] = ()
    sizes: dict[Size, dict[str, Any]] = {}


class SizeTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a size replaces in the file; its other keys are words of the base."""

    repeats: Repeats | None = None
    cache: Cache | None = None
    restore: Restore | None = None
    metrics: tuple[str, ...] | None = None
    budget: str | None = None
    exclude: tuple[dict[str, Scalar | list[Scalar]], ...] | None = None
    levels: dict[str, list[Scalar] | dict[str, OptionTable]] = {}


def catalogue() -> dict[str, Path]:
    """Return the studies supplied with dbdyno."""
    return {path.stem: path for path in sorted(CATALOGUE.glob(f"*{ENDING}"))}


def find_study(name: str) -> Path:
    """Return the file that the user means: a name of the catalogue, or a path."""
    known = catalogue()
    if name in known:
        return known[name]
    path = Path(name)
    if name.endswith(ENDING) or path.is_file():
        return path
    near = nearest(name, known)
    end = "" if near.endswith("?") else "."
    raise DbdynoError(
        "unknown_study",
        f"unknown study {name!r}",
        f"{near}{end} A file of your own ends in {ENDING}.",
    )


def read_file(path: Path) -> StudyFile:
    """Read a study file."""
    return parse_file(text_of(path), path)


def text_of(path: Path) -> str:
    """Return the file's text."""
    try:
        return path.read_text(encoding="utf-8-sig")  # editors on Windows write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise DbdynoError(
            "study_unreadable",
            f"cannot read the study {path}: {why_unreadable(error)}",
            "dbdyno study list shows the available studies.",
        ) from error


def parse_file(text: str, path: Path) -> StudyFile:
    """Parse a file's text; ``path`` is for error messages."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise bad_study(path, str(error), "It is not TOML.") from error
    return converted(path, "", table, StudyFile)


def size_table(path: Path, file: StudyFile, size: Size) -> tuple[SizeTable, OptionTable]:
    """Return what a size replaces, and its words for the base."""
    given = file.sizes.get(size, {})
    own = {name: value for name, value in given.items() if name in SizeTable.__struct_fields__}
    options = {name: value for name, value in given.items() if name not in own}
    return converted(path, f"sizes.{size}", own, SizeTable), options


def converted(path: Path, where: str, table: Mapping[str, Any], kind: type[_Kind]) -> _Kind:
    """Convert a table to a structure."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        inside = place.rpartition("in `")[2]  # for a key itself it is "`key` in `$.sizes`"
        key = ".".join(filter(None, [where, inside.strip("`").removeprefix("$").strip(".")]))
        raise bad_study(path, *_refusal(key, message)) from error


def bad_study(path: Path, message: str, hint: str = "") -> DbdynoError:
    """Return the error for an invalid file."""
    return DbdynoError("bad_study", f"{path.name}: {message}", hint)


def known_or_refused(path: Path, where: str, name: str, known: Iterable[str]) -> None:
    """Raise an error that suggests the nearest known name if ``name`` is not known."""
    names = sorted(known)
    if name not in names:
        raise bad_study(path, f"{where}: unknown name {name!r}", nearest(name, names))


def _refusal(key: str, message: str) -> tuple[str, str]:
    """Return the reason in terms of the study file, and a hint."""
    problem, _, value = message.replace("`", "'").partition(" '")
    value, place = value.rstrip("'"), key or "the file"
    match problem:
        case "Object contains unknown field":
            return f"{place} has no key {value!r}", nearest(value, _fields_at(key))
        case "Object missing required field":
            return f"{place} lacks the key {value!r}", f"Add it: {value} = …"
        case "Invalid enum value":
            choices = get_args(_CHOICES[key.rpartition(".")[2]])
            return f"{place}: unknown value {value!r}", nearest(value, choices)
    if key in _REPEATED and message.endswith("got `object`"):
        return f"{key} is a single table", f"Write it with two brackets: [[{key}]]"
    return f"{place} {_in_words(message)}", ""


def _in_words(message: str) -> str:
    """Return which type a value must have, in words that are not those of a programming language.

    The message is, for example: Expected `int | str`, got `array`.
    """
    text = re.sub(
        r"`([^`]+)`",
        lambda types: " or ".join(_TYPES.get(one, one) for one in types[1].split(" | ")),
        message,
    )
    return text.replace("Expected", "must be").replace(", got", ", not")


def _fields_at(key: str) -> list[str]:
    """Return the keys of the structure at a place of the file."""
    kinds: dict[str, type[Struct]] = {
        "factor": FactorTable,
        "contrast": ContrastTable,
        "answers": Question,
        "published": Published,
        "sizes": SizeTable,
    }
    kind = kinds.get(re.split(r"[.\[]", key)[0], StudyFile)
    return list(kind.__struct_fields__)
