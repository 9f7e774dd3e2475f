import pytest

from dbdyno.report import words


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0"),
        (0.0261, "26.1 µs"),
        (0.9994, "999 µs"),
        (0.99951, "1 ms"),
        (1.004, "1 ms"),
        (118.4, "118 ms"),
        (999.4, "999 ms"),
        (999.6, "1 s"),
        (61234, "61.2 s"),
    ],
)
def test_times_have_three_digits_and_their_unit(value, written):
    assert words.milliseconds(value).replace(words.THIN_SPACE, " ") == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (123456, "123 456"),
        (99.96, "100"),
        (0.000471, "0.000471"),
        (3.2649e-05, "0.0000326"),
        (-5e-07, "-0.0000005"),
    ],
)
def test_three_digits_are_never_written_in_powers_of_ten(value, written):
    assert words.significant(value).replace(words.THIN_SPACE, " ") == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (-3, "−3 s"),
        (0.5, "0.5 s"),
        (119, "119 s"),
        (125, "2 min 5 s"),
        (5_400, "1 h 30 min"),
        (28_800, "8 h"),
    ],
)
def test_lengths_of_time(value, written):
    assert words.seconds(value).replace(words.THIN_SPACE, " ") == written


def test_sizes_and_shares():
    assert words.size(25276510208) == "23.5\u202fGiB"
    assert words.percent(0.000214) == "0.0214\u202f%"
    assert words.tps(69_712.4) == "69\u202f712"


@pytest.mark.parametrize(
    ("server", "written"),
    [
        ({}, "postgresql://u@/db?host=/gone"),
        (
            {"kind": "existing", "version": "15.18"},
            "postgresql://u@/db?host=/gone (PostgreSQL 15.18)",
        ),
        ({"kind": "private", "version": "15.18 (Debian 15)"}, "PostgreSQL 15.18, private"),
        ({"kind": "kept", "version": "18.6"}, "PostgreSQL 18.6, kept"),
    ],
)
def test_a_server_is_named_by_what_it_is_and_one_that_stays_by_its_address(server, written):
    assert words.where("postgresql://u@/db?host=/gone", server) == written
