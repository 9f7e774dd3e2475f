"""Settings of two sides: what differs first, what one lacks as its default."""

from dbdyno.analysis.compare.setting_pairs import setting_pairs
from tests.analysis.test_unequal_conditions import conditions


def told(before, after):
    return [(one.name, one.before, one.after) for one in setting_pairs(before, after)]


def test_those_that_differ_come_first():
    here = conditions(settings=[("jit", "off"), ("work_mem", "8MB"), ("max_wal_size", "1GB")])
    there = conditions(settings=[("jit", "off"), ("work_mem", "64MB")])
    found = told([here], [there])
    assert found[:2] == [
        ("max_wal_size", "1GB", "the default"),
        ("work_mem", "8MB", "64MB"),
    ]
    assert ("jit", "off", "off") in found[2:]
    assert ("fsync", "on", "on") in found[2:]


def test_an_unequal_durability_level_is_among_them():
    there = conditions(promise="relaxed", durability={"synchronous_commit": "off", "fsync": "on"})
    assert told([conditions()], [there])[:2] == [
        ("synchronous_commit", "on", "off"),
        ("the durability level", "full", "relaxed"),
    ]


def test_several_runs_of_a_side_may_have_several_values():
    runs = [conditions(settings=[("work_mem", value)]) for value in ("8MB", "64MB")]
    assert told(runs, runs[:1])[0] == ("work_mem", "64MB or 8MB", "8MB")


def test_folders_of_private_servers_are_left_out():
    one = conditions(settings=[("data_directory", "/tmp/a")])
    other = conditions(settings=[("data_directory", "/tmp/b")])
    assert "data_directory" not in [name for name, *_ in told([one], [other])]


def test_a_server_of_another_product_has_no_default_of_what_it_does_not_know():
    here = conditions(settings=[("work_mem", "8MB"), ("port", "5432")])
    own = [("sort_buffer_size", "2M"), ("port", "3306")]
    there = conditions(product="mariadb", settings=own)
    found = told([here], [there])
    assert found[0] == ("port", "5432", "3306")
    assert ("sort_buffer_size", "–", "2M") in found
    assert ("work_mem", "8MB", "–") in found
    assert "the default" not in {value for _, *values in found for value in values}
