//! Work that would make a lane wait, done by threads of their own.

use super::{Message, Route};
use crate::address;
use crate::clock;
use crate::io::Alarm;
use dbdyno_load::ShellCall;
use dbdyno_model::Nanos;
use rustix::net::{SendFlags, send};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// How long the delivery of one round's cancellations may take.
const CANCEL_TIMEOUT: Nanos = Nanos::from_secs(4);

/// Delivers cancellations, each over a connection of its own. Nobody answers one, so there is
/// nothing to learn from a failure either: the run waits for the effect, and gives up.
pub(super) fn cancel(route: Arc<Route>, requests: Vec<Vec<u8>>) {
    std::thread::spawn(move || {
        let deadline = clock::now() + CANCEL_TIMEOUT;
        for request in requests {
            let Ok(socket) = address::dial_patiently(&route.peer, deadline) else { return };
            let _ = send(&socket, &request, SendFlags::NOSIGNAL);
        }
    });
}

/// Runs a command of a script, and tells the lane how it ended.
pub(super) fn shell(call: ShellCall, lane: Sender<Message>, alarm: Alarm) {
    std::thread::spawn(move || {
        let ShellCall { client, ticket, command, output } = call;
        let output = run(&command, output);
        // A lane that is gone needs no answer.
        let _ = lane.send(Message::Shell { client, ticket, output });
        alarm.ring();
    });
}

fn run(command: &str, output: bool) -> Result<String, String> {
    let stdout = if output { Stdio::piped() } else { Stdio::inherit() };
    let done = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(stdout)
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(|error| format!("cannot run the command: {error}"))?;
    if !done.status.success() {
        return Err(format!("the command failed: {}", done.status));
    }
    String::from_utf8(done.stdout).map_err(|_| "the command's output is not UTF-8".to_owned())
}
