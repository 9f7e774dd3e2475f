"""The standbys of a run: those of a private server, or further targets that take no writes.

Which of several targets are standbys is asked of each server. Nothing is decided by their order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from dbdyno.databases.connecting import further_urls, open_connection
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Endpoint
from dbdyno.model.record import ServerRecord
from dbdyno.servers.base import Server
from dbdyno.servers.existing import ExistingServer
from dbdyno.servers.private import PrivateServer


@dataclass(frozen=True, kw_only=True)
class Standby:
    """One standby."""

    name: str
    """As it is shown: ``standby 1``, or its URL without the password."""
    address: Address
    connect: Callable[[], Connection] = field(repr=False)
    application_name: str = ""
    """Under which its primary lists it; empty if that is not known."""


def find_standbys(server: Server, *, are_read: bool) -> list[Standby]:
    """Return the standbys of a private server; of others those to be read from, if any are."""
    if isinstance(server, PrivateServer):
        return [
            Standby(
                name=f"standby {number}",
                address=one.endpoint().address,
                connect=one.connect,
                application_name=one.cluster.folder.name,
            )
            for number, one in enumerate(server.standbys, 1)
        ]
    if not are_read:
        return []
    assert isinstance(server, ExistingServer)  # kept servers have none
    shown = zip(server.further, further_urls(server.endpoint()), strict=True)
    found = [
        Standby(name=url, address=one.address, connect=partial(open_connection, one.target))
        for one, url in shown
        if not one.takes_writes
    ]
    if not found:
        raise DbdynoError(
            "no_standby",
            "the role read needs a standby, and every further target takes writes",
            "Name one that follows the first target: --further-target URL.",
        )
    return found


def with_standbys(endpoint: Endpoint, standbys: Sequence[Standby]) -> Endpoint:
    """Return the endpoint with these standbys, to which no first connection goes."""
    addresses = [standby.address for standby in standbys]
    others = [one for one in endpoint.further_addresses if one not in addresses]
    return replace(endpoint, further_addresses=others, standby_addresses=addresses)


def servers_of(
    endpoint: Endpoint, server: Server, standbys: Sequence[Standby]
) -> list[ServerRecord]:
    """Return the servers of a load in the order of their numbers; none if there is only one."""
    further = server.further if isinstance(server, ExistingServer) else ()
    urls = zip(further_urls(server.endpoint()), further, strict=True)
    takes_writes = {url: one.takes_writes for url, one in urls}
    others = [
        *(ServerRecord(name=url, takes_writes=takes_writes[url]) for url in further_urls(endpoint)),
        *(ServerRecord(name=standby.name, takes_writes=False) for standby in standbys),
    ]
    if not others:
        return []
    first_writes = server.takes_writes if isinstance(server, ExistingServer) else True
    return [ServerRecord(name=server.url, takes_writes=first_writes), *others]
