"""A private MariaDB."""

from dbdyno.databases.mariadb.database import DATABASE
from dbdyno.databases.mariadb.server.replication import REPLICATION
from dbdyno.databases.mysql.server.binaries import Brand, base_folder
from dbdyno.databases.mysql.server.family import product_of_family
from dbdyno.databases.mysql.server.settings import common_settings, redo_log
from dbdyno.servers.product import Binaries, Cluster
from dbdyno.servers.settings import Machine, Setting

BRAND = Brand(
    title="MariaDB",
    is_mariadb=True,
    servers=("mariadbd", "mysqld"),
    installers=("mariadb-install-db", "mysql_install_db"),
    package="mariadb-server",
)


def _settings(machine: Machine, connections: int, _binaries: Binaries) -> list[Setting]:
    """Return the settings; the performance schema stays off (default): it slows every statement."""
    return [
        *common_settings(machine, connections),
        redo_log("innodb_log_file_size", machine),
        Setting("character_set_server", "utf8mb4", "the default of distributions"),
    ]


def _install(cluster: Cluster) -> list[object]:
    binaries = cluster.blueprint.binaries
    return [
        *(binaries.installer, "--no-defaults", f"--basedir={base_folder(binaries)}"),
        f"--datadir={cluster.data}",
        *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
    ]


PRODUCT = product_of_family(
    "mariadb", BRAND, DATABASE, _settings, _install, replication=REPLICATION
)
