//! Problems reported before the run, each with its position, its text and its reason.

mod common;

use common::{OPTIONS, problems, program, scripts};
use dbdyno_model::{QueryMode, Scalar};
use dbdyno_script::Severity;
use dbdyno_script::pgbench::{Options, compile};
use std::collections::BTreeMap;

/// The problems of one script.
fn found(text: &str, mode: QueryMode) -> Vec<String> {
    problems(&[text], mode, OPTIONS)
}

#[test]
fn an_error_on_each_kind_of_line_is_reported_with_its_place() {
    for (text, expected) in [
        ("\\set x 1 +", "s0:1:11: error: an expression is expected here"),
        ("\\set", "s0:1:5: error: the variable's name is expected here"),
        ("\\set 1x 1", "s0:1:6: error: a variable cannot have this name: 1x"),
        ("\\set x (1 + 2", "s0:1:14: error: ) is expected here"),
        ("\\set x 1 2", "s0:1:10: error: the expression should end before this: 2"),
        ("\\set x 1 ! 2", "s0:1:10: error: an expression cannot contain this character: !"),
        ("\\set x 1 < 2 < 3", "s0:1:14: error: comparisons cannot be chained: <"),
        (
            "\\set x 9223372036854775808",
            "s0:1:8: error: this number is too large: 9223372036854775808",
        ),
        ("\\set x 1e400", "s0:1:8: error: this number is too large: 1e400"),
        ("\\set x nosuch(1)", "s0:1:8: error: there is no function of this name: nosuch"),
        ("\\set x pi(1)", "s0:1:8: error: pi takes 0 arguments: pi"),
        ("\\set x abs()", "s0:1:8: error: abs takes 1 argument: abs"),
        ("\\set x hash(1, 2, 3)", "s0:1:8: error: hash takes 1 to 2 arguments: hash"),
        ("\\set x least()", "s0:1:8: error: least takes 1 to 16 arguments: least"),
        ("\\set x 1 is 2", "s0:1:13: error: null, true or false is expected here: 2"),
        ("\\set x case 1 end", "s0:1:13: error: when is expected here: 1"),
        ("\\set x :y + 1", "s0:1:8: error: nothing sets this variable: :y"),
        ("select 1;\n  \\sleep", "s0:2:9: error: a number is expected here"),
        ("\\sleep x", "s0:1:8: error: a whole number or a variable is expected: x"),
        ("\\sleep 1.5", "s0:1:9: error: a unit of time is expected: us, ms or s: .5"),
        ("\\sleep 1 h", "s0:1:10: error: a unit of time is expected: us, ms or s: h"),
        ("\\sleep 1 s x", "s0:1:12: error: nothing more is expected here: x"),
        ("\\sleep :t", "s0:1:8: error: nothing sets this variable: :t"),
        ("\\shell", "s0:1:7: error: a command is expected here"),
        ("\\shell echo :q", "s0:1:13: error: nothing sets this variable: :q"),
        ("\\setshell x", "s0:1:12: error: a command is expected here"),
        ("\\setrandom x 1", "s0:1:15: error: a name and two bounds are expected here"),
        (
            "\\setrandom x 1 2 gaussian",
            "s0:1:18: error: a parameter is expected after this: gaussian",
        ),
        (
            "\\setrandom x 1 2 normal",
            "s0:1:18: error: uniform, gaussian or exponential is expected: normal",
        ),
        ("\\setrandom x 1 2 uniform 3", "s0:1:26: error: nothing more is expected here: 3"),
        ("\\if true\n\\endif x", "s0:2:8: error: nothing more is expected here: x"),
        ("\\if true", "s0:1:1: error: this block has no \\endif: \\if true"),
        ("\\else", "s0:1:1: error: this has no matching \\if: \\else"),
        ("\\elif 1", "s0:1:1: error: this has no matching \\if: \\elif 1"),
        ("\\endif", "s0:1:1: error: this has no matching \\if: \\endif"),
        (
            "\\if 1\n\\else\n\\else\n\\endif",
            "s0:3:1: error: the block already has an \\else: \\else",
        ),
        (
            "\\if 1\n\\else\n\\elif 1\n\\endif",
            "s0:3:1: error: the block already has an \\else: \\elif 1",
        ),
        ("\\gset", "s0:1:1: error: this must follow a SQL command: \\gset"),
        ("select 1 \\gset\n\\gset", "s0:2:1: error: this must follow a SQL command: \\gset"),
        ("select 1 \\gset a b", "s0:1:18: error: nothing more is expected here: b"),
        ("select 1 \\aset 1", "s0:1:16: error: a variable cannot have this name: 1"),
        ("\\nosuch 1", "s0:1:1: error: there is no such meta-command: \\nosuch"),
        ("select 'x;\n", "s0:1:8: error: this string does not end: 'x;"),
        ("select (1;\n", "s0:1:8: error: this bracket is not closed: ("),
        ("-- nothing\n", "s0:1:1: error: this script has no commands"),
        ("", "s0:1:1: error: this script has no commands"),
        ("select 1;\n\0", "s0:2:1: error: a script cannot contain a zero byte: \0"),
    ] {
        assert_eq!(found(text, QueryMode::Simple), [expected], "{text}");
    }
}

#[test]
fn pipelines_and_combinations_depend_on_the_query_mode() {
    let pipeline = "\\startpipeline\nselect 1;\n\\endpipeline";
    assert_eq!(
        found(pipeline, QueryMode::Simple),
        ["s0:1:1: error: pipelines need -M extended or -M prepared: \\startpipeline"]
    );
    assert_eq!(found(pipeline, QueryMode::Extended), [""; 0]);
    let combined = "select 1 \\; select 2;";
    assert_eq!(found(combined, QueryMode::Simple), [""; 0]);
    assert_eq!(
        found(combined, QueryMode::Prepared),
        ["s0:1:10: error: statements can be combined only with -M simple: \\;"]
    );
    assert_eq!(found("select 1 \\; ;", QueryMode::Prepared), [""; 0]);
}

#[test]
fn pipelines_begin_and_end_where_they_should() {
    for (text, expected) in [
        ("\\endpipeline", "s0:1:1: error: no pipeline is open: \\endpipeline"),
        ("\\syncpipeline", "s0:1:1: error: no pipeline is open: \\syncpipeline"),
        ("\\startpipeline", "s0:1:1: error: this pipeline has no \\endpipeline: \\startpipeline"),
        (
            "\\startpipeline\n\\startpipeline\n\\endpipeline",
            "s0:2:1: error: a pipeline is already open: \\startpipeline",
        ),
        (
            "\\startpipeline\nselect 1 \\gset\n\\endpipeline",
            "s0:2:1: error: rows cannot be stored inside a pipeline: their answer comes later: select 1",
        ),
        (
            "\\if 1\n\\startpipeline\n\\endif\nselect 1;",
            "s0:3:1: error: a pipeline must begin and end in the same branch: \\endif",
        ),
        (
            "\\startpipeline\n\\if 1\n\\endpipeline\n\\else\n\\endif\n\\endpipeline",
            "s0:4:1: error: a pipeline must begin and end in the same branch: \\else",
        ),
    ] {
        assert_eq!(found(text, QueryMode::Prepared), [expected], "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_copy_is_found_before_the_run() {
    for (text, expected) in [
        (
            "select 1;\ncopy t from stdin;\n1\t\\.\n",
            "s0:2:1: error: the rows of this COPY have no end: a line with \\. alone must follow them: copy t from stdin;",
        ),
        (
            "copy t from stdin\n1\n\\.\n",
            "s0:1:1: error: this COPY needs a semicolon, then its rows, then a line with \\. alone: copy t from stdin",
        ),
        (
            "copy t from stdin; 1\n\\.\n",
            "s0:1:20: error: the rows of this COPY begin on the next line: nothing may stand here: 1",
        ),
        (
            "\\startpipeline\ncopy t to stdout;\n\\endpipeline",
            "s0:2:1: error: COPY cannot be a part of a pipeline: end the pipeline before it: copy t to stdout;",
        ),
        (
            "copy t from stdin binary;\n\\.\n",
            "s0:1:1: error: a script is text and cannot hold binary rows: copy them as text or CSV: copy t from stdin binary;",
        ),
        ("copy t to stdout \\gset", "s0:1:18: error: the rows of a COPY cannot be stored: \\gset"),
        (
            "\\copy t to stdout",
            "s0:1:1: error: \\copy is psql's own: write copy … from stdin; with the rows and \\. after it, or copy … to stdout;: \\copy",
        ),
        (
            "select 1;\n\\.\n",
            "s0:2:1: error: this ends the rows of a COPY, but no copy … from stdin; precedes it: \\.",
        ),
        (
            "copy t from stdin;\n:x\t{\"a\":true}\n\\.\n",
            "s0:2:1: warning: nothing sets this variable: it is left in the rows unchanged: :x",
        ),
    ] {
        assert_eq!(found(text, QueryMode::Extended), [expected], "{text}");
    }
    let combined = found("begin \\; copy t to stdout;", QueryMode::Simple);
    assert_eq!(
        combined,
        [
            "s0:1:1: error: COPY from or to the client cannot be combined with other statements: begin \\; copy t to stdout;"
        ]
    );
    let options = Options { has_copy: false, ..OPTIONS };
    assert_eq!(
        problems(&["copy t to stdout;"], QueryMode::Simple, options),
        [
            "s0:1:1: error: COPY from or to the client exists in PostgreSQL's protocol only: copy t to stdout;"
        ]
    );
}

#[test]
fn shell_commands_need_leave() {
    let options = Options { allow_shell: false, ..OPTIONS };
    assert_eq!(
        problems(&["\\shell echo\n\\setshell x echo 1"], QueryMode::Simple, options),
        [
            "s0:1:1: error: shell commands run only with --allow-shell: \\shell echo",
            "s0:2:1: error: shell commands run only with --allow-shell: \\setshell x echo 1",
        ]
    );
}

#[test]
fn all_problems_of_all_scripts_are_reported_in_order() {
    let first = "select :a, :a, :b;\n\\set x :c +\n\\if nosuch()\n\\sleep q\n\\endif\n\\set y :d\n";
    let second = "select ':a', now()::time;\n\\foo";
    assert_eq!(
        problems(&[first, second], QueryMode::Simple, OPTIONS),
        [
            "s0:1:8: warning: nothing sets this variable: it is left in the SQL unchanged: :a",
            "s0:1:16: warning: nothing sets this variable: it is left in the SQL unchanged: :b",
            "s0:2:8: error: nothing sets this variable: :c",
            "s0:2:12: error: an expression is expected here",
            "s0:3:5: error: there is no function of this name: nosuch",
            "s0:4:8: error: a whole number or a variable is expected: q",
            "s0:6:8: error: nothing sets this variable: :d",
            "s1:2:1: error: there is no such meta-command: \\foo",
        ]
    );
}

#[test]
fn a_warning_does_not_keep_the_program_from_running() {
    let compilation =
        compile(&scripts(&["select :a;"]), &BTreeMap::new(), QueryMode::Prepared, OPTIONS);
    assert_eq!(compilation.problems.len(), 1);
    assert_eq!(compilation.problems[0].severity, Severity::Warning);
    let program = compilation.program.unwrap();
    assert_eq!(program.statements()[0].sql, "select :a");
    assert_eq!(program.statements()[0].parameters, 0);
}

#[test]
fn variables_can_be_set_by_any_script_and_by_rows() {
    let clean = |texts: &[&str]| problems(texts, QueryMode::Extended, OPTIONS).is_empty();
    assert!(clean(&["\\set x :y", "\\set y 1", "select :x;"]));
    assert!(clean(&["\\set x :any + :thing", "select 1 \\gset"]));
    assert!(clean(&["\\set x :p_any", "select 1 \\aset p_"]));
    assert!(clean(&["\\setrandom x 1 2\n\\setshell y echo 1\nselect :x, :y;"]));
    assert!(!clean(&["\\set x :q_any", "select 1 \\aset p_"]));
    assert!(!clean(&["\\set x :p_", "select 1 \\aset p_"]));
}

#[test]
fn rows_reach_variables_that_later_commands_mention() {
    let program = program(&["select 1 as late \\gset\nselect :late;"], QueryMode::Prepared);
    assert_eq!(program.statements()[1].parameters, 1);
}

#[test]
fn the_plan_itself_can_be_wrong() {
    let mut none = scripts(&["select 1;", "select 2;"]);
    for script in &mut none {
        script.weight = 0;
    }
    let variables = BTreeMap::from([("a-b".to_owned(), Scalar::Int(1))]);
    let compilation = compile(&none, &variables, QueryMode::Simple, OPTIONS);
    let lines: Vec<String> = compilation.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "error: the weights of the scripts must not all be zero",
            "error: a variable cannot have this name: a-b",
        ]
    );
    assert!(compilation.program.is_none());
}

#[test]
fn a_statement_has_a_limit_of_parameters() {
    let script = |count: usize| format!("\\set x 1\nselect {}0;", ":x + ".repeat(count));
    assert_eq!(found(&script(65_535), QueryMode::Prepared), [""; 0]);
    let over = found(&script(65_536), QueryMode::Prepared);
    assert!(over[0].contains("more than 65535 parameters"), "{}", &over[0][..80]);
    assert_eq!(found(&script(65_536), QueryMode::Simple), [""; 0]);
}

#[test]
fn expressions_that_would_exhaust_the_stack_are_refused() {
    for (text, message) in [
        (format!("\\set x {}1", "(".repeat(100_000)), "nested too deeply"),
        (format!("\\set x {}1", "-".repeat(100_000)), "nested too deeply"),
        (format!("\\set x {}1", "case when 1 then ".repeat(100_000)), "nested too deeply"),
        (format!("\\set x {}1", "1 + ".repeat(100_000)), "too many operators"),
        (format!("\\set x 1{}", " isnull".repeat(100_000)), "too many operators"),
        (format!("\\set x {}1", "abs(".repeat(100_000)), "nested too deeply"),
    ] {
        let problems = found(&text, QueryMode::Simple);
        assert!(problems[0].contains(message), "{}", &problems[0][..80]);
    }
}

#[test]
fn problems_are_plain_data() {
    let compilation = compile(&scripts(&["\\set x"]), &BTreeMap::new(), QueryMode::Simple, OPTIONS);
    assert_eq!(
        serde_json::to_value(&compilation.problems[0]).unwrap(),
        serde_json::json!({
            "severity": "error", "script": "s0", "line": 1, "column": 7, "text": "",
            "message": "an expression is expected here",
        })
    );
}
