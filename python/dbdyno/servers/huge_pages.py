"""Whether the huge pages that a server is told to use are there, before it starts.

MariaDB and MySQL would go on without them and only say so in their log; PostgreSQL would not
start. Both are told the same here, with the number that is missing.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.servers.settings import Setting, size_bytes

MEMINFO = Path("/proc/meminfo")
YES = ("on", "1", "true", "yes")
SPARE_SHARE = 0.1  # of the cache, for what else the server keeps beside it


class HugePages(Struct, frozen=True):
    """The setting that asks for them, and the cache that is to lie in them."""

    setting: str
    cache: str
    bare_unit_bytes: int
    """What a number without a unit counts."""


def refuse_missing_huge_pages(
    wanted: HugePages, settings: Iterable[Setting], meminfo: Path = MEMINFO
) -> None:
    """Refuses a server that asks for more huge pages than are free."""
    values = {setting.name: setting.value for setting in settings}
    if values.get(wanted.setting, "").lower() not in YES:
        return
    cache_bytes = size_bytes(values[wanted.cache], wanted.bare_unit_bytes)
    free, page_bytes = _free(meminfo)
    needed = -(-cache_bytes // page_bytes)
    if needed > free:
        raise DbdynoError(
            "no_huge_pages",
            f"{wanted.setting} needs at least {needed} huge pages of {page_bytes // 1024} kB for "
            f"{wanted.cache}={values[wanted.cache]}, and {free} are free",
            f"as root: sysctl vm.nr_hugepages={round(needed * (1 + SPARE_SHARE)) + 1}, or a "
            "smaller cache",
        )


def _free(meminfo: Path) -> tuple[int, int]:
    """How many are free, and the bytes of one."""
    fields = dict(re.findall(r"^(\w+):\s+(\d+)", meminfo.read_text(), re.MULTILINE))
    reserved = int(fields.get("HugePages_Rsvd", 0))
    return int(fields.get("HugePages_Free", 0)) - reserved, int(fields["Hugepagesize"]) * 1024
