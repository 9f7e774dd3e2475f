"""The problems of this host that affect measurements: one probe for each question.

A probe checks and reports; it changes nothing. Each is a function with ``@probe(…)`` in a file of
``probes/``, where it is found.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field

from dbdyno.errors import DbdynoError
from dbdyno.host import probes
from dbdyno.host.describe import ROOT
from dbdyno.registry import modules_of

Level: TypeAlias = Literal["ok", "note", "warning", "problem"]


class ProbeResult(Struct, frozen=True, kw_only=True):
    """The result of a probe. ``remedy`` is empty if nothing need be done.

    ``note``: worth knowing; ``warning``: numbers may suffer; ``problem``: a feature of dbdyno will
    not work.
    """

    level: Level
    found: str
    remedy: str = ""


Check: TypeAlias = Callable[[Path], ProbeResult]
"""Answers a probe's question about the host below a root folder."""


class Probe(Struct, frozen=True, kw_only=True):
    """A question about the host. ``meaning`` is why the answer matters."""

    name: str
    title: str
    meaning: str
    check: Check


class Diagnosis(Struct, frozen=True, kw_only=True):
    """A probe with its finding, as it is displayed."""

    name: str
    title: str
    level: Level
    found: str
    meaning: str
    remedy: str = field(name="mend")


def probe(title: str, *, meaning: str) -> Callable[[Check], Probe]:
    """Make a probe of the function that follows, under the function's name."""
    return lambda check: Probe(name=check.__name__, title=title, meaning=meaning, check=check)


def all_probes() -> dict[str, Probe]:
    """Return every probe by its name, in alphabetical order."""
    declared = (value for module in modules_of(probes).values() for value in vars(module).values())
    found = {one.name: one for one in declared if isinstance(one, Probe)}
    return dict(sorted(found.items()))


def examine(root: Path = ROOT) -> Iterator[Diagnosis]:
    """Run every probe; one that fails is itself a finding."""
    for probe in all_probes().values():
        try:
            result = probe.check(root)
        except (OSError, ValueError, DbdynoError) as error:
            result = ProbeResult(level="note", found=f"could not check: {error}")
        yield Diagnosis(
            name=probe.name,
            title=probe.title,
            level=result.level,
            found=result.found,
            meaning=probe.meaning,
            remedy=result.remedy,
        )
