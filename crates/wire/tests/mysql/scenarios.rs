//! The exchanges that are recorded and replayed.

use crate::driver::{Scenario, Step};
use Keep::{AllRows, LastRow, None as Nothing};
use Step::{
    Execute, InfileBegin, InfileDone, InfileRows, LongText, Prepare, PrepareAll, Queue, Run, Sync,
    Text,
};
use dbdyno_model::{Flow, Keep, QueryMode, Value};
use dbdyno_wire::mysql::Channel;

const INFILE: &str = "load data local infile 'rows' into table loaded";
const INFILE_TABLE: &str = "create temporary table loaded(a int, b varchar(20))";

/// The scenarios for MariaDB.
pub(crate) fn of_mariadb() -> Vec<Scenario> {
    [of_both(), mariadb_logins()].concat()
}

/// The scenarios for MySQL 8.
pub(crate) fn of_mysql() -> Vec<Scenario> {
    [of_both(), mysql_logins()].concat()
}

fn of_both() -> Vec<Scenario> {
    [logins(), texts(), parameterized(), scripted(), queues(), infiles(), troubles()].concat()
}

fn base(name: &'static str) -> Scenario {
    Scenario {
        name,
        user: "root",
        password: None,
        database: "test",
        query_mode: QueryMode::Prepared,
        channel: Channel::Unix,
        local_infile: false,
        session_commands: vec![],
        statements: vec![],
        steps: vec![],
    }
}

pub(crate) fn login(name: &'static str, user: &'static str, password: &str) -> Scenario {
    let steps = vec![Text("select substring_index(current_user(), '@', 1)", LastRow)];
    Scenario { user, password: Some(password.into()), steps, ..base(name) }
}

/// MySQL accepts no longer ones.
pub(crate) fn long_password() -> String {
    "a long password.".repeat(16)
}

fn logins() -> Vec<Scenario> {
    let plain = Channel::Plain;
    vec![
        Scenario { password: None, ..login("empty_password", "root", "") },
        login("native", "native_user", "secret"),
        Scenario { channel: plain, ..login("native_tcp", "native_user", "secret") },
        login("native_long", "long_user", &long_password()),
        login("native_wrong", "native_user", "sceret"),
        Scenario { database: "", ..login("without_database", "native_user", "secret") },
        Scenario { database: "nowhere", ..login("unknown_database", "root", "") },
        Scenario { channel: Channel::WantsTls { required: true }, ..login("tls", "root", "") },
        Scenario {
            session_commands: vec!["set autocommit = 0", "set @a = 7"],
            steps: vec![Text("select @@autocommit, @a", AllRows)],
            ..base("session_commands")
        },
        Scenario {
            session_commands: vec!["set autocommit = 0", "set no_such_variable = 1"],
            ..base("session_commands_fail")
        },
    ]
}

fn mariadb_logins() -> Vec<Scenario> {
    vec![
        login("ed25519", "ed25519_user", "secret"),
        login("ed25519_long", "long_ed25519_user", &long_password()),
        login("ed25519_wrong", "ed25519_user", "sceret"),
    ]
}

/// The order matters: the server remembers a password that was fully authenticated.
fn mysql_logins() -> Vec<Scenario> {
    let plain = Channel::Plain;
    let tls = Channel::WantsTls { required: true };
    vec![
        Scenario { channel: plain, ..login("sha2_rsa", "sha2_user", "secret") },
        Scenario { channel: plain, ..login("sha2_fast", "sha2_user", "secret") },
        login("sha2_socket", "sha2_socket_user", "secret"),
        Scenario { channel: tls, ..login("sha2_tls", "sha2_tls_user", "secret") },
        Scenario { channel: tls, ..login("sha2_tls_long", "long_sha2_user", &long_password()) },
        Scenario { channel: plain, ..login("sha2_rsa_wrong", "sha2_user", "sceret") },
        Scenario { channel: plain, ..login("sha2_rsa_long", "other_long_user", &long_password()) },
        login("sha2_empty", "sha2_empty_user", ""),
        Scenario { channel: plain, ..login("sha256_rsa", "sha256_user", "secret") },
        login("sha256_socket", "sha256_user", "secret"),
        Scenario { channel: tls, ..login("sha256_tls", "sha256_user", "secret") },
    ]
}

fn texts() -> Vec<Scenario> {
    let text = |name, steps| Scenario { query_mode: QueryMode::Simple, steps, ..base(name) };
    let several = "select 1 as a; select 1 as n, null as none union select 2, null; \
                   select 1 from dual where false; set @a = 1";
    vec![
        text("text_keeps_all", vec![Text(several, AllRows)]),
        text("text_keeps_last", vec![Text(several, LastRow)]),
        text(
            "text_counts",
            vec![Text(several, Nothing), Text("", Nothing), Text("begin", Nothing)],
        ),
        text(
            "text_error",
            vec![Text("select 1; select no_such_column; select 2", AllRows), Text("do 1", Nothing)],
        ),
        text(
            "transaction",
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
                Text("create temporary table t (n int) select 1 as n union select 2", Nothing),
                Text("update t set n = n + 1; delete from t where n > 2", Nothing),
                Text("insert into t values (1), (2), (3)", Nothing),
            ],
        ),
        text("long_value", vec![Text("select repeat('x', 70000), repeat('y', 300)", Nothing)]),
    ]
}

fn all_types() -> Vec<Value> {
    vec![
        Value::Int(-3),
        Value::Int(i64::MAX),
        Value::Double(0.1),
        Value::Bool(true),
        Value::Text("h\u{e4}user".into()),
        Value::Null,
        Value::Text("x".repeat(300)),
    ]
}

const COLUMNS: &str = "create temporary table typed (t tinyint, u tinyint unsigned, s smallint, \
     m mediumint, i int, b bigint unsigned, f float, d double, n decimal(10,3), day date, \
     moment datetime(3), span time(2), y year, c char(5), x blob, bits bit(4), e enum('a','b'))";
const VALUES: &str = "insert into typed values (-1, 255, -32768, -8388608, -2147483648, \
     18446744073709551615, 0.5, -2.25, 12.345, '2026-11-21', '2026-11-21 01:02:03.456', \
     '-100:00:01.5', 2026, 'ab', x'00ff', b'101', 'b'), \
     (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, \
     null, null)";

fn parameterized() -> Vec<Scenario> {
    let statements = vec![
        "select $1 + 1 as next",
        "select $1, $2, $3, $4, $5, $6, $7",
        "select n from (select 1 as n union select 2 union select 3) as t where n <= $1 or n < $1",
        "insert into counted values ($2, $1)",
    ];
    let table = Text("create temporary table counted(a int primary key, b int)", Nothing);
    let steps = vec![
        table,
        Run(0, vec![Value::Int(41)], AllRows),
        Run(0, vec![Value::Int(41)], Nothing),
        Run(1, all_types(), AllRows),
        Run(1, vec![Value::Null; 7], LastRow),
        Run(2, vec![Value::Int(2)], Nothing),
        Run(2, vec![Value::Int(3)], LastRow),
        Run(0, vec![Value::Text("1.5".into())], AllRows),
        Run(3, vec![Value::Int(1), Value::Int(2)], Nothing),
        Run(3, vec![Value::Int(1), Value::Int(2)], Nothing),
        Run(3, vec![Value::Int(1), Value::Int(1 << 40)], Nothing),
        Run(3, vec![Value::Int(1), Value::Int(3)], Nothing),
    ];
    let mut ahead = steps.clone();
    ahead.insert(1, PrepareAll);
    let types = vec![
        Text(COLUMNS, Nothing),
        Text(VALUES, Nothing),
        Run(0, vec![], AllRows),
        Text("select * from typed", AllRows),
    ];
    let prepared = |name, steps| Scenario { statements: statements.clone(), steps, ..base(name) };
    vec![
        prepared("prepared_at_first_use", steps),
        prepared("prepared_ahead", ahead),
        Scenario {
            statements: vec!["select * from typed"],
            steps: types,
            ..base("every_type_in_binary")
        },
        late_table(),
        Scenario {
            statements: vec![
                "begin",
                "commit",
                "call several()",
                "unlock tables",
                "handler t close",
            ],
            steps: vec![
                Text(
                    "drop procedure if exists several; \
                     create procedure several() begin select 1 as a; select 2 as b; end",
                    Nothing,
                ),
                PrepareAll,
                Run(0, vec![], Nothing),
                Run(2, vec![], AllRows),
                Run(1, vec![], Nothing),
                Run(3, vec![], Nothing),
                Run(3, vec![], Nothing),
            ],
            ..base("prepared_transaction")
        },
    ]
}

/// The second statement's table does not exist before the first statement has run.
fn late_table() -> Scenario {
    let create = "create temporary table late select 1 as a";
    let steps = vec![PrepareAll, Run(0, vec![], Nothing), Run(1, vec![Value::Int(1)], AllRows)];
    let statements = vec![create, "select a from late where a = $1"];
    Scenario { statements, steps, ..base("prepared_after_failing_ahead") }
}

fn scripted() -> Vec<Scenario> {
    let one = || Execute(0, "select ? as one", vec![Value::Int(1)]);
    let steps = vec![
        Prepare(0, "select ? as one"),
        one(),
        one(),
        Prepare(0, "select ? as two"),
        Execute(0, "select ? as two", vec![Value::Text("2".into())]),
        Prepare(1, "select no_such_column"),
        Execute(1, "select no_such_column", vec![]),
        Execute(2, "select ? + ?", vec![Value::Int(1), Value::Int(2)]),
    ];
    vec![Scenario { query_mode: QueryMode::Simple, steps, ..base("prepared_by_script") }]
}

/// There are no pipelines: queued requests are sent one by one, whatever happened before.
fn queues() -> Vec<Scenario> {
    let statements = vec!["select $1 as n", "select no_such_column"];
    let number = |n| vec![Value::Int(n)];
    let steps = vec![
        Queue(0, number(1)),
        Queue(1, vec![]),
        Queue(0, number(2)),
        Sync(Flow::Queue),
        Queue(0, number(3)),
        Sync(Flow::Wait),
        Sync(Flow::Wait),
    ];
    vec![Scenario { statements, steps, ..base("queue") }]
}

fn infiles() -> Vec<Scenario> {
    let contents = || Text("select * from loaded", AllRows);
    let rows = || {
        vec![
            Text(INFILE_TABLE, Nothing),
            InfileBegin(INFILE),
            InfileRows(b"1\tone\n2\t"),
            InfileRows(b""),
            InfileRows(b"two\n\\N\t\\N\n"),
            InfileDone,
            contents(),
        ]
    };
    let asked_by_a_script = vec![Text(INFILE_TABLE, Nothing), Text(INFILE, Nothing), contents()];
    let nowhere = vec![InfileBegin(INFILE), Text("select 1", Nothing)];
    let infile = |name, steps| Scenario { local_infile: true, steps, ..base(name) };
    vec![
        infile("infile", rows()),
        infile("infile_refused_in_text", asked_by_a_script.clone()),
        infile("infile_nowhere", nowhere),
        Scenario { local_infile: false, ..infile("infile_not_allowed", asked_by_a_script) },
    ]
}

fn troubles() -> Vec<Scenario> {
    vec![
        Scenario { steps: vec![Text("kill connection_id()", Nothing)], ..base("killed") },
        Scenario { user: "nobody", ..base("unknown_user") },
    ]
}

/// Packets of 16 MiB: too long to be recorded.
pub(crate) fn long_packets() -> Scenario {
    const MIB: usize = 1 << 20;
    let value = "select repeat('x', 17 * 1024 * 1024)";
    let steps = vec![
        LongText(16 * MIB - 2),
        LongText(16 * MIB - 1),
        LongText(16 * MIB),
        Text(value, Nothing),
        Text("select length(repeat('x', 17 * 1024 * 1024))", AllRows),
    ];
    Scenario { query_mode: QueryMode::Simple, steps, ..base("long_packets") }
}
