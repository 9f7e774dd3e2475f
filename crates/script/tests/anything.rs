//! Whatever a script contains, compiling it neither panics nor reports a position outside of it,
//! and what compiles runs to its end.

mod common;

use common::{OPTIONS, chance, reply, scripts};
use dbdyno_model::{QueryMode, ResultSet};
use dbdyno_script::pgbench::compile;
use dbdyno_script::{Execution, Problem, Resume, Step};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Words with a meaning in the language, so that random texts get past the first checks.
const WORDS: [&str; 58] = [
    "\\set x ",
    "\\set y ",
    "\\if ",
    "\\elif ",
    "\\else",
    "\\endif",
    "\\sleep ",
    "\\gset ",
    "\\aset p_",
    "\\startpipeline",
    "\\syncpipeline",
    "\\endpipeline",
    "\\shell ",
    "\\setshell z ",
    "\\setrandom r ",
    "\n",
    "\n",
    "\n",
    ";\n",
    ";",
    "\\;",
    "\\",
    "\\\n",
    "\r\n",
    " ",
    "select ",
    ":x",
    ":y",
    ":p_a",
    "::int",
    ":",
    "1",
    "0",
    "2.5",
    "9223372036854775808",
    "-",
    "+",
    "*",
    "/ ",
    "% ",
    "<",
    "=",
    "(",
    ")",
    ",",
    "case when ",
    " then ",
    " end",
    " is not ",
    "null",
    "true",
    "random(1, 5)",
    "permute(",
    "'",
    "\"",
    "$$",
    "/*",
    "-- é",
];

fn script() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        9 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

fn modes() -> impl Strategy<Value = QueryMode> {
    prop_oneof![Just(QueryMode::Simple), Just(QueryMode::Prepared)]
}

/// Whether the problem's text is at the reported position.
fn is_in_place(script: &str, problem: &Problem) -> bool {
    let line = script.split('\n').nth(problem.line as usize - 1);
    let at = line.and_then(|line| {
        let column = problem.column as usize - 1;
        line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(column)
    });
    let before: usize =
        script.split('\n').take(problem.line as usize - 1).map(|line| line.len() + 1).sum();
    at.is_some_and(|at| script[before + at..].starts_with(&problem.text))
}

/// Runs one transaction with one-row answers; it must end.
fn run(execution: &mut impl Execution) {
    execution.begin(0, chance(0));
    let results = [ResultSet {
        columns: ["x".into(), "a".into()].into(),
        row_count: 1,
        rows: [[Some("7"), None]].into_iter().collect(),
    }];
    let answer = reply(&results);
    for _ in 0..1000 {
        let input = Resume::Reply(&answer);
        if matches!(execution.resume(input), Ok(Step::Done) | Err(_)) {
            return;
        }
    }
    panic!("the script does not end");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compiling_never_panics_and_places_are_right(text in script(), mode in modes()) {
        let compilation = compile(&scripts(&[&text]), &BTreeMap::new(), mode, OPTIONS);
        for problem in &compilation.problems {
            prop_assert!(is_in_place(&text, problem), "{problem:?} in {text:?}");
        }
        if let Some(program) = compilation.program {
            let mut execution = Arc::new(program).execution(0);
            run(&mut execution);
            execution.restart();
            run(&mut execution);
        }
    }

    #[test]
    fn rubbish_is_survived(text in any::<String>(), mode in modes()) {
        for text in [text.clone(), format!("\\set x {text}"), format!("\\{text}")] {
            let compilation = compile(&scripts(&[&text]), &BTreeMap::new(), mode, OPTIONS);
            for problem in &compilation.problems {
                prop_assert!(is_in_place(&text, problem), "{problem:?} in {text:?}");
            }
        }
    }
}
