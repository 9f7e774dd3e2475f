//! The engine as a process of its own, on this machine or another: reads a job, writes frames.
//!
//! Whoever starts it may first ask who it is, and what its clock says. From the first word on,
//! anything within [`SILENCE_MAX`] shows it that somebody still wants it.

use crate::outlet::Outlet;
use dbdyno_engine::{Engine, EngineError, RunHandle, clock};
use dbdyno_hist::frame::{Clock, Frame};
use dbdyno_model::{LoadPlan, Nanos, Plan};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{process, thread};

/// How long a load of which nobody wants to know any more may take to end: its cancellations are
/// sent at once.
const ABANDONED_LONGEST: Duration = Duration::from_millis(800);
/// Without a word for this long, whoever shares a load among engines is gone, or its network is.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// The shell's exit code for an interrupted program.
const EXIT_CODE_ORPHANED: i32 = 130;

/// A line of JSON before a load.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Word {
    /// Say what the clock says.
    Clock(u64),
    /// Put a measured load on a target.
    Run(Box<Plan>),
    /// Examine the Lua script of a plan, without a server.
    Survey(Box<Plan>),
    /// Fill tables.
    Load(Box<LoadPlan>),
}

/// Works on the job that standard input names. With `build`, whoever started it may be on another
/// machine, and first learns who this is.
pub(crate) fn main(frames_fd: i32, build: Option<String>) -> i32 {
    // SAFETY: the caller hands over a descriptor that nobody else uses.
    let outlet = Outlet::to(unsafe { File::from_raw_fd(frames_fd) });
    let is_asked = build.is_some();
    if let Some(build) = build {
        outlet.write(&Frame::Greeting(dbdyno_engine::greeting(build)).encode());
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| work(&outlet, is_asked)));
    let outcome = outcome.unwrap_or_else(|panic| {
        Err(EngineError::new("panic", panic_message(&*panic), "this is a defect of dbdyno"))
    });
    let failed = outcome.map_err(|error| {
        // If nobody reads the frames any more, the error cannot be reported.
        outlet.write(&Frame::Failed(error.into_frame()).encode());
    });
    let undelivered = outlet.close().map_err(|error| {
        let _ = writeln!(io::stderr(), "its frames could not be delivered: {error}");
    });
    i32::from(failed.and(undelivered).is_err())
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the engine panicked").to_owned()
}

fn work(outlet: &Outlet, is_asked: bool) -> Result<(), EngineError> {
    let sink = &mut |frame: &[u8]| outlet.send(frame);
    let listener = Listener::new(outlet, is_asked)?;
    let mut input = BufReader::new(Heard(Arc::clone(&listener)));
    let job = loop {
        match read_word(&mut input)? {
            Some(Word::Clock(question)) => listener.answer(question, clock::now()),
            Some(job) => break job,
            None => return Ok(()), // nobody had a job
        }
    };
    // Before any script is loaded, since loading may never end.
    let own = Arc::clone(&listener);
    thread::Builder::new().name("listener".into()).spawn(move || own.listen(input))?;
    match job {
        Word::Clock(_) => Ok(()),
        Word::Load(plan) => dbdyno_engine::load(&plan, sink),
        Word::Survey(plan) => dbdyno_engine::survey_script(&plan, sink),
        Word::Run(plan) => {
            let engine =
                Engine::new(*plan).map_err(|problems| EngineError::bad_script(&problems))?;
            listener.run_begins(engine.handle());
            engine.run(sink)
        }
    }
}

/// The next line; none at the end of input.
fn read_word(input: &mut impl BufRead) -> Result<Option<Word>, EngineError> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let word = serde_json::from_str(&line);
    word.map(Some).map_err(|error| EngineError::new("bad_plan", error.to_string(), ""))
}

/// The parent's instructions after the job, a line of JSON each.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Instruction {
    Stop,
    /// End the load at an instant of this machine's clock.
    StopAt(Nanos),
    /// All clients are connected, and whoever observes the server is ready: begin the load.
    Begin,
    /// Begin the load at an instant of this machine's clock.
    BeginAt(Nanos),
    /// Say what the clock says.
    Clock(u64),
    /// The tasks of this machine that serve the server's sessions, by session.
    Served(HashMap<u32, u32>),
}

/// Standard input; whatever comes is a sign of life, a piece of a long word, too.
struct Heard(Arc<Listener>);

impl Read for Heard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = io::stdin().read(buffer)?;
        if count > 0 {
            let _ = self.0.heard.send(());
        }
        Ok(count)
    }
}

/// Receives the parent's instructions; the end of input means that the parent is gone, and so does
/// silence of one that has said anything.
struct Listener {
    outlet: Outlet,
    /// The run to control; a load or a survey has none and is ended at once.
    run: OnceLock<RunHandle>,
    stop_requested: AtomicBool,
    /// Takes notice of whatever comes.
    heard: Sender<()>,
}

impl Listener {
    /// A listener; `is_asked`: once the parent has said anything, it keeps asking.
    fn new(outlet: &Outlet, is_asked: bool) -> io::Result<Arc<Self>> {
        let (run, stop_requested) = (OnceLock::new(), AtomicBool::new(false));
        let (heard, questions) = channel();
        let listener = Arc::new(Self { outlet: outlet.clone(), run, stop_requested, heard });
        if is_asked {
            let own = Arc::clone(&listener);
            thread::Builder::new().name("watch".into()).spawn(move || {
                let _ = questions.recv();
                while questions.recv_timeout(SILENCE_MAX) == Ok(()) {}
                own.abandon(&format!("it heard nothing for {} s", SILENCE_MAX.as_secs()))
            })?;
        }
        Ok(listener)
    }

    fn listen(&self, input: impl BufRead) -> ! {
        for line in input.lines().map_while(Result::ok) {
            let now = clock::now();
            match serde_json::from_str(&line) {
                Ok(Instruction::Clock(question)) => self.answer(question, now),
                Ok(Instruction::Served(tasks)) => {
                    self.run.get().inspect(|run| run.set_session_tasks(tasks));
                }
                Ok(Instruction::Begin) => {
                    self.run.get().inspect(|run| run.begin(None));
                }
                Ok(Instruction::BeginAt(start)) => {
                    self.run.get().inspect(|run| run.begin(Some(start)));
                }
                Ok(Instruction::StopAt(end)) => self.stop(Some(end)),
                Ok(Instruction::Stop) | Err(_) => self.stop(None),
            }
        }
        self.abandon("its input ended")
    }

    fn answer(&self, question: u64, received: Nanos) {
        let clock = Clock { question, received_ns: received.0, sent_ns: clock::now().0 };
        self.outlet.overtake(&Frame::Clock(clock).encode());
    }

    fn run_begins(&self, run: RunHandle) {
        let run = self.run.get_or_init(|| run);
        if self.stop_requested.load(Ordering::SeqCst) {
            run.stop(None);
        }
    }

    fn stop(&self, at: Option<Nanos>) {
        self.stop_requested.store(true, Ordering::SeqCst);
        if let Some(run) = self.run.get() {
            run.stop(at);
        }
    }

    /// Nobody reads what the load reports, most likely: it ends now, whatever it is doing.
    fn abandon(&self, why: &str) -> ! {
        if let Some(run) = self.run.get() {
            run.abandon(why);
            thread::sleep(ABANDONED_LONGEST);
        } else {
            let _ = writeln!(io::stderr(), "{why}");
        }
        process::exit(EXIT_CODE_ORPHANED)
    }
}
