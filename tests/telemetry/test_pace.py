"""How often sessions are sampled, depending on the cost of a sample."""

import pytest

from dbdyno.telemetry.pace import PACES, Costs, Pace, Stride, activity_interval_ns

MS_NS = 10**6


REST = 0.008
"""The share of the host that telemetry takes without session samples."""


QUICK = Pace(interval_ns=20 * MS_NS, share=0.028, samples_share=0.014, steps_max=250)
"""A pace with a high rate: samples may take 2 % of the host."""


def stride(pace: Pace = QUICK, cores: int = 2, rest: float = REST, apart_s: float = 0) -> Stride:
    return Stride(pace, cores, lambda: rest, apart_s)


def costs(sessions_ms: float, locks_ms: float = 0) -> Costs:
    return Costs(int(sessions_ms * MS_NS), int(locks_ms * MS_NS))


def steps(pace: Pace, cost_ms: float, cores: int = 2, rest: float = REST) -> int:
    return stride(pace, cores, rest).steps(costs(cost_ms))


@pytest.mark.parametrize(
    ("cost_ms", "wanted"),
    [
        (0, 1),
        (0.8, 1),  # 50 times a second: the 40 ms that are 2 % of two cores
        (0.9, 2),
        (4.0, 5),
        (4.1, 6),
        (30, 38),
        (400, 250),  # at least every five seconds
    ],
)
def test_looks_are_as_quick_as_they_are_cheap(cost_ms, wanted):
    assert steps(QUICK, cost_ms) == wanted


@pytest.mark.parametrize(
    ("cost_ms", "wanted"),
    [
        (0.64, 1),  # 25 times a second: the 16 ms that are 0.8 % of two cores
        (0.66, 2),
        (6.0, 10),
        (400, 125),
    ],
)
def test_full_telemetry_samples_as_often_as_its_budget_allows(cost_ms, wanted):
    assert steps(PACES["full"], cost_ms) == wanted


def test_the_cost_of_other_telemetry_reduces_the_budget_for_samples():
    taken = (0, 0.004, 0.008, 0.014)
    assert [steps(QUICK, 5.0, rest=rest) for rest in taken] == [5, 6, 7, 9]


def test_a_part_of_the_budget_is_for_samples_whatever_the_rest_takes():
    assert steps(QUICK, 5.0, rest=0.02) == steps(QUICK, 5.0, rest=0.014)


def test_a_larger_machine_has_a_budget_for_more_samples():
    assert steps(QUICK, 30, cores=64) == 2


def test_basic_samples_twice_a_second_unless_a_sample_is_very_expensive():
    assert activity_interval_ns("basic") == 500 * MS_NS
    assert steps(PACES["basic"], 3.5) == 1  # 7 ms a second: half of 0.7 % of two cores
    assert steps(PACES["basic"], 7) == 2
    assert steps(PACES["basic"], 400) == 10


def test_looks_are_as_far_apart_as_the_server_needs():
    assert stride(apart_s=0.12).steps(costs(0)) == 6
    assert stride(PACES["basic"], apart_s=0.12).steps(costs(0)) == 1


def test_instants_that_passed_during_a_sample_are_left_out():
    even = stride()
    assert even.after(7, passed=6, costs=costs(0)) == 8
    assert even.after(8, passed=20, costs=costs(0)) == 21
    assert even.after(21, passed=21, costs=costs(30)) > 50


def after_each(even: Stride, lasting: dict[int, int], cost_ms: float) -> list[int]:
    """Return the sampled instants of 40; a sample at one of ``lasting`` takes that many longer."""
    looked, number = [], 1
    while number <= 40:
        looked.append(number)
        passed = number + lasting.get(number, 0)
        number = even.after(number, passed, costs(cost_ms))
    return looked


def test_a_delayed_sample_does_not_move_those_after_it():
    held_up = {11: 6, 26: 9}
    assert after_each(stride(), {}, 4) == [1, 6, 11, 16, 21, 26, 31, 36]
    assert after_each(stride(), held_up, 4) == [1, 6, 11, 18, 21, 26, 36, 37]


def test_a_stall_ends_in_no_burst():
    assert after_each(stride(), {6: 20}, 4) == [1, 6, 27, 28, 33, 38]


def test_a_minimum_time_between_samples_also_applies_after_a_delayed_one():
    even = stride(apart_s=0.12)
    assert after_each(even, {7: 8}, 0) == [1, 7, 16, 22, 28, 34, 40]


@pytest.mark.parametrize(
    ("sessions_ms", "locks_ms", "wanted"),
    [
        (0.4, 0.1, (1, 1)),  # both fit
        (3.5, 1.5, (7, 7)),  # like one of 5 ms: locks take three tenths of it
        (3.5, 0.7, (6, 6)),
        (1.4, 3.0, (3, 13)),  # 1.4 ms of seven tenths of 40, and 3 ms of three tenths
        (0.1, 3.0, (1, 13)),
        (400, 400, (250, 250)),
    ],
)
def test_expensive_locks_are_sampled_more_rarely_than_sessions(sessions_ms, locks_ms, wanted):
    even, each = stride(), costs(sessions_ms, locks_ms)
    assert (even.steps(each), even.locks_steps(each)) == wanted


def at_locks(even: Stride, each: Costs, held_up: dict[int, int]) -> dict[int, bool]:
    """Return the sampled instants of 60, and which of them include the locks."""
    looked, number = {}, 1
    while number <= 60:
        looked[number] = even.is_at_locks(number)
        if looked[number]:
            even.locks_seen(number, each)
        number = even.after(number, number + held_up.get(number, 0), each)
    return looked


def test_the_first_two_samples_read_only_the_sessions():
    assert list(at_locks(stride(), costs(0.4, 0.1), {}).values())[:4] == [False, False, True, True]


def test_the_first_two_samples_read_only_the_sessions_even_if_they_come_late():
    late = stride()
    assert [late.is_at_locks(number) for number in (40, 60, 80)] == [False, False, True]


def test_locks_are_read_by_the_first_sample_after_their_instant():
    looked = at_locks(stride(), costs(1.4, 3.0), {})
    assert list(looked) == list(range(1, 61, 3))
    assert [number for number, is_at in looked.items() if is_at] == [7, 19, 31, 46, 58]


def test_locks_are_not_made_up_for_after_a_stall():
    looked = at_locks(stride(), costs(1.4, 3.0), {7: 30})
    assert [number for number, is_at in looked.items() if is_at] == [7, 38, 51]


def test_nothing_is_sampled_when_it_is_off():
    assert activity_interval_ns("off") is None
