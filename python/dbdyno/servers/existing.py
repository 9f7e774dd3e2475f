"""An existing server: inspected and used, never started, stopped or reconfigured."""

from collections.abc import Sequence

from msgspec.structs import replace

from dbdyno.databases.connecting import endpoint_at, inspecting, url_of
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server


def use_existing(target: str = "", further: Sequence[str] = ()) -> Server:
    """Return the server at ``target``: a URL, a conninfo string, or empty for libpq's default.

    The connections of a load are spread over it and the ``further`` ones in turn; control
    connections are to the first. Raises DbdynoError if one cannot be reached, or if their logins
    differ.
    """
    with inspecting(target) as (driver, connection):
        return Server(
            kind="existing",
            conninfo=driver.pinned(target, connection),
            resolved=_spread(driver.endpoint_of(connection), further),
            process_id=driver.process_id(connection),
            data_directory=driver.data_directory(connection),
        )


def _spread(first: Endpoint, further: Sequence[str]) -> Endpoint:
    """Return the endpoint with the addresses of further servers, which take the same login."""
    others = [endpoint_at(target) for target in further]
    for other in others:
        if replace(other, address=first.address) != first:
            raise DbdynoError(
                "bad_target",
                f"{url_of(other)} has another login than {url_of(first)}",
                "further servers take the first one's protocol, user, password, database, "
                "parameters and TLS",
            )
    return replace(first, further_addresses=[other.address for other in others])
