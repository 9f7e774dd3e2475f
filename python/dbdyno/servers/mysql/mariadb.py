"""A private MariaDB."""

import signal
from collections.abc import Sequence

from dbdyno.servers.mysql import folder
from dbdyno.servers.mysql.binaries import Brand, base_folder
from dbdyno.servers.mysql.settings import REDO_REASON, check_settings, common_settings, redo_mib
from dbdyno.servers.mysql.warming import warm
from dbdyno.servers.product import Binaries, Cluster, Product
from dbdyno.servers.settings import Machine, Setting

BRAND = Brand(
    title="MariaDB",
    is_mariadb=True,
    servers=("mariadbd", "mysqld"),
    installers=("mariadb-install-db", "mysql_install_db"),
    package="mariadb-server",
)


def _settings(machine: Machine, connections: int, _binaries: Binaries) -> list[Setting]:
    """The performance schema stays off, as the server has it: it costs on every statement."""
    return [
        *common_settings(machine, connections),
        Setting(
            "innodb_log_file_size",
            f"{redo_mib(machine)}M",
            REDO_REASON,
        ),
        Setting("character_set_server", "utf8mb4", "as distributions set it"),
    ]


def _check(binaries: Binaries, settings: Sequence[Setting]) -> None:
    check_settings(BRAND.title, binaries, settings)


def _commands(cluster: Cluster) -> list[list[object]]:
    """The data folder, then the server."""
    binaries = cluster.blueprint.binaries
    install = [
        *(binaries.installer, "--no-defaults", f"--basedir={base_folder(binaries)}"),
        *(f"--datadir={cluster.data}", f"--tmpdir={cluster.folder}"),
        *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
        *folder.shaping_options(cluster),
    ]
    return [install, [binaries.server, f"--defaults-file={cluster.folder / 'my.cnf'}"]]


PRODUCT = Product(
    name="mariadb",
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
