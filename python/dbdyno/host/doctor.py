"""What of this machine stands in the way of good numbers: one probe a question.

A probe looks and tells; it changes nothing. Each is a file in ``probes/`` that ends in
``PROBE = …``, and is found there.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.host import probes
from dbdyno.host.describe import ROOT

Level: TypeAlias = Literal["ok", "note", "warning", "problem"]


class Finding(Struct, frozen=True, kw_only=True):
    """What a probe found. ``mend`` is empty where nothing needs mending.

    ``note``: worth knowing; ``warning``: numbers may suffer; ``problem``: something that
    dbdyno offers will not work.
    """

    level: Level
    found: str
    mend: str = ""


class Probe(Struct, frozen=True, kw_only=True):
    """A question about the machine. ``meaning`` says why an answer matters."""

    title: str
    meaning: str
    look: Callable[[Path], Finding]


class Diagnosis(Struct, frozen=True, kw_only=True):
    """A probe with its finding, as people and programs read it."""

    name: str
    title: str
    level: Level
    found: str
    meaning: str
    mend: str


def all_probes() -> dict[str, Probe]:
    """Every probe by the name of its file."""
    names = sorted(module.name for module in iter_modules(probes.__path__))
    return {name: import_module(f"{probes.__name__}.{name}").PROBE for name in names}


def examine(root: Path = ROOT) -> Iterator[Diagnosis]:
    """Asks every probe; one that fails is itself a finding."""
    for name, probe in all_probes().items():
        finding = _look(probe, root)
        yield Diagnosis(
            name=name,
            title=probe.title,
            level=finding.level,
            found=finding.found,
            meaning=probe.meaning,
            mend=finding.mend,
        )


def _look(probe: Probe, root: Path) -> Finding:
    try:
        return probe.look(root)
    except (OSError, ValueError, DbdynoError) as error:
        return Finding(level="note", found=f"could not check: {error}")
