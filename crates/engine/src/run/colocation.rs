//! Decides which clients change lanes, to share a processor with the server's task that serves
//! them.
//!
//! Where load and server keep all processors busy, a request to a task on another processor costs a
//! third more processor time in all (measured on two, with half of the clients so): the wake-up
//! crosses processors, and the data just written is in the other one's cache. The kernel leaves
//! server and lanes where the first milliseconds have put them, each task on its processor for
//! seconds, so chance would decide how fast a run is. The server's tasks are left alone; clients
//! are cheap to move. They are exchanged, so that each lane keeps as many as it had.
//!
//! A PostgreSQL session is a process, whose ID the client learns at login. With other servers, only
//! the server knows which thread serves a session, and the caller has to ask it. After connections
//! were lost the sessions are new ones: the activity of the clients shows their processes; threads
//! are not asked for again.
//!
//! With more than some dozens of clients per processor no gain was seen.

use crate::lane::ConnectedLane;
use dbdyno_hist::Activity;
use dbdyno_model::{Arrivals, Nanos, Plan, Protocol};
use std::fs;

/// With more clients per thread, none move. Measured with point selects on two processors and
/// PostgreSQL: with 64 a thread throughput is 1.07 (1.03 to 1.11) of that without moving, with 128
/// it is 0.99 (0.95 to 1.04).
const CLIENTS_MAX: u32 = 64;
/// The same for a Lua script. A client that may move has an interpreter of its own, and the
/// compiled code of 32 costs a thread more than its clients gain.
const INTERPRETERS_MAX: u32 = 16;
/// Time of the first check after the load's start; the interval doubles with each further one.
const FIRST_CHECK: Nanos = Nanos::from_millis(20);
const LOOK_EVERY: Nanos = Nanos::from_secs(1);

/// A client that should move to another lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) client: usize,
    pub(super) to: usize,
}

/// Returns which task of this machine serves a session, where that is known.
pub(super) type TaskOf = Box<dyn Fn(u32) -> Option<u32>>;

/// The clients, their lanes and the server's sessions that serve them.
pub(super) struct Colocation {
    /// Thread IDs of the lanes.
    tasks: Vec<u32>,
    /// By client: its lane, and the session that serves it.
    clients: Vec<(usize, u32)>,
    task_of: TaskOf,
    look: Nanos,
    pause: Nanos,
}

impl Colocation {
    /// None where clients do not move, or where not every one is served by a task of this machine;
    /// `task_of` returns the task of a session.
    pub(super) fn new(
        plan: &Plan,
        connected_lanes: &[ConnectedLane],
        task_of: TaskOf,
        start: Nanos,
    ) -> Option<Self> {
        if !may_move(plan) {
            return None;
        }
        let mut tasks = vec![0; connected_lanes.len()];
        let mut clients = vec![(0, 0); plan.clients as usize];
        for lane in connected_lanes {
            tasks[lane.lane as usize] = lane.task;
            for &(client, session) in &lane.backends {
                clients[client as usize] = (lane.lane as usize, session);
            }
        }
        let servers: Option<Vec<u32>> =
            clients.iter().map(|&(_, session)| task_of(session)).collect();
        are_siblings(servers?.into_iter()).then(|| Self {
            tasks,
            clients,
            task_of,
            look: start + FIRST_CHECK,
            pause: FIRST_CHECK,
        })
    }

    /// When the next check is due.
    pub(super) fn next_check(&self) -> Nanos {
        self.look
    }

    /// Updates the sessions of clients that have reconnected, from what clients were doing.
    pub(super) fn update_sessions(&mut self, seen: &Activity) {
        for &(client, _, session) in &seen.clients {
            // The place of a client that moved to another lane holds a number that no client has.
            if session > 0
                && let Some(known) = self.clients.get_mut(client as usize)
            {
                known.1 = session;
            }
        }
    }

    /// A client has left for this lane.
    pub(super) fn moved(&mut self, client: u64, to: usize) {
        if let Some(known) = self.clients.get_mut(client as usize) {
            known.0 = to;
        }
    }

    /// Checks on which processors lanes and tasks run, and returns the clients that should move.
    pub(super) fn check(&mut self, now: Nanos) -> Vec<Move> {
        self.look = now + self.pause;
        self.pause = (self.pause * 2).min(LOOK_EVERY);
        let lanes: Option<Vec<u32>> = self.tasks.iter().map(|&task| processor_of(task)).collect();
        let Some(lanes) = lanes else { return Vec::new() };
        let seen: Vec<_> = self
            .clients
            .iter()
            .map(|&(lane, session)| Some((lane, processor_of((self.task_of)(session)?)?)))
            .collect();
        exchanges(&lanes, &seen)
    }
}

/// Whether clients of such a run may change threads. A fixed number of transactions per client ties
/// it to its thread, which ends when all of its own clients have done theirs.
pub(super) fn may_move(plan: &Plan) -> bool {
    let most = if plan.lua.is_some() { INTERPRETERS_MAX } else { CLIENTS_MAX };
    plan.threads > 1
        && !plan.is_shared()
        && plan.clients <= plan.threads * most
        && plan.endpoint.protocol != Protocol::Odbc
        && matches!(plan.arrivals, Arrivals::Closed { .. })
        && plan.transactions_per_client.is_none()
        && !plan.reconnect_each_transaction
}

/// Whether these are tasks of this machine with one parent, as a server's are. On another machine
/// the numbers would belong to unrelated tasks here, or to none.
fn are_siblings(tasks: impl Iterator<Item = u32>) -> bool {
    let parents: Option<Vec<u32>> = tasks.map(|task| number_of(task, PARENT)).collect();
    parents.is_some_and(|parents| parents.windows(2).all(|two| two[0] == two[1]))
}

/// Indexes in a stat file of the fields after the process's name: see proc_pid_stat(5).
const PARENT: usize = 1;
const PROCESSOR: usize = 36;

/// The processor on which a process or thread runs, or ran last.
fn processor_of(task: u32) -> Option<u32> {
    number_of(task, PROCESSOR)
}

fn number_of(task: u32, place: usize) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{task}/stat")).ok()?;
    let (_, numbers) = text.rsplit_once(") ")?;
    numbers.split(' ').nth(place)?.parse().ok()
}

/// Pairs of clients that both come to share a processor with the task that serves them when they
/// change places; `seen` is each client's lane and that task's processor, where it is known.
fn exchanges(lanes: &[u32], seen: &[Option<(usize, u32)>]) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    let mut apart: Vec<(usize, usize, u32)> = Vec::new();
    for (client, place) in seen.iter().enumerate() {
        let Some((lane, processor)) = *place else { continue };
        if lanes[lane] == processor {
            continue;
        }
        let partner = apart.iter().position(|&(_, other, others_processor)| {
            lanes[other] == processor && lanes[lane] == others_processor
        });
        match partner {
            Some(place) => {
                let (other_client, other, _) = apart.swap_remove(place);
                moves.push(Move { client, to: other });
                moves.push(Move { client: other_client, to: lane });
            }
            None => apart.push((client, lane, processor)),
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::{Move, are_siblings, exchanges, processor_of};

    fn moves(lanes: &[u32], seen: &[(usize, u32)]) -> Vec<(usize, usize)> {
        let seen: Vec<_> = seen.iter().copied().map(Some).collect();
        exchanges(lanes, &seen).iter().map(|&Move { client, to }| (client, to)).collect()
    }

    #[test]
    fn two_that_gain_by_it_change_places() {
        assert_eq!(moves(&[0, 1], &[(0, 1), (1, 0)]), [(1, 0), (0, 1)]);
        assert_eq!(moves(&[1, 0], &[(0, 1), (1, 0)]), []);
    }

    #[test]
    fn no_client_moves_without_one_in_exchange() {
        assert_eq!(moves(&[0, 1], &[(0, 1), (0, 1), (1, 1)]), []);
        assert_eq!(moves(&[0, 1, 2], &[(0, 1), (1, 2), (2, 0)]), []);
    }

    #[test]
    fn each_goes_once() {
        let seen = [(0, 1), (0, 1), (1, 0), (1, 0), (1, 0), (0, 0)];
        assert_eq!(moves(&[0, 1], &seen), [(2, 0), (0, 1), (3, 0), (1, 1)]);
    }

    #[test]
    fn lanes_on_one_cpu_exchange_no_clients() {
        assert_eq!(moves(&[0, 0], &[(0, 1), (1, 0), (1, 1)]), []);
    }

    #[test]
    fn what_is_not_known_stays() {
        assert_eq!(exchanges(&[0, 1], &[Some((0, 1)), None]), []);
    }

    #[test]
    fn this_process_runs_somewhere_and_has_siblings_only_where_parents_agree() {
        let own = std::process::id();
        assert!(processor_of(own).is_some());
        assert!(are_siblings([own, own].into_iter()));
        assert!(!are_siblings([own, 1].into_iter()));
        assert!(!are_siblings([own, u32::MAX].into_iter()));
    }
}
