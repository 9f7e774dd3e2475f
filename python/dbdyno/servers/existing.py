"""An existing server, or several: inspected and used, never started, stopped or reconfigured."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import UNSET
from msgspec.structs import replace

from dbdyno.databases.connecting import (
    driver_of,
    inspecting,
    open_connection,
    protocol_of,
    url_of,
)
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Endpoint
from dbdyno.servers.base import Server


@dataclass(frozen=True, kw_only=True)
class FurtherServer:
    """One of the further servers of a load."""

    target: str = field(repr=False)  # may contain a password
    address: Address
    takes_writes: bool
    """When the run began; also if it does not say."""
    process_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class ExistingServer(Server):
    """A server that is not ours, and further ones that are there for the same load.

    If the first takes writes when the run begins, what writes is only for servers that do.
    """

    takes_writes: bool = True
    """When the run began, if there are further ones."""
    further: tuple[FurtherServer, ...] = ()

    @property
    def further_processes(self) -> list[int]:
        """The processes of the further servers that are on this host."""
        return [one.process_id for one in self.further if one.process_id is not None]

    @property
    def begun_with(self) -> int:
        """With how many servers clients begin, in turn: with all, or those that take writes."""
        is_asked = self.resolved.read_only_query is not UNSET
        return 1 + sum(one.takes_writes or not is_asked for one in self.further)

    def connect(self) -> Connection:
        """Open a control connection: where the first server is gone, to one that takes its place.

        Raises what the first one's error was if there is none.
        """
        driver, why = driver_of(protocol_of(self.conninfo)), None
        for target in (self.conninfo, *(one.target for one in self.further)):
            try:
                connection = open_connection(target)
            except DbdynoError as error:
                why = why or error
                continue
            if self.resolved.read_only_query is UNSET or driver.takes_writes(connection):
                return connection
            connection.close()
        raise why or DbdynoError(
            "read_only", "none of the servers takes writes any more", "Promote one of them."
        )


def use_existing(target: str = "", further: Sequence[str] = ()) -> ExistingServer:
    """Return the server at ``target``: a URL, a conninfo string, or empty for libpq's default.

    The connections of a load are spread over it and the ``further`` ones in turn; control
    connections are to the first. Raises DbdynoError if one cannot be reached, or if their logins
    differ.
    """
    with inspecting(target) as (driver, connection):
        endpoint = driver.endpoint_of(connection)
        others = [_inspected(one, endpoint) for one in further]
        takes_writes = driver.takes_writes(connection) if others else None
        return ExistingServer(
            kind="existing",
            conninfo=driver.pinned(target, connection),
            resolved=replace(
                endpoint,
                further_addresses=[one.address for one in others],
                read_only_query=driver.read_only_query if takes_writes else UNSET,
            ),
            process_id=driver.process_id(connection),
            data_directory=driver.data_directory(connection),
            takes_writes=takes_writes is not False,
            further=tuple(others),
        )


def _inspected(target: str, first: Endpoint) -> FurtherServer:
    """Return one of the further servers; refuse one that takes another login."""
    with inspecting(target) as (driver, connection):
        endpoint = driver.endpoint_of(connection)
        if replace(endpoint, address=first.address) != first:
            raise DbdynoError(
                "bad_target",
                f"{url_of(endpoint)} has another login than {url_of(first)}",
                "further servers take the first one's protocol, user, password, database, "
                "parameters and TLS",
            )
        return FurtherServer(
            target=driver.pinned(target, connection),
            address=endpoint.address,
            takes_writes=driver.takes_writes(connection) is not False,
            process_id=driver.process_id(connection),
        )
