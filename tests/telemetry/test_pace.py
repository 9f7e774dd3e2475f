"""How often the sessions are looked at, by what a look costs."""

import pytest

from dbdyno.telemetry.pace import PACES, Stride, activity_interval_ns

MS_NS = 10**6


def stride(level: str, *costs_ms: float, cores: int = 2) -> Stride:
    made = Stride(PACES[level], cores)
    for cost_ms in costs_ms:
        made.learn(int(cost_ms * MS_NS))
    return made


@pytest.mark.parametrize(
    ("costs_ms", "steps"),
    [
        ((), 1),
        ((0.7,), 1),  # 50 times a second: 35 ms of the 40 that 2 % of two cores are
        ((1.5,), 2),
        ((2.5,), 4),
        ((30,), 38),
        ((400,), 250),  # never less than every five seconds
        ((30, 0.7, 30), 1),  # the others waited for a processor
    ],
)
def test_full_is_as_quick_as_it_is_cheap(costs_ms, steps):
    assert stride("full", *costs_ms).steps == steps


def test_what_a_look_cost_long_ago_is_forgotten():
    assert stride("full", 0.1, *[3] * 8).steps == 4


def test_basic_looks_twice_a_second_unless_a_look_is_very_dear():
    assert activity_interval_ns("basic") == 500 * MS_NS
    assert stride("basic", 9).steps == 1
    assert stride("basic", 80).steps == 8
    assert stride("basic", 400).steps == 10


def test_looks_are_as_far_apart_as_the_server_needs():
    assert Stride(PACES["full"], 2, apart_s=0.12).steps == 6
    assert Stride(PACES["basic"], 2, apart_s=0.12).steps == 1


def test_instants_that_passed_during_a_look_are_left_out():
    assert stride("full").after(7, passed=6) == 8
    assert stride("full").after(7, passed=20) == 21
    assert stride("full", 30).after(7, passed=7) == 45


def test_nobody_asks_when_it_is_off():
    assert activity_interval_ns("off") is None
