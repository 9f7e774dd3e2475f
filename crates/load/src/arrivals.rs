//! Arrivals: which transactions the schedule of an open loop makes due for a worker, and which of
//! its clients wait for one.
//!
//! An arrival waits for a client and is neither dropped nor postponed; only one that is older than
//! the latency limit is skipped, and counted as such. Waiting arrivals are kept as a range of the
//! schedule and drawn again when their turn comes, so a backlog of hours takes no memory.

use crate::{Phase, Schedule, Timeline};
use dbdyno_hist::Counters;
use dbdyno_model::{Nanos, Plan};
use std::collections::VecDeque;

/// Stands for the client in the random streams of open-loop arrivals, which belong to no client.
pub(crate) const NO_CLIENT: u64 = u64::MAX;

/// An arrival: its number over the run, and when it is due.
pub(crate) type Arrival = (u64, Nanos);

/// The arrivals of a worker and its idle clients; in a closed loop neither.
pub(crate) struct Arrivals {
    share: Share,
    latency_limit: Option<Nanos>,
    pending: Option<Pending>,
    /// Clients that wait for an arrival, longest first.
    idle: VecDeque<usize>,
}

/// Which part of the schedule falls to a worker.
#[derive(Clone, Copy, Debug)]
struct Share {
    thread: u32,
    threads: u32,
    clients: u32,
    /// How many measured arrivals the schedule has, if that is fixed.
    measured: Option<u64>,
}

/// The schedule's arrivals assigned to this worker.
struct Pending {
    schedule: Schedule,
    /// The schedule's next arrival for this worker, not due yet when last checked.
    upcoming: Option<Arrival>,
    /// Number of the first arrival after the warm-up, once it was drawn.
    first_measured: Option<u64>,
    /// A second copy of the schedule, positioned at the oldest waiting arrival.
    backlog: Schedule,
    /// Arrivals that are due and not begun.
    waiting: u64,
}

impl Share {
    /// Whether an arrival is assigned to the worker: arrival `k` goes to the thread of client `k
    /// mod active clients`.
    fn has(self, (number, due): Arrival, timeline: &Timeline) -> bool {
        let active = u64::from(timeline.active_clients(due, self.clients)).max(1);
        number % active % u64::from(self.threads) == u64::from(self.thread)
    }
}

impl Arrivals {
    pub(crate) fn new(plan: &Plan, thread: u32) -> Self {
        let clients = u64::from(plan.clients);
        let share = Share {
            thread,
            threads: plan.threads,
            clients: plan.clients,
            measured: plan.transactions_per_client.map(|each| each * clients),
        };
        let latency_limit = plan.latency_limit_ns;
        Self { share, latency_limit, pending: None, idle: VecDeque::new() }
    }

    /// An open loop begins.
    pub(crate) fn start(&mut self, schedule: Schedule, timeline: &Timeline) {
        let backlog = schedule.clone();
        self.pending =
            Some(Pending { schedule, upcoming: None, first_measured: None, backlog, waiting: 0 });
        self.draw_upcoming(timeline);
    }

    /// Whether transactions arrive by a schedule.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether an arrival waits, or becomes due later.
    pub(crate) fn are_left(&self) -> bool {
        let is_left = |pending: &Pending| pending.upcoming.is_some() || pending.waiting > 0;
        self.pending.as_ref().is_some_and(is_left)
    }

    /// When the next arrival is due, if a client is idle and may take it.
    pub(crate) fn next_due(&self) -> Nanos {
        match &self.pending {
            Some(Pending { upcoming: Some((_, due)), .. }) if !self.idle.is_empty() => *due,
            _ => Nanos::MAX,
        }
    }

    /// Moves the arrivals that are due by now from the schedule to the backlog.
    pub(crate) fn take_due(&mut self, now: Nanos, timeline: &Timeline, counters: &mut Counters) {
        while let Some(pending) = &mut self.pending
            && let Some((_, due)) = pending.upcoming
            && due <= now
        {
            let measured = u64::from(timeline.phase(due) == Phase::Measure);
            counters.due += measured;
            counters.waiting += measured;
            pending.waiting += 1;
            self.draw_upcoming(timeline);
        }
    }

    /// The oldest waiting arrival that is still within the latency limit; passes older ones, and
    /// whether they count, to `skip`.
    pub(crate) fn next_waiting(
        &mut self,
        now: Nanos,
        timeline: &Timeline,
        counters: &mut Counters,
        mut skip: impl FnMut(Arrival),
    ) -> Option<Arrival> {
        loop {
            let (number, due) = self.take_oldest(timeline)?;
            let measured = u64::from(timeline.phase(due) == Phase::Measure);
            counters.waiting -= measured;
            if self.latency_limit.is_none_or(|limit| now - due <= limit) {
                return Some((number, due));
            }
            counters.skipped += measured;
            if measured > 0 {
                skip((number, due));
            }
        }
    }

    fn take_oldest(&mut self, timeline: &Timeline) -> Option<Arrival> {
        let (pending, share) = (self.pending.as_mut()?, self.share);
        pending.waiting = pending.waiting.checked_sub(1)?;
        pending.backlog.find(|&arrival| share.has(arrival, timeline))
    }

    /// Advances the schedule to the next arrival assigned to this worker.
    fn draw_upcoming(&mut self, timeline: &Timeline) {
        let (share, Some(pending)) = (self.share, &mut self.pending) else { return };
        let Pending { schedule, first_measured, .. } = pending;
        pending.upcoming = schedule
            .inspect(|&(number, due)| {
                if due >= timeline.measure_begin() {
                    first_measured.get_or_insert(number);
                }
            })
            .find(|&arrival| share.has(arrival, timeline))
            .filter(|&(number, _)| match (share.measured, *first_measured) {
                (Some(measured), Some(first)) => number - first < measured,
                _ => true,
            });
    }

    /// The client waits for an arrival.
    pub(crate) fn add_idle(&mut self, client: usize) {
        self.idle.push_back(client);
    }

    /// The client that has waited longest.
    pub(crate) fn first_idle(&self) -> Option<usize> {
        self.idle.front().copied()
    }

    /// The client that has waited longest waits no more.
    pub(crate) fn take_idle(&mut self) -> Option<usize> {
        self.idle.pop_front()
    }

    /// The client does not wait any more.
    pub(crate) fn forget_idle(&mut self, client: usize) {
        self.idle.retain(|&other| other != client);
    }

    /// No client waits.
    pub(crate) fn forget_all_idle(&mut self) {
        self.idle.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Arrivals, Share};
    use crate::timeline::tests::{stage, timeline};
    use crate::{Schedule, Timeline};
    use dbdyno_hist::Counters;
    use dbdyno_model::{ArrivalLaw, Nanos};
    use std::collections::VecDeque;

    /// Ten seconds with ten arrivals a second, of which half fall to this worker, due from 10.1 s.
    fn begun(latency_limit: Option<Nanos>, measured: Option<u64>) -> (Arrivals, Timeline) {
        let timeline = timeline(0, 1000, vec![stage(10, None, Some(10.0))]);
        let share = Share { thread: 0, threads: 2, clients: 2, measured };
        let mut arrivals = Arrivals { share, latency_limit, pending: None, idle: VecDeque::new() };
        arrivals.start(Schedule::new(1, ArrivalLaw::Constant, &timeline), &timeline);
        (arrivals, timeline)
    }

    fn ms(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    #[test]
    fn what_is_due_waits_until_a_client_takes_it() {
        let (mut arrivals, timeline) = begun(None, None);
        let mut counters = Counters::default();
        arrivals.take_due(ms(10_450), &timeline, &mut counters);
        assert_eq!((counters.due, counters.waiting), (2, 2));
        let mut next =
            || arrivals.next_waiting(ms(10_450), &timeline, &mut counters, |_| panic!("no limit"));
        let taken: [Option<Arrival>; 3] = [next(), next(), next()];
        assert_eq!(taken, [Some((0, ms(10_100))), Some((2, ms(10_300))), None]);
        assert_eq!((counters.due, counters.waiting), (2, 0));
    }

    #[test]
    fn what_is_older_than_the_latency_limit_is_skipped() {
        let (mut arrivals, timeline) = begun(Some(ms(200)), None);
        let (mut counters, mut skipped) = (Counters::default(), Vec::new());
        arrivals.take_due(ms(10_750), &timeline, &mut counters);
        let mut skip = |(number, _)| skipped.push(number);
        let taken = arrivals.next_waiting(ms(10_750), &timeline, &mut counters, &mut skip);
        assert_eq!((taken, skipped), (Some((6, ms(10_700))), vec![0, 2, 4]));
        assert_eq!((counters.due, counters.waiting, counters.skipped), (4, 0, 3));
    }

    #[test]
    fn a_fixed_number_of_arrivals_ends() {
        let (mut arrivals, timeline) = begun(None, Some(4));
        let mut counters = Counters::default();
        arrivals.take_due(ms(20_000), &timeline, &mut counters);
        assert_eq!(counters.due, 2, "of the four, the other worker has two");
        while arrivals.next_waiting(ms(20_000), &timeline, &mut counters, |_| {}).is_some() {}
        assert!(!arrivals.are_left());
    }

    #[test]
    fn only_an_idle_client_has_to_wake_for_the_next_arrival() {
        let (mut arrivals, _) = begun(None, None);
        assert_eq!(arrivals.next_due(), Nanos::MAX);
        arrivals.add_idle(7);
        assert_eq!(arrivals.next_due(), ms(10_100));
        arrivals.forget_idle(7);
        assert_eq!((arrivals.next_due(), arrivals.first_idle()), (Nanos::MAX, None));
    }
}
