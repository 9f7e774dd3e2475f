"""How MySQL and MariaDB servers are reached, and how private ones are created."""

from dbdyno.databases.connecting import Driver
from dbdyno.databases.mysql.driver.between import intermediary
from dbdyno.databases.mysql.driver.connecting import endpoint_of, open_connection, pinned
from dbdyno.databases.mysql.driver.login import parameters_in, place_in
from dbdyno.databases.mysql.driver.option_files import client_environment
from dbdyno.databases.mysql.driver.place import data_directory, process_id
from dbdyno.databases.mysql.driver.url import url_of
from dbdyno.databases.standard import says

DRIVER = Driver(
    open=open_connection,
    endpoint_of=endpoint_of,
    url_of=url_of,
    pinned=pinned,
    process_id=process_id,
    data_directory=data_directory,
    says=says,
    place_in=place_in,
    parameters_in=parameters_in,
    client_environment=client_environment,
    intermediary=intermediary,
    read_only_query="select @@global.read_only",
    identity_query="select @@hostname, @@port, @@server_id",
)
