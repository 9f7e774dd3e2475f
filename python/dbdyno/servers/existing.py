"""An existing server: inspected and used, never started, stopped or reconfigured."""

from dbdyno.servers.base import Server
from dbdyno.servers.connecting import inspecting


def use_existing(target: str = "") -> Server:
    """Return the server at ``target``: a URL, a conninfo string, or empty for libpq's default."""
    with inspecting(target) as (driver, connection):
        return Server(
            kind="existing",
            conninfo=driver.pinned(target, connection),
            resolved=driver.endpoint_of(connection),
            process_id=driver.process_id(connection),
            data_directory=driver.data_directory(connection),
        )
