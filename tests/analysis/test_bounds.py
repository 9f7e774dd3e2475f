import math

import pytest

from dbdyno.analysis.search import bounds


def test_a_row_held_half_a_millisecond_by_each_transaction_bounds_at_2000():
    assert bounds.row_hold_bound_tps([(1.0, 0.0005)]) == pytest.approx(2000)


def test_one_of_ten_rows_is_touched_by_a_tenth_of_the_transactions():
    assert bounds.row_hold_bound_tps([(0.1, 0.0005)]) == pytest.approx(20_000)


def test_two_scripts_that_lock_the_same_row_share_its_time():
    half_and_half = [(0.5, 0.001), (0.5, 0.003)]
    assert bounds.row_hold_bound_tps(half_and_half) == pytest.approx(500)


def test_a_row_that_no_transaction_holds_sets_no_bound():
    assert bounds.row_hold_bound_tps([]) == math.inf


def test_two_clients_on_two_rows_hold_one_and_a_half_on_average():
    assert bounds.expected_distinct(2, 2) == pytest.approx(1.5)


def test_a_hundred_clients_do_not_hold_more_than_the_ten_rows():
    assert 9.99 < bounds.expected_distinct(10, 100) < 10


def test_seven_statements_over_half_a_millisecond():
    assert bounds.round_trip_floor_s(7, 0.0005) == pytest.approx(0.0035)
    assert bounds.pipelining_saves_s(7, 0.0005) == pytest.approx(0.003)
    assert bounds.pipelining_saves_s(0, 0.0005) == 0


def test_flushes_of_two_milliseconds():
    assert bounds.commit_bound_tps(0.002) == pytest.approx(500)
    assert bounds.commit_bound_tps(0.002, commits_per_flush=8) == pytest.approx(4000)
    assert bounds.commit_bound_tps(0.0) == math.inf


def test_a_fifth_of_a_page_free_for_rows_of_a_hundred_bytes():
    assert bounds.free_row_versions(8168, 0.8, 100) == 16
    assert bounds.free_row_versions(8168, 1.0, 100) == 0


def test_a_cache_of_a_quarter_serves_a_quarter():
    assert bounds.cached_share(25, 100) == 0.25
    assert bounds.cached_share(200, 100) == 1.0
    assert bounds.cached_share(200, 0) == 1.0


def test_the_gain_is_bounded_by_the_next_resource():
    assert bounds.gain_factor(0.5) == 2.0
    assert bounds.gain_factor(0.5, next_utilization=0.9) == pytest.approx(1.11, abs=0.01)
    assert bounds.gain_factor(0.5, next_utilization=None) == 2
    assert bounds.gain_factor(1.0) == math.inf


def test_little():
    assert bounds.clients_at_work(2000, 0.004) == pytest.approx(8)
