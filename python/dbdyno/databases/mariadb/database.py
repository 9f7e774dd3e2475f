"""MariaDB: what it does is what MySQL does."""

from msgspec.structs import replace

from dbdyno.databases.mysql.database import DATABASE as MYSQL

DATABASE = replace(
    MYSQL, name="mariadb", title="MariaDB", base="mysql", product="mariadb", says="MariaDB"
)
