"""Any database with MySQL's protocol. For the user's own scripts only."""

from dbdyno.databases.bare import bare_adapter
from dbdyno.databases.mysql.server_errors import understood
from dbdyno.databases.standard import says

ADAPTER = bare_adapter(
    "mysql_unknown",
    "any database with MySQL's protocol",
    describe=lambda connection: ("", says(connection)),
    understood=understood,
)
