"""Endpoints for the engine, as dbdyno finds them out."""

from dbdyno.databases.connecting import inspecting
from dbdyno.model.plan import Endpoint


def endpoint_at(target: str) -> Endpoint:
    """Return the endpoint of a target."""
    with inspecting(target) as (driver, connection):
        return driver.endpoint_of(connection)
