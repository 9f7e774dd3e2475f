"""What private MySQL and MariaDB servers have in common: folders, signals, readiness.

They differ in their programs, in how a data folder is created, and in a few settings.
"""

import signal
from collections.abc import Callable, Sequence

from dbdyno.databases.mysql.server import folder
from dbdyno.databases.mysql.server.binaries import Brand
from dbdyno.databases.mysql.server.settings import check_settings, loading_settings
from dbdyno.databases.mysql.server.warming import warm
from dbdyno.model.database import Database
from dbdyno.servers.product import Binaries, Cluster, Product, Replication
from dbdyno.servers.settings import Machine, Setting
from dbdyno.servers.spec import Kind


def product_of_family(  # noqa: PLR0913 - independent properties
    name: Kind,
    brand: Brand,
    database: Database,
    settings: Callable[[Machine, int, Binaries], list[Setting]],
    install: Callable[[Cluster], list[object]],
    *,
    replication: Replication | None = None,
) -> Product:
    """Return the product of a brand, with its settings and the command that creates data."""

    def check(binaries: Binaries, given: Sequence[Setting]) -> None:
        check_settings(brand.title, binaries, given)

    def commands(cluster: Cluster) -> list[list[object]]:
        server = [cluster.blueprint.binaries.server, f"--defaults-file={cluster.folder / 'my.cnf'}"]
        return [[*install(cluster), *folder.shaping_options(cluster)], server]

    return Product(
        name=name,
        title=brand.title,
        database=database,
        stop_signal=signal.SIGKILL,
        clean_signal=signal.SIGTERM,
        wal_folder=folder.WAL_FOLDER,
        wal_names=folder.WAL_NAMES,
        shaping=folder.SHAPING,
        loading=loading_settings,
        format_of=lambda _server: "",
        huge_pages=folder.HUGE_PAGES,
        find=brand.find,
        settings=settings,
        check=check,
        socket_name=folder.socket_name,
        configure=folder.configure,
        commands=commands,
        target=folder.target,
        is_ready=folder.is_ready,
        is_clean=folder.is_clean,
        failure_reason=folder.failure_reason,
        warm=warm,
        replication=replication,
    )
