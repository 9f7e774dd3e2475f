"""The problems of this host that affect measurements: one probe for each question.

A probe checks and reports; it changes nothing. Each is a file that ends in ``PROBE = …``, and is
found in ``probes/``.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal, TypeAlias

from msgspec import Struct, field

from dbdyno.errors import DbdynoError
from dbdyno.host import probes
from dbdyno.host.describe import ROOT

Level: TypeAlias = Literal["ok", "note", "warning", "problem"]


class ProbeResult(Struct, frozen=True, kw_only=True):
    """The result of a probe. ``remedy`` is empty if nothing need be done.

    ``note``: worth knowing; ``warning``: numbers may suffer; ``problem``: a feature of dbdyno will
    not work.
    """

    level: Level
    found: str
    remedy: str = ""


class Probe(Struct, frozen=True, kw_only=True):
    """A question about the host. ``meaning`` is why the answer matters."""

    title: str
    meaning: str
    check: Callable[[Path], ProbeResult]


class Diagnosis(Struct, frozen=True, kw_only=True):
    """A probe with its finding, as it is displayed."""

    name: str
    title: str
    level: Level
    found: str
    meaning: str
    remedy: str = field(name="mend")


def all_probes() -> dict[str, Probe]:
    """Return every probe by the name of its file."""
    names = sorted(module.name for module in iter_modules(probes.__path__))
    return {name: import_module(f"{probes.__name__}.{name}").PROBE for name in names}


def examine(root: Path = ROOT) -> Iterator[Diagnosis]:
    """Run every probe; one that fails is itself a finding."""
    for name, probe in all_probes().items():
        finding = _check(probe, root)
        yield Diagnosis(
            name=name,
            title=probe.title,
            level=finding.level,
            found=finding.found,
            meaning=probe.meaning,
            remedy=finding.remedy,
        )


def _check(probe: Probe, root: Path) -> ProbeResult:
    try:
        return probe.check(root)
    except (OSError, ValueError, DbdynoError) as error:
        return ProbeResult(level="note", found=f"could not check: {error}")
