"""The messages about an outage: one when it has begun, and one when it is over."""

from dbdyno.model.frame import Frame, Outage, OutageBegun
from dbdyno.run.outage_reporter import OutageReporter
from tests.support.frames import SECOND_NS, done, interval

LOST = "connections lost: gone; clients try to reconnect"


def begun(at_s: float) -> OutageBegun:
    return OutageBegun(int(at_s * SECOND_NS), "gone")


def known(begin_s: float, end_s: float | None, lost: int = 4) -> Outage:
    end_ns = None if end_s is None else int(end_s * SECOND_NS)
    return Outage(int(begin_s * SECOND_NS), end_ns, lost, "gone")


def told(*frames: Frame) -> list[str]:
    """The messages about frames; those that come only at the run's end follow a dash."""
    said: list[str] = []
    teller = OutageReporter(lambda text: said.append(text.replace("\u202f", " ")))
    for frame in frames:
        teller.take(frame)
    said.append("-")
    teller.take(done())
    return said


def test_it_is_told_at_once_and_when_it_is_over():
    frames = [begun(1.5), interval(1), interval(2), known(1.5, 3.5), interval(3), interval(4)]
    assert told(begun(1.5)) == [LOST, "-"]
    assert told(*frames) == [LOST, "reconnected after 2 s: 4 connections lost", "-"]


def test_threads_that_lose_theirs_together_tell_of_one():
    frames = [begun(1.5), begun(1.6), known(1.5, 2.0), interval(2), interval(3), known(1.6, 4.5)]
    frames += [interval(4), interval(5)]
    assert told(*frames) == [LOST, "reconnected after 3 s: 8 connections lost", "-"]


def test_what_is_lost_again_and_again_is_one():
    """A pooler that ends one session after another must not fill the screen."""
    frames: list[Frame] = []
    for second in range(1, 60):
        frames += [begun(second), known(second, second + 0.01, lost=1), interval(second)]
    frames += [interval(60), interval(61)]
    assert told(*frames) == [LOST, "reconnected after 58 s: 59 connections lost", "-"]


def test_each_of_two_is_told():
    one = [begun(1), known(1, 1.2), interval(1), interval(2)]
    other = [begun(7), known(7, 7.5), interval(7), interval(8)]
    again = "reconnected after {} s: 4 connections lost"
    assert told(*one, *other) == [LOST, again.format(0.2), LOST, again.format(0.5), "-"]


def test_one_that_does_not_end():
    said = told(begun(1), begun(1), interval(1), known(1, None), known(1, None))
    assert said == [LOST, "-", "8 connections lost, and not restored when the run ended"]


def test_who_is_had_again_is_not_told_as_missing():
    frames = [begun(1), begun(1), known(1, 1.2), known(1, 1.3), begun(1.5), known(1.5, None, 1)]
    said = "9 connections lost, 1 of them not restored when the run ended"
    assert told(*frames) == [LOST, "-", said]


def test_it_began_with_the_first_loss_also_where_another_was_heard_of_before():
    """With clients that connect for each transaction, a loss is known only after some refusals."""
    frames = [begun(1.5), begun(1.2), known(1.5, 2), known(1.2, 2.2), interval(2), interval(3)]
    frames += [interval(4)]
    assert told(*frames) == [LOST, "reconnected after 1 s: 8 connections lost", "-"]


def test_one_that_ends_with_the_run():
    said = told(begun(1), known(1, 1.5, lost=1))
    assert said == [LOST, "-", "reconnected after 0.5 s: 1 connection lost"]
