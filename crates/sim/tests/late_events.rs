//! Events that a worker is given late, because the machine stood still: each counts once.

mod common;

use common::{closed, ms, plan, stage};
use dbdyno_hist::Shape;
use dbdyno_load::{Event, Port, ScriptViability, Settings, ShellCall, Timeline, Worker};
use dbdyno_model::{Nanos, Plan, Reply, Request};
use dbdyno_sim::{Asking, Drawn};
use std::sync::Arc;

/// Counts what is requested.
#[derive(Default)]
struct Requested {
    connects: u32,
    closes: u32,
    sends: u32,
}

impl Port for Requested {
    fn connect(&mut self, _: usize) {
        self.connects += 1;
    }

    fn close(&mut self, _: usize) {
        self.closes += 1;
    }

    fn send(&mut self, _: usize, _: &Request<'_>) {
        self.sends += 1;
    }

    fn cancel(&mut self, _: usize) {}

    fn release(&mut self, _: usize) {}

    fn shell(&mut self, _: ShellCall) {}
}

fn worker_of(plan: &Plan) -> Worker {
    Worker::new(Settings {
        plan: Arc::new(plan.clone()),
        thread: 0,
        shape: Shape { scripts: 1, statements: 1, service_differs: true },
        sessions: vec![Asking::boxed(1, &Drawn::default())],
        last_heard_by_all: Arc::default(),
        last_reached_by_all: Arc::default(),
        clients_left_in_all: Arc::new(1.into()),
        viability: Arc::new(ScriptViability::new(1, 1)),
    })
}

fn answer() -> Event<'static> {
    let reply = Reply {
        error: None,
        results: &[],
        rows_returned: 1,
        rows_affected: 0,
        in_transaction: false,
    };
    Event::Reply { client: 0, reply }
}

#[test]
fn a_connection_that_is_made_when_its_time_is_over_is_given_up_once() {
    let connected = || Event::Connected { client: 0, backend: 1 };
    let plan =
        Plan { reconnect_each_transaction: true, ..plan(1, 1, closed(), vec![stage(60, None)]) };
    let (mut worker, mut port) = (worker_of(&plan), Requested::default());
    worker.connect_all(Nanos::ZERO, &mut port);
    worker.on(ms(1), connected(), &mut port);
    worker.start(Timeline::new(&plan, ms(1)));
    worker.on(ms(1), Event::Wake, &mut port);
    worker.on(ms(2), answer(), &mut port);
    assert_eq!((port.sends, port.connects, port.closes), (1, 2, 1));

    // Nothing ran for longer than a connect may take; then everything is handled at once.
    let mut now = ms(2) + plan.endpoint.connect_timeout_ns + ms(1);
    worker.on(now, connected(), &mut port);
    assert_eq!((port.sends, port.closes), (1, 2));
    while port.connects < 3 {
        now = worker.next_wake();
        worker.on(now, Event::Wake, &mut port);
    }
    worker.on(now, connected(), &mut port);
    assert_eq!(port.sends, 2);
}
