//! Many clients of one Lua state: separate where they must be, sharing where memory counts.

use crate::driver::{Client, nothing, printed, program_with, settings};
use dbdyno_script::lua::Settings;

#[test]
fn globals_of_clients_are_apart() {
    let text = "count = 0 \
                function thread_init(tid) own = tid end \
                function event() count = count + 1 print(own, sysbench.tid, count, _G.count) end";
    let program = program_with(text, Settings { clients: 2, ..settings() }).expect("no problem");
    let mut clients: Vec<Client<'_>> = program
        .executions(0..2)
        .expect("a Lua state")
        .into_iter()
        .map(|execution| Client::of(execution, nothing))
        .collect();
    for client in &mut clients {
        client.set_up().expect("no fault");
    }
    for client in [0, 1, 1, 0] {
        clients[client].event().expect("no fault");
    }
    assert_eq!(printed(), ["0\t0\t1\t1", "1\t1\t1\t1", "1\t1\t2\t2", "0\t0\t2\t2"]);
}

#[test]
fn sessions_may_be_sent_to_any_thread() {
    let text = "function event() \
                    con = con or sysbench.sql.driver():connect() \
                    con:query('x' .. sysbench.rand.uniform(1, 1e6)) \
                end";
    let program = program_with(text, Settings { clients: 4, ..settings() }).expect("no problem");
    let executions = || program.executions(0..4).expect("a Lua state").into_iter();
    let live = |execution| Client::of(execution, nothing).live(500).expect("no fault");
    let in_turn: Vec<Vec<String>> = executions().map(live).collect();
    let threads: Vec<_> =
        executions().map(|execution| std::thread::spawn(move || live(execution))).collect();
    // What others draw meanwhile makes no difference.
    for (thread, in_turn) in threads.into_iter().zip(in_turn) {
        assert_eq!(thread.join().expect("no panic"), in_turn);
    }
}
