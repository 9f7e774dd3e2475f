//! Hooks, loops, pauses, printing, commands, and the functions of sysbench 0.5.

use crate::driver::{
    Answer, Client, nothing, printed, problem_of, program, program_with, settings,
};
use dbdyno_model::Nanos;
use dbdyno_script::lua::{Counter, Report, Settings};

fn for_command(command: &str) -> Settings {
    Settings { command: command.into(), ..settings() }
}

/// Runs a command and returns its requests.
fn command(text: &str, name: &str) -> Vec<String> {
    let program = program_with(text, for_command(name)).expect("no problem");
    let mut client = Client::of_command(&program, 0);
    client.run_to_end().expect("no fault");
    client.requests
}

#[test]
fn a_clients_life_has_its_order() {
    let text = "function thread_init(tid) print('thread_init', tid) end \
                function event(tid) print('event', tid) end \
                function thread_done(tid) print('thread_done', tid) end";
    let program = program(text);
    Client::new(&program, nothing).live(2).expect("no fault");
    assert_eq!(printed(), ["thread_init\t0", "event\t0", "event\t0", "thread_done\t0"]);
}

#[test]
fn what_is_done_once_around_a_run_is_a_command() {
    let text = "function init() sysbench.sql.driver():connect():query('create table t') end \
                function event() end function done() print('done') end";
    let around = program(text);
    assert!(around.has_init() && around.has_done());
    assert_eq!(around.commands(), ["help"]);
    assert_eq!(command(text, "init"), ["create table t"]);
    assert!(command(text, "done").is_empty());
    assert_eq!(printed(), ["done"]);
    let silent = program("function event() end");
    assert!(!silent.has_init() && !silent.has_done());
}

#[test]
fn what_is_done_once_around_a_run_is_part_of_the_command_run() {
    let text = "local function show() print(sysbench.cmdline.command) end \
                init, done, prepare, event = show, show, show, show";
    for (name, seen) in [("init", "run"), ("done", "run"), ("prepare", "prepare")] {
        assert!(command(text, name).is_empty());
        assert_eq!(printed(), [seen]);
    }
}

#[test]
fn a_true_return_value_ends_the_client_and_its_event_does_not_count() {
    let text = "local n = 0 function event() n = n + 1 return n == 2 end";
    let program = program(text);
    let steps = Client::new(&program, nothing).live(2).expect("no fault");
    assert_eq!(steps, ["stop { is_over: false }"]);
}

#[test]
fn a_loop_that_ends_by_itself_reports_whether_its_last_event_counts() {
    for (end, is_over) in [("", true), ("do return end", false)] {
        let text = format!(
            "local C = require('ffi').C function event() end function thread_run(tid) \
             C.sb_more_events(tid) C.sb_event_start(tid) {end} C.sb_event_stop(tid) end"
        );
        let steps = Client::new(&program(&text), nothing).live(1).expect("no fault");
        assert_eq!(steps, [format!("stop {{ is_over: {is_over} }}")]);
    }
}

#[test]
fn a_loop_may_talk_to_the_server_between_two_events() {
    let text = "local C = require('ffi').C function event() end function thread_run(tid) \
                con = sysbench.sql.driver():connect() \
                while C.sb_more_events(tid) do C.sb_event_stop(tid) con:query('between') end end";
    let requests = Client::new(&program(text), nothing).live(2).expect("no fault");
    assert_eq!(requests, ["between", "between"]);
}

#[test]
fn a_script_may_have_its_own_loop() {
    let text = "ffi.C = ffi.C \
                function event() end \
                function thread_run(tid) \
                  while ffi.C.sb_more_events(tid) do ffi.C.sb_event_start(tid) \
                    print('own loop') ffi.C.sb_event_stop(tid) end end";
    let text = format!("ffi = require('ffi') ffi.cdef[[bool sb_more_events(int);]] {text}");
    let program = program(&text);
    Client::new(&program, nothing).live(2).expect("no fault");
    assert_eq!(printed(), ["own loop", "own loop"]);
}

#[test]
fn a_loop_of_the_scripts_own_may_call_sysbenchs() {
    let text = "local run = thread_run \
                function event(tid) print('event', tid) end \
                function thread_run(tid) print('begin') run(tid) end";
    let program = program(text);
    Client::new(&program, nothing).live(2).expect("no fault");
    assert_eq!(printed(), ["begin", "event\t0", "event\t0"]);
}

#[test]
fn pauses_hold_up_the_client_alone() {
    let text = "ffi = require('ffi') \
                function event() ffi.C.usleep(1500) os.execute('sleep 0.5') os.execute('sleep 30') \
                  ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR) end";
    let program = program(text);
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(requests, ["sleep 1500000 ns", "sleep 500000000 ns", "sleep 30000000000 ns"]);
    assert_eq!(program.count(Counter::Error), 1);
}

#[test]
fn what_is_printed_comes_in_lines() {
    let text = "function event() io.write('a', 1) io.write('b\\nc') print('d', nil, true) \
                io.stdout:write('e\\n') io.stderr:write('f\\n') io.flush() end";
    Client::new(&program(text), nothing).live(1).expect("no fault");
    assert_eq!(printed(), ["a1b", "cd\tnil\ttrue", "e", "f"]);
}

#[test]
fn coroutines_of_a_script_may_send_requests() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                local next = coroutine.wrap(function() \
                  for i = 1, 2 do coroutine.yield(con:query('select ' .. i):fetch_row()[1]) end end) \
                print(next(), next()) end";
    let server = |_: &str| Answer::Rows(vec![vec![Some("row")]]);
    let requests = Client::new(&program(text), server).live(1).expect("no fault");
    assert_eq!(requests, ["select 1", "select 2"]);
    assert_eq!(printed(), ["row\trow"]);
}

#[test]
fn commands_are_functions_or_of_the_scripts_table() {
    let text = "function event() end \
                function cleanup() sysbench.sql.driver():connect():query('drop') end \
                local function fill() sysbench.sql.driver():connect():query('fill') end \
                local cmdline = sysbench.cmdline \
                cmdline.commands = {prepare = {fill, cmdline.PARALLEL_COMMAND}, check = {fill}}";
    assert_eq!(command(text, "cleanup"), ["drop"]);
    assert_eq!(command(text, "prepare"), ["fill"]);
    let program = program_with(text, for_command("prepare")).unwrap();
    assert!(program.is_parallel());
    assert_eq!(program.commands(), ["check", "cleanup", "help", "prepare"]);
    let program = program_with(text, for_command("check")).unwrap();
    assert!(!program.is_parallel());
    for unknown in ["nonsense", "print", "fill"] {
        assert_eq!(
            problem_of(text, for_command(unknown)),
            format!(
                "error: test.lua has no command '{unknown}': \
                 it has run, check, cleanup, help, prepare"
            )
        );
    }
}

#[test]
fn a_command_that_returns_false_has_failed() {
    let text = "sysbench.cmdline.commands = {check = {function() return false end}}";
    let program = program_with(text, for_command("check")).unwrap();
    let fault = Client::of_command(&program, 0).run_to_end().expect_err("a fault");
    assert!(fault.message.contains("'check' reported a failure"), "{}", fault.message);
}

#[test]
fn the_old_librarys_first_statement_connects() {
    let text = "function event() db_disconnect() print(pcall(db_bulk_insert_next, '(1)')) \
                  db_query('a') db_connect() db_disconnect() \
                  db_bulk_insert_init('insert into t values') db_bulk_insert_next('(1)') \
                  db_bulk_insert_done() db_disconnect() db_prepare('b') db_disconnect() end";
    let requests = Client::new(&program(text), nothing).live(1).expect("no fault");
    assert_eq!(
        requests,
        [
            "a",
            "disconnect 0",
            "connect 0 to 0",
            "insert into t values(1)",
            "disconnect 0",
            "connect 0 to 0",
            "prepare 0: b",
            "disconnect 0"
        ]
    );
    assert!(printed()[0].contains("Uninitialized database connection"));
}

#[test]
fn functions_of_the_old_library_use_one_connection() {
    let text = "function thread_init() db_connect() end \
                function event() \
                  db_query('begin') rs = db_query('rows') print(rs.nrows, thread_id, test) \
                  stmt = db_prepare('update t set c = ? where id = ?') params = {'', 0} \
                  db_bind_param(stmt, params) params[1], params[2] = 'abc', 7 \
                  db_execute(stmt) db_close(stmt) \
                  db_bulk_insert_init('insert into t values') db_bulk_insert_next('(1)') \
                  db_bulk_insert_done() \
                  print(sb_rand(1, 1), sb_rand_uniform(2, 2), sb_rand_str('a-b'), sb_rnd() >= 0, \
                        sb_rand_gaussian(3, 3), sb_rand_special(4, 4), sb_rand_uniq(0, 2^32) > 0) end \
                function thread_done() db_disconnect() end";
    let server = |sql: &str| match sql {
        "rows" => Answer::Rows(vec![vec![Some("1")]]),
        _ => Answer::Affected(0),
    };
    let requests = Client::new(&program(text), server).live(1).expect("no fault");
    assert_eq!(
        requests,
        [
            "begin",
            "rows",
            "prepare 0: update t set c = ? where id = ?",
            "execute 0 ('abc', 7)",
            "insert into t values(1)",
        ]
    );
    assert_eq!(printed(), ["1\t0\ttest.lua", "1\t2\ta-b\ttrue\t3\t4\ttrue"]);
}

#[test]
fn reports_have_sysbenchs_form() {
    let text = "function event() local stat = {time_total = 10, time_interval = 2, events = 40, \
                  threads_running = 4, reads = 20, writes = 10, other = 4, errors = 1, \
                  reconnects = 0, latency_pct = 0.0125} \
                sysbench.report_default(stat) sysbench.report_csv(stat) \
                sysbench.report_json(stat) sysbench.report_json(stat) end";
    Client::new(&program(text), nothing).live(1).expect("no fault");
    let lines = printed();
    assert_eq!(
        lines[..2],
        [
            "[ 10s ] thds: 4 tps: 20.00 qps: 17.00 (r/w/o: 10.00/5.00/2.00) lat (ms,95%): 12.50 \
             err/s 0.50 reconn/s: 0.00",
            "10,4,20.00,17.00,10.00,5.00,2.00,12.50,0.50,0.00",
        ]
    );
    assert!(lines[2].starts_with("[{\"time\": 10,") && lines[3].starts_with(",{"), "{lines:?}");
}

#[test]
fn hooks_report_in_the_scripts_own_words() {
    let text = "function event() end \
                function sysbench.hooks.report_intermediate(stat) print(stat.time_total) \
                  if stat.events > 1 then sysbench.sql.driver():connect():query('x') end end";
    let mut reporter = program(text).reporter().expect("a Lua state").expect("hooks");
    let statistics = |events| [("time_total", 5.0), ("events", events)];
    assert_eq!(reporter.report(Report::Intermediate, &statistics(1.0)), Ok(()));
    assert_eq!(reporter.report(Report::Cumulative, &statistics(1.0)), Ok(()));
    let fault = reporter.report(Report::Intermediate, &statistics(2.0)).expect_err("a fault");
    assert_eq!(fault.message, "a report hook may neither send requests nor sleep");
    assert_eq!(printed(), ["5", "5"]);
}

#[test]
fn reports_hold_to_the_options_given() {
    let text = "function event() end sysbench.hooks.report_cumulative = sysbench.report_json";
    let given = |name: &str, value: &str| {
        let arguments = [(name.to_owned(), value.to_owned())].into();
        let program = program_with(text, Settings { arguments, ..settings() });
        program.expect("no problem").reporter().expect("a Lua state").expect("hooks")
    };
    assert_eq!(given("report-interval", "10").interval(), Some(Nanos::from_secs(10)));
    assert_eq!(given("percentile", "99").interval(), None);
    let percentiles = ["99", "0"].map(|text| given("percentile", text).percentile() as u32);
    assert_eq!(percentiles, [99, 0]);
    assert!(program("function event() end").reporter().expect("no problem").is_none());
    let preparing = program_with(&format!("function prepare() end {text}"), for_command("prepare"));
    let preparing = preparing.expect("no problem");
    assert!(preparing.reporter().expect("no problem").is_none());
}

#[test]
fn an_array_of_reports_is_closed_after_the_last() {
    let text = "function event() end sysbench.hooks.report_intermediate = sysbench.report_json";
    let mut reporter = program(text).reporter().expect("a Lua state").expect("hooks");
    let names = [
        "time_total",
        "time_interval",
        "events",
        "threads_running",
        "reads",
        "writes",
        "other",
        "errors",
        "reconnects",
        "latency_pct",
    ];
    let statistics = names.map(|name| (name, 1.0));
    for _ in 0..2 {
        reporter.report(Report::Intermediate, &statistics).expect("no fault");
    }
    reporter.end().expect("no fault");
    let begins: Vec<String> = printed().iter().map(|line| line.chars().take(2).collect()).collect();
    assert_eq!(begins, ["[{", ",{", "]"]);
}

#[test]
fn a_histogram_counts_and_prints() {
    let text = "function event() local h = sysbench.histogram.new(3, 1, 100) \
                h:update(1) h:update(1.1) h:update(10) h:update(5000) h:update(0.01) h:print() end";
    Client::new(&program(text), nothing).live(1).expect("no fault");
    let rows: Vec<Vec<String>> = printed()[1..]
        .iter()
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    let counts: Vec<(&str, &str)> =
        rows.iter().map(|row| (row[0].as_str(), row[row.len() - 1].as_str())).collect();
    assert_eq!(counts, [("1.000", "3"), ("10.000", "1"), ("100.000", "1")]);
}

#[test]
fn a_lost_connection_while_entering_enters_again() {
    let text = "function thread_init() con = sysbench.sql.driver():connect() con:query('a') end \
                function event() con:query('b') end";
    let program = program(text);
    let mut client = Client::new(&program, nothing);
    assert!(client.execution.set_up(crate::driver::chance(0)));
    assert_eq!(client.first_request(), "a");
    client.set_up().expect("no fault");
    client.event().expect("no fault");
    assert_eq!(client.requests, ["a", "b"]);
}
