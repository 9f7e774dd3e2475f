"""Looks and the engine's words meet by their instant, in whatever order they come."""

from dbdyno.model.frame import Activity
from dbdyno.telemetry.joining import Look
from dbdyno.telemetry.waiting_room import WaitingRoom


def look(at_ns: int) -> Look:
    return Look(at_ns=at_ns, seconds=1, cost_us=0, seen=lambda: ([], []))


def word(at_ns: int) -> Activity:
    return Activity(at_ns, b"", b"")


def instants(room: WaitingRoom) -> list[int]:
    return [its.at_ns for its, activity in room.pairs() if its.at_ns == activity.at_ns]


def test_they_meet_once():
    room = WaitingRoom()
    room.add_look(look(2))
    room.add_word(word(1))
    assert instants(room) == []
    room.add_look(look(1))
    room.add_word(word(2))
    assert instants(room) == [1, 2]
    assert instants(room) == []


def test_those_that_wait_for_ever_are_let_go_and_counted():
    room = WaitingRoom()
    for at_ns in range(1000):
        room.add_look(look(at_ns))
        room.add_word(word(at_ns - 5000))
    assert room.looks_lost == 872
    room.add_word(word(999))
    assert instants(room) == [999]
    room.close()
    assert room.looks_lost == 999
