//! Servers as processes of their own.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// Servers refuse to run as root; in a user namespace root has another user ID.
pub(crate) fn as_somebody_else(program: &Path) -> Command {
    if !runs_as_root() {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-user=65534", "--map-group=65534"]).arg(program);
    command
}

fn runs_as_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout == b"0\n"
}

/// Runs a program that must succeed, and returns its output.
pub(crate) fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} is needed: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    output.stdout
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}
