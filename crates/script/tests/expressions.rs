//! Expressions are worth here what the real pgbench says they are: hundreds of vectors, made by
//! `data/make_expressions.py`, over operators, precedence, NULL, CASE, functions, hashes,
//! permutations, literals, and text given with `-D`.

mod common;

use common::{compiled, printed};
use dbdyno_model::{QueryMode, Scalar};
use std::collections::BTreeMap;

const VECTORS: &str = include_str!("data/expressions.tsv");

/// What `debug()` prints for the expression, or `error`, before the run or in it.
fn evaluate(x: &str, expression: &str) -> String {
    let mut variables = BTreeMap::from([("default_seed".to_owned(), Scalar::Int(-42))]);
    if !x.is_empty() {
        variables.insert("x".into(), Scalar::Text(x.into()));
    }
    let script = format!("\\set v debug({expression})\n");
    let Ok(program) = compiled(&[&script], &variables, QueryMode::Simple) else {
        return "error".into();
    };
    let lines = printed(&program);
    let line = lines
        .last()
        .map_or("error", |line| line.strip_prefix("debug(script=0,command=1): ").unwrap_or(line));
    line.to_owned()
}

#[test]
fn all_vectors_of_pgbench_hold() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [x, expression, expected] = fields[..] else { panic!("{line}") };
        let found = evaluate(x, expression);
        if found != expected {
            wrong.push(format!("x={x} {expression}: {found}, not {expected}"));
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 800, "{checked}");
}
