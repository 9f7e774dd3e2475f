"""Standbys of a private PostgreSQL: copies of it that stream its WAL."""

import re
import time
from collections.abc import Mapping, Sequence

from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.servers.product import Cluster, Replication
from dbdyno.servers.settings import Setting

NAMES = "synchronous_standby_names"
PROMOTION_PATIENCE_S = 60
COUNT = re.compile(r"\s*(?:first|any)?\s*(\d+)\s*\(", re.IGNORECASE)
WAITING = ("on", "true", "yes", "1", "remote_write", "remote_apply")
"""Values of synchronous_commit with which commits wait for synchronous standbys."""


def _of_standby(settings: Sequence[Setting]) -> list[Setting]:
    """Once it has taken over, nobody follows whom it could wait for."""
    return [one for one in settings if one.name != NAMES]


def _begin(_primary: Connection, _standby: Connection, _folder: Cluster) -> None:
    """Do nothing: its copy says whom it follows."""


def _position(primary: Connection) -> str:
    return str(primary.execute("select pg_current_wal_lsn()").fetchone()[0])


def _has(standby: Connection, position: str) -> bool:
    ask = f"select coalesce(pg_last_wal_replay_lsn() >= '{position}', false)"
    for _ in range(100):
        if standby.execute(ask).fetchone()[0]:
            return True
        time.sleep(0.01)
    return False


def _trouble(standby: Connection) -> str:
    if standby.execute("select status from pg_stat_wal_receiver").fetchone() == ("streaming",):
        return ""
    return "it receives no WAL"


def _promote(standby: Connection) -> None:
    """Wait until it is a primary; its own function would look only every 100 ms."""
    standby.execute("select pg_promote(false)")
    deadline_s = time.monotonic() + PROMOTION_PATIENCE_S
    while standby.execute("select pg_is_in_recovery()").fetchone()[0]:
        if time.monotonic() > deadline_s:
            raise DbdynoError(
                "not_promoted",
                "the standby was not promoted within a minute",
                "It may have much left to replay: less load before it leaves less.",
            )
        time.sleep(0.005)


def _awaited(settings: Mapping[str, str]) -> int:
    """Return for how many standbys a commit waits."""
    names = settings.get(NAMES, "").strip()
    if not names or settings.get("synchronous_commit", "on").lower() not in WAITING:
        return 0
    count = COUNT.match(names)
    return int(count[1]) if count else 1


def _is_synchronous(settings: Mapping[str, str], standbys: int) -> bool:
    """Whether commits wait for as many standbys as there are: any, as no others are started."""
    return _awaited(settings) >= standbys


def _refuse_unmet(settings: Mapping[str, str], standbys: int) -> None:
    """Refuse to let commits wait for standbys that there are not: they would wait for ever."""
    awaited = _awaited(settings)
    if awaited and (awaited > standbys or "*" not in settings[NAMES]):
        raise DbdynoError(
            "no_standbys",
            f"{NAMES}={settings[NAMES]!r} lets each commit wait for ever: there "
            f"{'is 1 standby' if standbys == 1 else f'are {standbys} standbys'}, without names",
            f"Write {NAMES}='*', or '2 (*)', and no more than standbys=N starts.",
        )


def _waits(primary: Connection) -> bool:
    """Whether commits still wait: the settings may have been changed."""
    names = [NAMES, "synchronous_commit"]
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    now = primary.execute(f"select {asked}").fetchone()
    return _awaited(dict(zip(names, now, strict=True))) > 0


REPLICATION = Replication(
    copies_primary=True,
    over_tcp=False,
    settings=(),
    of_standby=_of_standby,
    begin=_begin,
    position=_position,
    has=_has,
    trouble=_trouble,
    promote=_promote,
    is_synchronous=_is_synchronous,
    waits=_waits,
    refuse_unmet=_refuse_unmet,
)
