//! Starts the lanes of a run: with our own wire protocols, or with threads that call a driver.

use crate::address::connectable_peer;
use crate::io::{Epoll, Uring, Waker, probe_uring};
use crate::lane::{self, Channels, Message, Report};
use crate::link::{Blueprint, Route, Server};
use crate::{EngineError, clock, odbc, scheduling_policy};
use dbdyno_load::Settings;
use dbdyno_model::{self as model, Address, Plan, Statement};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A lane, seen from outside.
pub(super) struct LaneHandle {
    sender: Sender<Message>,
    waker: Waker,
    pub(super) thread: JoinHandle<()>,
}

impl LaneHandle {
    pub(super) fn send(&self, message: Message) {
        // A lane that is over receives no more.
        let _ = self.sender.send(message);
        self.waker.wake();
    }
}

/// The kernel's interface to sockets.
#[derive(Clone, Copy)]
pub(super) enum Backend {
    Uring,
    Epoll,
}

/// How the lanes reach the server.
pub(super) enum Transport {
    Wire { servers: Arc<[Server]>, backend: Backend, io_reason: String },
    Odbc(Arc<odbc::Config>),
}

impl Transport {
    pub(super) fn new(plan: &Plan, statements: Arc<[Statement]>) -> Result<Self, EngineError> {
        let (endpoint, mode) = (&plan.endpoint, plan.query_mode);
        if let Address::Odbc { attributes } = &endpoint.address {
            let config = odbc::Config::for_run(endpoint, attributes, mode, statements)?;
            return Ok(Self::Odbc(Arc::new(config)));
        }
        let server = |endpoint: model::Endpoint| -> Result<_, EngineError> {
            let blueprint = Blueprint::for_run(&endpoint, mode, Arc::clone(&statements))?;
            let peer = connectable_peer(&endpoint.address, endpoint.connect_timeout_ns)?;
            Ok(Server { blueprint: Arc::new(blueprint), route: Arc::new(Route::new(peer)) })
        };
        let servers = endpoint.each_server().map(server).collect::<Result<_, _>>()?;
        let (backend, io_reason) = choose_backend(plan.io)?;
        Ok(Self::Wire { servers, backend, io_reason })
    }

    /// What moves the bytes.
    pub(super) fn io(&self) -> &'static str {
        match self {
            Self::Wire { backend: Backend::Uring, .. } => "uring",
            Self::Wire { backend: Backend::Epoll, .. } => "epoll",
            Self::Odbc(_) => "odbc",
        }
    }

    /// Why nothing better does, where that needs an explanation.
    pub(super) fn io_reason(&self) -> &str {
        match self {
            Self::Wire { io_reason, .. } => io_reason,
            Self::Odbc(_) => "ODBC calls block: each client has a thread",
        }
    }

    pub(super) fn spawn_lane(
        &self,
        lane: u32,
        settings: Settings,
        reports: Sender<Report>,
    ) -> Result<LaneHandle, EngineError> {
        match self {
            Self::Wire { servers, backend, .. } => {
                let servers = Arc::clone(servers);
                let run = match backend {
                    Backend::Uring => lane::run::<Uring>,
                    Backend::Epoll => lane::run::<Epoll>,
                };
                spawn(lane, settings, reports, move |settings, channels| {
                    run(settings, servers, channels);
                })
            }
            Self::Odbc(config) => {
                let config = Arc::clone(config);
                spawn(lane, settings, reports, move |settings, channels| {
                    lane::blocking::run(settings, config, channels);
                })
            }
        }
    }
}

/// Starts the thread of a lane.
fn spawn(
    lane: u32,
    settings: Settings,
    reports: Sender<Report>,
    run: impl FnOnce(Settings, Channels) + Send + 'static,
) -> Result<LaneHandle, EngineError> {
    let (sender, inbox) = channel();
    let waker = Waker::new()?;
    let thread = settings.thread;
    let channels = Channels { lane, inbox, sender: sender.clone(), reports, waker: waker.clone() };
    let thread = std::thread::Builder::new().name(format!("load-{thread}")).spawn(move || {
        scheduling_policy::choose_for(&settings.plan.arrivals, settings.executions.len());
        clock::minimize_timer_slack();
        run(settings, channels);
    })?;
    Ok(LaneHandle { sender, waker, thread })
}

/// The backend to use, and the reason where it needs one.
fn choose_backend(wanted: model::Io) -> Result<(Backend, String), EngineError> {
    match (wanted, probe_uring()) {
        (model::Io::Epoll, _) => Ok((Backend::Epoll, String::new())),
        (model::Io::Auto | model::Io::Uring, Ok(())) => Ok((Backend::Uring, String::new())),
        (model::Io::Auto, Err(reason)) => Ok((Backend::Epoll, reason)),
        (model::Io::Uring, Err(reason)) => {
            Err(EngineError::new("no_uring", reason, "use --io auto or --io epoll"))
        }
    }
}
