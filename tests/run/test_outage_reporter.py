"""The messages about an outage: one when it has begun, and one when it is over."""

from dbdyno.model.frame import Frame, Outage, OutageBegun
from dbdyno.run.measure import OutageReporter
from tests.support.frames import SECOND_NS, done, interval

LOST = "connections lost: gone; clients try to reconnect"


def begun(at_s: float) -> OutageBegun:
    return OutageBegun(int(at_s * SECOND_NS), "gone")


def known(begin_s: float, end_s: float | None, lost: int = 4) -> Outage:
    end_ns = None if end_s is None else int(end_s * SECOND_NS)
    return Outage(int(begin_s * SECOND_NS), end_ns, lost, "gone")


def reported(*frames: Frame) -> list[str]:
    """The messages about frames; those that come only at the run's end follow a dash."""
    messages: list[str] = []
    reporter = OutageReporter(lambda text: messages.append(text.replace("\u202f", " ")))
    for frame in frames:
        reporter.take(frame)
    messages.append("-")
    reporter.take(done())
    return messages


def test_an_outage_is_reported_at_once_and_when_it_is_over():
    frames = [begun(1.5), interval(1), interval(2), known(1.5, 3.5), interval(3), interval(4)]
    assert reported(begun(1.5)) == [LOST, "-"]
    assert reported(*frames) == [LOST, "reconnected after 2 s: 4 connections lost", "-"]


def test_threads_that_lose_connections_together_report_one_outage():
    frames = [begun(1.5), begun(1.6), known(1.5, 2.0), interval(2), interval(3), known(1.6, 4.5)]
    frames += [interval(4), interval(5)]
    assert reported(*frames) == [LOST, "reconnected after 3 s: 8 connections lost", "-"]


def test_repeated_losses_are_one_outage():
    """A pooler that ends one session after another must not fill the screen."""
    frames: list[Frame] = []
    for second in range(1, 60):
        frames += [begun(second), known(second, second + 0.01, lost=1), interval(second)]
    frames += [interval(60), interval(61)]
    assert reported(*frames) == [LOST, "reconnected after 58 s: 59 connections lost", "-"]


def test_each_of_two_outages_is_reported():
    one = [begun(1), known(1, 1.2), interval(1), interval(2)]
    other = [begun(7), known(7, 7.5), interval(7), interval(8)]
    again = "reconnected after {} s: 4 connections lost"
    assert reported(*one, *other) == [LOST, again.format(0.2), LOST, again.format(0.5), "-"]


def test_one_that_does_not_end():
    expected = reported(begun(1), begun(1), interval(1), known(1, None), known(1, None))
    assert expected == [LOST, "-", "8 connections lost, and not restored"]


def test_what_a_lost_worker_does_not_restore_ends_with_the_others():
    first = [begun(1), begun(1), known(1, None, lost=1), known(1, 2), interval(3), interval(4)]
    other = [begun(7), known(7, 7.5), interval(7), interval(8)]
    ended = "5 connections lost, 1 of them not restored"
    again = "reconnected after 0.5 s: 4 connections lost"
    assert reported(*first, *other) == [LOST, ended, LOST, again, "-"]


def test_a_restored_connection_is_not_reported_as_missing():
    frames = [begun(1), begun(1), known(1, 1.2), known(1, 1.3), begun(1.5), known(1.5, None, 1)]
    expected = "9 connections lost, 1 of them not restored"
    assert reported(*frames) == [LOST, "-", expected]


def test_an_outage_begins_with_the_first_loss_even_if_another_was_reported_before():
    """With clients that connect for each transaction, a loss is known only after some refusals."""
    frames = [begun(1.5), begun(1.2), known(1.5, 2), known(1.2, 2.2), interval(2), interval(3)]
    frames += [interval(4)]
    assert reported(*frames) == [LOST, "reconnected after 1 s: 8 connections lost", "-"]


def test_one_that_ends_with_the_run():
    expected = reported(begun(1), known(1, 1.5, lost=1))
    assert expected == [LOST, "-", "reconnected after 0.5 s: 1 connection lost"]
