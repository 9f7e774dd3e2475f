"""A private MySQL, of an installation that is here: dbdyno fetches none."""

import signal
from collections.abc import Sequence

from dbdyno.servers.mysql import folder
from dbdyno.servers.mysql.binaries import Brand, base_folder
from dbdyno.servers.mysql.settings import REDO_REASON, check_settings, common_settings, redo_mib
from dbdyno.servers.mysql.warming import warm
from dbdyno.servers.product import Binaries, Cluster, Product
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
    """The performance schema stays on, as the server has it."""
    has_capacity = binaries.numbers >= REDO_CAPACITY_SINCE
    redo = "innodb_redo_log_capacity" if has_capacity else "innodb_log_file_size"
    return [
        *common_settings(machine, connections),
        Setting(redo, f"{redo_mib(machine)}M", REDO_REASON),
        Setting("mysqlx", "OFF", "one protocol is spoken"),
    ]


def _check(binaries: Binaries, settings: Sequence[Setting]) -> None:
    check_settings(BRAND.title, binaries, settings)


def _commands(cluster: Cluster) -> list[list[object]]:
    """The data folder, then the server."""
    binaries = cluster.blueprint.binaries
    initialize = [
        *(binaries.server, "--no-defaults", "--initialize-insecure"),
        *(f"--basedir={base_folder(binaries)}", f"--datadir={cluster.data}"),
        *folder.shaping_options(cluster),
    ]
    return [initialize, [binaries.server, f"--defaults-file={cluster.folder / 'my.cnf'}"]]


PRODUCT = Product(
    name="mysql",
    title=BRAND.title,
    protocol="mysql",
    stop_signal=signal.SIGKILL,
    clean_signal=signal.SIGTERM,
    wal_folder=folder.WAL_FOLDER,
    wal_names=folder.WAL_NAMES,
    shaping=folder.SHAPING,
    huge_pages=folder.HUGE_PAGES,
    find=BRAND.find,
    settings=_settings,
    check=_check,
    socket_name=folder.socket_name,
    configure=folder.configure,
    commands=_commands,
    target=folder.target,
    is_ready=folder.is_ready,
    is_clean=folder.is_clean,
    failure_reason=folder.failure_reason,
    warm=warm,
)
