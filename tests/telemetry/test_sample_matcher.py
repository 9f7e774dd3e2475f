"""Samples and the engine's frames are paired by their instant, in whatever order they come."""

from dbdyno.model.frame import Activity
from dbdyno.telemetry.joining import SessionSample
from dbdyno.telemetry.sample_matcher import SampleMatcher


def look(at_ns: int) -> SessionSample:
    return SessionSample(at_ns=at_ns, seconds=1, cost_us=0, pending=lambda: ([], []))


def word(at_ns: int) -> Activity:
    return Activity(at_ns, b"", b"")


def instants(matcher: SampleMatcher) -> list[int]:
    return [its.at_ns for its, activity in matcher.pairs() if its.at_ns == activity.at_ns]


def test_they_meet_once():
    matcher = SampleMatcher()
    matcher.add_sample(look(2))
    matcher.add_activity(word(1))
    assert instants(matcher) == []
    matcher.add_sample(look(1))
    matcher.add_activity(word(2))
    assert instants(matcher) == [1, 2]
    assert instants(matcher) == []


def test_samples_that_are_never_matched_are_dropped_and_counted():
    matcher = SampleMatcher()
    for at_ns in range(1000):
        matcher.add_sample(look(at_ns))
        matcher.add_activity(word(at_ns - 5000))
    assert matcher.samples_lost == 872
    matcher.add_activity(word(999))
    assert instants(matcher) == [999]
    matcher.close()
    assert matcher.samples_lost == 999
