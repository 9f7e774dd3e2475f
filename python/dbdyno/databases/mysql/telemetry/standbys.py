"""How far a standby of MariaDB is behind its primary, which keeps no account of it.

The primary is asked for its place in the binary log, then the standby for its own in the same log.
For the time, a transaction that the primary has by now is waited for on the standby.
"""

import time

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.query_sources import named_rows
from dbdyno.databases.mysql.telemetry.server_context import server_context
from dbdyno.model.source import Numbers

WAIT_S = 0.8
"""How long a reading waits, of the second between two: so much is exact. A standby that has not
applied it by then is asked again."""
_POSITION = "select @@global.gtid_binlog_pos"


class StandbyLag:
    """Measures one standby, reading by reading."""

    def __init__(self) -> None:
        self._awaited: tuple[str, float] | None = None
        """The position that it has not applied yet, and when the primary had it."""

    def read(self, primary: Connection, standby: Connection) -> Numbers:
        """Return ``lag_bytes`` and ``replay_lag_s``; nothing if it follows nobody.

        While it has not applied what is awaited, the lag is the time until now, and grows.
        """
        if not server_context(primary).is_mariadb:
            return {}
        position, now_s = str(primary.execute(_POSITION).fetchone()[0]), time.monotonic()
        self._awaited = self._awaited or (position, now_s)
        awaited, since_s = self._awaited
        file, place, *_ = primary.execute("show master status").fetchone()
        followed = named_rows(standby, "show all slaves status")
        if not followed:
            return {}
        (has,) = standby.execute(f"select master_gtid_wait('{awaited}', {WAIT_S})").fetchone()
        lag_s = time.monotonic() - since_s
        if has == 0:
            self._awaited = None
        numbers = {"replay_lag_s": lag_s}
        begun, replayed = followed[0]["Relay_Master_Log_File"], followed[0]["Exec_Master_Log_Pos"]
        if begun:
            between = _bytes_before(primary, begun, file) if begun != file else 0
            numbers["lag_bytes"] = max(between + int(place) - int(replayed), 0)
        return numbers


def _bytes_before(primary: Connection, first: str, last: str) -> int:
    """Return the size of the log's files from ``first`` on, without ``last``."""
    files = [(str(name), int(size)) for name, size, *_ in primary.execute("show binary logs")]
    return sum(size for name, size in files if first <= name < last)
