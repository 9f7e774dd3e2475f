"""Temporary files: the setting that they exceed, and the statement."""

import pytest

from dbdyno.explain.rule import NotFound
from tests.explain.made import facts, made_run, table, with_looks
from tests.explain.rule_outcomes import executed, outcome_of

UPDATE = "UPDATE accounts SET balance = balance + :delta WHERE id = :id;"
UNITS = {"work_mem": "kB"}
THIN = "\u202f"


def sorting(files, *, wait=("", "")):
    run = made_run("SELECT * FROM accounts ORDER BY owner;", clients=4)
    run.facts(facts(table(), units=UNITS, work_mem="64"))
    run.counters("pg_stat_database", {"temp_files": files, "temp_bytes": files * 3 * 2**20})
    return with_looks(run, (0, *wait, 4))


def test_temporary_files_name_the_setting_and_the_statement():
    found = outcome_of("temporary_files", sorting(1000))
    assert found.severity == "minor"
    assert f"work_mem (64{THIN}KiB)" in found.summary
    assert f"1 temporary file and 3{THIN}MiB per transaction" in found.summary
    assert "ORDER BY owner" in found.seen[1]
    assert f"above 9{THIN}MiB" in found.advice[0]


@pytest.mark.parametrize("event", ["BufFileWrite", "BuffileWrite"])
def test_waits_for_them_count_however_the_server_spells_them(event):
    found = outcome_of("temporary_files", sorting(1000, wait=("IO", event)))
    assert found.severity == "critical"
    assert found.share > 0.5


def test_a_hash_in_many_files_needs_memory_for_all_of_them():
    run = made_run("SELECT count(*) FROM a JOIN b USING (id);")
    run.facts(facts(units=UNITS, work_mem="64"))
    counted = {"temp_files": 60_000, "temp_bytes": 1000 * 6 * 2**20}
    found = outcome_of("temporary_files", run.counters("pg_stat_database", counted))
    assert f"60 files of 102{THIN}KiB per transaction" in found.seen[0]
    assert f"above 18{THIN}MiB" in found.advice[0]


def test_few_temporary_files_are_a_note_and_none_are_nothing():
    few = outcome_of("temporary_files", sorting(20))
    assert (few.severity, few.certainty) == ("note", "likely")
    for files in (0, 1):
        assert isinstance(outcome_of("temporary_files", sorting(files)), NotFound)


def test_where_few_executions_write_a_file_no_size_is_advised():
    found = outcome_of("temporary_files", executed(sorting(20).latency(0, 0.1)))
    assert "Most executions write none" in found.advice[0]


def test_few_temporary_files_beside_lookups_are_another_sessions():
    run = made_run(UPDATE).facts(facts(units=UNITS, work_mem="64"))
    run.counters("pg_stat_database", {"temp_files": 1, "temp_bytes": 2**23})
    assert isinstance(outcome_of("temporary_files", run), NotFound)
