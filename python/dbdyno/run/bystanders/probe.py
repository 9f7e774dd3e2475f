"""A probe beside the load: it finds out how old what a reader of a standby sees is.

One client commits numbers on the primary, at a modest rate. For each standby another one reads
them there, as soon as each is acknowledged, and again until it sees it. The probe decides nothing.
"""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbdyno.model.record import StandbyRecord
from dbdyno.run.bystanders.bystander import Bystander, Client, Connect
from dbdyno.run.standbys.finding import Standby

PAUSE_S = 0.05
"""Between two commits."""
READ_AGAIN_S = 0.005
"""Between two reads of a number that was not there yet."""
RETRY_S = 0.1


@dataclass
class Reader(Client):
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

    def take(self, acknowledged_ns: Sequence[int], last: int, number: int, asked_ns: int) -> None:
        """Take the number that a read saw; as it began, ``last`` was acknowledged."""
        self.stale += last - max(self.judged, min(number, last))
        for one in range(self.seen, min(number, last)):
            is_at_once = one >= self.judged
            self.ages_ns.append(0 if is_at_once else asked_ns - acknowledged_ns[one])
        self.seen = max(self.seen, min(number, last))
        self.judged = last


class Probe(Bystander):
    """Commits numbers, and reads them on standbys."""

    def __init__(self, connect: Connect, standbys: Sequence[Standby]) -> None:
        super().__init__("probe", connect)
        self._has_news = threading.Condition()
        self._acknowledged_ns: list[int] = []
        """When each number was acknowledged, from 1."""
        self._begin_ns = self._ended_ns = 0
        self._add(Client(), self._write)
        self._readers = [self._add(Reader(standby), self._read) for standby in standbys]

    def create(self) -> None:
        """Create the table."""
        with self._connect() as connection:
            connection.execute(f"create table {self.table} (number bigint not null)")
            connection.execute(f"insert into {self.table} values (0)")

    def begin(self, at_ns: int = 0) -> None:
        """Let the clients begin, with the first number at an instant of the monotonic clock."""
        self._begin_ns = at_ns
        super().begin()

    def end(self) -> None:
        """Commit and read no more."""
        self._ended_ns = self._ended_ns or time.monotonic_ns()
        self._over.set()
        with self._has_news:
            self._has_news.notify_all()
        super().end()

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

    def _write(self, client: Client) -> None:
        """Commit number after number, until the end."""
        self._over.wait(max(0, self._begin_ns - time.monotonic_ns()) / 1e9)
        while not self._over.wait(PAUSE_S):
            number = len(self._acknowledged_ns) + 1
            try:
                client.connection = client.connection or self._connect()
                client.connection.execute(f"update {self.table} set number = {number}")
            except Exception:  # of any driver: it will be committed again
                client.close()
                self._over.wait(RETRY_S)
            else:
                with self._has_news:
                    self._acknowledged_ns.append(time.monotonic_ns())
                    self._has_news.notify_all()
        client.close()

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
                reader.close()
                self._over.wait(RETRY_S)
                continue
            reader.take(self._acknowledged_ns, last, number, asked_ns)
            if reader.seen < last:
                self._over.wait(READ_AGAIN_S)
        reader.close()
