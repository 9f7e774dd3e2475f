"""Whether agents could share a load: each place is tried, and what is wrong with it told."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import BoundedSemaphore

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.fleet.fleet import STARTING_MAX, Fleet
from dbdyno.fleet.words import Place

AT_ONCE = 32


class Examined(Struct, frozen=True, kw_only=True):
    """A place where an agent was started, or was to be."""

    name: str
    problem: str = ""
    """Why no agent of this dbdyno runs there; the rest is then not known."""
    host: str = ""
    architecture: str = ""
    cpus: int = 0
    clock_source: str = ""
    open_files_max: int = 0
    round_trip_us: float | None = None
    clock_offset_us: float | None = None
    """By how much its clock is ahead of this host's."""
    clock_bound_us: float | None = None
    """By how much that may be wrong at most."""


def examined(places: Sequence[Place]) -> list[Examined]:
    """Start an agent at each place, ask it who it is and what its clock says, and end it."""
    starting = BoundedSemaphore(STARTING_MAX)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(partial(_examined, starting), places))


def _examined(starting: BoundedSemaphore, place: Place) -> Examined:
    fleet = Fleet([place])
    try:
        fleet.begin(starting)
        ((_, greeting, offset),) = fleet.known()
    except DbdynoError as error:
        return Examined(name=place.name, problem=error.message)
    finally:
        fleet.end()
    return Examined(
        name=place.name,
        host=greeting.host,
        architecture=greeting.architecture,
        cpus=greeting.cpus,
        clock_source=greeting.clock_source,
        open_files_max=greeting.open_files_max,
        round_trip_us=offset.round_trip_ns / 1e3,
        clock_offset_us=offset.offset_ns / 1e3,
        clock_bound_us=offset.bound_ns / 1e3,
    )
