"""The offset of two clocks, by hand and for any network."""

from hypothesis import given, strategies

from dbdyno.fleet.clocks import FIT_EVERY_NS, Drift, Offset, exchanged

TIMES = strategies.integers(0, 10**9)


def test_an_exchange_by_hand():
    """Theirs is 1000 ahead; 30 to them, 5 there, 10 back."""
    assert exchanged(100, 1130, 1135, 145) == Offset(round_trip_ns=40, offset_ns=1010)


@given(strategies.integers(-(10**15), 10**15), TIMES, TIMES, TIMES)
def test_the_bound_holds_whatever_the_ways_take(ahead, there, work, back):
    asked = 10**6
    received = asked + there + ahead
    found = exchanged(asked, received, received + work, asked + there + work + back)
    assert abs(found.offset_ns - ahead) <= found.bound_ns


def test_the_quickest_exchange_says_most():
    assert min([Offset(9, 1), Offset(4, 2), Offset(6, 3)]) == Offset(4, 2)


def test_drift_is_what_the_bounds_do_not_explain():
    drift = Drift(Offset(100, 1000))
    drift.take(0, Offset(200, 9999))
    drift.take(FIT_EVERY_NS, Offset(60, 5000))
    assert drift.latest == Offset(60, 5000)
    assert drift.drifted_ns == 4000 - 30 - 50
    quiet = Drift(Offset(100, 1000))
    quiet.take(0, Offset(100, 1090))
    quiet.take(FIT_EVERY_NS, Offset(100, 1080))
    assert quiet.drifted_ns == 0
