//! The exchanges that are recorded and replayed.

use crate::driver::{Scenario, Step};
use Keep::{AllRows, LastRow, None as Nothing};
use Step::{CopyBegin, CopyDone, CopyRows, PrepareAll, Queue, Run, Sync, Text};
use dbdyno_model::{Flow, Keep, QueryMode, Value};
use dbdyno_wire::postgres::{Channel, Version};

const COPY: &str = "copy pg_temp.loaded from stdin (format binary)";
const COPY_TABLE: &str = "create temp table loaded(a int4, b int8, c text, d timestamp)";

pub(crate) fn all() -> Vec<Scenario> {
    [logins(), texts(), parameterized(), pipelines(), copies(), troubles()].concat()
}

fn base(name: &'static str) -> Scenario {
    Scenario {
        name,
        user: "postgres",
        password: None,
        database: "postgres",
        query_mode: QueryMode::Prepared,
        version: Version::V3_2,
        channel: Channel::Plain,
        statements: vec![],
        steps: vec![],
    }
}

pub(crate) fn login(
    name: &'static str,
    user: &'static str,
    password: Option<&'static str>,
) -> Scenario {
    let steps = vec![Text("select current_user", LastRow)];
    Scenario { user, password, steps, ..base(name) }
}

fn logins() -> Vec<Scenario> {
    vec![
        login("trust", "postgres", None),
        Scenario { version: Version::V3_0, ..login("trust_3_0", "postgres", None) },
        login("password", "password_user", Some("secret")),
        login("md5", "md5_user", Some("secret")),
        login("scram", "scram_user", Some("secret")),
        login("wrong_password", "scram_user", Some("sceret")),
        login("no_password", "scram_user", None),
        Scenario { database: "nowhere", ..base("unknown_database") },
        login("rejected", "rejected_user", None),
    ]
}

fn texts() -> Vec<Scenario> {
    let text = |name, steps| Scenario { query_mode: QueryMode::Simple, steps, ..base(name) };
    let several =
        "select 1 as a; select n, null as none from generate_series(1, 3) n; select 1 where false";
    vec![
        text("text_keeps_all", vec![Text(several, AllRows)]),
        text("text_keeps_last", vec![Text(several, LastRow)]),
        text(
            "text_counts",
            vec![Text(several, Nothing), Text("", Nothing), Text("begin", Nothing)],
        ),
        text(
            "text_error",
            vec![Text("select 1; select 1/0; select 2", AllRows), Text("select 3", AllRows)],
        ),
        text(
            "error_in_transaction",
            vec![
                Text("begin", Nothing),
                Text("select no_such_column", Nothing),
                Text("select 1", Nothing),
                Text("rollback", Nothing),
            ],
        ),
        text(
            "rows_affected",
            vec![
                Text("create temp table t as select n from generate_series(1, 10) n", Nothing),
                Text("update t set n = n + 1; delete from t where n > 9", Nothing),
                Text("insert into t select 1 from generate_series(1, 4)", Nothing),
            ],
        ),
        text(
            "notice",
            vec![Text("do $$begin raise notice 'hello'; raise warning 'beware'; end$$", Nothing)],
        ),
        text(
            "asynchronous",
            vec![
                Text("listen bell; notify bell, 'rings'", Nothing),
                Text("set application_name to 'other'", Nothing),
            ],
        ),
    ]
}

fn parameterized() -> Vec<Scenario> {
    let statements = vec![
        "select $1::int4 + 1 as next",
        "select $1::int2, $2::int8, $3::float8, $4::bool, $5::text, $6::float4, $7::numeric",
        "select n from generate_series(1, $1) n",
    ];
    let all_types = vec![
        Value::Int(-3),
        Value::Int(i64::MAX),
        Value::Double(0.1),
        Value::Bool(true),
        Value::Text("häuser".into()),
        Value::Double(0.1),
        Value::Int(12),
    ];
    let steps = vec![
        Run(0, vec![Value::Int(41)], AllRows),
        Run(0, vec![Value::Int(41)], Nothing),
        Run(1, all_types, AllRows),
        Run(1, vec![Value::Null; 7], LastRow),
        Run(2, vec![Value::Int(3)], Nothing),
        Run(2, vec![Value::Int(3)], LastRow),
        Run(0, vec![Value::Int(1 << 40)], Nothing),
        Run(0, vec![Value::Text("x".into())], Nothing),
    ];
    let ahead = [vec![PrepareAll], steps.clone()].concat();
    let prepared = |name, steps| Scenario { statements: statements.clone(), steps, ..base(name) };
    vec![
        Scenario { query_mode: QueryMode::Extended, ..prepared("extended", steps.clone()) },
        prepared("prepared_at_first_use", steps),
        prepared("prepared_ahead", ahead),
        temporary_table(),
        forgotten_statements(),
    ]
}

/// The second statement's table does not exist before the first statement has run.
fn temporary_table() -> Scenario {
    let create = "create temp table late as select 1 as a";
    let steps = vec![PrepareAll, Run(0, vec![], Nothing), Run(1, vec![Value::Int(1)], AllRows)];
    let statements = vec![create, "select a from late where a = $1"];
    Scenario { statements, steps, ..base("prepared_after_failing_ahead") }
}

fn forgotten_statements() -> Scenario {
    let again = || Run(0, vec![], AllRows);
    let steps = vec![PrepareAll, again(), Text("discard all", Nothing), again(), again()];
    let widened = vec![
        Text("create temp table wide as select 1 as a", Nothing),
        Run(1, vec![], AllRows),
        Text("alter table wide add b int", Nothing),
        Run(1, vec![], AllRows),
        Run(1, vec![], AllRows),
    ];
    let steps = [steps, widened].concat();
    let statements = vec!["select 1 as one", "select * from wide"];
    Scenario { statements, steps, ..base("prepared_and_forgotten") }
}

fn pipelines() -> Vec<Scenario> {
    let statements = vec!["select $1::int4 as n", "select 1 / $1::int4"];
    let pipeline = |name, steps| Scenario { statements: statements.clone(), steps, ..base(name) };
    let number = |n| vec![Value::Int(n)];
    let good = vec![
        Queue(0, number(1)),
        Queue(1, number(1)),
        Sync(Flow::Queue),
        Queue(0, number(2)),
        Sync(Flow::Wait),
    ];
    let bad = vec![
        Queue(0, number(1)),
        Queue(1, number(0)),
        Queue(0, number(2)),
        Sync(Flow::Queue),
        Queue(0, number(3)),
        Sync(Flow::Wait),
        Run(0, number(4), Nothing),
    ];
    let bad_wait =
        vec![Queue(1, number(0)), Run(0, number(1), Nothing), Run(0, number(2), Nothing)];
    let ahead = |steps: Vec<Step>| [vec![PrepareAll], steps].concat();
    vec![
        pipeline("pipeline", ahead(good.clone())),
        pipeline("pipeline_at_first_use", good),
        pipeline("pipeline_error", ahead(bad.clone())),
        pipeline("pipeline_error_at_first_use", bad.clone()),
        pipeline("pipeline_error_then_wait", bad_wait),
        Scenario { query_mode: QueryMode::Extended, ..pipeline("pipeline_error_extended", bad) },
    ]
}

fn copies() -> Vec<Scenario> {
    let table = || Text(COPY_TABLE, Nothing);
    let contents = || Text("table pg_temp.loaded", AllRows);
    let copy = |name, steps| Scenario { steps, ..base(name) };
    let refused = vec!["copy (select 1) to stdout", "copy pg_temp.loaded from stdin"];
    vec![
        copy("copy_in", vec![table(), CopyBegin(COPY), CopyRows, CopyDone, contents()]),
        copy("copy_in_nowhere", vec![CopyBegin(COPY), Text("select 1", Nothing)]),
        copy(
            "copy_in_wrong_columns",
            vec![
                Text("create temp table loaded(a int4)", Nothing),
                CopyBegin(COPY),
                CopyRows,
                CopyDone,
                contents(),
            ],
        ),
        copy(
            "copy_refused_in_text",
            vec![
                table(),
                Text("copy pg_temp.loaded from stdin", Nothing),
                Text("copy (select 1) to stdout; select 2", AllRows),
                contents(),
            ],
        ),
        Scenario {
            statements: refused,
            ..copy(
                "copy_refused_prepared",
                vec![
                    table(),
                    Run(0, vec![], Nothing),
                    Run(1, vec![], Nothing),
                    Run(1, vec![], Nothing),
                    contents(),
                ],
            )
        },
    ]
}

fn troubles() -> Vec<Scenario> {
    let deferred = vec![
        Text(
            "create temp table u(a int constraint once unique deferrable initially deferred); \
             insert into u values (1)",
            Nothing,
        ),
        Run(0, vec![Value::Int(1)], Nothing),
        Queue(0, vec![Value::Int(1)]),
        Sync(Flow::Wait),
        Text("table u", AllRows),
    ];
    vec![
        Scenario {
            statements: vec!["insert into u values ($1)"],
            steps: deferred,
            ..base("error_at_commit")
        },
        Scenario {
            steps: vec![Text("select pg_terminate_backend(pg_backend_pid())", Nothing)],
            ..base("terminated")
        },
    ]
}
