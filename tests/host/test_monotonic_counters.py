"""Counters that fall for reasons of the kernel's own."""

from dbdyno.host.observed_host import MonotonicCounters


def test_a_sum_taken_back_is_held_for_its_key_alone():
    continuity = MonotonicCounters()
    assert [continuity.held("a", value) for value in (5, 3, 7)] == [5, 5, 7]
    assert continuity.held("b", 1) == 1


def test_a_counter_that_begins_again_goes_on():
    continuity = MonotonicCounters()
    values = [continuity.unwrapped("a", value, 100) for value in (90, 10, 95, 5)]
    assert values == [90, 110, 195, 205]


def test_a_counter_that_was_set_back_is_seen_to_be():
    continuity = MonotonicCounters()
    assert [continuity.unwrapped("a", value, 100) for value in (40, 10)] == [40, 10]
