//! Connections, statements, parameters, results and errors.

use crate::driver::{
    Answer, Client, mysql_error, nothing, printed, program, program_with, settings,
};
use dbdyno_model::ServerError;
use dbdyno_script::lua::{Counter, Driver, Settings};

fn server(sql: &str) -> Answer {
    match sql {
        "two rows" => Answer::Rows(vec![vec![Some("1"), None], vec![Some("2"), Some("b")]]),
        "no rows" => Answer::Rows(vec![]),
        "two results" => Answer::Results(vec![vec![vec![Some("1")]], vec![vec![Some("2")]]]),
        "update" => Answer::Affected(3),
        _ => Answer::Affected(0),
    }
}

/// What one event prints, with a connection `con`.
fn event(body: &str) -> Vec<String> {
    let text = format!(
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() {body} end"
    );
    Client::new(&program(&text), server).live(1).expect("no fault");
    printed()
}

#[test]
fn rows_are_fetched_one_by_one() {
    let lines = event(
        "local rs = con:query('two rows') print(rs.nrows, rs.nfields) \
         local row = rs:fetch_row() print(row[1], row[2]) row = rs:fetch_row() print(unpack(row)) \
         print(rs:fetch_row()) rs:free()",
    );
    assert_eq!(lines, ["2\t2", "1\tnil", "2\tb", "nil"]);
}

#[test]
fn a_query_without_rows_gives_none() {
    assert_eq!(event("print(con:query('update'), con:query('no rows').nrows)"), ["nil\t0"]);
}

#[test]
fn the_first_row_comes_at_once() {
    assert_eq!(event("print(con:query_row('two rows'))"), ["1\tnil"]);
    assert_eq!(event("print(con:query_row('no rows'), con:query_row('update'))"), ["nil\tnil"]);
}

#[test]
fn further_results_wait_for_their_turn() {
    let lines = event(
        "local rs = con:query('two results') print(rs:fetch_row()[1], con:more_results()) \
         rs = con:next_result() print(rs:fetch_row()[1], con:more_results(), con:next_result())",
    );
    assert_eq!(lines, ["1\ttrue", "2\tfalse\tnil"]);
}

#[test]
fn what_follows_a_query_without_rows_is_nothing() {
    let lines = event(
        "con:query('two results') con:query('update') print(con:more_results(), con:next_result())",
    );
    assert_eq!(lines, ["false\tnil"]);
}

#[test]
fn reading_rows_that_were_not_kept_is_an_error() {
    let lines = event(
        "con:query('two rows') local name = table.concat({'que', 'ry'}) \
         local function try(...) local _, message = pcall(...) print((message:gsub('^.-: ', ''))) end \
         try(function() return con[name](con, 'two rows'):fetch_row() end) \
         try(function() return con[name](con, 'two rows').nrows end) \
         print(con[name](con, 'update'))",
    );
    let why = "the rows were not kept: nothing in the script was seen to look at them";
    assert_eq!(lines, [why, why, "nil"]);
}

#[test]
fn a_prepared_statement_sends_what_its_parameters_hold() {
    let program = program(
        "function thread_init() \
           con = sysbench.sql.driver():connect() local t = sysbench.sql.type \
           stmt = con:prepare('update t set a = ?, b = ?, c = ? where id = ?') \
           a, b = stmt:bind_create(t.INT), stmt:bind_create(t.CHAR, 3) \
           c, d = stmt:bind_create(t.DOUBLE), stmt:bind_create(t.BIGINT) \
           stmt:bind_param(a, b, c, d) end \
         function event() a:set(1.9) b:set('text') c:set(2) d:set(nil) stmt:execute() \
           b:set_rand_str('x-x') a:set(-1.9) d:set(5) stmt:execute() end \
         function thread_done() stmt:close() con:disconnect() end",
    );
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(
        requests,
        [
            "prepare 0: update t set a = ?, b = ?, c = ? where id = ?",
            "execute 0 (1, 'tex', 2.0, NULL)",
            "execute 0 (-1, 'x-x', 2.0, 5)",
        ]
    );
}

#[test]
fn a_whole_number_of_64_bits_keeps_all_of_them() {
    let program = program(
        "function thread_init() con = sysbench.sql.driver():connect() \
           stmt = con:prepare('select ?') a = stmt:bind_create(sysbench.sql.type.BIGINT) \
           stmt:bind_param(a) end \
         function event() for _, value in ipairs({9007199254740993LL, -9007199254740993LL, \
             9223372036854775807ULL, 18446744073709551615ULL}) do \
           a:set(value) stmt:execute() end end",
    );
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(
        requests[1..],
        [
            "execute 0 (9007199254740993)",
            "execute 0 (-9007199254740993)",
            "execute 0 (9223372036854775807)",
            "execute 0 (-1)",
        ]
    );
}

#[test]
fn a_parameter_that_was_never_set_is_zero_or_empty() {
    let program = program(
        "function event() local con = sysbench.sql.driver():connect() \
           local stmt, t = con:prepare('select ?, ?, ?'), sysbench.sql.type \
           local a, b, c = stmt:bind_create(t.INT), stmt:bind_create(t.CHAR, 3), \
             stmt:bind_create(t.DOUBLE) \
           stmt:bind_param(a, b, c) stmt:execute() a:set(nil) stmt:execute() end",
    );
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(requests[1..], ["execute 0 (0, '', 0.0)", "execute 0 (NULL, '', 0.0)"]);
}

#[test]
fn values_are_converted_as_by_luajit() {
    let program = program(
        "function thread_init() con = sysbench.sql.driver():connect() \
           stmt = con:prepare('select ?, ?') local t = sysbench.sql.type \
           a, b = stmt:bind_create(t.TINYINT), stmt:bind_create(t.DOUBLE) \
           print(stmt:bind_param(a, b)) end \
         function event() a:set(true) b:set(3LL) stmt:execute() a:set(false) b:set(0.5) \
           stmt:execute() print(pcall(a.set_rand_str, a, '#')) print(stmt:close()) end",
    );
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(requests[1..], ["execute 0 (1, 3.0)", "execute 0 (0, 0.5)"]);
    assert_eq!(
        printed(),
        ["0", "false\tset_rand_str() sets text: bind the parameter as CHAR or VARCHAR", "0"]
    );
}

#[test]
fn postgresql_numbers_its_parameters() {
    let postgres = Settings { driver: Driver::Pgsql, ..settings() };
    let text = "function event() local drv = sysbench.sql.driver('pgsql') print(drv:name()) \
                local con = drv:connect() con:prepare('select ?, ?') con:disconnect() end";
    let program = program_with(text, postgres).expect("no problem");
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(requests, ["prepare 0: select $1, $2", "disconnect 0"]);
    assert_eq!(printed(), ["pgsql"]);
}

#[test]
fn without_preparing_values_stand_in_the_text() {
    let text = "function event() local con = sysbench.sql.driver():connect() \
                local stmt = con:prepare('select ?, ?') local t = sysbench.sql.type \
                local a, b = stmt:bind_create(t.INT), stmt:bind_create(t.VARCHAR, 10) \
                stmt:bind_param(a, b) a:set(1) b:set('it') stmt:execute() con:disconnect() end";
    let program = program_with(text, Settings { prepares: false, ..settings() }).unwrap();
    let requests = Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(requests, ["select 1, 'it'", "disconnect 0"]);
}

#[test]
fn a_prepared_statement_is_known_by_numbered_parameters_and_a_text_as_it_is() {
    let text = "function event() local con = sysbench.sql.driver():connect() \
                con:query(\"select doc ? 'k'\") con:prepare('select n where id = ?') \
                con:disconnect() end";
    for driver in [Driver::Mysql, Driver::Pgsql] {
        for prepares in [true, false] {
            let program = program_with(text, Settings { driver, prepares, ..settings() }).unwrap();
            Client::new(&program, nothing).live(1).expect("no fault");
            let known = program.statements().since(0);
            let texts: Vec<&str> = known.iter().map(|one| one.sql.as_str()).collect();
            assert_eq!(texts, ["select doc ? 'k'", "select n where id = $1"]);
        }
    }
}

#[test]
fn the_number_of_a_closed_statement_is_used_again() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                local a, b = con:prepare('a'), con:prepare('b') a:close() con:prepare('c') end";
    let requests = Client::new(&program(text), nothing).live(1).expect("no fault");
    assert_eq!(requests, ["prepare 0: a", "prepare 1: b", "prepare 0: c"]);
}

#[test]
fn many_rows_travel_together() {
    let lines = event(
        "con:bulk_insert_init('insert into t values') \
         for i = 1, 3 do con:bulk_insert_next('(' .. i .. ')') end con:bulk_insert_done() \
         con:bulk_insert_done() print(pcall(con.bulk_insert_next, con, '(1)'))",
    );
    assert!(lines[0].contains("before bulk_insert_init()"), "{lines:?}");
    let text = "function event() local con = sysbench.sql.driver():connect() \
                con:bulk_insert_init('insert into t values') \
                local row = '(\\'' .. string.rep('x', 200000) .. '\\')' \
                for i = 1, 5 do con:bulk_insert_next(row) end con:bulk_insert_done() end";
    let requests = Client::new(&program(text), nothing).live(1).expect("no fault");
    let lengths: Vec<usize> = requests.iter().map(String::len).collect();
    assert_eq!(lengths, [400_029, 400_029, 200_024]);
}

#[test]
fn the_functions_of_a_bulk_insert_may_be_asserted() {
    let text = "function event() local con = sysbench.sql.driver():connect() \
                assert(con:bulk_insert_init('insert into t values')) \
                assert(con:bulk_insert_next('(1)')) assert(con:bulk_insert_done()) end";
    let requests = Client::new(&program(text), nothing).live(1).expect("no fault");
    assert_eq!(requests, ["insert into t values(1)"]);
}

#[test]
fn an_ignorable_error_restarts_the_event() {
    let text = "function sysbench.hooks.before_restart_event(e) \
                  print(e.sql_errno, e.sql_state, e.sql_errmsg, e.query, e.connection == con) end \
                function thread_init() con = sysbench.sql.driver():connect() end \
                function event() con:query('begin') con:query('update') end";
    let mut tries = 0;
    let deadlock_twice = |sql: &str| {
        tries += u32::from(sql == "update");
        if sql == "update" && tries < 3 { mysql_error(1213, "40001") } else { Answer::Affected(1) }
    };
    let program = program(text);
    let requests = Client::new(&program, deadlock_twice).live(1).expect("no fault");
    let again = ["begin", "update", "restart"];
    assert_eq!(requests, [&again[..], &again, &again[..2]].concat());
    assert_eq!(printed(), ["1213\t40001\terror 1213\tupdate\ttrue"; 2]);
    let counts = [Counter::Error, Counter::Write, Counter::Other, Counter::Read];
    assert_eq!(counts.map(|counter| program.count(counter)), [2, 4, 0, 0]);
}

#[test]
fn on_postgresql_the_block_is_rolled_back_first() {
    let text = "function event() con = con or sysbench.sql.driver():connect() con:query('x') end";
    let postgres = Settings { driver: Driver::Pgsql, ..settings() };
    let mut first = true;
    let once = |sql: &str| {
        let fails = sql == "x" && std::mem::take(&mut first);
        let error = ServerError::from_sqlstate("23505", "duplicate key");
        if fails { Answer::Error(error) } else { Answer::Affected(0) }
    };
    let program = program_with(text, postgres).unwrap();
    let requests = Client::new(&program, once).live(1).expect("no fault");
    assert_eq!(requests, ["x", "ROLLBACK", "restart", "x"]);
}

#[test]
fn statements_lost_behind_a_pooler_come_with_what_to_do() {
    let text = "function event() con = con or sysbench.sql.driver():connect() con:prepare('x') end";
    for (state, is_pooler) in [("42P05", true), ("26000", true), ("42601", false)] {
        let postgres = Settings { driver: Driver::Pgsql, ..settings() };
        let program = program_with(text, postgres).unwrap();
        let refuse = |_: &str| Answer::Error(ServerError::from_sqlstate(state, "refused"));
        let fault = Client::new(&program, refuse).live(1).expect_err("a fault");
        assert!(fault.message.contains(state), "{}", fault.message);
        assert_eq!(fault.message.contains("use -M simple"), is_pooler, "{}", fault.message);
    }
}

#[test]
fn a_hook_can_make_an_error_ignorable() {
    let text = "function sysbench.hooks.sql_error_ignorable(e) return e.sql_errno == 1062 end \
                function event() con = con or sysbench.sql.driver():connect() con:query('x') end";
    let mut errors = vec![mysql_error(1062, "23000"), mysql_error(1146, "42S02")];
    let fails = |_: &str| errors.pop().unwrap_or(Answer::Affected(0));
    let fault = Client::new(&program(text), fails).live(1).expect_err("a fault");
    assert_eq!(
        fault.message,
        "test.lua:1: SQL error, errno = 1146, state = '42S02': error 1146\n\
                               \ttest.lua:1: in function <test.lua:1>"
    );
    assert_eq!(fault.sqlstate.as_deref(), Some("42S02"));
    let mut errors = vec![mysql_error(1062, "23000")];
    let fails = |_: &str| errors.pop().unwrap_or(Answer::Affected(0));
    let program = program(text);
    assert_eq!(Client::new(&program, fails).live(1).unwrap(), ["x", "restart", "x"]);
    assert_eq!(program.count(Counter::Error), 1);
}

#[test]
fn an_error_that_the_script_caught_is_not_why_it_failed_later() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                pcall(function() con:query('x') end) error('odd') end";
    let mut errors = vec![mysql_error(1146, "42S02")];
    let fails = |_: &str| errors.pop().unwrap_or(Answer::Affected(0));
    let fault = Client::new(&program(text), fails).live(1).expect_err("a fault");
    assert!(fault.message.starts_with("test.lua:1: odd"), "{}", fault.message);
    assert_eq!(fault.sqlstate, None);
}

#[test]
fn a_script_may_catch_errors_itself() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                while not pcall(function() con:query('x') end) do con:query('rollback') end end";
    let mut fails = vec![mysql_error(1062, "23000"), mysql_error(1213, "40001")];
    let server = |sql: &str| match sql {
        "x" => fails.pop().unwrap_or(Answer::Affected(0)),
        _ => Answer::Affected(0),
    };
    let requests = Client::new(&program(text), server).live(1).expect("no fault");
    assert_eq!(requests, ["x", "rollback", "x", "rollback", "x"]);
}

#[test]
fn an_error_is_known_until_another_statement_succeeds() {
    let text = "ffi = require('ffi') local drv = sysbench.sql.driver() \
                local function state(con) \
                  local message = con.sql_errmsg and ffi.string(con.sql_errmsg) \
                  print(con.error, con.sql_errno, con.sql_state, message) end \
                function event() local con = drv:connect() state(con) \
                  pcall(con.query, con, 'x') state(con) con:query('y') state(con) \
                  pcall(con.query, con, 'x') con:prepare('y') state(con) end";
    let server = |sql: &str| match sql {
        "x" => mysql_error(1305, "42000"),
        _ => Answer::Affected(0),
    };
    Client::new(&program(text), server).live(1).expect("no fault");
    let none = "0\t0\tnil\tnil";
    assert_eq!(printed(), [none, "2\t1305\t42000\terror 1305", none, none]);
}

#[test]
fn what_cannot_be_prepared_is_an_error_where_it_is_prepared() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                print(pcall(con.prepare, con, 'nonsense')) con:prepare('sense') end";
    let server = |sql: &str| match sql {
        "nonsense" => mysql_error(1064, "42000"),
        _ => Answer::Affected(0),
    };
    let requests = Client::new(&program(text), server).live(1).expect("no fault");
    assert_eq!(requests, ["prepare 0: nonsense", "prepare 0: sense"]);
    assert!(printed()[0].contains("errno = 1064, state = '42000'"));
}

#[test]
fn values_of_a_wrong_type_are_refused() {
    let lines = event(
        "local stmt = con:prepare('x') local t = sysbench.sql.type \
         local function try(...) local ok, message = pcall(...) print((message:gsub('^test.lua:1: ', ''))) end \
         try(stmt.bind_create, stmt, t.DATETIME) try(stmt.bind_create, stmt, nil) try(stmt.bind_create, stmt, t.CHAR) \
         local int, text = stmt:bind_create(t.INT), stmt:bind_create(t.CHAR, 2) \
         try(int.set, int, 'x') try(int.set, int, {}) try(text.set, text, 5)",
    );
    assert_eq!(
        lines,
        [
            "Unsupported argument type: DATETIME (use VARCHAR and bind the value as text, \
             '2024-01-31 12:00:00' for example)",
            "Unsupported argument type: nil (use one of sysbench.sql.type, such as INT, DOUBLE or \
             VARCHAR)",
            "the longest length of a text is missing",
            "cannot convert 'string' to a whole number",
            "cannot convert 'table' to a whole number",
            "cannot convert 'number' to text",
        ]
    );
}

#[test]
fn a_statement_is_text() {
    let lines = event(
        "for _, name in ipairs({'query', 'query_row', 'prepare'}) do \
         for _, nonsense in ipairs({5, {}, true}) do \
         local _, message = pcall(con[name], con, nonsense) print(name, message) end end \
         print(pcall(con.query, con))",
    );
    let refused = |name| {
        ["number", "table", "boolean"]
            .map(|kind| format!("{name}\ta statement must be text, not {kind}"))
    };
    let expected: Vec<String> =
        ["query", "query_row", "prepare"].into_iter().flat_map(refused).collect();
    let (last, others) = lines.split_last().expect("lines");
    let others: Vec<String> = others.iter().map(|line| line.replace("test.lua:1: ", "")).collect();
    assert_eq!(others, expected);
    assert!(last.ends_with("a statement must be text, not nil"), "{last}");
}

/// sysbench refuses them, too: otherwise NULL would be used where a key was meant.
#[test]
fn a_statement_has_all_its_parameters_or_is_not_executed() {
    for prepares in [true, false] {
        let text = "function thread_init() con = sysbench.sql.driver():connect() end \
                    function event() local s = con:prepare('a ? b ?') \
                    local p = s:bind_create(sysbench.sql.type.INT) p:set(1) \
                    local function try() print((select(2, pcall(s.execute, s)))) end \
                    try() s:bind_param(p) try() s:bind_param(p, p, p) try() \
                    s:bind_param(p, p) try() end";
        let program = program_with(text, Settings { prepares, ..settings() }).unwrap();
        Client::new(&program, server).live(1).expect("no fault");
        let refused = |bound| format!("{bound} parameters are bound, the statement has 2");
        assert_eq!(printed(), [refused(0), refused(1), refused(3), "nil".to_owned()]);
    }
}

#[test]
fn a_client_has_as_many_connections_as_its_script_opens() {
    let text = "function thread_init() local drv = sysbench.sql.driver() \
                writer, reader = drv:connect(), drv:connect() end \
                function event() writer:query('w') reader:query('r') writer:disconnect() \
                local other = sysbench.sql.driver():connect() other:query('o') \
                print(pcall(writer.query, writer, 'x')) reader:reconnect() end \
                function thread_done() reader:disconnect() end";
    let program = program(text);
    let mut client = Client::new(&program, nothing);
    client.set_up().expect("no fault");
    client.event().expect("no fault");
    client.tear_down().expect("no fault");
    let expected = [
        "connect 1 to 0",
        "w",
        "1: r",
        "disconnect 0",
        "connect 0 to 0",
        "o",
        "connect 1 to 0",
        "disconnect 1",
    ];
    assert_eq!(client.requests, expected);
    let lines = printed();
    assert!(lines[0].contains("already closed connection"), "{lines:?}");
    assert_eq!(program.count(Counter::Reconnect), 1);
}

#[test]
fn statements_belong_to_their_connection_and_are_closed_with_it() {
    let text = "function thread_init() drv = sysbench.sql.driver() \
                writer, reader = drv:connect(), drv:connect() end \
                function event() local w, r = writer:prepare('w'), reader:prepare('r') \
                r:execute() w:execute() reader:disconnect() \
                print(pcall(r.execute, r)) print(r:close()) reader:reconnect() \
                local other = reader:prepare('o') print(pcall(r.execute, r)) other:execute() end";
    let program = program(text);
    let mut client = Client::new(&program, nothing);
    client.set_up().expect("no fault");
    client.event().expect("no fault");
    let expected = [
        "connect 1 to 0",
        "prepare 0: w",
        "1: prepare 1: r",
        "1: execute 1 ()",
        "execute 0 ()",
        "disconnect 1",
        "connect 1 to 0",
        "1: prepare 1: o",
        "1: execute 1 ()",
    ];
    assert_eq!(client.requests, expected);
    let lines = printed();
    assert!(lines[0].contains("attempt to use a closed statement"), "{lines:?}");
    assert_eq!(lines[1], "0");
    assert!(lines[2].contains("attempt to use a closed statement"), "{lines:?}");
}

/// As in sysbench, whose connects take the hosts in turn; only which client begins with which is
/// chance there.
#[test]
fn connects_take_the_servers_in_turn() {
    let text = "function thread_init() drv = sysbench.sql.driver() \
                writer, reader = drv:connect(), drv:connect() end \
                function event() reader:disconnect() reader = drv:connect() reader:reconnect() end";
    let program = program_with(text, Settings { servers: 3, clients: 2, ..settings() }).unwrap();
    let executions = program.executions([0, 1].into_iter()).expect("a Lua state");
    let requests = executions.into_iter().map(|execution| {
        let mut client = Client::of(execution, nothing);
        client.set_up().expect("no fault");
        client.event().expect("no fault");
        // After a loss everything is set up again, with the same servers.
        client.set_up().expect("no fault");
        client.requests
    });
    let expected = |servers: [u32; 3]| {
        let [second, third, _] = servers;
        vec![
            format!("connect 1 to {second}"),
            "disconnect 1".into(),
            format!("connect 1 to {third}"),
            format!("connect 1 to {third}"),
            format!("connect 1 to {second}"),
        ]
    };
    assert_eq!(requests.collect::<Vec<_>>(), [expected([1, 2, 0]), expected([2, 0, 1])]);
}

/// A connection that the script has lost sight of is open until it is collected as garbage.
#[test]
fn what_an_event_opened_and_lost_is_closed() {
    let text = "collectgarbage('stop') \
                function thread_init() con = sysbench.sql.driver():connect() end \
                function event() lost = sysbench.sql.driver():connect() lost:query('x') end";
    let program = program(text);
    let mut client = Client::new(&program, |_| mysql_error(1213, "40001"));
    client.set_up().expect("no fault");
    client.begin();
    assert_eq!(client.first_request(), "Connect { connection: ConnectionId(1), server: 0 }");
    // The event is given up, and the next one begins.
    client.begin();
    assert_eq!(client.first_request(), "Disconnect(ConnectionId(1))");
}

#[test]
fn a_connection_that_was_closed_is_replaced_by_a_new_one() {
    let text = "function event() local con = sysbench.sql.driver():connect() con:query('a') \
                con:disconnect() end";
    let program = program(text);
    let requests = Client::new(&program, nothing).live(2).expect("no fault");
    assert_eq!(requests, ["a", "disconnect 0", "connect 0 to 0", "a", "disconnect 0"]);
    // Only a script's own `reconnect` is counted as one.
    assert_eq!(program.count(Counter::Reconnect), 0);
}

#[test]
fn after_a_reconnect_or_a_lost_connection_nothing_is_left_to_replace() {
    let text = "function thread_init() con = sysbench.sql.driver():connect() con:query('a') \
                  con:disconnect() end \
                function event() con:reconnect() con:disconnect() con:reconnect() end";
    let program = program(text);
    let mut client = Client::new(&program, nothing);
    client.set_up().unwrap();
    client.set_up().unwrap();
    client.event().unwrap();
    let set_up = ["a", "disconnect 0", "a", "disconnect 0"];
    let event = ["connect 0 to 0", "disconnect 0", "connect 0 to 0"];
    assert_eq!(client.requests, [&set_up[..], &event[..]].concat());
    assert_eq!(program.count(Counter::Reconnect), 2);
}

#[test]
fn statements_of_connections_that_are_gone_take_no_numbers() {
    let text = "function thread_init() con = sysbench.sql.driver():connect() \
                  con:prepare('a') con:prepare('b') end \
                function event() end";
    let program = program(text);
    let mut client = Client::new(&program, nothing);
    for _ in 0..3 {
        client.set_up().unwrap();
    }
    assert_eq!(client.requests, ["prepare 0: a", "prepare 1: b"].repeat(3));
}

#[test]
fn an_event_that_was_given_up_does_not_stand_in_the_way() {
    let text = "function event() local con = sysbench.sql.driver():connect() \
                con:query('a') con:query('b') con:disconnect() end";
    let program = program(text);
    let mut client = Client::new(&program, nothing);
    client.set_up().unwrap();
    client.begin();
    assert_eq!(client.first_request(), "a");
    client.event().expect("the connection of the lost event is void");
    assert_eq!(client.requests, ["disconnect 0", "connect 0 to 0", "a", "b", "disconnect 0"]);
}

#[test]
fn what_was_being_prepared_when_its_event_was_given_up_answers_nothing_later() {
    let text = "function event() con = sysbench.sql.driver():connect() n = (n or 0) + 1 \
                if n == 1 then con:prepare('x') end \
                print(con:query_row('two rows')) con:disconnect() end";
    let program = program(text);
    let mut client = Client::new(&program, server);
    client.set_up().unwrap();
    client.begin();
    assert_eq!(client.first_request(), "prepare 0: x");
    client.event().expect("a query is answered by its rows");
    assert_eq!(printed(), ["1\tnil"]);
}

#[test]
fn unread_rows_are_not_requested() {
    use dbdyno_model::{Keep, Request};
    use dbdyno_script::{Resume, Step};
    for (text, expected) in [
        ("con:query('x')", Keep::None),
        ("rs = con:query('x')", Keep::AllRows),
        ("con:query('x') c = con:query_row('y')", Keep::AllRows),
        ("con:query('x') rs = con:next_result()", Keep::AllRows),
    ] {
        let text =
            format!("function event() con = con or sysbench.sql.driver():connect() {text} end");
        let mut client = Client::new(&program(&text), nothing);
        client.set_up().unwrap();
        client.begin();
        match client.execution.resume(Resume::Continue) {
            Ok(Step::Request(_, Request::Text { keep, .. })) => assert_eq!(keep, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn statements_are_counted_under_their_form() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                for i = 1, 3 do con:query('select ' .. i .. ' from t' .. i) end \
                con:prepare('select ? from t7'):close() con:query('commit') end";
    let program = program(text);
    Client::new(&program, nothing).live(2).expect("no fault");
    let known = program.statements().since(0);
    let texts: Vec<&str> = known.iter().map(|statement| statement.source.as_str()).collect();
    assert_eq!(texts, ["select ? from t#", "commit"]);
}
