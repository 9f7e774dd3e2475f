//! Options: the script's own, sysbench's, and their errors.

use crate::driver::{Client, nothing, printed, problem_of, program_with, with_options};
use dbdyno_script::lua::Settings;

const SCRIPT: &str = "sysbench.cmdline.options = { \
    table_size = {'Rows', 10000}, skip_trx = {'No block', false}, ['my-list'] = {'A list', {'a', 'b'}}, \
    engine = {'Engine', 'innodb'}, variant = {'No default'}, \
    bytes = {'A size', '1K', sysbench.cmdline.ARG_SIZE}, \
    even = {'Even', 2, sysbench.cmdline.ARG_INT, function(name, text) return tonumber(text) % 2 == 0 end}} \
  function event() local o = sysbench.opt \
    print(o.table_size, o.skip_trx, table.concat(o.my_list, '|'), o.engine, o.variant, o.bytes, o.even) \
    print(o.threads, o.percentile, o.mysql_db, o.db_ps_mode, sysbench.cmdline.command, #sysbench.cmdline.argv) end";

fn printed_with(options: &[&str]) -> Vec<String> {
    let settings = Settings { clients: 4, ..with_options(options) };
    let program = program_with(SCRIPT, settings).expect("no problem");
    Client::new(&program, nothing).live(1).expect("no fault");
    printed()
}

#[test]
fn defaults_have_the_types_of_their_texts() {
    assert_eq!(
        printed_with(&[]),
        ["10000\tfalse\ta|b\tinnodb\t\t1024\t2", "4\t95\tsbtest\tauto\trun\t0"]
    );
}

#[test]
fn without_a_default_an_option_is_nothing_of_its_type_and_a_flag_is_on() {
    let text = "local arg = sysbench.cmdline \
                arg.options = {b = {'B', nil, arg.ARG_BOOL}, i = {'I', nil, arg.ARG_INT}, \
                  s = {'S', nil, arg.ARG_SIZE}, d = {'D', nil, arg.ARG_DOUBLE}, \
                  l = {'L', nil, arg.ARG_LIST}, f = {'F', nil, arg.ARG_FILE}} \
                function event() local o = sysbench.opt print(o.b, o.i, o.s, o.d, #o.l, o.f) end";
    let program = program_with(text, with_options(&[])).expect("no problem");
    Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(printed(), ["true\t0\t0\t0\t0\tnil"]);
}

#[test]
fn what_is_given_replaces_them() {
    let given = [
        "table-size=5",
        "skip_trx",
        "my-list=x,y,z",
        "engine=rocksdb",
        "bytes=2M",
        "even=4",
        "percentile=99",
        "threads=8",
    ];
    assert_eq!(
        printed_with(&given),
        ["5\ttrue\tx|y|z\trocksdb\t\t2097152\t4", "8\t99\tsbtest\tauto\trun\t8"]
    );
    assert_eq!(printed_with(&["skip-trx=off"])[0].split('\t').nth(1), Some("false"));
}

#[test]
fn what_does_not_fit_is_refused() {
    for (option, message) in [
        ("table_sice=5", "error: invalid option: --table_sice"),
        ("table_size=many", "error: --table_size takes a number, not 'many'"),
        ("skip_trx=perhaps", "error: --skip_trx takes on or off, not 'perhaps'"),
        ("bytes=2X", "error: --bytes takes a size, not '2X'"),
        ("even=3", "error: invalid value for option --even: 3"),
        ("percentile=9.5", "error: --percentile takes a whole number, not '9.5'"),
        (
            "rand-type=fair",
            "error: --rand-type is one of uniform, gaussian, special, pareto, zipfian, not 'fair'",
        ),
        ("rand-pareto-h=2", "error: a pareto parameter must be between 0 and 1, not 2"),
        ("rand-spec-iter=0", "error: --rand_spec_iter takes a whole number above 0, not 0"),
    ] {
        assert_eq!(problem_of(SCRIPT, with_options(&[option])), message);
    }
}

#[test]
fn a_script_that_declares_nothing_takes_all_as_globals() {
    let text = "function event() print(oltp_table_size, sysbench.opt.oltp_table_size, percentile, \
                type(event)) end";
    let settings = with_options(&["oltp-table-size=7", "event=x"]);
    let program = program_with(text, settings).expect("no problem");
    Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(printed(), ["7\t7\t95\tfunction"]);
}

#[test]
fn a_clients_change_of_an_option_is_its_own() {
    let text = "sysbench.cmdline.options = {n = {'N', 1}} \
                function event() print(sysbench.opt.n) sysbench.opt.n = sysbench.opt.n + 1 end";
    let program = program_with(text, with_options(&[])).expect("no problem");
    for execution in program.executions(0..2).expect("a Lua state") {
        Client::of(execution, nothing).live(2).expect("no fault");
    }
    assert_eq!(printed(), ["1", "2", "1", "2"]);
}

#[test]
fn help_names_what_the_script_declares() {
    let settings = Settings { command: "help".into(), ..with_options(&[]) };
    let program = program_with(SCRIPT, settings).expect("no problem");
    let mut client = Client::of_command(&program, 0);
    client.run_to_end().expect("no fault");
    assert_eq!(
        printed(),
        [
            "test.lua options:",
            "  --bytes=SIZE                  A size [1024]",
            "  --engine=STRING               Engine [innodb]",
            "  --even=N                      Even [2]",
            "  --my-list=[LIST,...]          A list [a,b]",
            "  --skip_trx[=on|off]           No block [off]",
            "  --table_size=N                Rows [10000]",
            "  --variant=STRING              No default",
        ]
    );
}
