"""A probe beside the load: it finds out how old what a reader of a standby sees is.

One client commits numbers on the primary, at a modest rate. For each standby another one reads
them there, as soon as each is acknowledged, and again until it sees it. The probe decides nothing.
"""

import math
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbdyno.databases.connection import Connection, hang_up
from dbdyno.model.record import StandbyRecord
from dbdyno.run.standbys.finding import Standby

PAUSE_S = 0.05
"""Between two commits."""
READ_AGAIN_S = 0.005
"""Between two reads of a number that was not there yet."""
RETRY_S = 0.1
PATIENCE_S = 5.0

Connect = Callable[[], Connection]


@dataclass
class Reader:
    """What was seen on one standby, of the numbers that were acknowledged; in ns."""

    standby: Standby
    seen: int = 0
    """The last number that it saw."""
    judged: int = 0
    """The last number whose first read after its acknowledgement is known."""
    stale: int = 0
    """How many of those reads did not see it."""
    ages_ns: list[int] = field(default_factory=list)
    """How long after its acknowledgement each number was first seen; 0 if at once."""
    connection: Connection | None = None

    def take(self, acknowledged_ns: Sequence[int], last: int, number: int, asked_ns: int) -> None:
        """Take the number that a read saw; as it began, ``last`` was acknowledged."""
        self.stale += last - max(self.judged, min(number, last))
        for one in range(self.seen, min(number, last)):
            is_at_once = one >= self.judged
            self.ages_ns.append(0 if is_at_once else asked_ns - acknowledged_ns[one])
        self.seen = max(self.seen, min(number, last))
        self.judged = last


class Probe:
    """Commits and reads from :meth:`begin` to :meth:`end`, in a table of its own."""

    def __init__(self, connect: Connect, standbys: Sequence[Standby]) -> None:
        self.table = f"dbdyno_probe_{secrets.token_hex(4)}"
        self._connect = connect
        self._over = threading.Event()
        self._has_news = threading.Condition()
        self._acknowledged_ns: list[int] = []
        """When each number was acknowledged, from 1."""
        self._ended_ns = 0
        self._writing: Connection | None = None
        self._readers = [Reader(standby) for standby in standbys]
        self._threads = [
            threading.Thread(target=self._write, name="probe", daemon=True),
            *(
                threading.Thread(target=self._read, args=(reader,), name="probe", daemon=True)
                for reader in self._readers
            ),
        ]

    def create(self) -> None:
        """Create the table."""
        with self._connect() as connection:
            connection.execute(f"create table {self.table} (number bigint not null)")
            connection.execute(f"insert into {self.table} values (0)")

    def drop(self) -> None:
        """End, and drop the table unless the server is gone."""
        self.end()
        with suppress(Exception), self._connect() as connection:
            connection.execute(f"drop table {self.table}")

    def begin(self) -> None:
        """Begin to commit and to read."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Commit and read no more; what waits for an answer that does not come is hung up."""
        self._ended_ns = self._ended_ns or time.monotonic_ns()
        self._over.set()
        with self._has_news:
            self._has_news.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(PATIENCE_S)
        for connection in (self._writing, *(reader.connection for reader in self._readers)):
            if connection is not None:
                hang_up(connection)

    def with_staleness(self, records: Sequence[StandbyRecord]) -> list[StandbyRecord]:
        """Return the records of the standbys, in order, with what the probe saw."""
        self.end()
        found = []
        for record, reader in zip(records, self._readers, strict=True):
            acknowledged_ns = self._acknowledged_ns[: reader.judged]
            if not acknowledged_ns:
                found.append(record)
                continue
            # What was not seen by the end is at least as old as that.
            unseen_ns = [self._ended_ns - at_ns for at_ns in acknowledged_ns[reader.seen :]]
            ages_ms = sorted(max(age_ns, 0) / 1e6 for age_ns in (*reader.ages_ns, *unseen_ns))
            p50_ms, p99_ms = (ages_ms[math.ceil(share * len(ages_ms)) - 1] for share in (0.5, 0.99))
            found.append(
                replace(
                    record,
                    probed=len(acknowledged_ns),
                    stale_share=reader.stale / len(acknowledged_ns),
                    staleness_p50_ms=p50_ms,
                    staleness_p99_ms=p99_ms,
                    staleness_max_ms=ages_ms[-1],
                    unseen=len(unseen_ns),
                )
            )
        return found

    def _write(self) -> None:
        """Commit number after number, until the end."""
        while not self._over.wait(PAUSE_S):
            number = len(self._acknowledged_ns) + 1
            try:
                self._writing = self._writing or self._connect()
                self._writing.execute(f"update {self.table} set number = {number}")
            except Exception:  # of any driver: it will be committed again
                _close(self._writing)
                self._writing = None
                self._over.wait(RETRY_S)
            else:
                with self._has_news:
                    self._acknowledged_ns.append(time.monotonic_ns())
                    self._has_news.notify_all()
        _close(self._writing)
        self._writing = None

    def _read(self, reader: Reader) -> None:
        """Read each number as soon as it is acknowledged, until it is seen."""
        ask = f"select number from {self.table}"
        while not self._over.is_set():
            with self._has_news:
                self._has_news.wait_for(
                    lambda: len(self._acknowledged_ns) > reader.seen or self._over.is_set()
                )
                last = len(self._acknowledged_ns)
            if self._over.is_set():
                break
            try:
                reader.connection = reader.connection or reader.standby.connect()
                asked_ns = time.monotonic_ns()
                ((number,),) = reader.connection.execute(ask).fetchall()
            except Exception:  # of any driver; the table may not be there yet
                _close(reader.connection)
                reader.connection = None
                self._over.wait(RETRY_S)
                continue
            reader.take(self._acknowledged_ns, last, number, asked_ns)
            if reader.seen < last:
                self._over.wait(READ_AGAIN_S)
        _close(reader.connection)
        reader.connection = None


def _close(connection: Connection | None) -> None:
    if connection is not None:
        with suppress(Exception):  # of any driver, about a connection that is broken
            connection.close()
