//! Whether the load generator itself was the bottleneck: then the run does not measure the server.

use dbdyno_hist::Latencies;
use dbdyno_model::{Nanos, Plan, Protocol};

/// A generator that used this share of the processor time available to it was the bottleneck.
const BUSY_SHARE_MAX: f64 = 0.9;
/// A shorter time does not show how busy it was: the kernel credits processor time in ticks of up
/// to 10 ms a thread, and initialization is most of the work.
const BUSY_TIME_MIN: Nanos = Nanos::from_secs(1);
/// A generator that is late though it used less than this share was not given a processor in time.
const IDLE_SHARE_MAX: f64 = 0.5;
/// A lateness below this never makes a run invalid.
const LATENESS_MIN: Nanos = Nanos::from_millis(1);
/// Nor does a lateness below this share of the 99th percentile it would distort.
const LATENESS_SHARE_MAX: f64 = 0.1;

/// The engine's own work in the measured part.
#[derive(Debug)]
pub(crate) struct OwnWork<'a> {
    pub(crate) open_loop: bool,
    /// Whether the run ended early for a reason that is reported: what was sent before says little
    /// about the generator.
    pub(crate) broke_off: bool,
    /// How many processors its threads can use at once.
    pub(crate) processors: u32,
    /// How many as many threads as clients could use at once.
    pub(crate) processors_max: u32,
    pub(crate) measured: Nanos,
    pub(crate) cpu_us: u64,
    pub(crate) lateness: &'a Latencies,
    pub(crate) response_p99: Nanos,
}

/// How many processors the generator can use at once: one for each of its threads, up to those that
/// this process may use. Behind ODBC each client has a thread.
pub(crate) fn processors(plan: &Plan) -> u32 {
    let is_odbc = plan.endpoint.protocol == Protocol::Odbc;
    at_once(if is_odbc { plan.clients_here() } else { plan.threads_here().len() as u32 })
}

/// How many processors a thread for each client could use at once.
pub(crate) fn processors_max(plan: &Plan) -> u32 {
    at_once(plan.clients_here())
}

fn at_once(threads: u32) -> u32 {
    let allowed = std::thread::available_parallelism().map_or(1, usize::from);
    threads.min(allowed as u32)
}

/// Why the run is invalid, if it is. A closed loop is judged by the generator's CPU only: it has no
/// schedule to measure lateness against. Lateness is not held against a run that ended early
/// either: one reason is enough.
pub(crate) fn invalid_reasons(work: &OwnWork<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    let processors = work.processors;
    let busy = work.cpu_us as f64 / 1e6 / (f64::from(processors) * work.measured.as_secs_f64());
    if work.measured >= BUSY_TIME_MIN && busy > BUSY_SHARE_MAX {
        reasons.push(format!(
            "the generator was the bottleneck: it used {:.0} % of {processors} processor{}, \
             all that its threads can use{}",
            busy * 100.0,
            if processors == 1 { "" } else { "s" },
            if processors < work.processors_max { "; more threads (-j) can use more" } else { "" },
        ));
    }
    let late = work.lateness.quantile(0.99);
    let bound = LATENESS_MIN.max(Nanos((work.response_p99.0 as f64 * LATENESS_SHARE_MAX) as u64));
    if work.open_loop && !work.broke_off && late > bound {
        reasons.push(format!(
            "the generator was late: 1 % of the transactions were sent more than {:.1} ms after they were due though a client was free (bound: {:.1} ms){}",
            late.as_secs_f64() * 1e3,
            bound.as_secs_f64() * 1e3,
            if busy < IDLE_SHARE_MAX {
                format!(
                    "; it used {:.0} % of the processor time that its threads can use, so it \
                     waited for a processor that the server or other programs had",
                    busy * 100.0
                )
            } else {
                String::new()
            },
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::{OwnWork, at_once, invalid_reasons};
    use dbdyno_hist::Latencies;
    use dbdyno_model::Nanos;

    const TEN_SECONDS: Nanos = Nanos::from_secs(10);

    fn late(by: Nanos) -> Latencies {
        let mut lateness = Latencies::default();
        lateness.record(by);
        lateness
    }

    fn work(lateness: &Latencies) -> OwnWork<'_> {
        OwnWork {
            open_loop: true,
            broke_off: false,
            processors: 2,
            processors_max: 2,
            measured: TEN_SECONDS,
            cpu_us: 0,
            lateness,
            response_p99: Nanos::from_millis(20),
        }
    }

    fn reasons(open_loop: bool, measured: Nanos, cpu_us: u64, by: Nanos) -> Vec<String> {
        invalid_reasons(&OwnWork { open_loop, measured, cpu_us, ..work(&late(by)) })
    }

    #[test]
    fn each_bound_is_judged_where_it_applies() {
        let (open, closed) = (true, false);
        assert!(reasons(open, TEN_SECONDS, 17_000_000, Nanos::from_micros(1900)).is_empty());
        assert!(
            reasons(closed, TEN_SECONDS, 19_000_000, Nanos::ZERO)[0]
                .contains("95 % of 2 processors,")
        );
        assert!(reasons(open, TEN_SECONDS, 0, Nanos::from_micros(2100))[0].contains("2.1 ms"));
        assert!(reasons(closed, TEN_SECONDS, 0, Nanos::from_secs(1)).is_empty());
        let waited = "waited for a processor";
        assert!(reasons(open, TEN_SECONDS, 800_000, Nanos::from_secs(1))[0].contains(waited));
        assert!(!reasons(open, TEN_SECONDS, 16_000_000, Nanos::from_secs(1))[0].contains(waited));
    }

    #[test]
    fn more_threads_are_advised_where_they_can_use_more() {
        let lateness = late(Nanos::ZERO);
        let busy = OwnWork { cpu_us: 20_000_000, open_loop: false, ..work(&lateness) };
        let advice = "more threads (-j)";
        assert!(!invalid_reasons(&busy)[0].contains(advice));
        assert!(invalid_reasons(&OwnWork { processors_max: 4, ..busy })[0].contains(advice));
    }

    #[test]
    fn threads_beyond_the_processors_add_none() {
        let allowed = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        assert_eq!([at_once(1), at_once(4 * allowed)], [1, allowed]);
    }

    #[test]
    fn what_broke_the_run_off_is_cause_enough() {
        let lateness = late(Nanos::from_secs(1));
        assert_eq!(invalid_reasons(&work(&lateness)).len(), 1);
        assert!(invalid_reasons(&OwnWork { broke_off: true, ..work(&lateness) }).is_empty());
    }

    #[test]
    fn a_short_span_does_not_show_how_busy_it_was() {
        let moment = Nanos::from_millis(10);
        assert!(reasons(false, moment, 20_600, Nanos::ZERO).is_empty());
        assert!(reasons(true, moment, 0, Nanos::from_micros(2100))[0].contains("late"));
    }
}
