"""What the server's CPU time was spent on: each rule on a made-up profile."""

import pytest

from dbdyno.explain.explain import explain
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import facts, made_run, table, with_looks, with_processors, with_profile
from tests.explain.rule_outcomes import executed, outcome_of
from tests.support.recordings import changed

ORDINARY = {("_bt_compare", "postgres"): 0.5, ("ExecScan", "postgres"): 0.3}
PART = {"socket_work": 0.8, "memory_work": 0.4}
"""Of the server's CPU time for the load; a fifth without an entry."""
CAUSES = {
    "jit_compilation": [("llvm::Something", "libLLVM-14.so.1")],
    "statement_logging": [("errfinish", "postgres"), ("vfs_write", "write", "kernel")],
    "page_copies": [("copy_page_to_iter", "pread64", "kernel")],
    "parse_and_plan": [("base_yyparse", "postgres"), ("standard_planner", "postgres")],
    "snapshot_work": [("GetSnapshotData", "postgres")],
    "spinning": [("s_lock", "postgres")],
    "tls_work": [("EVP_EncryptUpdate", "libcrypto.so.3")],
    "catalog_work": [("SearchCatCache1", "postgres"), ("InitPostgres", "postgres")],
    "memory_work": [("palloc", "postgres"), ("clear_page_erms", "exc_page_fault", "kernel")],
    "socket_work": [("unix_stream_read_generic", "recvfrom", "kernel")],
    "instruments": [("pgstat_report_activity", "postgres"), ("__vdso_gettimeofday", "[vdso]")],
    "trigger_work": [("AfterTriggerEndQuery", "postgres"), ("exec_stmt", "plpgsql.so")],
}
causes = pytest.mark.parametrize("rule", CAUSES)


def saturated(functions, sql="select 1"):
    """All 8 clients at work; 1.5 of 2 cores are the server's, 0.3 the load generator's."""
    run = with_looks(made_run(sql, seconds=20, ok=1000), (0, "", "", 8))
    run = with_processors(run, server=1.5, engine=0.3)
    run.levels("processes", {"count": 1}, of="server")
    run.counters("processes", {"run_queue_us": 6.5e6}, of="server")
    return with_profile(run, functions)


def with_cause(rule):
    of = CAUSES[rule]
    part = PART.get(rule, 0.2)
    return saturated(ORDINARY | {function: part / len(of) for function in of})


@causes
def test_its_share_is_that_of_the_clients_time_on_a_cpu_and_in_the_queue(rule):
    found = outcome_of(rule, with_cause(rule))
    assert isinstance(found, Finding), found
    us = 1500 * PART.get(rule, 0.2)
    part = us / (1200 + us)
    # A part of 1.5 cores of 8 clients, and of their queue a part of 1.5 of 1.8 cores in use.
    assert found.share == pytest.approx(part * (1.5 / 8 + 1.5 / 1.8 * 6.5 / 8), rel=0.02)
    assert found.severity == ("note" if rule == "socket_work" else "major")
    assert found.evidence["cpu_share"] == pytest.approx(part, rel=0.01)
    assert found.evidence["cpu_us"] == pytest.approx(us, rel=0.01)
    assert CAUSES[rule][0][0] in found.seen[0]


@causes
def test_a_load_without_it_has_no_such_finding(rule):
    assert isinstance(outcome_of(rule, saturated(ORDINARY)), NotFound)


@causes
def test_without_a_profile_it_could_not_look_and_says_what_helps(rule):
    run = with_processors(made_run("select 1"), server=1.5, engine=0.3)
    found = outcome_of(rule, run)
    assert isinstance(found, CouldNotLook)
    assert "not profiled" in found.reason


@pytest.mark.parametrize("rule", sorted(CAUSES.keys() - {"socket_work"}))
def test_it_comes_before_the_saturated_cpu(rule):
    shown = [one.id for one in explain(with_cause(rule).loaded()).findings]
    assert shown[0] == rule


SERVED = {("AllocSetAlloc", "postgres"): 0.2, ("SearchCatCache1", "postgres"): 0.2}


def test_what_serves_all_is_divided_by_the_functions_of_those_who_call_it():
    planning = {("standard_planner", "postgres"): 0.4, ("ExecScan", "postgres"): 0.2}
    found = outcome_of("parse_and_plan", saturated(planning | SERVED)).evidence
    assert found["own_share"] == pytest.approx(0.4, rel=0.01)
    assert found["cpu_share"] == pytest.approx(0.4 + 0.4 * 0.4 / 0.6, rel=0.01)
    assert found["most_share"] == pytest.approx(1.0, rel=0.01)


def test_planning_took_at_least_what_the_server_says():
    """Its functions took 30 %; by the server's clock, planning took 0.9 of 1.5 ms.

    The planner searches indexes, but receives nothing from clients.
    """
    plan = PlanFacts(statement=0, variant="custom", cost=9, nodes=(), text="", planning_ms=0.9)
    searching, receiving = ("_bt_compare", "postgres"), ("unix_recv", "recvfrom", "kernel")
    for mode, other, share in [
        ("simple", searching, 0.6),
        ("simple", receiving, 0.3),
        ("prepared", searching, 0.3),
    ]:
        functions = {("standard_planner", "postgres"): 0.3, other: 0.7}
        run = executed(saturated(functions).facts(ServerFacts(plans=(plan,))), times=20_000)
        run = changed(run, plan={"query_mode": mode})
        found = outcome_of("parse_and_plan", run)
        assert found.evidence["cpu_share"] == pytest.approx(share, rel=0.01)


def changing(hidden, sql="update accounts set v = 1 where id = :id"):
    functions = {("ExecCallTriggerFunc", "postgres"): 0.1, ("heap_update", "postgres"): 0.9}
    run = saturated(functions, sql).facts(facts(table("accounts")))
    run.counters("pg_stat_user_tables", {"n_tup_upd": 1000, "idx_scan": 1000}, of="accounts")
    run.counters("pg_stat_user_tables", {"n_tup_upd": 1000 * hidden}, of="audit")
    return outcome_of("trigger_work", run)


def test_statements_within_triggers_are_seen_by_the_tables_that_they_change():
    found = changing(hidden=6)
    assert found.evidence["hidden_part"] == pytest.approx(0.75)
    assert found.evidence["cpu_share"] == pytest.approx(0.1 + 0.75 * 0.9, rel=0.01)
    assert "no statement of the scripts names" in found.seen[1]
    assert changing(hidden=0).evidence["cpu_share"] == pytest.approx(0.1, rel=0.01)


def test_a_load_that_calls_procedures_has_no_trigger_for_all_of_its_work():
    functions = {("exec_stmt", "plpgsql.so"): 0.1, ("heap_update", "postgres"): 0.9}
    for sql, share in {"select pay(:id)": 0.1, "delete from bills where id = :id": 1.0}.items():
        run = saturated(functions, sql).facts(facts())
        run.counters("pg_stat_user_tables", {"n_tup_upd": 1000}, of="accounts")
        found = outcome_of("trigger_work", run)
        assert found.evidence["cpu_share"] == pytest.approx(share, rel=0.01)


def looking_up(partitions):
    sql = "select v from lines where code = :c"
    nodes = [("Index Scan", f"lines_{number}", 1.0) for number in range(partitions)]
    plan = PlanFacts(statement=0, variant="custom", cost=9, nodes=(*nodes,), text="")
    functions = {
        ("standard_planner", "postgres"): 0.5,
        ("heap_fetch", "postgres"): 0.4,
        ("unix_poll", "recvfrom", "kernel"): 0.1,
    }
    return executed(saturated(functions, sql).facts(ServerFacts(plans=(plan,))), times=20_000)


def test_partitions_that_a_plan_reads_beside_the_one_are_its_cost():
    found = outcome_of("many_partitions", looking_up(40))
    assert found.evidence["cpu_share"] == pytest.approx(0.9 * 39 / 40, rel=0.01)
    assert "select v from lines" in found.seen[0]
    assert isinstance(outcome_of("many_partitions", looking_up(8)), NotFound)


def test_what_a_larger_cache_saves_is_at_least_what_fetches_no_page_from_memory():
    reading = {
        ("copy_page_to_iter", "pread64", "kernel"): 0.2,
        ("vfs_read", "pread64", "kernel"): 0.1,
    }
    looking = {("generic_file_llseek", "lseek", "kernel"): 0.3}
    found = outcome_of("page_copies", saturated(ORDINARY | reading)).evidence
    assert found["saved_share"] == pytest.approx(found["cpu_share"] / 3, rel=0.01)
    assert isinstance(outcome_of("page_copies", saturated(ORDINARY | looking)), NotFound)


def test_background_work_is_part_of_the_queue_for_a_cpu():
    run = saturated(ORDINARY)
    for kind, cores in {"client": 1.2, "cleanup": 0.25, "wal": 0.05}.items():
        run.counters("server_tasks", {"cpu_us": cores * 1e6}, of=kind)
    found = outcome_of("background_work", run)
    assert found.share == pytest.approx(0.3 / 1.8 * 6.5 / 8, rel=0.01)
    assert found.evidence["busiest"] == "cleanup"
    assert "vacuum" in found.advice[0]


def test_little_background_work_is_none():
    run = saturated(ORDINARY)
    for kind, cores in {"client": 1.48, "wal": 0.02}.items():
        run.counters("server_tasks", {"cpu_us": cores * 1e6}, of=kind)
    assert isinstance(outcome_of("background_work", run), NotFound)


def test_a_setting_whose_share_is_known_is_no_suspicion():
    settings = {"log_statement": "all", "fsync": "off"}
    suspected = made_run("select 1").facts(facts(**settings))
    assert len(outcome_of("distorting_settings", suspected).advice) == 2
    known = saturated(ORDINARY).facts(facts(**settings))
    assert len(outcome_of("distorting_settings", known).advice) == 1


def test_a_log_that_is_only_written_is_no_copy_of_pages():
    redo_log = saturated(ORDINARY | {("vfs_write", "pwrite64", "kernel"): 0.2})
    assert isinstance(outcome_of("page_copies", redo_log), NotFound)


def test_a_log_written_by_the_same_system_call_is_not_the_servers_messages():
    binlog = saturated(ORDINARY | {("vfs_write", "write", "kernel"): 0.2})
    assert isinstance(outcome_of("statement_logging", binlog), NotFound)


def in_mariadb(functions, mode="simple", **settings):
    run = saturated(functions).facts(facts(**settings))
    return changed(run.loaded(), plan={"query_mode": mode, "endpoint": {"protocol": "mysql"}})


PLANNING = {("JOIN::optimize", "mariadbd"): 0.4, ("MYSQLparse", "mariadbd"): 0.2}
READING = {("row_search_mvcc", "mariadbd"): 0.4}


def test_a_server_that_keeps_no_plans_saves_parsing_alone():
    found = outcome_of("parse_and_plan", in_mariadb(PLANNING | READING))
    assert found.evidence["own_share"] == pytest.approx(0.2, rel=0.01)
    assert "planned at each execution" in found.advice[0]
    prepared = in_mariadb(PLANNING | READING, mode="prepared")
    assert isinstance(outcome_of("parse_and_plan", prepared), NotFound)


def test_a_setting_says_that_system_calls_write_the_log():
    writing = READING | {("vfs_write", "write", "kernel"): 0.1}
    assert isinstance(outcome_of("statement_logging", in_mariadb(writing)), NotFound)
    found = outcome_of("statement_logging", in_mariadb(writing, general_log="ON"))
    assert found.evidence["cpu_share"] == pytest.approx(0.2, rel=0.01)
    assert "general_log = ON" in found.seen[-1]


def test_appending_to_a_log_copies_no_pages():
    writing = READING | {("vfs_write", "write", "kernel"): 0.1}
    assert isinstance(outcome_of("page_copies", in_mariadb(writing)), NotFound)


def test_little_instrumentation_is_spoken_of_where_a_setting_explains_it():
    counting = READING | {("start_mutex_wait", "mariadbd"): 0.03}
    assert isinstance(outcome_of("instruments", in_mariadb(counting)), NotFound)
    found = outcome_of("instruments", in_mariadb(counting, performance_schema="ON"))
    assert "performance_schema = ON" in found.seen[-1]
    assert "performance_schema = OFF" in found.advice[0]


def test_statements_within_triggers_are_counted_by_the_server():
    functions = {("sp_head::execute_trigger", "mariadbd"): 0.1, ("row_upd", "mariadbd"): 0.9}
    run = saturated(functions, "update accounts set v = 1 where id = :id").facts(facts())
    run.counters("global_status", {"Queries": 4000, "Questions": 1000})
    run = changed(run.loaded(), plan={"endpoint": {"protocol": "mysql"}})
    found = outcome_of("trigger_work", run)
    assert found.evidence["cpu_share"] == pytest.approx(0.1 + 0.75 * 0.9, rel=0.01)
    assert "sent by no client" in found.seen[1]
