"""How databases are reached over ODBC: any that has a driver on this host."""

from dbdyno.databases.connecting import Driver
from dbdyno.databases.odbc.driver.connecting import (
    endpoint_of,
    open_connection,
    pinned,
    place_in,
    url_of,
)

DRIVER = Driver(
    open=open_connection,
    endpoint_of=endpoint_of,
    url_of=url_of,
    pinned=pinned,
    process_id=lambda _connection: None,  # ODBC does not provide it
    data_directory=lambda _connection: None,
    says=lambda connection: f"{connection.product} {connection.version}",
    place_in=place_in,
    parameters_in=lambda _target: {},  # all are part of the place
    client_environment=lambda _endpoint, _folder: {},  # there are no clients of its own
)
