"""How MySQL and MariaDB servers are reached, and how private ones are created."""

from dbdyno.servers.connecting import Driver
from dbdyno.servers.mysql.connecting import endpoint_of, open_connection, pinned
from dbdyno.servers.mysql.login import parameters_in, place_in
from dbdyno.servers.mysql.place import data_directory, process_id
from dbdyno.servers.mysql.url import url_of

DRIVER = Driver(
    open=open_connection,
    endpoint_of=endpoint_of,
    url_of=url_of,
    pinned=pinned,
    process_id=process_id,
    data_directory=data_directory,
    target_name=lambda _connection: "mysql",
    place_in=place_in,
    parameters_in=parameters_in,
)
