//! Combines what the clients of all parts were doing at each instant, in the order of clients: those
//! of the lanes of an engine, or of several engines.
//!
//! Each part reports its instants in order. So if one is complete, an earlier one that lacks a part
//! will never be: it is dropped, because its gaps would be read as idle clients.

use dbdyno_hist::{Activity, Doing, frame};
use dbdyno_model::Nanos;
use std::collections::BTreeMap;

/// One instant, by part.
type Parts = Vec<Option<Activity>>;

/// The instants that not all parts have reported yet.
#[derive(Debug)]
pub(crate) struct Snapshots {
    clients: Vec<u32>,
    parts: usize,
    pending: BTreeMap<Nanos, Parts>,
}

impl Snapshots {
    /// Of these clients, in ascending order, in this many parts.
    pub(crate) fn new(clients: Vec<u32>, parts: usize) -> Self {
        Self { clients, parts, pending: BTreeMap::new() }
    }

    /// The memory of the instants that wait for a part, in bytes, as if all others had reported.
    pub(crate) fn waiting_bytes(&self) -> usize {
        let of_parts = self.parts * size_of::<Option<Activity>>();
        let of_clients = self.clients.len() * size_of::<(u64, Doing, u32)>();
        self.pending.len() * (of_parts + of_clients)
    }

    /// The parts for which the first of these instants waits.
    pub(crate) fn awaited(&self, is_over: impl Fn(usize) -> bool) -> Vec<usize> {
        let Some((_, first)) = self.pending.first_key_value() else { return Vec::new() };
        (0..self.parts).filter(|&part| first[part].is_none() && !is_over(part)).collect()
    }

    /// Adds what a part has reported.
    pub(crate) fn add(&mut self, part: usize, instants: Vec<Activity>) {
        let parts = self.parts;
        for instant in instants {
            let all = self.pending.entry(instant.at).or_insert_with(|| vec![None; parts]);
            all[part] = Some(instant);
        }
    }

    /// The frames, once, of the instants that every part has reported, or has ended before. Clients
    /// of a part that is over have no connections any more.
    pub(crate) fn take_complete(
        &mut self,
        is_over: impl Fn(usize) -> bool,
    ) -> Vec<frame::Activity> {
        let is_complete = |parts: &Parts| {
            parts.iter().enumerate().all(|(lane, part)| part.is_some() || is_over(lane))
        };
        let newest = self.pending.iter().rfind(|(_, parts)| is_complete(parts));
        let Some((&newest, _)) = newest else { return Vec::new() };
        let later = self.pending.split_off(&(newest + Nanos(1)));
        std::mem::replace(&mut self.pending, later)
            .into_iter()
            .filter(|(_, parts)| is_complete(parts))
            .map(|(at, parts)| self.frame(at, parts))
            .collect()
    }

    fn frame(&self, at: Nanos, parts: Parts) -> frame::Activity {
        let mut clients = vec![(Doing::UNCONNECTED, 0); self.clients.len()];
        for (client, doing, backend) in parts.into_iter().flatten().flat_map(|part| part.clients) {
            // The place of a client that moved to another lane holds a number that no client has.
            if let Ok(place) = self.clients.binary_search_by_key(&client, |&own| own.into()) {
                clients[place] = (doing, backend);
            }
        }
        frame::Activity::new(at, &clients)
    }
}

#[cfg(test)]
mod tests {
    use super::Snapshots;
    use dbdyno_hist::{Activity, Doing, frame};
    use dbdyno_model::Nanos;

    fn part(at: u64, clients: &[(u64, u16, u32)]) -> Activity {
        let reported = |&(client, doing, backend): &_| (client, Doing(doing), backend);
        let clients = clients.iter().map(reported).collect();
        Activity { at: Nanos(at), clients }
    }

    fn read(frame: &frame::Activity) -> (u64, Vec<u16>, Vec<u32>) {
        let statements = frame.statements.chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
        let backends =
            frame.backends.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        (frame.at_ns, statements.collect(), backends.collect())
    }

    #[test]
    fn clients_stand_in_their_order_over_all_lanes() {
        let mut snapshots = Snapshots::new((0..5).collect(), 2);
        snapshots.add(1, vec![part(100, &[(4, 4, 14), (3, 3, 13)])]);
        assert_eq!(snapshots.take_complete(|_| false), []);
        snapshots.add(0, vec![part(100, &[(0, 0, 10), (2, 2, 12), (u64::MAX, 9, 0), (1, 1, 11)])]);
        let frames = snapshots.take_complete(|_| false);
        let frames: Vec<_> = frames.iter().map(read).collect();
        assert_eq!(frames, [(100, vec![0, 1, 2, 3, 4], vec![10, 11, 12, 13, 14])]);
        assert_eq!(snapshots.take_complete(|_| false), []);
    }

    #[test]
    fn an_engine_that_shares_the_load_tells_of_its_own_clients_alone() {
        let mut snapshots = Snapshots::new(vec![1, 3, 5], 1);
        snapshots.add(0, vec![part(100, &[(5, 7, 15), (1, 4, 11)])]);
        let frames = snapshots.take_complete(|_| false);
        assert_eq!(read(&frames[0]), (100, vec![4, 0xFFFF, 7], vec![11, 0, 15]));
    }

    #[test]
    fn those_that_the_first_instant_waits_for_are_known() {
        let mut snapshots = Snapshots::new((0..3).collect(), 3);
        assert_eq!((snapshots.awaited(|_| false), snapshots.waiting_bytes()), (vec![], 0));
        snapshots.add(1, vec![part(100, &[(1, 1, 11)]), part(200, &[(1, 1, 11)])]);
        snapshots.add(0, vec![part(200, &[(0, 0, 10)])]);
        assert_eq!(snapshots.awaited(|_| false), [0, 2]);
        assert_eq!(snapshots.awaited(|part| part == 2), [0]);
        assert!(snapshots.waiting_bytes() > 0);
    }

    #[test]
    fn all_instants_that_the_slowest_lane_has_reported_are_complete() {
        let mut snapshots = Snapshots::new((0..2).collect(), 2);
        snapshots.add(0, [100, 200, 300].map(|at| part(at, &[(0, 0, 10)])).into());
        snapshots.add(1, [100, 200].map(|at| part(at, &[(1, 1, 11)])).into());
        let complete = snapshots.take_complete(|_| false);
        assert_eq!(complete.iter().map(|frame| frame.at_ns).collect::<Vec<_>>(), [100, 200]);
        snapshots.add(1, vec![part(300, &[(1, 2, 11)])]);
        let last = snapshots.take_complete(|_| false);
        assert_eq!(read(&last[0]), (300, vec![0, 2], vec![10, 11]));
    }

    #[test]
    fn an_instant_that_one_lane_passed_over_is_dropped() {
        let mut snapshots = Snapshots::new((0..2).collect(), 2);
        snapshots.add(0, vec![part(100, &[(0, 0, 10)]), part(200, &[(0, 1, 10)])]);
        snapshots.add(1, vec![part(200, &[(1, 2, 11)])]);
        let frames = snapshots.take_complete(|_| false);
        let frames: Vec<_> = frames.iter().map(read).collect();
        assert_eq!(frames, [(200, vec![1, 2], vec![10, 11])]);
        assert_eq!(snapshots.take_complete(|_| true), []);
    }

    #[test]
    fn clients_of_a_lane_that_is_over_are_unconnected() {
        let mut snapshots = Snapshots::new((0..2).collect(), 2);
        assert_eq!(snapshots.take_complete(|_| true), []);
        snapshots.add(0, vec![part(100, &[(0, 7, 10)])]);
        assert_eq!(snapshots.take_complete(|_| false), []);
        let frames = snapshots.take_complete(|lane| lane == 1);
        assert_eq!(read(&frames[0]), (100, vec![7, 0xFFFF], vec![10, 0]));
    }
}
