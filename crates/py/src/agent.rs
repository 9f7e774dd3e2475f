//! The engine as a process of its own: reads a job, writes frames.

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

/// How long a run may take to end: more than the longest grace period and the wait for
/// cancellations.
const END_LONGEST: Duration = Duration::from_secs(40);
/// The shell's exit code for an interrupted program.
const EXIT_CODE_ORPHANED: i32 = 130;

/// The agent's job, as one line of JSON.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Job {
    /// Put a measured load on a target.
    Run(Box<Plan>),
    /// Examine the Lua script of a plan, without a server.
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
        Err(EngineError::new("panic", panic_message(&*panic), "this is a defect of dbdyno"))
    });
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            // If nobody reads the frames any more, the error cannot be reported.
            let _ = frames.write_all(&Frame::Failed(error.into_frame()).encode());
            1
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
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

/// The parent's instructions after the job, a line of JSON each.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Instruction {
    Stop,
    /// All clients are connected, and whoever observes the server is ready: begin the load.
    Begin,
    /// The tasks of this machine that serve the server's sessions, by session.
    Served(HashMap<u32, u32>),
}

/// Receives the parent's instructions; the end of input means that the parent is gone. It starts
/// before any script is loaded, since loading may never end.
#[derive(Default)]
struct Listener {
    /// The run to control; a load or a survey has none and is ended at once.
    run: OnceLock<RunHandle>,
    stop_requested: AtomicBool,
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
                Ok(Instruction::Served(tasks)) => {
                    if let Some(run) = self.run.get() {
                        run.set_session_tasks(tasks);
                    }
                }
                Ok(Instruction::Begin) => {
                    if let Some(run) = self.run.get() {
                        run.begin();
                    }
                }
                Ok(Instruction::Stop) | Err(_) => self.stop(),
            }
        }
        self.stop();
        if self.run.get().is_some() {
            // What the run has not ended by then, such as a script in an endless loop, nobody else
            // would end.
            thread::sleep(END_LONGEST);
        }
        process::exit(EXIT_CODE_ORPHANED)
    }

    fn run_begins(&self, run: RunHandle) {
        let run = self.run.get_or_init(|| run);
        if self.stop_requested.load(Ordering::SeqCst) {
            run.stop();
        }
    }

    fn stop(&self) {
        self.stop_requested.store(true, Ordering::SeqCst);
        if let Some(run) = self.run.get() {
            run.stop();
        }
    }
}
