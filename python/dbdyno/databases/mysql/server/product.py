"""A private MySQL from a local installation: dbdyno downloads none."""

from dbdyno.databases.mysql.database import DATABASE
from dbdyno.databases.mysql.server.binaries import Brand, base_folder
from dbdyno.databases.mysql.server.family import product_of_family
from dbdyno.databases.mysql.server.settings import common_settings, redo_log
from dbdyno.servers.product import Binaries, Cluster
from dbdyno.servers.settings import Machine, Setting

BRAND = Brand(
    title="MySQL",
    is_mariadb=False,
    servers=("mysqld",),
    installers=("mysqld",),
    package="mysql-server",
)
REDO_CAPACITY_SINCE = (8, 0, 30)


def _settings(machine: Machine, connections: int, binaries: Binaries) -> list[Setting]:
    """Return the settings; the performance schema stays on, its default."""
    has_capacity = binaries.numbers >= REDO_CAPACITY_SINCE
    redo = "innodb_redo_log_capacity" if has_capacity else "innodb_log_file_size"
    return [
        *common_settings(machine, connections),
        redo_log(redo, machine),
        Setting("mysqlx", "OFF", "only one protocol is used"),
    ]


def _install(cluster: Cluster) -> list[object]:
    binaries = cluster.blueprint.binaries
    return [
        *(binaries.server, "--no-defaults", "--initialize-insecure"),
        *(f"--basedir={base_folder(binaries)}", f"--datadir={cluster.data}"),
    ]


PRODUCT = product_of_family("mysql", BRAND, DATABASE, _settings, _install)
