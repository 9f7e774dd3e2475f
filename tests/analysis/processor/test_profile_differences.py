"""Which function got slower, by the profiles of several runs."""

import random

import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.compare import compare
from tests.analysis.records import record
from tests.report.explained import FUNCTIONS
from tests.support.profiles import profile


def runs(number, seed, **slower):
    """Runs whose functions vary by 3 %, some slower by so many microseconds."""
    chance = random.Random(seed)

    def us(function, usual):
        return (usual + slower.get(function, 0.0)) * chance.gauss(1.0, 0.03)

    return [
        replace(
            record(1000.0),
            server_profile=profile({of: us(of[1], usual) for of, usual in FUNCTIONS.items()}),
        )
        for _ in range(number)
    ]


def test_the_function_that_got_slower_comes_first_and_alone_has_changed():
    found = compare(runs(5, 1), runs(5, 2, palloc=2.0), paired=True)
    first, *others = found.server_functions
    assert first.function == "palloc"
    assert first.has_changed
    assert first.low_us < 2.0 < first.high_us
    assert not any(other.has_changed for other in others)
    assert found.server_subsystems[0].subsystem == "memory"
    assert found.server_subsystems[0].difference_us == pytest.approx(2.0, abs=0.4)


def test_a_function_that_is_gone_is_as_much_a_difference():
    before = runs(5, 3)
    after = [
        replace(one, server_profile=profile(dict.fromkeys(list(FUNCTIONS)[:1], 9.0)))
        for one in runs(5, 4)
    ]
    found = {one.function: one for one in compare(before, after).server_functions}
    assert found["heap_fetch"].after_us == 0
    assert found["heap_fetch"].has_changed


SMALL = {("memory", "small"): 0.12, ("memory", "tiny"): 0.1, ("memory", "tinier"): 0.09}


def cut(one, number):
    """A run whose record has only so many functions."""
    its = one.server_profile
    return replace(one, server_profile=replace(its, functions=its.functions[:number]))


def test_a_function_does_not_differ_because_one_side_left_it_out():
    functions = FUNCTIONS | SMALL
    before, after = (
        [replace(one, server_profile=profile(functions)) for one in runs(5, seed)]
        for seed in (9, 10)
    )
    after = [cut(one, len(functions) - 2) for one in after]
    for first, second, of_tiny in (before, after, -0.1), (after, before, 0.1):
        found = {one.function: one for one in compare(first, second, paired=True).server_functions}
        tiny = found["tiny"]
        assert tiny.difference_us == pytest.approx(of_tiny)
        assert (tiny.has_changed, tiny.p) == (False, 1.0)
        assert tiny.low_us <= 0 <= tiny.high_us


def test_what_was_left_out_took_less_than_the_smallest_that_was_not():
    """A larger function is gone, whatever else was left out; it may have kept a little."""
    before = [replace(one, server_profile=profile(FUNCTIONS | SMALL)) for one in runs(5, 11)]
    less = {name: us for name, us in FUNCTIONS.items() if name[1] != "palloc"}
    after = [cut(replace(one, server_profile=profile(less | SMALL)), 5) for one in before]
    found = {one.function: one for one in compare(before, after, paired=True).server_functions}
    palloc = found["palloc"]
    assert palloc.has_changed
    assert (palloc.low_us, palloc.high_us) == pytest.approx((-2.0, -1.88))


def test_equal_variants_rarely_differ():
    """Of a hundred comparisons about five have a false alarm, however many functions they test."""
    alarms = 0
    for seed in range(100):
        found = compare(runs(5, seed), runs(5, seed + 1000), paired=True)
        alarms += any(one.has_changed for one in found.server_functions)
    assert alarms <= 12


def test_single_runs_show_differences_without_an_interval():
    found = compare(runs(1, 5), runs(1, 6, pfree=5.0))
    first = found.server_functions[0]
    assert (first.function, first.low_us, first.has_changed) == ("pfree", None, False)


def test_a_run_without_a_profile_leaves_nothing_to_compare():
    found = compare(runs(2, 7), [record(1000.0), *runs(1, 8)])
    assert found.server_functions == []
