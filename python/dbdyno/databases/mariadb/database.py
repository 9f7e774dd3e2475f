"""MariaDB: what it does is what MySQL does."""

from msgspec.structs import replace

from dbdyno.databases.mysql.database import DATABASE as MYSQL

# MySQL's names of these variables came with version 11.1.
IN_FORCE = "select @@session.tx_isolation, @@session.tx_read_only"

DATABASE = replace(
    MYSQL,
    name="mariadb",
    title="MariaDB",
    base="mysql",
    product="mariadb",
    says="MariaDB",
    isolation=replace(MYSQL.isolation, in_force=IN_FORCE),
)
