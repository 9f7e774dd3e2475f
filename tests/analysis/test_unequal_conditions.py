"""What differs between two sides: each kind of condition, the most serious first."""

import dataclasses

import pytest
from msgspec import convert
from msgspec.structs import replace

from dbdyno.analysis.compare.unequal_conditions import changed_plans, unequal
from dbdyno.analysis.compare.workload_parameters import workload_parameters
from dbdyno.databases.known import recorded_database
from dbdyno.model.host import HostDescription
from dbdyno.model.plan import Plan
from dbdyno.model.record import IntermediaryRecord, IsolationRecord, StatementRecord
from dbdyno.model.recorded_schema import RecordedSchema
from dbdyno.model.run import Conditions, RecordedServer
from dbdyno.model.telemetry import ServerFacts
from tests.analysis.records import record

DURABLE = {"fsync": "on", "synchronous_commit": "on"}
SCRIPT = {"name": "one", "weight": 1, "text": "select 1;\n" * 20}

PLAN = {
    "endpoint": {"address": {"unix": {"path": "/made"}}, "user": "me", "database": "made"},
    "seed": 1,
    "threads": 1,
    "clients": 8,
    "arrivals": {"closed": {"think": {"law": "constant", "mean_ns": 0}}},
    "stages": [{"duration_ns": 10**10, "clients": None, "rate_tps": None}],
    "variables": {"scale": 1},
    "scripts": [SCRIPT],
    "retry": {"tries_max": 1, "time_max_ns": None},
}


def conditions(
    *, plan=None, host=None, server=None, size=100, settings=(), schema=None, **described
):
    known = {"product": "postgres", "version": "15.1", "promise": "full", "durability": DURABLE}
    told = {
        "settings": [{"name": n, "value": v, "unit": ""} for n, v in settings],
        "database_bytes": size,
        **(server or {}),
    }
    machine = {"name": "here", "cpu": {"cores_available": 2}, **(host or {})}
    return Conditions(
        record=replace(record(100), server={**known, **described}),
        plan=convert({**PLAN, **(plan or {})}, Plan),
        database=recorded_database(told, "postgresql"),
        server=convert(told, RecordedServer),
        host=convert(machine, HostDescription),
        schema=convert(schema, RecordedSchema) if schema else None,
    )


def isolated(level: str, access_mode: str = "read write") -> Conditions:
    found = IsolationRecord(level=level, is_requested=True, access_mode=access_mode)
    return recorded(conditions(), isolation=found)


def test_isolation_is_compared_where_every_run_has_it():
    before = isolated("repeatable-read")
    assert unequal([before], [isolated("serializable", "read only")]) == [
        "Different transactions: the access mode is read write in before, read only in after",
        "Different transactions: the isolation level is repeatable-read in before, serializable in "
        "after",
    ]
    assert unequal([conditions()], [before]) == []


def recorded(run, **changes):
    """The run with another record."""
    return dataclasses.replace(run, record=replace(run.record, **changes))


def test_what_connections_go_through_is_compared_where_every_run_has_it():
    direct = recorded(conditions(), intermediaries=[])
    product = "PgBouncer 1.18.0"
    pooler = IntermediaryRecord(target="", kind="pooler", mode="session", product=product)
    pooled = recorded(conditions(), intermediaries=[pooler])
    assert unequal([direct], [direct]) == []
    assert unequal([conditions()], [pooled]) == []  # an older run
    (line,) = unequal([direct], [pooled])
    assert line.startswith("Different connections: what they go through")
    assert "nothing" in line
    assert "PgBouncer 1.18.0, a pooler in session mode" in line


def test_the_same_conditions_differ_in_nothing():
    assert unequal([conditions(), conditions()], [conditions()]) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            {"durability": {**DURABLE, "fsync": "off"}},
            "Unequal durability: fsync is on in before, off in after",
        ),
        (
            {"version": "18.1"},
            "Different server: the version is postgres 15.1 in before, postgres 18.1 in after",
        ),
        (
            {"settings": [("work_mem", "64MB")]},
            "Different setting: work_mem is the default in before, 64MB in after",
        ),
        (
            {"host": {"name": "there"}},
            "Different host: its name is here in before, there in after",
        ),
        (
            {"host": {"kernel": {"sched_autogroup_enabled": 1}}},
            "Different host: kernel.sched_autogroup_enabled is not set in before, 1 in after",
        ),
        (
            {"plan": {"scripts": [{**SCRIPT, "text": "select 2;"}]}},
            "Different workload: the text or weight of one differs",
        ),
        (
            {"plan": {"clients": 16}},
            "Different load: the number of clients is 8 in before, 16 in after",
        ),
        (
            {"plan": {"arrivals": {"open": {"law": "poisson"}}}},
            "Different load: the loop is closed in before, open, poisson in after",
        ),
        (
            {"plan": {"retry": {"tries_max": 0, "time_max_ns": 2_000_000_000}}},
            "Different load: the maximum number of attempts is 1 in before, without limit, for 2 s "
            "in after",
        ),
        ({"plan": {"variables": {"scale": 2}}}, "Different data: scale is 1 in before, 2 in after"),
        (
            {"size": 10_000},
            "Different data: the size of the database is 100\u202fB in before, 9.77\u202fKiB in "
            "after",
        ),
        (
            {"server": {"placement": {"asked": {"numa": "interleave"}, "verified": ["seen"]}}},
            "Different placement: numa is not set in before, interleave in after",
        ),
    ],
)
def test_each_condition_is_named(other, expected):
    assert unequal([conditions()], [conditions(**other)]) == [expected]


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ({"value": "32768", "unit": "8kB"}, "262144 kB"),
        ({"value": "-1", "unit": "8kB"}, "-1 8kB"),
        ({"value": "300", "unit": "s"}, "300 s"),
        ({"value": "", "unit": ""}, "empty"),
    ],
)
def test_the_value_of_a_setting_is_shown_in_its_unit(setting, shown):
    given = conditions(server={"settings": [{"name": "wanted", **setting}]})
    assert unequal([given], [conditions()]) == [
        f"Different setting: wanted is {shown} in before, the default in after"
    ]


def test_the_values_of_several_stages_are_listed():
    stages = [{"duration_ns": 10**10, "clients": n, "rate_tps": None} for n in (2, 8)]
    _, clients = unequal([conditions()], [conditions(plan={"stages": stages})])
    assert clients.endswith("of each stage is not set in before, 2, 8 in after")


def test_a_script_is_the_same_in_another_folder():
    """Two checkouts of one script; and two scripts of one name, of which one differs."""
    here, there = ({**SCRIPT, "name": f"/{folder}/app.sql"} for folder in ("old", "new"))
    assert (
        unequal([conditions(plan={"scripts": [here]})], [conditions(plan={"scripts": [there]})])
        == []
    )
    both, changed = [here, there], [here, {**there, "text": "select 2;"}]
    assert unequal(
        [conditions(plan={"scripts": both})], [conditions(plan={"scripts": changed})]
    ) == ["Different workload: the text or weight of app.sql differs"]


def schema_of(left_out=0, routines=None, **tables):
    return {
        "tables": {name: {"definition": "table", "parts": parts} for name, parts in tables.items()},
        "routines": routines or {},
        "left_out": left_out,
    }


ITEMS = schema_of(items={"index items_pkey": "primary key btree (id)"})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            schema_of(items={**ITEMS["tables"]["items"]["parts"], "index by_day": "btree (day)"}),
            ["index by_day of items is absent in before, btree (day) in after"],
        ),
        (
            schema_of(items={"index items_pkey": "primary key hash (id)"}),
            [
                "index items_pkey of items is primary key btree (id) in before, "
                "primary key hash (id) in after"
            ],
        ),
        # A new table, whose parts are as new as it is; and a routine.
        (
            {**schema_of(new={"column id": "int"}), "routines": {"f()": "begin"}}
            | {"tables": {**ITEMS["tables"], **schema_of(new={"column id": "int"})["tables"]}},
            [
                "f() is absent in before, begin in after",
                "new is absent in before, a table in after",
            ],
        ),
        # Tables were left out: what is missing may exist.
        (schema_of(left_out=3, new={}), []),
        ({}, []),
    ],
    ids=["index", "other index", "table", "left out", "not recorded"],
)
def test_each_difference_of_the_schema_is_named(schema, expected):
    found = unequal([conditions(schema=ITEMS)], [conditions(schema=schema)])
    assert found == [f"Different schema: {line}" for line in expected]


def test_a_long_definition_is_shown_by_its_beginning_if_that_tells_the_two_apart():
    texts = ["a" * 200 + "1", "a" * 200 + "2", "b" * 200]
    one, other, third = (conditions(schema=schema_of(items={"trigger t": text})) for text in texts)
    assert unequal([one], [other]) == ["Different schema: trigger t of items differs"]
    (line,) = unequal([one], [third])
    assert "aaa…" in line
    assert "bbb…" in line


def planned(*plans, product="postgres", schema=None):
    before = {
        "plans": [
            {
                "statement": 0,
                "variant": variant,
                "cost": 1.0,
                "text": "",
                "nodes": [[kind, "items", 5.0]],
                "indexes": [index],
            }
            for variant, kind, index in plans
        ]
    }
    run = recorded(
        conditions(product=product, schema=schema), statements=[statement("select 1 from items")]
    )
    return dataclasses.replace(run, before=convert(before, ServerFacts))


def statement(sql):
    return StatementRecord(
        script="one", index=0, sql=sql, count=1, mean_ms=1, p50_ms=1, p95_ms=1, p99_ms=1
    )


def test_another_plan_is_named_with_its_statement_and_indexes():
    seq = planned(("generic", "Seq Scan", ""), ("custom", "Seq Scan", ""))
    index = planned(("generic", "Seq Scan", ""), ("custom", "Index Scan", "by_day"))
    assert unequal([seq], [index]) == [
        "Different plan: that of “select 1 from items” is Seq Scan on items in before, "
        "custom: Index Scan on items using by_day; generic: Seq Scan on items in after"
    ]
    assert changed_plans([seq], [index]) == ["the plan of “select 1 from items” changed"]
    assert changed_plans([seq], [seq]) == []


def test_a_plan_that_varies_within_a_side_is_no_difference():
    """Of a small table, whose plans cost the same."""
    seq, index = planned(("custom", "Seq Scan", "")), planned(("custom", "Index Scan", "by_day"))
    assert unequal([seq, index], [index, index]) == []


def test_plans_and_schemas_of_two_products_are_not_compared():
    one = planned(("custom", "Seq Scan", ""), schema=ITEMS)
    primary = schema_of(items={"index PRIMARY": "btree (id)"})
    other = planned(("custom", "ALL", ""), product="mariadb", schema=primary)
    assert [line.partition(":")[0] for line in unequal([one], [other])] == ["Different server"]
    assert changed_plans([one], [other]) == []


def test_a_build_with_assertions_is_warned_of():
    builds = [{"debug assertions": value, "CFLAGS": "-O2"} for value in ("off", "on")]
    one, other = (conditions(server={"build": build}) for build in builds)
    (line,) = unequal([one], [other])
    assert line.startswith("Different build: debug_assertions is off in before, on in after: ")
    assert "compare only builds without them" in line


def test_another_version_of_dbdyno_is_named():
    built = conditions(server={"build": {"CFLAGS": "-O2"}})
    one, other = (recorded(built, dbdyno_version=version) for version in ("0.1", "0.2"))
    assert unequal([one], [other]) == [
        "Different build: the version of dbdyno is 0.1 in before, 0.2 in after"
    ]


def test_what_is_not_known_of_a_server_elsewhere_differs_in_nothing():
    elsewhere = conditions(host={"disk": None})
    assert unequal([elsewhere], [elsewhere]) == []


def test_a_parameter_that_only_the_data_knows_is_named():
    """No script reads the number of tables or the fillfactor: the plan's variables have neither."""
    command = ["oltp_read_only", "--define", "tables=4", "-c", "8"]
    other = recorded(conditions(), command=command)
    assert unequal([conditions()], [other]) == [
        "Different data: tables is not set in before, 4 in after"
    ]


def test_variables_of_scripts_are_not_data_parameters():
    counting = {**SCRIPT, "text": "\\set inserted :inserted + 1\n"}
    plan = {"scripts": [counting], "variables": {"scale": 1, "clients": 8, "inserted": 0}}
    run = conditions(plan=plan)
    assert workload_parameters(run.record, run.plan) == {"scale": 1}


def test_variables_of_a_workloads_lua_are_data_parameters_if_they_are_given():
    """Others are drawn for the run, or follow from parameters."""
    script = {**SCRIPT, "language": "lua"}
    drawn = {"scripts": [script], "variables": {"scale": 1, "hot": 5, "c_last": 157}}
    run = conditions(plan=drawn)
    assert workload_parameters(run.record, run.plan) == {"scale": 1}
    known = {run.record.workload: {"hot": "1000"}}
    assert workload_parameters(run.record, run.plan, known) == {"scale": 1, "hot": 5}
    given = recorded(run, command=["tpcc", "--define", "hot=5"])
    assert workload_parameters(given.record, given.plan) == {"scale": 1, "hot": 5}


def test_a_run_that_counts_transactions_has_no_length():
    counting = {"stages": [{"duration_ns": None, "clients": None, "rate_tps": None}]}
    other = conditions(plan={**counting, "transactions_per_client": 100})
    assert unequal([conditions()], [other]) == [
        "Different load: the measured time in seconds is 10.0 in before, not set in after",
        "Different load: the number of transactions per client is not set in before, 100 in after",
    ]


def test_durability_stands_before_all_else():
    other = conditions(
        plan={"clients": 16},
        version="18.1",
        promise="relaxed",
        durability={**DURABLE, "synchronous_commit": "off"},
    )
    found = unequal([conditions()], [other], ("A", "B"))
    assert [line.split(":")[0] for line in found] == [
        "Unequal durability",
        "Unequal durability",
        "Different server",
        "Different load",
    ]
    assert "the durability level is full in A, relaxed in B" in found[0]


def test_settings_that_match_no_durability_level_are_reported_as_such():
    mixed = conditions(promise=None, durability={**DURABLE, "full_page_writes": "off"})
    assert "is full in before, no known level in after" in str(unequal([conditions()], [mixed]))
    untold = conditions(promise=None, durability={})
    assert "is full in before, not known in after" in unequal([conditions()], [untold])[0]


def test_two_products_are_compared_only_in_what_both_have():
    other = conditions(
        product="mariadb",
        version="11",
        durability={"sync_binlog": "1"},
        settings=[("innodb_buffer_pool_size", "1G"), ("max_connections", "100")],
    )
    here = conditions(settings=[("shared_buffers", "1GB"), ("max_connections", "200")])
    found = unequal([here], [other])
    assert [line.split(" is ")[0] for line in found] == [
        "Different server: the version",
        "Different setting: max_connections",
    ]


def test_folders_of_private_servers_are_no_difference():
    runs = [conditions(settings=[("data_directory", f"/tmp/{name}")]) for name in "ab"]
    assert unequal(runs[:1], runs[1:]) == []


def test_differing_runs_of_one_variant_are_reported():
    found = unequal([conditions(), conditions(plan={"clients": 9})], [conditions()])
    assert found == ["Different load: the number of clients is 8 or 9 in before, 8 in after"]
