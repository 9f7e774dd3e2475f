"""Checks that the huge pages that a server is configured to use exist, before it starts.

MariaDB and MySQL would continue without them and only report it in their log; PostgreSQL would not
start. Here, the message is the same for all, with the number needed.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.servers.settings import Setting, size_bytes

MEMINFO = Path("/proc/meminfo")
YES = ("on", "1", "true", "yes")
SPARE_SHARE = 0.1  # of the cache, for the server's other shared memory


class HugePages(Struct, frozen=True):
    """The setting that requests huge pages, and the cache that uses them."""

    setting: str
    cache: str
    bare_unit_bytes: int
    """Unit of a number without unit."""


def refuse_missing_huge_pages(
    wanted: HugePages, settings: Iterable[Setting], meminfo: Path = MEMINFO
) -> None:
    """Refuse a server that requests more huge pages than are free."""
    values = {setting.name: setting.value for setting in settings}
    if values.get(wanted.setting, "").lower() not in YES:
        return
    cache_bytes = size_bytes(values[wanted.cache], wanted.bare_unit_bytes)
    fields = dict(re.findall(r"^(\w+):\s+(\d+)", meminfo.read_text(), re.MULTILINE))
    free = int(fields.get("HugePages_Free", 0)) - int(fields.get("HugePages_Rsvd", 0))
    page_bytes = int(fields["Hugepagesize"]) * 1024
    needed = -(-cache_bytes // page_bytes)
    if needed > free:
        raise DbdynoError(
            "no_huge_pages",
            f"{wanted.setting} needs at least {needed} huge pages of {page_bytes // 1024} kB for "
            f"{wanted.cache}={values[wanted.cache]}, and {free} are free",
            f"as root: sysctl vm.nr_hugepages={round(needed * (1 + SPARE_SHARE)) + 1}, or a "
            "smaller cache",
        )
