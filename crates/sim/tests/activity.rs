//! The sampled activity of clients, where the plan determines what they do.

mod common;

use common::{closed, ms, open, plan, stage};
use dbdyno_hist::{Activity, Doing};
use dbdyno_model::{
    ArrivalLaw, Arrivals, ConnectionId, FailureClass, Keep, Nanos, Plan, Request, ServerError,
    StatementId, Stream, Think, ThinkLaw,
};
use dbdyno_script::{Execution, Fault, Resume, Step};
use dbdyno_sim::{Server, simulate};
use std::collections::BTreeSet;

/// One command of a script.
#[derive(Clone, Copy)]
enum Command {
    Ask(u32),
    Sleep(Nanos),
}
use Command::{Ask, Sleep};

/// An execution whose transactions all consist of the same commands.
struct Reciting {
    commands: Vec<Command>,
    next: usize,
}

impl Execution for Reciting {
    fn begin(&mut self, _: usize, _: Stream) {
        self.next = 0;
    }

    fn restart(&mut self) {
        self.next = 0;
    }

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        let Some(command) = self.commands.get(self.next) else { return Ok(Step::Done) };
        self.next += 1;
        Ok(match *command {
            Sleep(pause) => Step::Sleep(pause),
            Ask(statement) => Step::Request(
                ConnectionId::FIRST,
                Request::Text {
                    statement: StatementId(statement),
                    sql: "select",
                    keep: Keep::None,
                },
            ),
        })
    }
}

fn statement(id: u32) -> Doing {
    Doing::awaiting(StatementId(id))
}

/// The samples of a plan whose clients are sampled every 100 ms.
fn look(mut plan: Plan, server: &Server, commands: &[Command]) -> Vec<Activity> {
    plan.activity_interval_ns = Some(ms(100));
    let execution = |_| Box::new(Reciting { commands: commands.to_vec(), next: 0 }) as _;
    simulate(&plan, server, execution).activities
}

/// All that clients were doing from one instant to another.
fn seen(activities: &[Activity], from: Nanos, until: Nanos) -> BTreeSet<u16> {
    activities
        .iter()
        .filter(|activity| from <= activity.at && activity.at < until)
        .flat_map(|activity| activity.clients.iter().map(|(_, doing, _)| doing.0))
        .collect()
}

fn only(doing: Doing) -> BTreeSet<u16> {
    [doing.0].into()
}

#[test]
fn the_clients_are_looked_at_on_the_grid_from_the_load_s_begin_to_its_end() {
    let server = Server { service: ms(7), ..Server::default() };
    let activities = look(plan(3, 1, closed(), vec![stage(1, None)]), &server, &[Ask(0)]);
    let instants: Vec<Nanos> = activities.iter().map(|activity| activity.at).collect();
    // A second of warm-up and one of measuring; those in flight then end within 7 ms.
    assert_eq!(instants, (1..=20).map(|k| ms(k * 100)).collect::<Vec<_>>());
    assert!(activities.iter().all(|activity| activity.clients.len() == 3));
}

#[test]
fn without_the_option_nothing_is_sampled() {
    let plan = plan(3, 1, closed(), vec![stage(1, None)]);
    let commands = vec![Ask(0)];
    let execution = |_| Box::new(Reciting { commands: commands.clone(), next: 0 }) as _;
    let server = Server { service: ms(7), ..Server::default() };
    assert_eq!(simulate(&plan, &server, execution).activities, []);
}

#[test]
fn in_a_stall_all_clients_await_the_statement_that_stalled() {
    // Rounds of 1 + 1 + 8 ms for statements 0, 1 and 2 would end at 2 s; the server stalls from 0.3
    // ms after the 150th round's second statement was sent.
    let server = Server {
        service: ms(1),
        stalls: vec![(Nanos::from_micros(1_501_300), ms(1_900))],
        ..Server::default()
    };
    let commands = [Ask(0), Ask(1), Sleep(ms(8))];
    let activities = look(plan(4, 1, closed(), vec![stage(1, None)]), &server, &commands);
    assert_eq!(seen(&activities, ms(1_502), ms(1_900)), only(statement(1)));
}

/// Of 740 samples of one client: how often it waited for statement 5, and how often it did
/// something else.
fn shares(plan: Plan, commands: &[Command], other: Doing) -> (usize, usize) {
    let server = Server { service: ms(7), ..Server::default() };
    let activities = look(plan, &server, commands);
    let count = |doing| activities.iter().filter(|each| each.clients[0].1 == doing).count();
    assert_eq!(activities.len(), 740);
    (count(statement(5)), count(other))
}

#[test]
fn what_a_client_does_is_seen_for_its_share_of_the_time() {
    // Rounds of 37 ms, 7 of them in the server: the sampling instants meet each millisecond of it
    // equally often.
    let think = Think { law: ThinkLaw::Constant, mean_ns: ms(30) };
    let sleeping = shares(
        plan(1, 1, closed(), vec![stage(73, None)]),
        &[Sleep(ms(30)), Ask(5)],
        Doing::PAUSING,
    );
    let thinking = shares(
        plan(1, 1, Arrivals::Closed { think }, vec![stage(73, None)]),
        &[Ask(5)],
        Doing::IDLE,
    );
    assert_eq!((sleeping, thinking), ((140, 600), (140, 600)));
}

#[test]
fn a_client_that_waits_for_an_arrival_is_idle() {
    // Arrivals lie between the sampling instants, and are served before the next one.
    let server = Server { service: ms(5), ..Server::default() };
    let plan = plan(1, 1, open(ArrivalLaw::Constant), vec![stage(1, Some(9.9))]);
    assert_eq!(seen(&look(plan, &server, &[Ask(0)]), ms(0), ms(2_000)), only(Doing::IDLE));
}

#[test]
fn statements_of_no_script_are_unlisted() {
    // Every second request fails, and the ROLLBACK after it is answered only after the stall.
    let conflict = ServerError::new(FailureClass::Serialization, "40001", "conflict");
    let server = Server {
        service: ms(10),
        error: Some((1, conflict)),
        stalls: vec![(ms(1_515), ms(1_900))],
        ..Server::default()
    };
    let activities = look(plan(1, 1, closed(), vec![stage(1, None)]), &server, &[Ask(0)]);
    assert_eq!(seen(&activities, ms(1_530), ms(1_900)), only(Doing::UNLISTED));
}

#[test]
fn a_connection_for_each_transaction_has_a_process_of_its_own() {
    let mut plan = plan(2, 1, closed(), vec![stage(2, None)]);
    plan.reconnect_each_transaction = true;
    // 43 ms: 33 to connect, without a backend, and 10 for the request.
    let server = Server { service: ms(10), connect: ms(33), ..Server::default() };
    let activities = look(plan, &server, &[Ask(0)]);
    let mut processes = BTreeSet::new();
    for (_, doing, backend) in activities.iter().flat_map(|activity| &activity.clients) {
        let is_connected = *doing != Doing::UNCONNECTED;
        assert_eq!(is_connected, *backend != 0);
        assert!(!is_connected || processes.insert(*backend), "{backend} served twice");
    }
    assert!(processes.len() > 4, "{processes:?}");
}

#[test]
fn in_an_outage_the_clients_are_unconnected_and_come_back_on_other_processes() {
    let server =
        Server { service: ms(1), outage: Some((ms(1_450), ms(1_650))), ..Server::default() };
    let activities = look(plan(3, 1, closed(), vec![stage(3, None)]), &server, &[Ask(0)]);
    assert_eq!(seen(&activities, ms(1_460), ms(1_650)), only(Doing::UNCONNECTED));
    let backends = |at: usize| -> Vec<u32> {
        activities[at].clients.iter().map(|(_, _, backend)| *backend).collect()
    };
    assert_eq!(backends(0), [1, 2, 3]);
    assert_eq!(backends(15), [0, 0, 0]);
    assert!(backends(39).iter().all(|backend| *backend > 3));
}
