//! Combines what the lanes' clients were doing at one instant, in the order of clients.
//!
//! Only one instant is held at a time. A lane that is late by more than an interval skips instants,
//! so a snapshot that is incomplete when the next instant comes will never be complete: it is
//! dropped, because its gaps would be read as idle clients.

use dbdyno_hist::{Activity, Doing, frame};
use dbdyno_model::Nanos;

/// The snapshot being assembled.
#[derive(Debug)]
pub(super) struct Snapshot {
    clients: usize,
    at: Nanos,
    /// By lane.
    parts: Vec<Option<Activity>>,
}

impl Snapshot {
    /// Of this many clients on this many lanes.
    pub(super) fn new(clients: u32, lanes: u32) -> Self {
        let parts = (0..lanes).map(|_| None).collect();
        Self { clients: clients as usize, at: Nanos::ZERO, parts }
    }

    /// Adds one lane's part.
    pub(super) fn add(&mut self, lane: u32, part: Activity) {
        if part.at > self.at {
            self.at = part.at;
            self.parts.fill(None);
        }
        if part.at == self.at {
            self.parts[lane as usize] = Some(part);
        }
    }

    /// The frame, once, when every lane has sent its part or is over. Clients of a lane that is
    /// over have no connections any more.
    pub(super) fn take_complete(
        &mut self,
        is_over: impl Fn(usize) -> bool,
    ) -> Option<frame::Activity> {
        let mut parts = self.parts.iter().enumerate();
        let complete = parts.all(|(lane, part)| part.is_some() || is_over(lane));
        let reported = self.parts.iter().any(Option::is_some);
        (complete && reported).then(|| self.take())
    }

    fn take(&mut self) -> frame::Activity {
        let mut clients = vec![(Doing::UNCONNECTED, 0); self.clients];
        let reported = self.parts.iter_mut().filter_map(Option::take).flat_map(|part| part.clients);
        for (client, doing, backend) in reported {
            // The place of a client that moved to another lane holds a number that no client has.
            if let Some(place) = clients.get_mut(client as usize) {
                *place = (doing, backend);
            }
        }
        frame::Activity::new(self.at, &clients)
    }
}

#[cfg(test)]
mod tests {
    use super::Snapshot;
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
        let mut snapshot = Snapshot::new(5, 2);
        snapshot.add(1, part(100, &[(4, 4, 14), (3, 3, 13)]));
        assert_eq!(snapshot.take_complete(|_| false), None);
        snapshot.add(0, part(100, &[(0, 0, 10), (2, 2, 12), (u64::MAX, 9, 0), (1, 1, 11)]));
        let frame = snapshot.take_complete(|_| false).unwrap();
        assert_eq!(read(&frame), (100, vec![0, 1, 2, 3, 4], vec![10, 11, 12, 13, 14]));
        assert_eq!(snapshot.take_complete(|_| false), None);
    }

    #[test]
    fn an_instant_that_one_lane_passed_over_is_dropped() {
        let mut snapshot = Snapshot::new(2, 2);
        snapshot.add(0, part(100, &[(0, 0, 10)]));
        snapshot.add(0, part(200, &[(0, 1, 10)]));
        snapshot.add(1, part(100, &[(1, 9, 11)]));
        assert_eq!(snapshot.take_complete(|_| false), None);
        snapshot.add(1, part(200, &[(1, 2, 11)]));
        let frame = snapshot.take_complete(|_| false).unwrap();
        assert_eq!(read(&frame), (200, vec![1, 2], vec![10, 11]));
    }

    #[test]
    fn clients_of_a_lane_that_is_over_are_unconnected() {
        let mut snapshot = Snapshot::new(2, 2);
        assert_eq!(snapshot.take_complete(|_| true), None);
        snapshot.add(0, part(100, &[(0, 7, 10)]));
        assert_eq!(snapshot.take_complete(|_| false), None);
        let frame = snapshot.take_complete(|lane| lane == 1).unwrap();
        assert_eq!(read(&frame), (100, vec![7, 0xFFFF], vec![10, 0]));
    }
}
