"""Pages for people elsewhere: without what says where their runs were made.

Passwords are in no record. Masked here are the names of hosts, users and databases, and the folders
of files. Statements, names of tables, tags and messages of the server remain: the page is about
them.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.model.plan import Address
from dbdyno.model.run import Conditions
from dbdyno.model.secrets import MASK, Masker
from dbdyno.report.content import Page

Mask = Callable[[str], str]
_OF_PLACE = re.compile(r"(local|exec|ray)?-?\d*")
"""The name of a worker that no host has given it."""

_ORDINARY = frozenset(
    {
        "127.0.0.1",
        "::1",
        "bench",
        "localhost",
        "main",
        "mariadb",
        "mysql",
        "postgres",
        "postgresql",
        "root",
        "test",
    }
)
"""Names that say nothing, and stand for something else in most texts."""
# The folders of systems are the same everywhere.
_FOLDERS = re.compile(r"(?<![\w.~<])/(?!(?:proc|sys|dev|etc|usr|lib|bin)/)(?:[\w.+@~-]+/)+")
# In settings and messages: addresses that no run's own record names.
_ELSEWHERE = re.compile(
    r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)"
    r"|(?<=\bhost=)[^\s'\";&]+|(?<=\bhostaddr=)[^\s'\";&]+"
)
_BETWEEN_TAGS = re.compile(r">([^<>]*)<")
_NO_TEXTS = frozenset(
    {"addresses", "colour", "emphasis", "id", "kind", "scale", "severity", "style", "unit"}
)
"""Fields whose texts are dbdyno's own words, or lead to files."""


def mask_of(runs: Iterable[Conditions]) -> Mask:
    """What masks a text about these runs."""
    masker = Masker({name for run in runs for name in _names(run)})
    return lambda text: _FOLDERS.sub("…/", _ELSEWHERE.sub(MASK, masker.text(text)))


def masked(page: Page, mask: Mask) -> Page:
    """The page with all of its texts masked."""
    found: Page = _masked(page, mask)
    return found


def _masked(value: Any, mask: Mask) -> Any:
    match value:
        case Markup():  # only the texts in a drawing, not the numbers of its shapes
            return Markup(_BETWEEN_TAGS.sub(lambda match: f">{mask(match[1])}<", value))
        case str():
            return mask(value)
        case Struct():
            fields = (name for name in value.__struct_fields__ if name not in _NO_TEXTS)
            return replace(value, **{name: _masked(getattr(value, name), mask) for name in fields})
        case list() | tuple():
            return type(value)([_masked(one, mask) for one in value])
        case _:
            return value


def _names(run: Conditions) -> Iterator[str]:
    """The names in a run's record that would tell where it was made."""
    endpoint = run.plan.endpoint
    named = [run.host.name or "", endpoint.user, endpoint.database]
    addresses = (*endpoint.further_addresses, *(endpoint.standby_addresses or ()))
    for address in (endpoint.address, *addresses):
        named += _hosts(address)
    for worker in run.record.workers:
        named += [worker.host, "" if _OF_PLACE.fullmatch(worker.name) else worker.name]
    known = _ORDINARY | {run.record.workload, *(one.name for one in run.record.scripts), MASK}
    yield from (name for name in named if len(name) > 1 and name not in known)


def _hosts(address: Address) -> list[str]:
    if address.tcp:
        return [address.tcp.host, address.tcp.numeric or ""]
    if address.odbc:
        return [part.partition("=")[2] for part in address.odbc.attributes.split(";")]
    return []
