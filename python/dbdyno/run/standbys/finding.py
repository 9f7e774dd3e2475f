"""The standbys of a run: those of a private server, or further targets that take no writes.

Which of several targets are standbys is asked of each server. Nothing is decided by their order.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from dbdyno.databases.connecting import further_urls, open_connection
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Endpoint
from dbdyno.run.connected_server import ConnectedServer
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


def find_standbys(
    connected: ConnectedServer, further_targets: Sequence[str], *, are_read: bool
) -> list[Standby]:
    """Return the standbys of a private server; of others those to be read from, if any are."""
    server = connected.server
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
    endpoint, found = server.endpoint(), []
    shown = zip(further_targets, further_urls(endpoint), endpoint.further_addresses, strict=True)
    for target, url, address in shown:
        with (
            connected.target.understood(f"ask whether {url} is a standby"),
            closing(open_connection(target)) as connection,
        ):
            if connected.target.refuses_writes(connection):
                connect = partial(open_connection, target)
                found.append(Standby(name=url, address=address, connect=connect))
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
