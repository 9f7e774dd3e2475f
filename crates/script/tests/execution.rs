//! What a client sends, step by step, with invented replies.

mod common;

use common::{
    OPTIONS, chance, compiled, fault, problems, program, reply, row, scripts,
    serialization_failure, text, texts,
};
use dbdyno_model::{
    Flow, Keep, Nanos, QueryMode, Reply, Request, ResultSet, Rows, Scalar, StatementId, Value,
};
use dbdyno_script::pgbench::{Options, PgbenchExecution, compile};
use dbdyno_script::{Execution, Resume, Step};
use dbdyno_sql::Dialect;
use std::collections::BTreeMap;

const TPCB: &str = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

/// The parameters of the next request.
fn parameters(execution: &mut PgbenchExecution, input: Resume<'_>) -> Vec<Value> {
    match execution.resume(input).unwrap() {
        Step::Request(_, Request::Parameterized { parameters, .. }) => parameters.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_built_in_script_has_seven_statements_and_their_parameters() {
    let program = program(&[TPCB], QueryMode::Prepared);
    let shown: Vec<_> = program
        .statements()
        .iter()
        .map(|statement| (statement.index, statement.line, statement.parameters))
        .collect();
    assert_eq!(
        shown,
        [(4, 5, 0), (5, 6, 2), (6, 7, 1), (7, 8, 2), (8, 9, 2), (9, 10, 4), (10, 11, 0)]
    );
    let insert = &program.statements()[5];
    assert!(insert.sql.ends_with("VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)"), "{}", insert.sql);
    assert!(insert.source.ends_with("VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);"));

    let mut execution = program.execution(0);
    execution.begin(0, chance(1));
    let answer = reply(&[]);
    assert_eq!(parameters(&mut execution, Resume::Continue), []);
    let update = parameters(&mut execution, Resume::Reply(&answer));
    let select = parameters(&mut execution, Resume::Reply(&answer));
    assert_eq!(update[1], select[0]);
    assert!(matches!(update[0], Value::Int(-5000..=5000)));
    assert!(matches!(update[1], Value::Int(1..=100_000)));
}

#[test]
fn the_rows_of_a_copy_come_in_small_blocks_and_again_for_each_try() {
    let rows = format!("{}:n\n", "x".repeat(100_000));
    let script = format!("\\set n 7\ncopy t from stdin;\n{rows}{rows}\\.\nselect :n;");
    let program = program(&[&script], QueryMode::Prepared);
    let mut execution = program.execution(0);
    let expected = rows.replace(":n", "7").repeat(2).into_bytes();
    execution.begin(0, chance(1));
    for _ in 0..2 {
        let begun = execution.resume(Resume::Continue).unwrap();
        assert!(matches!(begun, Step::Request(_, Request::Copy { sql: "copy t from stdin", .. })));
        let (mut sent, mut blocks) = (Vec::new(), 0);
        loop {
            let step = execution.resume(Resume::RowsWanted).unwrap();
            let Step::Request(_, Request::CopyRows { rows, is_last, .. }) = step else {
                panic!("{step:?}")
            };
            assert!(rows.len() <= 33_000);
            sent.extend_from_slice(rows);
            blocks += 1;
            if is_last {
                break;
            }
        }
        assert_eq!(sent, expected);
        assert!(blocks > 5);
        execution.restart();
    }
}

#[test]
fn the_same_chance_gives_the_same_transaction() {
    let program = program(&[TPCB], QueryMode::Simple);
    let mut first = texts(&mut program.execution(0), 0, 5);
    assert_eq!(first, texts(&mut program.execution(1), 0, 5));
    assert_ne!(first, texts(&mut program.execution(0), 0, 6));
    assert_eq!(first.pop().as_deref(), Some("END"));
}

#[test]
fn values_go_into_simple_text_as_pgbench_writes_them() {
    let script = "\\set i -5\n\\set d 1.0 / 3\n\\set b 1 < 2\n\\set n null\n\
        select :i, :d, :b, :n, ':i', \":i\" /* :i */, 1::int, :unknown, a[1:2] -- :i\n, $$:i$$;";
    let sent = texts(&mut program(&[script], QueryMode::Simple).execution(0), 0, 0);
    assert_eq!(
        sent,
        ["select -5, 0.333333333333333, true, NULL, '-5', \"-5\" /* -5 */, 1::int, :unknown, \
          a[1:2] -- -5\n, $$-5$$"]
    );
}

#[test]
fn only_code_has_parameters_each_mention_one() {
    let script =
        "\\set i 5\n\\set n null\nselect :i, :i, :n, ':j', \"x:j\", 1::int4 /* :i */ -- :i;";
    let program = program(&[script], QueryMode::Extended);
    let sql = &program.statements()[0].sql;
    assert_eq!(sql, "select $1, $2, $3, ':j', \"x:j\", 1::int4 /* :i */ -- :i;");
    assert_eq!(program.statements()[0].as_text, None);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    let sent = parameters(&mut execution, Resume::Continue);
    assert_eq!(sent, [Value::Int(5), Value::Int(5), Value::Null]);
}

#[test]
fn combined_statements_are_one_text() {
    let script = "select 1 \\; select ':x' \\; select a\\:b;\nselect 2";
    let sent = texts(&mut program(&[script], QueryMode::Simple).execution(0), 0, 0);
    assert_eq!(sent, ["select 1 ; select ':x' ; select a:b", "select 2"]);
}

#[test]
fn automatic_variables_have_values_that_the_plan_may_override() {
    let script = "select :scale, :client_id, :random_seed, :default_seed;";
    let plain = program(&[script], QueryMode::Simple);
    let sent = texts(&mut plain.execution(3), 0, 0);
    assert!(sent[0].starts_with("select 1, 3, 7, "), "{sent:?}");
    assert_eq!(sent, [texts(&mut plain.execution(3), 0, 9).remove(0)]);

    let names = ["scale", "client_id", "random_seed", "default_seed"];
    let given = |name: &str| (name.to_owned(), Scalar::Text("1e1".into()));
    let variables = BTreeMap::from(names.map(given));
    let overridden = compiled(&[script], &variables, QueryMode::Simple).unwrap();
    assert_eq!(texts(&mut overridden.execution(3), 0, 0), ["select 1e1, 1e1, 1e1, 1e1"]);
}

#[test]
fn blocks_run_one_branch_and_skip_the_others_unevaluated() {
    let script = "\
\\if :x = 1
  select 'one';
  \\if :y
    select 'and';
  \\else
    select 'but';
  \\endif
\\elif :x = 2
  select 'two';
\\elif 1 / (:x - 3) = 0
  select 'far';
\\else
  select 'near';
\\endif
select 'end';";
    let run = |x: i64, y: bool| {
        let variables =
            BTreeMap::from([("x".into(), Scalar::Int(x)), ("y".into(), Scalar::Bool(y))]);
        let program = compiled(&[script], &variables, QueryMode::Simple).unwrap();
        texts(&mut program.execution(0), 0, 0).concat().replace("select ", "")
    };
    assert_eq!(run(1, true), "'one''and''end'");
    assert_eq!(run(1, false), "'one''but''end'");
    assert_eq!(run(2, true), "'two''end'");
    assert_eq!(run(9, true), "'far''end'");
    assert_eq!(run(4, true), "'near''end'");
}

#[test]
fn a_fault_names_its_command_and_line() {
    let found = fault(&program(&["select 1;\n\n\\set x 1 / 0\n"], QueryMode::Simple)).unwrap();
    assert_eq!((found.script, found.command, found.line), (0, 1, 3));
    assert_eq!(found.message, "division by zero");
    let unset = "\\if false\n\\set x 1\n\\endif\n\\set y :x";
    let found = fault(&program(&[unset], QueryMode::Simple)).unwrap();
    assert_eq!(found.message, "variable x has no value");
}

#[test]
fn gset_takes_the_only_row_of_the_last_answer() {
    let script = "select 1 as a \\; select 2 as a, 'x' as b, null as c \\gset p_\n\
        select :p_a, :p_b, :p_c;";
    let program = program(&[script], QueryMode::Simple);
    let mut execution = program.execution(0);
    let answers = [row(&["a"], &[Some("1")]), row(&["a", "b", "c"], &[Some("2"), Some("x"), None])];
    execution.begin(0, chance(0));
    let step = execution.resume(Resume::Continue).unwrap();
    assert!(matches!(step, Step::Request(_, Request::Text { keep: Keep::LastRow, .. })));
    let answer = reply(&answers);
    let sent = text(execution.resume(Resume::Reply(&answer)).unwrap());
    assert_eq!(sent, "select 2, x, NULL");
}

#[test]
fn gset_refuses_any_other_number_of_rows() {
    let program = program(&["select 1;\nselect a from t \\gset\n"], QueryMode::Prepared);
    for count in [0, 2] {
        let mut execution = program.execution(0);
        execution.begin(0, chance(0));
        let none = reply(&[]);
        execution.resume(Resume::Continue).unwrap();
        execution.resume(Resume::Reply(&none)).unwrap();
        let answer = [ResultSet { row_count: count, ..row(&["a"], &[Some("1")]) }];
        let fault = execution.resume(Resume::Reply(&reply(&answer))).unwrap_err();
        assert_eq!((fault.command, fault.line), (1, 2));
        assert!(fault.message.ends_with(&format!("not {count}")), "{}", fault.message);
    }
}

#[test]
fn aset_takes_the_last_row_of_each_answer_that_has_one() {
    let script = "\\set b 7\nselect 1 as a\\; select 2 as b where false\\; select 3 as c \\aset\n\
        select :a, :b, :c;";
    let program = program(&[script], QueryMode::Simple);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    execution.resume(Resume::Continue).unwrap();
    let empty = ResultSet { row_count: 0, rows: Rows::default(), ..row(&["b"], &[Some("2")]) };
    let answers = [row(&["a"], &[Some("1")]), empty, row(&["c"], &[Some("3")])];
    let sent = text(execution.resume(Resume::Reply(&reply(&answers))).unwrap());
    assert_eq!(sent, "select 1, 7, 3");
}

#[test]
fn text_from_rows_is_a_number_in_expressions() {
    let script = "select 1 \\gset\n\\set y :x * 2 + :d\n\\sleep :x us\nselect :y;";
    let program = program(&[script], QueryMode::Simple);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    execution.resume(Resume::Continue).unwrap();
    let answers = [row(&["x", "d", "y"], &[Some("21"), Some("0.5"), Some("none")])];
    let step = execution.resume(Resume::Reply(&reply(&answers))).unwrap();
    assert_eq!(step, Step::Sleep(Nanos(21_000)));
    assert_eq!(text(execution.resume(Resume::Continue).unwrap()), "select 42.5");
}

#[test]
fn pipelines_queue_and_wait_at_their_end() {
    let script = "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\nselect 3;";
    let program = program(&[script], QueryMode::Extended);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    let mut flows = Vec::new();
    while let Step::Request(_, request) = execution.resume(Resume::Continue).unwrap() {
        flows.push((request.statement().0, request.flow()));
    }
    let (queue, wait) = (Flow::Queue, Flow::Wait);
    assert_eq!(flows, [(0, queue), (1, queue), (2, queue), (3, wait), (4, wait)]);
    assert_eq!(program.statements()[3].source, "\\endpipeline");
    assert_eq!(program.statements()[3].index, 4);
}

#[test]
fn pauses_have_units_and_are_never_negative() {
    let script = "\\set t 1.9\n\\sleep 2\n\\sleep 10ms\n\\sleep 10 US\n\\sleep -5\n\\sleep :t ms\n";
    let program = program(&[script], QueryMode::Simple);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    let mut pauses = Vec::new();
    while let Step::Sleep(pause) = execution.resume(Resume::Continue).unwrap() {
        pauses.push(pause.0);
    }
    assert_eq!(pauses, [2_000_000_000, 10_000_000, 10_000, 0, 1_000_000]);
}

#[test]
fn shell_commands_get_values_and_give_numbers() {
    let script = "\\set x 5\n\\shell echo :x ::x a:x\n\\setshell y expr :x + 1\nselect :y;";
    let program = program(&[script], QueryMode::Simple);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    let step = execution.resume(Resume::Continue).unwrap();
    assert_eq!(step, Step::Shell { command: "echo 5 :x a:x", output: false });
    let step = execution.resume(Resume::Shell(Ok(""))).unwrap();
    assert_eq!(step, Step::Shell { command: "expr 5 + 1", output: true });
    let sent = text(execution.resume(Resume::Shell(Ok(" 6 \nmore"))).unwrap());
    assert_eq!(sent, "select 6");
}

#[test]
fn shell_commands_can_fail() {
    let program = program(&["\\setshell y cmd\n"], QueryMode::Simple);
    for outcome in [Err("exit status 1"), Ok(""), Ok("six"), Ok("1.5")] {
        let mut execution = program.execution(0);
        execution.begin(0, chance(0));
        execution.resume(Resume::Continue).unwrap();
        let fault = execution.resume(Resume::Shell(outcome)).unwrap_err();
        assert_eq!((fault.command, fault.line), (0, 1));
    }
}

#[test]
fn a_client_keeps_its_variables_from_script_to_script() {
    let program = program(
        &["\\set n 5\nselect :n;", "\\if :n = 5\n\\set n :n + 1\n\\endif\nselect :n;"],
        QueryMode::Simple,
    );
    let mut execution = program.execution(0);
    assert_eq!(texts(&mut execution, 0, 0), ["select 5"]);
    assert_eq!(texts(&mut execution, 1, 1), ["select 6"]);
    assert_eq!(texts(&mut execution, 1, 2), ["select 6"]);
    assert_eq!(fault(&program), None);
}

#[test]
fn a_restarted_transaction_has_the_variables_and_the_chance_it_began_with() {
    let script = "\\set r random(1, 1000000)\n\\set n :n + 1\nselect :r, :n;";
    let variables = BTreeMap::from([("n".to_owned(), Scalar::Int(0))]);
    let program = compiled(&[script], &variables, QueryMode::Simple).unwrap();
    let mut execution = program.execution(0);
    texts(&mut execution, 0, 1);
    execution.begin(0, chance(2));
    let first = text(execution.resume(Resume::Continue).unwrap());
    assert!(first.ends_with(", 2"), "{first}");
    let error = serialization_failure();
    let failed = Reply { error: Some(&error), in_transaction: true, ..reply(&[]) };
    assert_eq!(execution.resume(Resume::Reply(&failed)).unwrap(), Step::Done);
    execution.restart();
    assert_eq!(text(execution.resume(Resume::Continue).unwrap()), first);
}

#[test]
fn a_script_must_not_leave_its_transaction_open() {
    let program = program(&["begin;\nselect 1;"], QueryMode::Simple);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    let open = Reply { in_transaction: true, ..reply(&[]) };
    execution.resume(Resume::Continue).unwrap();
    execution.resume(Resume::Reply(&open)).unwrap();
    let fault = execution.resume(Resume::Reply(&open)).unwrap_err();
    assert_eq!((fault.command, fault.line), (1, 2));
}

#[test]
fn old_scripts_draw_with_setrandom() {
    let script = "\
\\set naccounts 10 * :scale
\\setrandom aid 1 :naccounts
\\setrandom one 1 1 uniform
\\setrandom two 2 2 gaussian 2.5
\\setrandom three 3 3 exponential :scale
select :aid, :one, :two, :three;";
    let program = program(&[script], QueryMode::Simple);
    let mut execution = program.execution(0);
    let drawn: Vec<String> =
        (0..50).map(|number| texts(&mut execution, 0, number).concat()).collect();
    assert!(drawn.iter().all(|sql| sql.ends_with(", 1, 2, 3")), "{drawn:?}");
    assert!((1..=10).all(|aid| drawn.contains(&format!("select {aid}, 1, 2, 3"))), "{drawn:?}");
}

#[test]
fn a_script_may_have_no_sql_and_a_statement_no_text() {
    assert_eq!(fault(&program(&["\\set x 1"], QueryMode::Prepared)), None);
    let program = program(&["; select 1 \n;"], QueryMode::Prepared);
    let texts: Vec<_> =
        program.statements().iter().map(|found| (&*found.sql, &*found.source)).collect();
    assert_eq!(texts, [("", ";"), ("select 1", "select 1 \n;")]);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    assert_eq!(parameters(&mut execution, Resume::Continue), []);
}

#[test]
fn the_largest_expressions_allowed_fit_in_the_stack_of_a_thread() {
    let sum = format!("\\set x {}1\nselect :x;", "1 + ".repeat(1000));
    let nested = format!("\\set x {}1{}\nselect :x;", "(2 - ".repeat(49), ")".repeat(49));
    for (script, result) in [(sum, "select 1001"), (nested, "select 1")] {
        let program = program(&[&script], QueryMode::Simple);
        let run = move || texts(&mut program.execution(0), 0, 0);
        let small = std::thread::Builder::new().stack_size(512 * 1024).spawn(run).unwrap();
        assert_eq!(small.join().unwrap(), [result]);
    }
}

#[test]
fn where_no_server_takes_a_parameter_values_are_written_into_the_text() {
    for (sql, sent, place) in [
        ("select * from t where c = ':n'", "select * from t where c = '3'", "inside quotes"),
        ("select e'\\':n'", "select e'\\'3'", "inside quotes"),
        ("do $$begin perform :n; end$$", "do $$begin perform 3; end$$", "inside quotes"),
        ("select \"c:n\" /*:n*/", "select \"c3\" /*:n*/", "inside quotes"),
        ("select 1 /*+ rows(:n) */", "select 1 /*+ rows(3) */", "inside quotes"),
        ("select /*! :n */ 1", "select /*! 3 */ 1", "inside quotes"),
        ("select * from part_:n", "select * from part_3", "a part of a name"),
        (
            "select 1 from t order by :n, 2",
            "select 1 from t order by 3, 2",
            "the number of a column",
        ),
        (
            "(select 1)order by a.b desc, :n",
            "(select 1)order by a.b desc, 3",
            "the number of a column",
        ),
        ("select :n from t GROUP\nBY :n", "select 3 from t GROUP\nBY 3", "the number of a column"),
    ] {
        let script = format!("\\set n 3\n{sql};");
        for mode in [QueryMode::Extended, QueryMode::Prepared] {
            let program = program(&[&script], mode);
            let as_text = program.statements()[0].as_text.clone();
            assert_eq!(as_text, Some(format!(":n is {place}")), "{sql}");
            assert_eq!(texts(&mut program.execution(0), 0, 0), [sent]);
        }
        assert_eq!(program(&[&script], QueryMode::Simple).statements()[0].as_text, None);
    }
}

#[test]
fn names_in_backticks_are_quoted_where_the_server_has_them() {
    let script = scripts(&["\\set n 3\nselect ':n', `a_:n` from t where b = :n;"]);
    let options = Options { dialect: Dialect::Mysql, ..OPTIONS };
    let compilation = compile(&script, &BTreeMap::new(), QueryMode::Prepared, options);
    let program = compilation.program.expect("no error");
    let statement = &program.statements()[0];
    assert_eq!(statement.as_text.as_deref(), Some(":n is inside quotes"));
    let script = scripts(&["\\set n 3\nselect 1 from `t` /*! where b = :n */;"]);
    let compilation = compile(&script, &BTreeMap::new(), QueryMode::Prepared, options);
    let program = compilation.program.expect("no error");
    let statement = &program.statements()[0];
    assert_eq!(statement.sql, "select 1 from `t` /*! where b = $1 */");
}

#[test]
fn other_numbers_beside_a_list_of_columns_are_parameters() {
    for sql in [
        "select a from t order by a + :n",
        "select a from t order by a limit :n",
        "select a from t order by a limit a, :n",
        "select a from t group by f(a, :n)",
        "select reorder by, :n",
    ] {
        let program = program(&[&format!("\\set n 3\n{sql};")], QueryMode::Prepared);
        assert_eq!(program.statements()[0].as_text, None, "{sql}");
    }
}

#[test]
fn the_plan_may_say_that_a_command_takes_no_parameters() {
    let mut scripts = scripts(&["\\set n 3\nbegin;\nfetch :n from c;\nselect :n;"]);
    scripts[0].as_text.insert(2, "it is so".into());
    let compiled = compile(&scripts, &BTreeMap::new(), QueryMode::Prepared, OPTIONS);
    let statements = compiled.program.unwrap().statements().to_vec();
    let found = statements.iter().map(|one| (one.sql.as_str(), one.as_text.as_deref()));
    let expected = [("begin", None), ("fetch :n from c", Some("it is so")), ("select $1", None)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn the_plan_may_tell_the_types_of_parameters() {
    let mut scripts = scripts(&["\\set n 3\nselect :n;\nselect :n + 1;"]);
    scripts[0].parameter_types.insert(2, vec![23]);
    let compiled = compile(&scripts, &BTreeMap::new(), QueryMode::Extended, OPTIONS);
    let statements = compiled.program.unwrap().statements().to_vec();
    let found: Vec<_> = statements.iter().map(|one| one.parameter_types.clone()).collect();
    assert_eq!(found, [vec![], vec![23]]);
}

#[test]
fn text_in_a_pipeline_is_a_part_of_it() {
    let script = "\\set n 3\n\\startpipeline\nselect ':n';\n\\endpipeline\n";
    let program = program(&[script], QueryMode::Prepared);
    let mut execution = program.execution(0);
    execution.begin(0, chance(0));
    let Step::Request(_, request) = execution.resume(Resume::Continue).unwrap() else { panic!() };
    assert_eq!(request.flow(), Flow::Queue);
    assert!(matches!(request, Request::TextInPipeline { sql: "select '3'", .. }), "{request:?}");
}

#[test]
fn statements_are_numbered_over_all_scripts() {
    let program = program(&["select 1;select 2;", "select 3;"], QueryMode::Prepared);
    let mut execution = program.execution(0);
    execution.begin(1, chance(0));
    let Step::Request(_, request) = execution.resume(Resume::Continue).unwrap() else { panic!() };
    assert_eq!(request.statement(), StatementId(2));
    assert_eq!((program.statements()[2].script, program.statements()[2].index), (1, 0));
}

const TEXT: &str = "\\settext c ##-@@\ninsert into t (c, n) values (:c, 'x');\n";

#[test]
fn text_by_a_pattern_is_a_parameter_or_a_string() {
    let program = program(&[TEXT], QueryMode::Prepared);
    assert_eq!(program.statements()[0].sql, "insert into t (c, n) values ($1, 'x')");
    let mut execution = program.execution(0);
    execution.begin(0, chance(1));
    let drawn = parameters(&mut execution, Resume::Continue);
    let [Value::Text(drawn)] = &drawn[..] else { panic!("{drawn:?}") };

    let program = compiled(&[TEXT], &BTreeMap::new(), QueryMode::Simple).unwrap();
    let sent = texts(&mut program.execution(0), 0, 1);
    assert_eq!(sent, [format!("insert into t (c, n) values ('{drawn}', 'x')")]);
}

#[test]
fn a_pattern_cannot_break_out_of_its_string() {
    for (script, place) in
        [("\\settext c '##", "s0:1:12"), ("\\settext c", "s0:1:11"), ("\\settext c # #", "s0:1:14")]
    {
        let found = problems(&[&format!("{script}\nselect :c;")], QueryMode::Simple, OPTIONS);
        assert!(found[0].contains(place), "{found:?}");
    }
}
