//! Prints what recording one latency costs, in nanoseconds.

use dbdyno_hist::Latencies;
use dbdyno_model::{Nanos, Purpose, Stream};
use std::hint::black_box;

const RECORDS: u64 = 20_000_000;

fn main() {
    // Latencies as a run has them: spread over two octaves around 100 µs.
    let mut chance = Stream::keyed(1, Purpose::Script, 0, 0);
    let values: Vec<Nanos> = (0..4096).map(|_| Nanos(50_000 + chance.up_to(150_000))).collect();
    let mut latencies = Latencies::default();
    #[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    let begin = std::time::Instant::now();
    for number in 0..RECORDS {
        latencies.record(black_box(values[number as usize % values.len()]));
    }
    println!("{:.2}", begin.elapsed().as_nanos() as f64 / RECORDS as f64);
    assert_eq!(latencies.count(), RECORDS);
}
