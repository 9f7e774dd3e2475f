//! Errors in scripts: reported before the run where possible, otherwise where they happen.

use crate::driver::{Client, nothing, problem_of, program, settings};

#[test]
fn what_is_wrong_before_the_run_is_a_problem_with_its_place() {
    for (text, message) in [
        ("function event(", "test.lua:1:1: error: <name> or '...' expected near '<eof>'"),
        ("x = 1", "error: cannot find the event() function in test.lua"),
        ("\n\nerror('loud')", "test.lua:3:1: error: loud"),
        ("error({})", "error: an error value"),
        (
            "sysbench.sql.driver():connect():query('x')",
            "error: the script talks to the server before it is asked to run",
        ),
        (
            "sysbench.cmdline.options = {a = 5}",
            "error: wrong table structure in sysbench.cmdline.options",
        ),
        (
            "function event() end coroutine.yield(1)",
            "error: the script talks to the server before it is asked to run",
        ),
    ] {
        let problem = problem_of(text, settings());
        let first = problem.lines().next().unwrap_or_default();
        assert!(first.ends_with(message), "{problem}");
    }
}

#[test]
fn a_fault_contains_the_lines_that_led_there() {
    let text = "local function inner() local x = nil; return x.y end\n\
                function event()\n  inner()\nend";
    let fault = Client::new(&program(text), nothing).live(1).expect_err("a fault");
    assert_eq!(fault.line, 1);
    let lines: Vec<&str> = fault.message.lines().collect();
    assert!(lines[0].starts_with("test.lua:1: attempt to index"), "{lines:?}");
    assert!(lines[1..].iter().any(|line| line.contains("test.lua:3:")), "{lines:?}");
    assert!(!fault.message.contains("dbdyno"), "{}", fault.message);
}

#[test]
fn errors_in_each_hook_are_faults() {
    let event = "function event() end";
    for hook in ["thread_init", "event", "thread_run", "thread_done"] {
        let text = format!("{event}\nfunction {hook}() error('in {hook}') end");
        let fault = Client::new(&program(&text), nothing).live(1).expect_err("a fault");
        assert!(fault.message.contains(&format!("in {hook}")), "{}", fault.message);
        assert_eq!(fault.line, 2);
    }
}

#[test]
fn nonsense_that_is_thrown_or_returned_is_survived() {
    for (body, message) in [
        ("error({1, 2})", "an error value"),
        ("error()", "nil"),
        ("error(setmetatable({}, {__tostring = function() error('x') end}))", "an error value"),
        ("coroutine.yield()", "the script yielded outside of its coroutines"),
        ("coroutine.yield('x')", "the script yielded outside of its coroutines"),
        ("local function f() return f() + 1 end f()", "stack overflow"),
        ("sysbench.rand.string({})", "error converting Lua table to"),
        ("string.rep('x', 10, {})", "bad argument #3"),
        ("event = nil", ""),
    ] {
        let text = format!("function event() {body} end");
        match Client::new(&program(&text), nothing).live(1) {
            Err(fault) => assert!(fault.message.contains(message), "{}", fault.message),
            Ok(_) => assert!(message.is_empty(), "{body}"),
        }
    }
}

#[test]
fn other_bytes_than_text_are_refused_before_they_become_something_else() {
    for body in [
        "con:query(\"select '\\255'\")",
        "con:prepare('\\255')",
        "local s = con:prepare('?') local p = s:bind_create(sysbench.sql.type.CHAR, 9) \
         s:bind_param(p) p:set('\\255') s:execute()",
    ] {
        let text = format!(
            "function thread_init() con = sysbench.sql.driver():connect() end \
             function event() {body} end"
        );
        let fault = Client::new(&program(&text), nothing).live(1).expect_err("a fault");
        assert!(fault.message.contains("must be UTF-8"), "{}", fault.message);
    }
}

#[test]
fn a_client_without_its_event_is_a_fault() {
    let text = "function event() event = nil end";
    let fault = Client::new(&program(text), nothing).live(2).expect_err("a fault");
    assert!(fault.message.contains("attempt to call a nil value"), "{}", fault.message);
}
