//! How each server reads the same text: a table of cases, each decided by the server's grammar.

use dbdyno_sql::{Dialect, Kind, positional, tokens};
use proptest::prelude::*;

const EACH: [Dialect; 3] = [Dialect::Postgresql, Dialect::Mysql, Dialect::Standard];

/// The tokens other than white space, each after a letter for its kind; `!` after one that does not
/// end.
fn described(text: &str, dialect: Dialect) -> String {
    let mut out = Vec::new();
    for token in tokens(text, dialect) {
        let letter = match token.kind {
            Kind::Space => continue,
            Kind::Comment => "c",
            Kind::String => "s",
            Kind::QuotedName => "q",
            Kind::Word => "w",
            Kind::Number => "n",
            Kind::Parameter => "p",
            Kind::Variable => "v",
            Kind::Placeholder | Kind::Cast | Kind::Symbol => "",
        };
        out.push(format!("{letter}{}{}", token.text, if token.is_closed { "" } else { "!" }));
    }
    out.join("¦")
}

/// Texts that every server reads in the same way.
const ALIKE: &[(&str, &str)] = &[
    ("select a, b1 from t", "wselect¦wa¦,¦wb1¦wfrom¦wt"),
    ("'it''s' ''", "s'it''s'¦s''"),
    ("'a'\n'b'", "s'a'¦s'b'"),
    ("'not closed", "s'not closed!"),
    ("'é\"`' ä1_", "s'é\"`'¦wä1_"),
    ("x'1f' B'01' n'a'", "sx'1f'¦sB'01'¦sn'a'"),
    ("a -- 'b\n, c", "wa¦c-- 'b¦,¦wc"),
    ("a --", "wa¦c--"),
    ("a /* ; 'b */ c", "wa¦c/* ; 'b */¦wc"),
    ("/*/ a */ b", "c/*/ a */¦wb"),
    ("a /* b", "wa¦c/* b!"),
    ("/*", "c/*!"),
    ("a - -1 / 2", "wa¦-¦-¦n1¦/¦n2"),
    ("1 1.5 .5 1. 1e3 1.5e-3 0x1F 0b01", "n1¦n1.5¦n.5¦n1.¦n1e3¦n1.5e-3¦n0x1F¦n0b01"),
    ("f(1)+t.c", "wf¦(¦n1¦)¦+¦wt¦.¦wc"),
    ("$1+$12, a$1", "p$1¦+¦p$12¦,¦wa$1"),
    ("? and ?", "?¦wand¦?"),
    (":id :_b2 :é", "v:id¦v:_b2¦v:é"),
    ("a::int b:=1 :1", "wa¦::¦wint¦wb¦:¦=¦n1¦:¦n1"),
    (":::a", ":::¦wa"),
    ("a; \\; b", "wa¦;¦\\¦;¦wb"),
    ("sbtest7 _x", "wsbtest7¦w_x"),
    ("u& 'a'", "wu¦&¦s'a'"),
    ("date'2024-01-01'", "wdate¦s'2024-01-01'"),
    ("\u{a0}a\tb", "w\u{a0}a¦wb"),
    ("", ""),
];

/// Texts on which they differ: as PostgreSQL reads them, MySQL, and any other server.
const APART: &[(&str, [&str; 3])] = &[
    // A backslash is an escape in MySQL's strings, and in `E'…'`.
    (r"'it\'s' x", [r"s'it\'¦ws¦s' x!", r"s'it\'s'¦wx", r"s'it\'¦ws¦s' x!"]),
    (r"'c:\' x", [r"s'c:\'¦wx", r"s'c:\' x!", r"s'c:\'¦wx"]),
    (r"E'it\'s' x", [r"sE'it\'s'¦wx", r"wE¦s'it\'s'¦wx", r"sE'it\'s'¦wx"]),
    (r"E'a''b\\' x", [r"sE'a''b\\'¦wx", r"wE¦s'a''b\\'¦wx", r"sE'a''b\\'¦wx"]),
    (r"te'\' x", [r"wte¦s'\'¦wx", r"wte¦s'\' x!", r"wte¦s'\'¦wx"]),
    (r"U&'\0061' x", [r"sU&'\0061'¦wx", r"wU¦&¦s'\0061'¦wx", r"sU&'\0061'¦wx"]),
    // Double quotes enclose a name, in MySQL a string.
    (r#""a""b" "#, [r#"q"a""b""#, r#"s"a""b""#, r#"q"a""b""#]),
    (r#""a\" b""#, [r#"q"a\"¦wb¦q"!"#, r#"s"a\" b""#, r#"q"a\"¦wb¦q"!"#]),
    (r#"U&"a""#, [r#"qU&"a""#, r#"wU¦&¦s"a""#, r#"qU&"a""#]),
    ("`a;``b` c", ["`¦wa¦;¦`¦`¦wb¦`¦wc", "q`a;``b`¦wc", "q`a;``b`¦wc"]),
    (r"`a\` b", [r"`¦wa¦\¦`¦wb", r"q`a\`¦wb", r"q`a\`¦wb"]),
    // Strings between dollars.
    ("$$a;'$$ b", ["s$$a;'$$¦wb", "w$$a¦;¦s'$$ b!", "s$$a;'$$¦wb"]),
    ("$a$ $$ $b$ $a$ c", ["s$a$ $$ $b$ $a$¦wc", "w$a$¦w$$¦w$b$¦w$a$¦wc", "s$a$ $$ $b$ $a$¦wc"]),
    ("$é$ $é$", ["s$é$ $é$", "w$é$¦w$é$", "s$é$ $é$"]),
    ("x$a$;$a$", ["wx$a$¦;¦s$a$!", "wx$a$¦;¦w$a$", "wx$a$¦;¦s$a$!"]),
    ("$a b$", ["$¦wa¦wb$", "w$a¦wb$", "$¦wa¦wb$"]),
    ("$x$ a", ["s$x$ a!", "w$x$¦wa", "s$x$ a!"]),
    // Comments nest in PostgreSQL; what MySQL executes is none.
    ("/* /* */ a */ b", ["c/* /* */ a */¦wb", "c/* /* */¦wa¦*¦/¦wb", "c/* /* */¦wa¦*¦/¦wb"]),
    ("/* /* */ a", ["c/* /* */ a!", "c/* /* */¦wa", "c/* /* */¦wa"]),
    ("/*! a */", ["c/*! a */", "/¦*¦!¦wa¦*¦/", "c/*! a */"]),
    ("/*M! a */", ["c/*M! a */", "/¦*¦wM¦!¦wa¦*¦/", "c/*M! a */"]),
    ("5--3", ["n5¦c--3", "n5¦-¦-¦n3", "n5¦c--3"]),
    ("a # b\nc", ["wa¦#¦wb¦wc", "wa¦c# b¦wc", "wa¦#¦wb¦wc"]),
    ("-- a\rb", ["c-- a¦wb", "c-- a\rb", "c-- a\rb"]),
    // Names.
    ("@a @@b.c @$1", ["@¦wa¦@¦@¦wb¦.¦wc¦@¦p$1", "w@a¦w@@b¦.¦wc¦w@$1", "w@a¦w@@b¦.¦wc¦w@$1"]),
    ("2c 1e5x 1_000", ["n2¦wc¦n1e5¦wx¦n1_000", "w2c¦w1e5x¦w1_000", "n2¦wc¦n1e5¦wx¦n1_000"]),
    ("$1a", ["p$1¦wa"; 3]),
];

#[test]
fn most_texts_mean_the_same_to_all() {
    for (text, expected) in ALIKE {
        for dialect in EACH {
            assert_eq!(described(text, dialect), *expected, "{dialect:?} {text}");
        }
    }
}

#[test]
fn where_servers_differ_each_grammar_decides() {
    for (text, expected) in APART {
        for (dialect, expected) in EACH.into_iter().zip(expected) {
            assert_eq!(described(text, dialect), *expected, "{dialect:?} {text}");
        }
    }
}

#[test]
fn parameters_are_taken_in_the_order_of_the_text() {
    for (sql, expected, order) in [
        ("select 1", "select 1", &[][..]),
        ("set a = $1 where b = $2", "set a = ? where b = ?", &[0, 1]),
        ("set a = $2 where b = $1 or c=$2", "set a = ? where b = ? or c=?", &[1, 0, 1]),
        ("$12+$1", "?+?", &[11, 0]),
        ("id = ? and k = ?", "id = ? and k = ?", &[0, 1]),
        ("a -- $1\n, $1", "a -- $1\n, ?", &[0]),
        ("/*/ $1 */ $1 /* $2 */", "/*/ $1 */ ? /* $2 */", &[0]),
        ("\u{e4}$1 $1 '\u{e4} $1'", "\u{e4}$1 ? '\u{e4} $1'", &[0]),
        ("$1::int", "?::int", &[0]),
    ] {
        for dialect in EACH {
            let found = positional(sql, dialect);
            assert_eq!((found.sql.as_str(), &found.order[..]), (expected, order), "{sql}");
        }
    }
    let found = positional("a # $1\n, $1 --$2 /*! $3 */", Dialect::Mysql);
    assert_eq!((&*found.sql, &found.order[..]), ("a # $1\n, ? --? /*! ? */", &[0, 1, 2][..]));
}

#[test]
fn what_is_no_parameter_is_left_alone() {
    for sql in [
        "select a$1, $0, $, $99999999999",
        "select 'it''s $1 ?' , \"$1 ?\"",
        "select 'not closed $1",
        "select 1 -- $1 ?",
        "select /* $1 ? */ 1 /* not closed $1",
    ] {
        for dialect in EACH {
            let found = positional(sql, dialect);
            assert_eq!((found.sql.as_str(), &found.order[..]), (sql, &[][..]), "{dialect:?}");
        }
    }
    for sql in ["@$1, $a, `$1?` # $1 ?", r"'\'$1' 'ends with \", "a -- $1 \u{1}"] {
        assert_eq!(positional(sql, Dialect::Mysql).sql, sql);
    }
}

/// Text in which anything may follow anything.
fn rubbish() -> impl Strategy<Value = String> {
    const PARTS: [&str; 40] = [
        "'", "''", "\"", "`", "\\", "\\'", "$", "$$", "$a$", "$1", "--", "-", "/*", "*/", "/*!",
        "#", "\n", "\r", " ", ":", "::", "?", "@", "E'", "U&", "x", "é", "1", "0x", "1e", ".", ";",
        "(", "\u{0}", "=", "n'", "_", "€", "select", "/*M!",
    ];
    let part = prop_oneof![
        9 => proptest::sample::select(&PARTS[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_text_is_its_tokens(text in rubbish()) {
        for dialect in EACH {
            let found: Vec<_> = tokens(&text, dialect).collect();
            prop_assert!(found.iter().all(|token| !token.text.is_empty()));
            prop_assert_eq!(found.iter().map(|token| token.text).collect::<String>(), &*text);
            let open = found.iter().rposition(|token| !token.is_closed);
            prop_assert!(open.is_none_or(|place| place + 1 == found.len()));
        }
    }

    /// What stands before a token does not depend on what follows the token.
    #[test]
    fn a_text_that_is_cut_has_the_same_tokens_before(text in rubbish(), share in 0.0..1.0) {
        let mut end = (text.len() as f64 * share) as usize;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for dialect in EACH {
            let whole: Vec<_> = tokens(&text, dialect).collect();
            let cut: Vec<_> = tokens(&text[..end], dialect).collect();
            let mut at = 0;
            for (one, other) in whole.iter().zip(&cut) {
                at += one.text.len();
                // A token needs up to three characters after it to be told from a longer one.
                if at + 12 <= end {
                    prop_assert_eq!(one, other);
                }
            }
        }
    }

    #[test]
    fn as_many_question_marks_as_parameters(text in rubbish()) {
        for dialect in [Dialect::Mysql, Dialect::Standard] {
            let found = positional(&text, dialect);
            let again = positional(&found.sql, dialect);
            prop_assert_eq!(again.order.len(), found.order.len());
            prop_assert_eq!(again.sql, found.sql);
        }
    }
}
