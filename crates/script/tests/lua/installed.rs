//! The scripts of an installed sysbench, unmodified: each runs through all its commands, and sends
//! what sysbench sends.

// Tests read the installed scripts; the crate itself reads no files.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use crate::driver::{Client, nothing, settings, with_options};
use dbdyno_model::Script;
use dbdyno_script::lua::{Driver, Program, Settings, compile};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const FOLDER: &str = "/usr/share/sysbench";

fn modules() -> BTreeMap<String, String> {
    let folder = Path::new(FOLDER);
    let files = fs::read_dir(folder).expect("sysbench is installed: apt-get install sysbench");
    let lua = files
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "lua"));
    lua.map(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("a text"))
    })
    .collect()
}

fn program(name: &str, settings: Settings) -> Program {
    let modules = modules();
    let text = modules[name].clone();
    let script = Script { name: format!("{name}.lua"), weight: 1, text, ..Script::default() };
    compile(&script, Settings { modules, ..settings }).expect("no problem")
}

fn command(name: &str, command: &str, settings: Settings) -> Vec<String> {
    let program = program(name, Settings { command: command.into(), ..settings });
    let mut client = Client::of_command(&program, 0);
    client.run_to_end().expect("no fault");
    client.requests
}

fn run(name: &str, settings: Settings, events: u64) -> Vec<String> {
    Client::new(&program(name, settings), nothing).live(events).expect("no fault")
}

/// Statements without their values.
fn shapes(requests: &[String]) -> Vec<String> {
    requests.iter().map(|text| text.split(" (").next().unwrap_or_default().to_owned()).collect()
}

const PREPARED: [&str; 11] = [
    "BEGIN",
    "COMMIT",
    "SELECT c FROM sbtest1 WHERE id=?",
    "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
    "UPDATE sbtest1 SET k=k+1 WHERE id=?",
    "UPDATE sbtest1 SET c=? WHERE id=?",
    "DELETE FROM sbtest1 WHERE id=?",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
];

/// The texts of the statements that were executed, in order.
fn executed(requests: &[String]) -> Vec<&str> {
    let text_of = |number: &str| {
        let begin = format!("prepare {number}: ");
        requests.iter().find_map(|text| text.strip_prefix(&begin)).unwrap_or_default()
    };
    let numbers =
        requests.iter().filter_map(|text| text.strip_prefix("execute ")?.split(' ').next());
    numbers.map(text_of).collect()
}

fn prepares(texts: &[&str]) -> Vec<String> {
    texts.iter().enumerate().map(|(number, text)| format!("prepare {number}: {text}")).collect()
}

fn executes(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("execute {number}")).collect()
}

#[test]
fn read_write_has_its_twenty_statements() {
    let requests = run("oltp_read_write", settings(), 1);
    let (prepared, executed) = requests.split_at(PREPARED.len());
    assert_eq!(prepared, prepares(&PREPARED));
    let order = [0].into_iter().chain([2; 10]).chain([3, 4, 5, 6, 7, 8, 9, 10, 1]);
    assert_eq!(shapes(executed), executes(order));
    let id = |text: &String| text.split(['(', ',', ')']).nth(1).map(str::to_owned);
    assert_eq!(id(&executed[17]), id(&executed[18]), "the row that is deleted is inserted again");
}

#[test]
fn ranges_have_the_requested_size() {
    let requests = run("oltp_read_only", with_options(&["range_size=7"]), 1);
    let range = requests.iter().find(|text| text.starts_with("execute 3")).expect("a range");
    let ends: Vec<i64> =
        range[11..range.len() - 1].split(", ").map(|end| end.parse().expect("an id")).collect();
    assert_eq!(ends[1] - ends[0], 6);
}

#[test]
fn each_workload_has_its_statements() {
    let update_index = ["UPDATE sbtest1 SET k=k+1 WHERE id=?"];
    let update_non_index = ["UPDATE sbtest1 SET c=? WHERE id=?"];
    let delete = ["DELETE FROM sbtest1 WHERE id=?"];
    let point = ["SELECT c FROM sbtest1 WHERE id=?"];
    for (name, statements) in [
        ("oltp_point_select", &point),
        ("oltp_update_index", &update_index),
        ("oltp_update_non_index", &update_non_index),
        ("oltp_delete", &delete),
    ] {
        let requests = run(name, settings(), 2);
        let expected = [prepares(statements), executes([0, 0])].concat();
        assert_eq!(shapes(&requests), expected, "{name}");
    }
}

#[test]
fn write_only_and_read_only_are_their_halves() {
    let texts = |order: &[usize]| order.iter().map(|place| PREPARED[*place]).collect::<Vec<_>>();
    let order = [&[0][..], &[2; 10], &[3, 4, 5, 6, 1]].concat();
    assert_eq!(executed(&run("oltp_read_only", settings(), 1)), texts(&order));
    let order = [0, 7, 8, 9, 10, 1];
    assert_eq!(executed(&run("oltp_write_only", settings(), 1)), texts(&order));
}

#[test]
fn text_columns_have_their_lengths() {
    let requests = run("oltp_read_write", settings(), 1);
    let update = requests.iter().find(|text| text.starts_with("execute 8")).expect("an update");
    let text = update.split('\'').nth(1).expect("a text");
    assert_eq!(text.len(), 119);
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    assert_eq!(groups, [11; 10]);
    assert!(text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'));
}

#[test]
fn inserts_are_texts_of_each_driver() {
    let mysql = run("oltp_insert", settings(), 1);
    assert!(mysql[0].starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, "), "{mysql:?}");
    let postgres = Settings { driver: Driver::Pgsql, ..settings() };
    let requests = run("oltp_insert", postgres, 1);
    assert!(requests[0].starts_with("INSERT INTO sbtest1 (k, c, pad) VALUES ("), "{requests:?}");
    let own_ids = run("oltp_insert", with_options(&["auto_inc=off"]), 100);
    let mut ids: Vec<&str> =
        own_ids.iter().filter_map(|text| text.split(['(', ',']).nth(5)).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 100);
}

#[test]
fn postgresql_prepares_with_numbered_parameters() {
    let postgres = Settings { driver: Driver::Pgsql, ..settings() };
    let requests = run("oltp_point_select", postgres, 1);
    assert_eq!(requests[0], "prepare 0: SELECT c FROM sbtest1 WHERE id=$1");
}

#[test]
fn random_points_and_ranges_list_their_parameters() {
    let requests = run("select_random_points", with_options(&["random_points=3"]), 1);
    assert!(requests[0].contains("WHERE k IN (?, ?, ?)"), "{requests:?}");
    assert_eq!(requests[1].matches(", ").count(), 2);
    let requests = run("select_random_ranges", with_options(&["number_of_ranges=2", "delta=9"]), 1);
    assert!(requests[0].contains("k BETWEEN ? AND ? OR k BETWEEN ? AND ?"), "{requests:?}");
    let ends: Vec<i64> = requests[1][11..requests[1].len() - 1]
        .split(", ")
        .map(|end| end.parse().expect("a number"))
        .collect();
    assert_eq!((ends[1] - ends[0], ends[3] - ends[2]), (9, 9));
}

#[test]
fn a_bulk_insert_keeps_its_rows_until_its_end() {
    let requests = run("bulk_insert", settings(), 3);
    assert_eq!(requests, ["INSERT INTO sbtest1 VALUES(1,1),(2,2),(3,3)", "disconnect 0"]);
}

#[test]
fn tables_are_made_and_dropped() {
    let options = ["tables=2", "table_size=3"];
    let requests = command("oltp_read_write", "prepare", with_options(&options));
    let beginnings: Vec<&str> =
        requests.iter().map(|text| text.trim().split('(').next().unwrap_or_default()).collect();
    let table = |number: u32| {
        [
            format!("CREATE TABLE sbtest{number}"),
            format!("INSERT INTO sbtest{number}"),
            format!("CREATE INDEX k_{number} ON sbtest{number}"),
        ]
    };
    assert_eq!(beginnings, [table(1), table(2)].concat());
    assert_eq!(requests[1].matches("'), (").count() + requests[1].matches("'),(").count(), 2);
    let dropped = command("oltp_read_write", "cleanup", with_options(&options));
    assert_eq!(dropped, ["DROP TABLE IF EXISTS sbtest1", "DROP TABLE IF EXISTS sbtest2"]);
}

#[test]
fn parallel_commands_share_their_tables() {
    let settings =
        Settings { clients: 2, command: "prepare".into(), ..with_options(&["tables=3"]) };
    let program = program("oltp_read_write", settings);
    assert!(program.is_parallel());
    let mut client = Client::of_command(&program, 1);
    client.run_to_end().expect("no fault");
    let created: Vec<&String> =
        client.requests.iter().filter(|text| text.contains("CREATE TABLE")).collect();
    assert_eq!(created.len(), 1);
    assert!(created[0].contains("CREATE TABLE sbtest2("));
}

#[test]
fn every_script_runs_prepares_and_cleans_up() {
    for name in modules().keys().filter(|name| *name != "oltp_common") {
        let options = ["table_size=10"];
        let settings = if name == "bulk_insert" { settings() } else { with_options(&options) };
        assert!(!command(name, "prepare", settings.clone()).is_empty(), "{name}");
        assert!(!run(name, settings.clone(), 3).is_empty(), "{name}");
        assert!(!command(name, "cleanup", settings).is_empty(), "{name}");
    }
}

#[test]
fn the_common_part_alone_reports_what_it_is() {
    let modules = modules();
    let script = Script {
        name: "oltp_common.lua".into(),
        weight: 1,
        text: modules["oltp_common"].clone(),
        ..Script::default()
    };
    let problems = compile(&script, Settings { modules, ..settings() }).expect_err("a problem");
    assert!(problems[0].message.contains("event"), "{problems:?}");
}
