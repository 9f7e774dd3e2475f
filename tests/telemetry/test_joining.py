"""The server's sessions and the engine's clients, sampled at almost the same instant."""

import numpy as np
import pytest

from dbdyno.databases.telemetry import Locks, Sessions
from dbdyno.model.frame import Activity
from dbdyno.model.telemetry import IDLE, PAUSING, UNCONNECTED, UNLISTED, BlockCount, WaitCount
from dbdyno.telemetry.joining import Joiner, SessionSample
from dbdyno.telemetry.statement_texts import StatementTexts

STATEMENTS = {
    0: "begin",
    1: "update accounts set a = a + :d",
    2: "update tellers set t = t + :d",
    3: "select a from x where i between :a and :b",
    4: "select a from x where i between :a and :b order by a",
}
OURS = 99


def activity(**word_by_backend: int) -> Activity:
    """Return activity: ``p17=3`` is the client of backend 17 with statement 3; ``p0`` has none."""
    backends = [int(name[1:]) for name in word_by_backend]
    backend_words = list(word_by_backend.values())
    return Activity(
        5, np.array(backend_words, dtype="<u2").tobytes(), np.array(backends, dtype="<u4").tobytes()
    )


def session(pid: int, text: str = "", state: str = "active", wait: str = "", **other) -> Sessions:
    wait_type, _, wait_event = wait.partition(":")
    return Sessions([pid], other.get("kind", "client"), state, wait_type, wait_event, text)


def join(word: Activity, *sessions: Sessions, locks: tuple[Locks, ...] = ()):
    joiner = Joiner(StatementTexts(STATEMENTS), lambda _mode, _other: True, {OURS})
    sample = SessionSample(
        at_ns=5, seconds=0.5, cost_us=3, pending=lambda: (list(sessions), list(locks))
    )
    return joiner.join(sample, word)


@pytest.mark.parametrize(
    ("word", "seen", "expected"),
    [
        # Both agree.
        (1, session(7, "update accounts set a = a + $1"), (1, "asking", "active")),
        # The server is ahead of the engine's frame: the text is unambiguous.
        (1, session(7, "update tellers set t = t + $1"), (2, "asking", "active")),
        # Two statements begin alike: the engine knows which, if it is one of them.
        (4, session(7, "select a from x where i between 1 and 2 ord"), (4, "asking", "active")),
        # The text is in no script, though the engine waits for a statement.
        (1, session(7, "rollback"), (1, "asking", "active")),
        # The server has answered, but the engine has not received it: network, or its own process.
        (1, session(7, "begin", "idle in transaction"), (1, "asking", "idle in transaction")),
        # The engine had not yet sent the statement at the time of its frame.
        (IDLE, session(7, "begin"), (0, "asking", "active")),
        (IDLE, session(7, "begin", "idle"), (-1, "idle", "idle")),
        (
            PAUSING,
            session(7, "begin", "idle in transaction"),
            (-1, "pausing", "idle in transaction"),
        ),
        (UNLISTED, session(7, "rollback"), (-1, "asking", "active")),
    ],
)
def test_what_a_client_is_doing(word, seen, expected):
    (count,) = join(activity(p7=word), seen).waits
    assert (count.who, count.statement, count.doing, count.state) == ("client", *expected)


def test_clients_that_the_server_does_not_show():
    joined = join(activity(p7=1, p0=UNCONNECTED))
    assert joined.waits == [
        WaitCount("client", 1, "asking", "", "", "", 1),
        WaitCount("client", -1, "unconnected", "", "", "", 1),
    ]


def test_equal_sessions_are_counted_together_and_those_of_telemetry_left_out():
    waiting = [session(pid, "begin", wait="Lock:tuple") for pid in (1, 2, 3)]
    joined = join(activity(p1=0, p2=0, p3=0), *waiting, session(OURS, "select now()"))
    assert joined.waits == [WaitCount("client", 0, "asking", "active", "Lock", "tuple", 3)]
    assert (joined.at_ns, joined.seconds, joined.cost_us) == (5, 0.5, 3)


def test_a_session_that_the_engine_names_is_a_client_whatever_had_its_number_before():
    """A server that restarts numbers its sessions from the beginning again."""
    joined = join(activity(**{f"p{OURS}": 1}), session(OURS, "update", wait="Lock:tuple"))
    assert joined.waits == [WaitCount("client", 1, "asking", "active", "Lock", "tuple", 1)]


def test_similar_sessions_are_joined_with_their_own_clients():
    alike = Sessions([1, 2, 3, OURS, 40], "client", "active", "Lock", "tuple", "update")
    joined = join(activity(p1=1, p2=2, p3=1), alike)
    assert joined.waits == [
        WaitCount("client", 1, "asking", "active", "Lock", "tuple", 2),
        WaitCount("client", 2, "asking", "active", "Lock", "tuple", 1),
        WaitCount("foreign", -1, "", "active", "Lock", "tuple", 1),
    ]


def test_waiters_of_two_statements_behind_one_session():
    locks = (
        Locks([40], "tuple", "t", "Exclusive", True, "", "", [None]),
        Locks([7, 8, 9], "tuple", "t", "Exclusive", False, "tellers", "(0,3)", [3.0, None, 1.0]),
    )
    queue = Sessions([7, 8, 9], "client", "active", "Lock", "tuple", "")
    joined = join(activity(p7=1, p8=2, p9=1), queue, session(40), locks=locks)
    assert [(its.waiter, its.count, its.waited_s) for its in joined.blocking] == [
        (1, 2, 4.0),
        (2, 1, None),
    ]


def test_others_of_the_server():
    vacuum = session(50, "autovacuum: VACUUM x", wait="IO:DataFileRead", kind="autovacuum worker")
    joined = join(activity(), session(40, "select 1", "idle"), vacuum)
    assert joined.waits == [
        WaitCount("foreign", -1, "", "idle", "", "", 1),
        WaitCount("autovacuum worker", -1, "", "active", "IO", "DataFileRead", 1),
    ]


def test_waiters_behind_a_foreign_session():
    locks = (
        Locks([40], "transactionid", "t", "Exclusive", True, "", "", [None]),
        Locks([7, 8], "transactionid", "t", "Share", False, "tellers", "(0,3)", [0.5, 0.25]),
    )
    joined = join(
        activity(p7=2, p8=2),
        *(
            session(pid, "update tellers set t = t + $1", wait="Lock:transactionid")
            for pid in (7, 8)
        ),
        session(40, "lock", "idle in transaction", "Client:ClientRead"),
        locks=locks,
    )
    assert joined.blocking == [
        BlockCount(
            *("client", 2, "foreign", -1, "foreign", -1, "idle in transaction", "ClientRead"),
            *("transactionid", "Share", "tellers", "(0,3)", 1, 2, 0.75),
        )
    ]


def behind(pid, *waiters):
    """Return the lock of one session, and those of the sessions that wait for it."""
    return (
        Locks([pid], "transactionid", "t", "Exclusive", True, "", "", [None]),
        Locks(waiters, "transactionid", "t", "Share", False, "tellers", "", [None] * len(waiters)),
    )


def joined_twice(first, second, *sessions, locks=()):
    """Return what is at the root of the waits in two samples that show the same."""
    joiner = Joiner(StatementTexts(STATEMENTS), lambda _mode, _other: True, {OURS})
    sample = SessionSample(
        at_ns=5, seconds=0.5, cost_us=3, pending=lambda: (list(sessions), list(locks))
    )
    return [
        joiner.join(sample, backend_words).blocking[0].root_who for backend_words in (first, second)
    ]


def test_while_clients_connect_an_unnamed_session_may_be_one_of_them():
    """A session is foreign if two samples have it; if all clients are connected, at once."""
    sessions = session(7, "update"), session(40, "update tellers set t = t + 1")
    locks = behind(40, 7)
    connecting, connected = activity(p7=2, p0=UNCONNECTED), activity(p7=2)
    assert joined_twice(connecting, connecting, *sessions, locks=locks) == ["unknown", "foreign"]
    assert joined_twice(connected, connected, *sessions, locks=locks) == ["foreign", "foreign"]


def test_a_session_missing_in_the_sample_is_identified_by_the_engine():
    locks = behind(8, 7)
    named, connecting = activity(p7=2, p8=1), activity(p7=2, p0=UNCONNECTED)
    waits = joined_twice(named, connecting, session(7, "update"), locks=locks)
    assert waits == ["client", "unknown"]


def test_a_prepared_transaction_is_nobodys_of_the_load():
    found = joined_twice(
        activity(p7=2), activity(p7=2, p0=UNCONNECTED), session(7, "update"), locks=behind(0, 7)
    )
    assert found == ["foreign", "foreign"]
