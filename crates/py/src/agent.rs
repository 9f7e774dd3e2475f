//! The engine as a process of its own: a job in, frames out.

use dbdyno_engine::{Engine, EngineError, StopHandle};
use dbdyno_hist::frame::Frame;
use dbdyno_model::{LoadPlan, Plan};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
            std::thread::spawn(exit_with_parent);
            dbdyno_engine::load(&plan, sink)
        }
        Job::Survey(plan) => dbdyno_engine::survey(&plan, sink),
        Job::Run(plan) => {
            let engine =
                Engine::new(*plan).map_err(|problems| EngineError::bad_script(&problems))?;
            let stop = engine.stop_handle();
            std::thread::spawn(move || stop_on_word(&stop));
            engine.run(sink)
        }
    }
}

fn read_job() -> Result<Job, EngineError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|error| EngineError::new("bad_plan", error.to_string(), ""))
}

/// Any further line means stop, and so does the end of input: then the parent is gone.
fn stop_on_word(stop: &StopHandle) {
    let mut line = String::new();
    let _ = io::stdin().lock().read_line(&mut line);
    stop.stop();
}

/// A load whose parent is gone has nobody to load for; the server rolls back what is open.
fn exit_with_parent() {
    let mut line = String::new();
    let _ = io::stdin().lock().read_line(&mut line);
    std::process::exit(130);
}
