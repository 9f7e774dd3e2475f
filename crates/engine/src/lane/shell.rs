//! Shell commands of scripts. They would block the lane, so each runs in a thread of its own.
//!
//! None outlives its lane: the process groups of those still running are then killed.

use super::{Channels, Message};
use crate::io::Waker;
use dbdyno_load::ShellCall;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::HashSet;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The shell of a lane.
pub(super) struct Shell {
    lane: Sender<Message>,
    waker: Waker,
    running: Arc<RunningCommands>,
}

impl Shell {
    pub(super) fn new(channels: &Channels) -> Self {
        let (lane, waker) = (channels.sender.clone(), channels.waker.clone());
        Self { lane, waker, running: Arc::default() }
    }

    /// Runs a command of a script, and sends its outcome to the lane.
    pub(super) fn run(&self, call: ShellCall) {
        let ShellCall { client, ticket, command, output } = call;
        let (lane, waker) = (self.lane.clone(), self.waker.clone());
        let send = move |output| {
            // A lane that is gone needs no answer.
            let _ = lane.send(Message::Shell { client, ticket, output });
            waker.wake();
        };
        let (running, refuse) = (Arc::clone(&self.running), send.clone());
        let thread = thread::Builder::new()
            .name(format!("shell-{client}"))
            .spawn(move || send(running.execute(&command, output)));
        if let Err(error) = thread {
            refuse(Err(format!("cannot start a thread for the command: {error}")));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.running.kill_all();
    }
}

/// The commands that are running, each in a process group of its own.
#[derive(Default)]
struct RunningCommands(Mutex<Groups>);

#[derive(Default)]
struct Groups {
    leaders: HashSet<Pid>,
    /// The lane is gone, and no command is started any more.
    is_closed: bool,
}

impl RunningCommands {
    fn execute(&self, command: &str, output: bool) -> Result<String, String> {
        let (status, printed) = self
            .begin(command, output)
            .and_then(|child| self.wait(child))
            .map_err(|error| format!("cannot run the command: {error}"))?;
        if !status.success() {
            return Err(format!("the command failed: {status}"));
        }
        String::from_utf8(printed).map_err(|_| "the command's output is not UTF-8".to_owned())
    }

    fn begin(&self, command: &str, output: bool) -> io::Result<Child> {
        let mut groups = self.groups();
        if groups.is_closed {
            return Err(io::Error::other("the run is over"));
        }
        let child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(if output { Stdio::piped() } else { Stdio::inherit() })
            .process_group(0)
            .spawn()?;
        groups.leaders.insert(Pid::from_child(&child));
        Ok(child)
    }

    /// Waits until the command has ended. Its process ID may be reused as soon as the child is
    /// reaped, so the child is first only waited for, then removed from the set, then reaped.
    fn wait(&self, mut child: Child) -> io::Result<(ExitStatus, Vec<u8>)> {
        let mut printed = Vec::new();
        let read = child.stdout.take().map_or(Ok(0), |mut out| out.read_to_end(&mut printed));
        let leader = Pid::from_child(&child);
        waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        let mut groups = self.groups();
        groups.leaders.remove(&leader);
        let status = child.wait()?;
        read.map(|_| (status, printed))
    }

    fn kill_all(&self) {
        let mut groups = self.groups();
        groups.is_closed = true;
        for leader in std::mem::take(&mut groups.leaders) {
            // It may have ended just now.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
