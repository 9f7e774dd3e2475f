"""Any database with PostgreSQL's protocol. For the user's own scripts only."""

from dbdyno.databases.bare import bare_adapter
from dbdyno.databases.postgresql.server_errors import understood
from dbdyno.databases.standard import says

ADAPTER = bare_adapter(
    "postgresql_unknown",
    "any database with PostgreSQL's protocol",
    describe=lambda connection: ("", says(connection)),
    understood=understood,
)
