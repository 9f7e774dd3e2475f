"""What is booked on which event, from testimonies that are made up: in ms."""

import math
from dataclasses import replace

import pytest

from dbdyno.run.bystanders import witness
from dbdyno.run.events.judging import Happened, judged
from dbdyno.run.events.planned import planned_event

FIRST, SECOND = 5_000, 35_000
"""When the two events begin; the first error comes 10 ms later, and a commit after 500 ms."""


def happened(event, begin_ms, *, is_followed=False):
    return Happened(
        event=planned_event(f"1s:{event}"),
        begin_ns=begin_ms * 10**6,
        end_ns=(begin_ms + 400) * 10**6,
        error="",
        is_followed=is_followed,
    )


def told(lost_ms=(), servers=(), *, outages_ms=(FIRST, SECOND), until_ms=60_000):
    """Two clients commit every 10 ms; one sees an outage 5 ms later than the other."""
    acknowledged = []
    for number in (0, 5):
        for at_ms in range(number, until_ms, 10):
            is_out = any(one + 10 + number < at_ms < one + 500 for one in outages_ms)
            acknowledged += [] if is_out else [at_ms]
    return witness.Testimony(
        acknowledged_ns=sorted(at_ms * 10**6 for at_ms in acknowledged),
        errors_ns=sorted((one + 10 + late) * 10**6 for one in outages_ms for late in (0, 5)),
        resumed_ns=sorted((one + 500 + late) * 10**6 for one in outages_ms for late in (0, 5)),
        lost_ns=None if lost_ms is None else sorted(at_ms * 10**6 for at_ms in lost_ms),
        servers=sorted((at_ms * 10**6, name) for at_ms, name in servers),
        ended_ns=60_000 * 10**6,
    )


@pytest.mark.parametrize(
    ("lost_ms", "lost", "losses_ms"),
    [
        ([FIRST + 15], [1, 0], [0, None]),  # after the first error, by another client
        ([FIRST - 90], [1, 0], [105, None]),
        ([FIRST + 505], [0, 1], [None, 29_510]),
        ([FIRST + 15, SECOND - 35], [1, 1], [0, 50]),
        ([SECOND + 600], [0, 1], [None, 0]),  # there is no other that could have lost it
        (None, [None, None], [None, None]),
    ],
)
def test_an_event_may_lose_what_was_acknowledged_until_there_was_a_server_again(
    lost_ms, lost, losses_ms
):
    both = [happened("kill-server", FIRST), happened("kill-server", SECOND)]
    seen = told(lost_ms)
    first, second = judged(both, seen, 1000.0, 10**9)
    assert [first.lost, second.lost] == lost
    assert [first.lost_ms, second.lost_ms] == losses_ms
    assert (first.first_error_ms, first.first_commit_ms) == (10, 500)
    until_ns = (SECOND + 500) * 10**6
    acknowledged = sum(at_ns < until_ns for at_ns in seen.acknowledged_ns)
    assert first.acknowledged + second.acknowledged == acknowledged


def test_an_event_that_broke_nothing_has_lost_nothing_that_came_after_it():
    both = [happened("exec:true", FIRST), happened("kill-server", SECOND)]
    first, second = judged(both, told([SECOND], outages_ms=[SECOND]), 1000.0, 0)
    assert (first.first_error_ms, first.lost, second.lost, second.lost_ms) == (None, 0, 1, 15)
    assert first.acknowledged == sum(at < FIRST + 400 for at in range(0, 10**4, 5))
    assert (first.longest_pause_ms, second.longest_pause_ms) == (5, 485)


def test_commits_that_only_waited_are_a_pause_without_an_error():
    """As for a standby that is gone, until its primary goes on without it."""
    acknowledged = [at_ms for at_ms in range(0, 60_000, 5) if not 5_100 < at_ms < 15_100]
    seen = replace(told(outages_ms=[]), acknowledged_ns=[at_ms * 10**6 for at_ms in acknowledged])
    (one,) = judged([happened("exec:stop the standby", FIRST)], seen, 0.0, 0)
    assert (one.first_error_ms, one.first_commit_ms, one.longest_pause_ms) == (None, None, 10_000)


def test_commits_that_wait_to_the_end_are_a_pause():
    seen = told(outages_ms=[], until_ms=5_100)
    (one,) = judged([happened("exec:stop the standby", FIRST)], seen, 0.0, 0)
    assert one.longest_pause_ms == 60_000 - 5_095


ALLOWED_MS = 2000.0


@pytest.mark.parametrize(
    ("events", "outages_ms", "lost_ms", "lost", "losses_ms"),
    [
        # What the primary had, and its standby not: recovered after the kill, lost by the takeover.
        (("kill-server", "promote:1"), [FIRST, SECOND], [FIRST - 3000], [0, 1], None),
        # The takeover is no cause of what is missing by far less, and was allowed to be.
        (("kill-server", "promote:1"), [FIRST, SECOND], [FIRST - 1000], [1, 0], None),
        # Nothing else was lost by a command that no session noticed: it cuts no loss in two.
        (("exec:true", "kill-server"), [SECOND], [SECOND - 2500, SECOND - 5], [0, 2], [None, 2515]),
        (("cut:2s", "kill-server"), [FIRST, SECOND], [FIRST - 10], [1, 0], None),
    ],
)
def test_a_loss_is_booked_on_the_first_event_that_was_allowed_to(
    events, outages_ms, lost_ms, lost, losses_ms
):
    both = [happened(event, at_ms) for event, at_ms in zip(events, (FIRST, SECOND), strict=True)]
    seen = told(lost_ms, [(0, "one"), (FIRST + 600, "one")], outages_ms=outages_ms)
    found = judged(both, seen, ALLOWED_MS, 0)
    assert [one.lost for one in found] == lost
    if losses_ms:
        assert [one.lost_ms for one in found] == losses_ms


@pytest.mark.parametrize("event", ["cut:2s", "restart"])
def test_what_is_no_crash_may_lose_nothing(event):
    (one,) = judged([happened(event, FIRST)], told(), math.inf, 0)
    assert one.loss_allowed_ms == 0
    failed = replace(happened(event, FIRST), error="it did not shut down cleanly")
    (one,) = judged([failed], told(), 600.0, 0)
    assert one.loss_allowed_ms == 600


@pytest.mark.parametrize(
    ("servers", "allowed_ms"),
    [
        ([(0, "one"), (FIRST + 500, "one")], 0),
        ([(0, "one"), (FIRST + 500, "two")], None),
        ([(0, "one"), (FIRST + 500, "two"), (FIRST + 9000, "one")], None),
        ([(0, "two"), (100, "one"), (FIRST + 500, "one")], 0),
        ([(0, "one"), (SECOND + 500, "one")], None),  # nothing is known of the time between
        ([(FIRST + 500, "one")], None),
        ([], None),
    ],
)
def test_a_command_is_judged_by_what_one_host_promises_if_the_same_server_answers(
    servers, allowed_ms
):
    both = [happened("exec:ha switch", FIRST), happened("kill-server", SECOND)]
    command, killed = judged(both, told(servers=servers), 0.0, 0)
    assert command.loss_allowed_ms == allowed_ms
    assert killed.loss_allowed_ms == 0, "it is started again on its data"


@pytest.mark.parametrize(("is_followed", "allowed_ms"), [(True, 0), (False, None)])
def test_a_takeover_is_judged_by_whether_commits_wait_for_it(is_followed, allowed_ms):
    (one,) = judged([happened("promote:1", FIRST, is_followed=is_followed)], told(), 0.0, 0)
    assert one.loss_allowed_ms == allowed_ms


@pytest.mark.parametrize(("promised_ms", "allowed_ms"), [(0.0, 0), (600.0, 600), (math.inf, None)])
def test_a_killed_server_may_lose_what_its_settings_allow(promised_ms, allowed_ms):
    (one,) = judged([happened("kill-server", FIRST)], told(), promised_ms, 0)
    assert one.loss_allowed_ms == allowed_ms
