//! Commands of the shell would make a lane wait: each is run by a thread of its own.

use super::Message;
use crate::io::Alarm;
use dbdyno_load::ShellCall;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;

/// Runs a command of a script, and tells the lane how it ended.
pub(super) fn run(call: ShellCall, lane: Sender<Message>, alarm: Alarm) {
    std::thread::spawn(move || {
        let ShellCall { client, ticket, command, output } = call;
        let output = execute(&command, output);
        // A lane that is gone needs no answer.
        let _ = lane.send(Message::Shell { client, ticket, output });
        alarm.ring();
    });
}

fn execute(command: &str, output: bool) -> Result<String, String> {
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
