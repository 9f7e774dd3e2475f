"""How PostgreSQL servers are reached, and how private ones are created."""

from dbdyno.servers.connecting import Driver
from dbdyno.servers.postgresql.connecting import (
    endpoint_of,
    open_connection,
    parameters_in,
    pinned,
    place_in,
    url_of,
)
from dbdyno.servers.postgresql.place import data_directory, process_id

DRIVER = Driver(
    open=open_connection,
    endpoint_of=endpoint_of,
    url_of=url_of,
    pinned=pinned,
    process_id=process_id,
    data_directory=data_directory,
    target_name=lambda _connection: "postgresql",
    place_in=place_in,
    parameters_in=parameters_in,
)
