//! What scripts draw: from the client's stream, and nothing else.

use crate::driver::{
    Client, mysql_error, nothing, printed, program, program_with, settings, with_options,
};

const DRAWS: &str = "function event() print(sysbench.rand.uniform(1, 1000000), math.random(), \
                     math.random(9), math.random(5, 6), sysbench.rand.string('##@@'), \
                     sysbench.rand.uniform_double(), tostring(sysbench.rand.uniform_uint64())) end";

fn drawn(events: u64) -> Vec<String> {
    Client::new(&program(DRAWS), nothing).live(events).expect("no fault");
    printed()
}

#[test]
fn the_same_transaction_draws_the_same_and_another_draws_another() {
    let (first, second) = (drawn(3), drawn(3));
    assert_eq!(first, second);
    assert_ne!(first[0], first[1]);
    assert!(first[0].ends_with("ULL"), "{first:?}");
}

#[test]
fn another_try_draws_new_values() {
    let text = "function event() con = con or sysbench.sql.driver():connect() \
                print(sysbench.rand.uniform(1, 1000000)) con:query('x') end";
    let mut fails = true;
    let server = |_: &str| {
        let now = std::mem::take(&mut fails);
        if now { mysql_error(1213, "40001") } else { nothing("") }
    };
    Client::new(&program(text), server).live(1).expect("no fault");
    let lines = printed();
    assert_eq!(lines.len(), 2);
    assert_ne!(lines[0], lines[1]);
}

#[test]
fn a_script_that_seeds_repeats_luajits_own_sequence() {
    let text = "local real = getmetatable(math).__index \
                local function same(...) assert(math.random(...) == real.random(...)) end \
                function event() for _, seed in ipairs{0, 1, 42, -7.5, 2^40, 1e300} do \
                math.randomseed(seed) real.randomseed(seed) \
                for i = 1, 50 do same() same(9) same(-5, 5) same(1, 2^52) end end \
                print(math.random(1, 2^40)) end";
    Client::new(&program(text), nothing).live(1).expect("no fault");
    printed();
}

#[test]
fn a_seed_lasts_over_events_and_is_each_clients_own() {
    let text = "function thread_init() if sysbench.tid < 2 then math.randomseed(42) end end \
                function event() print(math.random(1, 2^40)) end";
    let program = program_with(text, dbdyno_script::lua::Settings { clients: 3, ..settings() });
    let clients = program.expect("no problem").executions(0..3).expect("a Lua state");
    let sequences: Vec<_> = clients
        .into_iter()
        .map(|execution| {
            Client::of(execution, nothing).live(2).expect("no fault");
            printed()
        })
        .collect();
    assert_eq!(sequences[0], sequences[1]);
    assert_ne!(sequences[0][0], sequences[0][1]);
    assert_ne!(sequences[0], sequences[2]);
}

#[test]
fn numbers_stay_within_their_range() {
    let text = "function event() for _, law in ipairs{'default', 'uniform', 'gaussian', 'special', \
                'pareto', 'zipfian'} do for i = 1, 200 do local n = sysbench.rand[law](3, 5) \
                assert(n >= 3 and n <= 5 and n % 1 == 0, law) end end \
                for i = 1, 200 do local n = #sysbench.rand.varstring(2, 4) assert(n >= 2 and n <= 4) end \
                print(sysbench.rand.uniform(2.9, 2.9), #sysbench.rand.varstring(0, 0)) end";
    Client::new(&program(text), nothing).live(1).expect("no fault");
    assert_eq!(printed(), ["2\t0"]);
}

#[test]
fn the_default_law_is_that_of_the_command_line() {
    let text = "function event() local low = 0 for i = 1, 1000 do \
                if sysbench.rand.default(1, 100) <= 20 then low = low + 1 end end print(low) end";
    let low = |options: &[&str]| -> u32 {
        let program = program_with(text, with_options(options)).expect("no problem");
        Client::new(&program, nothing).live(1).expect("no fault");
        printed()[0].parse().expect("a number")
    };
    assert!((150..250).contains(&low(&["rand-type=uniform"])));
    assert!((740..860).contains(&low(&["rand-type=pareto"])));
    assert!(low(&["rand_type=gaussian"]) < 20);
    assert!(low(&["rand-type=zipfian", "rand-zipfian-exp=2"]) > 900);
    assert!(low(&[]) < 20, "special: all but few in the middle");
}

#[test]
fn unique_numbers_are_unique_over_all_clients() {
    let text = "function event() for i = 1, 100 do print(sysbench.rand.unique()) end end";
    let settings = dbdyno_script::lua::Settings { clients: 3, ..settings() };
    let program = program_with(text, settings).expect("no problem");
    for execution in program.executions(0..3).expect("a Lua state") {
        Client::of(execution, nothing).live(1).expect("no fault");
    }
    let mut numbers = printed();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), 300);
}

#[test]
fn an_impossible_range_is_an_error() {
    let text = "function event() sysbench.rand.uniform(2, 1) end";
    let fault = Client::new(&program(text), nothing).live(1).expect_err("a fault");
    assert!(fault.message.contains("the range from 2 to 1 is empty"), "{}", fault.message);
    assert_eq!(fault.line, 1);
}

#[test]
fn a_client_draws_the_same_whoever_shares_its_state() {
    let program = program_with(DRAWS, settings()).expect("no problem");
    let mut together = Vec::new();
    for execution in program.executions([5, 0].into_iter()).expect("a Lua state") {
        Client::of(execution, nothing).live(1).expect("no fault");
        together.push(printed());
    }
    assert_eq!(together[1], drawn(1));
}
