//! What a lane of either kind reports of its worker.

use super::{Channels, ConnectedLane, Report};
use crate::clock;
use dbdyno_load::Worker;
use dbdyno_model::Nanos;
use std::sync::mpsc::Sender;

/// How often a lane reports that it is alive while its clients connect.
const CONNECTING_EVERY: Nanos = Nanos::from_secs(1);

/// Reports what the worker has completed.
pub(super) struct Reporter {
    lane: u32,
    reports: Sender<Report>,
    connecting_told: Nanos,
    connected_sent: bool,
    hopeless_told: bool,
}

impl Reporter {
    pub(super) fn new(channels: &Channels) -> Self {
        Self {
            lane: channels.lane,
            reports: channels.reports.clone(),
            connecting_told: Nanos::ZERO,
            connected_sent: false,
            hopeless_told: false,
        }
    }

    /// Reports what is new; once, when all clients are connected, also the connections.
    pub(super) fn report(
        &mut self,
        worker: &mut Worker,
        connected_lane: impl FnOnce() -> ConnectedLane,
    ) {
        if let Some(at) = worker.take_begun() {
            self.send(Report::Begun(at));
        }
        for closed in worker.take_closed() {
            self.send(Report::IntervalClosed(self.lane, closed));
        }
        let activities = worker.take_activities();
        if !activities.is_empty() {
            self.send(Report::Activities(self.lane, activities));
        }
        for event in worker.take_outage_events() {
            self.send(Report::Outage(event));
        }
        if !self.hopeless_told
            && let Some(hopeless) = worker.hopeless()
        {
            self.hopeless_told = true;
            self.send(Report::Hopeless(hopeless.clone()));
        }
        if !self.connected_sent && worker.is_connected() {
            self.connected_sent = true;
            let connects = worker.take_connects();
            self.send(Report::Connected(ConnectedLane { connects, ..connected_lane() }));
        } else if !self.connected_sent {
            self.send_connecting(clock::now());
        }
    }

    fn send_connecting(&mut self, now: Nanos) {
        if now - self.connecting_told >= CONNECTING_EVERY {
            self.connecting_told = now;
            self.send(Report::Connecting(self.lane));
        }
    }

    fn send(&self, report: Report) {
        // The receiver is gone only when the whole run is.
        let _ = self.reports.send(report);
    }
}
