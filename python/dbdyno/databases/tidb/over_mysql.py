"""As for an unknown database: MySQL's own statistics and maintenance are not TiDB's."""

from dbdyno.databases.unknown import over_mysql

ADAPTER = over_mysql.ADAPTER
