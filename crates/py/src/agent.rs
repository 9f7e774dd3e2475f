//! The engine as a process of its own: a job in, frames out.

use dbdyno_engine::{Engine, EngineError, RunHandle};
use dbdyno_hist::frame::Frame;
use dbdyno_model::{LoadPlan, Plan};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{process, thread};

/// How long a run may take to end: more than the longest grace with the wait for cancellations.
const END_LONGEST: Duration = Duration::from_secs(40);
/// As the shell tells of a program that was interrupted.
const EXIT_OF_AN_ORPHAN: i32 = 130;

/// What the agent is asked to do, as one line of JSON.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Job {
    /// Put a measured load on a target.
    Run(Box<Plan>),
    /// Look at the script of a plan that has one in Lua, without a server.
    Survey(Box<Plan>),
    /// Fill tables.
    Load(Box<LoadPlan>),
}

pub(crate) fn main(frames_fd: i32) -> i32 {
    // SAFETY: the caller hands over a descriptor that nobody else uses.
    let mut frames = unsafe { File::from_raw_fd(frames_fd) };
    let mut sink = |frame: &[u8]| frames.write_all(frame);
    let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut sink)));
    let outcome = outcome.unwrap_or_else(|panic| {
        Err(EngineError::new("panic", words(&*panic), "this is a defect of dbdyno"))
    });
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            // When nobody reads any more there is nobody to tell.
            let _ = frames.write_all(&Frame::Failed(error.into_frame()).encode());
            1
        }
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the engine panicked").to_owned()
}

fn work(sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), EngineError> {
    match read_job()? {
        Job::Load(plan) => {
            Listener::start()?;
            dbdyno_engine::load(&plan, sink)
        }
        Job::Survey(plan) => {
            Listener::start()?;
            dbdyno_engine::survey_script(&plan, sink)
        }
        Job::Run(plan) => {
            let listener = Listener::start()?;
            let engine =
                Engine::new(*plan).map_err(|problems| EngineError::bad_script(&problems))?;
            listener.run_begins(engine.handle());
            engine.run(sink)
        }
    }
}

fn read_job() -> Result<Job, EngineError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|error| EngineError::new("bad_plan", error.to_string(), ""))
}

/// What the parent says after the job, a line of JSON each.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Stop,
    /// The tasks of this machine that serve the server's sessions, by the sessions' numbers.
    Served(HashMap<u32, u32>),
}

/// Hears what the parent says after the job; the end of input says that the parent is gone. It
/// listens before any script is loaded, since one may load for ever.
#[derive(Default)]
struct Listener {
    /// Who hears it: of a load or a survey nothing is to be ended gently.
    run: OnceLock<RunHandle>,
    stop_was_said: AtomicBool,
}

impl Listener {
    fn start() -> io::Result<Arc<Self>> {
        let listener = Arc::new(Self::default());
        let own = Arc::clone(&listener);
        thread::Builder::new().name("listener".into()).spawn(move || own.listen())?;
        Ok(listener)
    }

    fn listen(&self) -> ! {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Word::Served(tasks)) => {
                    if let Some(run) = self.run.get() {
                        run.set_session_tasks(tasks);
                    }
                }
                Ok(Word::Stop) | Err(_) => self.stop(),
            }
        }
        self.stop();
        if self.run.get().is_some() {
            // What a run does not end by then, as a script that spins, nobody else would end.
            thread::sleep(END_LONGEST);
        }
        process::exit(EXIT_OF_AN_ORPHAN)
    }

    fn run_begins(&self, run: RunHandle) {
        let run = self.run.get_or_init(|| run);
        if self.stop_was_said.load(Ordering::SeqCst) {
            run.stop();
        }
    }

    fn stop(&self) {
        self.stop_was_said.store(true, Ordering::SeqCst);
        if let Some(run) = self.run.get() {
            run.stop();
        }
    }
}
