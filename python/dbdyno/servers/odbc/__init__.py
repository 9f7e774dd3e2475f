"""How databases are reached over ODBC: any that has a driver on this host."""

from dbdyno.servers.connecting import Driver
from dbdyno.servers.odbc.connecting import (
    endpoint_of,
    open_connection,
    pinned,
    place_in,
    target_name,
    url_of,
)

DRIVER = Driver(
    open=open_connection,
    endpoint_of=endpoint_of,
    url_of=url_of,
    pinned=pinned,
    process_id=lambda _connection: None,  # ODBC does not provide it
    data_directory=lambda _connection: None,
    target_name=target_name,
    place_in=place_in,
    parameters_in=lambda _target: {},  # all are part of the place
)
