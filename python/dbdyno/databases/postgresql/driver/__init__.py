"""How PostgreSQL servers are reached, and how private ones are created."""

from dbdyno.databases.connecting import Driver
from dbdyno.databases.postgresql.driver.between import intermediary
from dbdyno.databases.postgresql.driver.connecting import (
    client_environment,
    endpoint_of,
    open_connection,
    parameters_in,
    pinned,
    place_in,
    url_of,
    with_settings,
)
from dbdyno.databases.postgresql.driver.place import data_directory, process_id
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
    with_settings=with_settings,
    read_only_query="show transaction_read_only",
    # A standby has the identifier of its primary; the timeline is new when it takes over.
    identity_query="select system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8) "
    "from pg_control_system()",
)
