//! Computations on serialized histograms, for reading a run later.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

fn read(mut bytes: &[u8]) -> Result<Histogram<u64>, String> {
    Deserializer::new().deserialize(&mut bytes).map_err(|error| format!("not a histogram: {error}"))
}

/// The values that these shares of all values do not exceed, in nanoseconds.
pub fn quantiles(bytes: &[u8], wanted: &[f64]) -> Result<Vec<u64>, String> {
    let histogram = read(bytes)?;
    Ok(wanted.iter().map(|&q| histogram.value_at_quantile(q)).collect())
}

/// The sum of several histograms, serialized in the same way.
pub fn merge<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, String> {
    let mut total = Histogram::<u64>::new(3).expect("three digits are allowed");
    for part in parts {
        total.add(read(part)?).map_err(|error| error.to_string())?;
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&total, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The recorded bars as (lowest value, highest value, count), ascending, in nanoseconds.
pub fn bars(bytes: &[u8]) -> Result<Vec<(u64, u64, u64)>, String> {
    let histogram = read(bytes)?;
    Ok(histogram
        .iter_recorded()
        .map(|step| {
            let highest = step.value_iterated_to();
            (histogram.lowest_equivalent(highest), highest, step.count_at_value())
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::{bars, merge, quantiles};
    use crate::Latencies;
    use dbdyno_model::Nanos;

    fn of(values: &[u64]) -> Vec<u8> {
        let mut latencies = Latencies::default();
        for &ns in values {
            latencies.record(Nanos(ns));
        }
        latencies.serialize()
    }

    #[test]
    fn a_merged_histogram_holds_all_parts() {
        let merged = merge([of(&[1, 2]).as_slice(), of(&[2, 5_000_000]).as_slice()]).unwrap();
        let counts: Vec<(u64, u64)> =
            bars(&merged).unwrap().iter().map(|bar| (bar.0, bar.2)).collect();
        assert_eq!(counts[..2], [(1, 1), (2, 2)]);
        assert_eq!(quantiles(&merged, &[0.25, 0.5]).unwrap(), [1, 2]);
    }

    #[test]
    fn rubbish_is_an_error() {
        assert!(bars(b"rubbish").is_err());
        assert!(merge([b"".as_slice()]).is_err());
    }
}
