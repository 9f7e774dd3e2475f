"""As for an unknown database: PostgreSQL's own statistics and maintenance are not YugabyteDB's."""

from dbdyno.databases.unknown import over_postgresql

ADAPTER = over_postgresql.ADAPTER
