"""What differences are derived from readings of cumulative counters, and which must not be."""

from dbdyno.telemetry.differences import Differences

SECOND_NS = 10**9


def follow(*readings, levels=()):
    differences = Differences("source", frozenset(levels))
    return [differences.take(n * SECOND_NS, reading, 7) for n, reading in enumerate(readings)]


def test_the_first_reading_has_levels_and_names_the_counters():
    (first,) = follow({"": {"hits": 100, "sessions": 3}}, levels=["sessions"])
    assert (first.deltas, first.levels) == ([("", "hits", 0)], [("", "sessions", 3)])
    assert (first.seconds, first.was_reset, first.cost_us) == (0.0, False, 7)


def test_growth_and_what_did_not_grow():
    _, second = follow(
        {"a": {"reads": 1, "hits": 5}, "b": {"reads": 1}},
        {"a": {"reads": 4, "hits": 5}, "b": {"reads": 2}},
    )
    assert second.deltas == [("a", "reads", 3), ("b", "reads", 1)]
    assert second.seconds == 1.0


def test_a_level_is_sent_when_it_changes_and_as_empty_once_it_is_gone():
    counts_over_time = follow(
        {"vacuum t": {"done": 1}},
        {"vacuum t": {"done": 1}},
        {"vacuum t": {"done": 2}},
        {},
        {},
        levels=["done"],
    )
    assert [counts.levels for counts in counts_over_time] == [
        [("vacuum t", "done", 1)],
        [],
        [("vacuum t", "done", 2)],
        [("vacuum t", "done", 0)],
        [],
    ]


def test_an_object_seen_for_the_first_time_has_no_growth():
    _, second, third = follow(
        {"old": {"reads": 1}},
        {"old": {"reads": 1}, "new": {"reads": 100, "hits": 2}},
        {"old": {"reads": 1}, "new": {"reads": 103, "hits": 2}},
    )
    assert second.deltas == [("new", "hits", 0)]
    assert third.deltas == [("new", "reads", 3)]


def test_counters_that_shrank_were_set_back_and_their_growth_is_not_known():
    counts_over_time = follow(
        {"a": {"reads": 10}, "b": {"reads": 10}},
        {"a": {"reads": 2}, "b": {"reads": 12}},
        {"a": {"reads": 5}, "b": {"reads": 13}},
    )
    assert [counts.was_reset for counts in counts_over_time] == [False, True, False]
    assert counts_over_time[1].deltas == []
    assert counts_over_time[2].deltas == [("a", "reads", 3), ("b", "reads", 1)]


def test_a_reset_is_known_by_its_time_even_when_counters_have_passed_where_they_were():
    counts_over_time = follow(
        {"": {"commits": 10}},
        {"": {"commits": 50, "stats_reset": 1000.0}},
        {"": {"commits": 60, "stats_reset": 1000.0}},
    )
    assert [counts.was_reset for counts in counts_over_time] == [False, True, False]
    assert counts_over_time[2].deltas == [("", "commits", 10)]


def test_after_a_break_nothing_is_held_against_what_was_before():
    differences = Differences("source", frozenset())
    differences.take(0, {"": {"commits": 10}}, 0)
    differences.forget()
    again = differences.take(SECOND_NS, {"": {"commits": 30}}, 0)
    assert (again.deltas, again.was_reset) == ([], True)
    assert differences.take(2 * SECOND_NS, {"": {"commits": 31}}, 0).deltas == [("", "commits", 1)]
