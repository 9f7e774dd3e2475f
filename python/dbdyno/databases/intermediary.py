"""What lies between dbdyno and a server: a pooler, a proxy, or nothing that shows.

Both ends of a connection are asked for what they know of it. Ports and names that a target has tell
nothing, so nothing is concluded from them. Where sessions are lent, two connections use them in
turn; each of their requests is a transaction of its own that leaves nothing behind.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from dbdyno.databases.connection import Connection, hang_up
from dbdyno.errors import DbdynoError
from dbdyno.model.record import IntermediaryRecord

PROGRAMS = {
    "haproxy": "HAProxy",
    "maxscale": "MaxScale",
    "odyssey": "Odyssey",
    "pgbouncer": "PgBouncer",
    "pgcat": "PgCat",
    "pgpool": "Pgpool-II",
    "proxysql": "ProxySQL",
}
"""Poolers and proxies by the names of their programs."""
USES = (0, 0, 1) * 4
"""Which of two connections makes a request. Whichever idle session a pooler lends next, the one
that was used last or longest ago, a connection has another one soon, or both have the same."""
PATIENCE_S = 2.0
"""How long the second connection waits for a session: the first may have the only one."""


class Place(NamedTuple):
    """Where a client's end of a connection is; the address may be a name, which is not shown."""

    address: str
    port: int

    def differs_from(self, other: "Place") -> bool:
        """Whether they are different: names are not resolved, ports are compared anyway."""
        if self.port != other.port:
            return True
        try:
            return _plain(self.address) != _plain(other.address)
        except ValueError:
            return False

    def __str__(self) -> str:
        """As people write it."""
        if self == UNIX_SOCKET:
            return "a Unix socket"
        try:
            address = ip_address(self.address)
        except ValueError:
            return f"port {self.port}"
        return f"[{address}]:{self.port}" if address.version == 6 else f"{address}:{self.port}"


UNIX_SOCKET = Place("", 0)


def _plain(address: str) -> str:
    found = ip_address(address.partition("%")[0])
    return str(getattr(found, "ipv4_mapped", None) or found)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """What both ends of one connection say of it."""

    announced: int
    """The number of the session, as the login told it."""
    serving: int
    """The number of the session that answers, as the server knows it."""
    client: Place | None
    """Where the server sees its client; None if it does not tell."""
    told: str = ""
    """Another difference between what the login told and what the server tells."""


def end_of(connection: Connection) -> Place:
    """Return our end of a connection."""
    with socket.socket(fileno=os.dup(connection.fileno())) as wire:
        if wire.family == socket.AF_UNIX:
            return UNIX_SOCKET
        address, port, *_ = wire.getsockname()
        return Place(address, port)


def program_at(connection: Connection) -> str:
    """Return the pooler or proxy at the other end of a Unix socket, if it is a known program."""
    with socket.socket(fileno=os.dup(connection.fileno())) as wire:
        if wire.family != socket.AF_UNIX:
            return ""
        credentials = wire.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid = int.from_bytes(credentials[:4], "little")
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
    return PROGRAMS.get(name, "")


def between(ends: Ends, ours: Place) -> IntermediaryRecord | None:
    """Return what lies between the two ends; None if nothing shows."""
    seen = []
    if ends.announced != ends.serving:
        seen.append(f"the login told of session {ends.announced}, session {ends.serving} answers")
    if ends.client and ends.client.differs_from(ours):
        seen.append(f"the server sees a client at {ends.client}, and our end is {ours}")
    if ends.told:
        seen.append(ends.told)
    if not seen:
        return None
    kind: Literal["pooler", "proxy"] = "pooler" if ends.announced != ends.serving else "proxy"
    return IntermediaryRecord(target="", kind=kind, seen=seen)


def with_product(found: IntermediaryRecord, product: str) -> IntermediaryRecord:
    """Return it with its name, if it is known."""
    if not product:
        return found
    return replace(found, product=product, seen=[*found.seen, f"it says that it is {product}"])


def with_mode(
    found: IntermediaryRecord,
    control: Connection,
    connect: Callable[[], Connection],
    serving: Callable[[Connection], int],
    keeps_prepared: Callable[[Connection, Connection], bool | None],
) -> IntermediaryRecord:
    """Return what is known of a pooler, with how it lends its sessions.

    ``serving`` asks for the number of the session that answers, and ``keeps_prepared`` whether both
    connections find what they have prepared.
    """
    with closing(connect()) as second, _hung_up_after(PATIENCE_S, second) as is_late:
        try:
            pair = control, second
            served = [(number, serving(pair[number])) for number in USES]
            refusal = _refused_block(second)
            kept = keeps_prepared(*pair) if _shared(served) and not refusal else None
        except Exception:  # whatever a driver makes of a connection that was hung up
            if not is_late():
                raise
            why = f"a second connection got no session for {PATIENCE_S:g} s"
            return replace(found, seen=[*found.seen, why])
    if refusal:
        return replace(found, mode="statement", seen=[*found.seen, f"it refuses BEGIN: {refusal}"])
    if shared := _shared(served):
        return replace(found, mode="transaction", keeps_prepared=kept, seen=[*found.seen, shared])
    alone = f"two connections kept a session each for {len(USES)} requests"
    return replace(found, mode="session", keeps_prepared=True, seen=[*found.seen, alone])


def _shared(served: Iterable[tuple[int, int]]) -> str:
    """Return how connections changed or shared their sessions; empty if they did not."""
    first, second = ({session for who, session in served if who == number} for number in (0, 1))
    for sessions in (first, second):
        if len(sessions) > 1:
            one, other, *_ = sorted(sessions)
            return f"sessions {one} and {other} answered requests of one connection"
    both = first & second
    return f"session {both.pop()} answered requests of two connections" if both else ""


def _refused_block(connection: Connection) -> str:
    """Return why a transaction block is refused; empty if it is not."""
    try:
        connection.execute("begin")
        connection.execute("select 1")
        connection.execute("rollback")
    except Exception as error:  # of any driver
        if not connection.closed and not _says_statement_mode(error):
            raise
        return str(error).strip() if _says_statement_mode(error) else ""
    return ""


def _says_statement_mode(error: Exception) -> bool:
    return "transaction blocks not allowed" in str(error)


@contextmanager
def _hung_up_after(patience_s: float, connection: Connection) -> Iterator[Callable[[], bool]]:
    """Hang up if the block takes longer; yields whether it did."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        hang_up(connection)

    timer = threading.Timer(patience_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield is_late.is_set
    finally:
        timer.cancel()
        timer.join()


def refuse_unusable(found: Iterable[IntermediaryRecord], *, prepares: bool) -> None:
    """Refuse a pooler through which the run would fail, before anything is done."""
    for one in found:
        if one.mode == "statement":
            raise DbdynoError(
                "pooler_mode",
                f"{one.target} leads through {one.title}: it takes no transactions, and dbdyno "
                "needs them",
                "Let it lend sessions for a transaction (PgBouncer: pool_mode = transaction), or "
                "name the server itself as --target.",
            )
        if prepares and one.keeps_prepared is False:
            raise DbdynoError(
                "pooler_forgets",
                f"a pooler shares the session between clients: {one.target} leads through "
                f"{one.title}, and statements that a client has prepared are not there for its "
                "next transaction",
                "Use -M simple or -M extended, which keep nothing in a session, or let the pooler "
                "know of prepared statements (PgBouncer, from 1.21 on: max_prepared_statements).",
            )
