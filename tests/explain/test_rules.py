"""What holds for every rule: it is found, describes itself, and survives any recording."""

from functools import cache

import pytest

from dbdyno.analysis.summarize import has_its_rate
from dbdyno.databases.known import native_database
from dbdyno.explain.directness import COVERS
from dbdyno.explain.explain import outcome
from dbdyno.explain.registry import all_rules, page_of
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import Finding
from dbdyno.store.run import RunFolder
from tests.explain.made import facts, made_run, table
from tests.explain.make_golden import EXPLANATION, GOLDEN, arguments_of
from tests.store.hdr import HISTOGRAMS
from tests.support.recordings import MadeRun, changed

ENGINE_ONLY = {"schedule_lag", "connection_churn", "deadlocks", "unsteady", "cpu_generator"} | {
    "outage",
    "statements_lost",
    "failed_transactions",
    "tries_again",
    "statement_queue",
    "regular_dips",
}
"""Rules that need only what the engine itself measured, or are about imported runs."""

PROFILED = {
    *("jit_compilation", "page_copies", "parse_and_plan", "snapshot_work"),
    *("spinning", "statement_logging", "tls_work", "trigger_work"),
    *("background_work", "catalog_work", "instruments", "memory_work", "socket_work"),
}
"""Rules that need a profile of the server, which no golden run has (``test_work_rules.py``)."""

NEVER_FOUND = {
    # They need a hypervisor, a full load generator, a pooler, a machine of many cores, minutes of a
    # run, a report, a sysbench script, or another tool's text.
    "postgresql": {"cpu_steal", "cpu_generator", "lwlock", "plan_choice", "checkpoint_io"}
    | {"autovacuum_behind", "autovacuum_interference", "parallel_workers", "statements_lost"}
    | {"tries_again", "many_partitions", "statement_queue", "regular_dips"}
    | PROFILED,
    # The network is tested with PostgreSQL; a killed server of this kind stays away: the run fails.
    "mysql": {"cpu_steal", "cpu_generator", "round_trips", "outage", "tries_again"}
    | {"many_partitions", "statement_queue", "regular_dips"}
    | PROFILED,
}
"""Rules whose findings occur only in their own tests: no golden run has their cause."""
NEVER_QUIET = {"unsteady", "checkpoint_io", "autovacuum_interference"}
"""Rules for which runs of seconds are always too short, or lack a baseline."""

golden = pytest.mark.parametrize("folder", sorted(GOLDEN.glob("*")), ids=lambda one: one.name)
rules = pytest.mark.parametrize("rule", all_rules().values(), ids=lambda rule: rule.id)


@cache
def golden_run(folder):
    """One run for all rules, as in an explanation: most of the time goes into reading it."""
    return RunFolder(folder).load(HISTOGRAMS)


def outcome_of(rule, recording):
    results = outcome(rule, recording)
    assert isinstance(results, Finding | NotFound | CouldNotLook)
    return results


@rules
def test_it_is_named_as_its_file(rule):
    assert rule.look.__module__ == f"dbdyno.explain.rules.{rule.id}"


@rules
def test_each_rule_documents_what_it_looks_for_how_and_when_it_is_wrong(rule):
    page = page_of(rule)
    for part in (page.title, page.looks_for, page.arithmetic, page.source, page.wrong_when):
        assert len(part) > 20
    assert rule.title


def test_what_rules_cover_exists_and_none_covers_itself_by_way_of_others():
    left = {rule: set(others) for rule, others in COVERS.items()}
    assert left.keys() | set().union(*left.values()) <= all_rules().keys()
    while last := [rule for rule in left if not left[rule] & left.keys()]:
        for rule in last:
            del left[rule]
    assert not left


@rules
def test_all_rules_give_the_same_reason_for_a_run_that_measured_nothing(rule):
    results = outcome_of(rule, MadeRun(ok=0, seconds=0, warmup=0, done=False).loaded())
    assert results == CouldNotLook("nothing was measured")


@rules
def test_without_telemetry_it_could_not_look(rule):
    results = outcome_of(rule, made_run("update accounts set balance = 1 where id = 2").loaded())
    assert isinstance(results, CouldNotLook) or rule.id in ENGINE_ONLY, results


@rules
@golden
def test_it_survives_real_runs(rule, folder):
    results = outcome(rule, golden_run(folder))
    assert isinstance(results, Finding | NotFound | CouldNotLook)


@golden
def test_its_texts_on_real_runs_are_unchanged(folder):
    remedy = "look at them, then: python -m tests.explain.make_golden --words"
    assert arguments_of(folder) == (folder / EXPLANATION).read_text(encoding="utf-8"), remedy


@golden
def test_no_rule_promises_throughput_if_the_rate_is_set(folder):
    plan = {"arrivals": {"open": {"law": "poisson"}}}
    run = changed(golden_run(folder), plan=plan)
    results = [outcome(rule, run) for rule in all_rules().values()]
    gains = " ".join(one.gain for one in results if isinstance(one, Finding))
    assert not (has_its_rate(run) and ("hroughput" in gains or "TPS" in gains)), gains


@pytest.mark.parametrize("protocol", NEVER_FOUND)
def test_every_rule_fires_in_a_golden_run_and_is_quiet_in_another(protocol):
    fired, quiet = set(), set()
    runs = [golden_run(folder) for folder in GOLDEN.iterdir()]
    for run in (run for run in runs if run.database.protocol == protocol):
        results = {rule.id: outcome(rule, run) for rule in all_rules().values()}
        fired |= {name for name, one in results.items() if isinstance(one, Finding)}
        quiet |= {name for name, one in results.items() if isinstance(one, NotFound)}
    wanted = {rule.id for rule in all_rules().values() if rule.is_for(native_database(protocol))}
    assert wanted - fired == NEVER_FOUND[protocol]
    assert wanted - quiet == (NEVER_QUIET | PROFILED) & wanted


@pytest.mark.parametrize(
    "rule", ["hot_updates", "missing_index", "data_read", "temporary_files", "table_growth"]
)
def test_missing_readings_are_reported(rule):
    update = "UPDATE accounts SET balance = balance + :delta WHERE id = :id;"
    run = made_run(update).facts(facts(table())).read("machine")
    assert "was not read" in outcome_of(all_rules()[rule], run.loaded()).reason
