//! A server that does nothing, quickly: it answers every statement with the same row.
//!
//! `null_server SOCKET` listens on a Unix socket until its standard input ends. The throughput of a
//! load generator against it, on a core of its own, is the generator's own limit.

use dbdyno_wire::testserver::postgres::{CannedReply, Server};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::collections::HashMap;
use std::os::unix::net::UnixListener;

const LISTENER: u64 = u64::MAX;
const INPUT: u64 = u64::MAX - 1;

struct Client {
    socket: OwnedFd,
    server: Server,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: null_server SOCKET")?;
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    let set = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&set, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    epoll::add(&set, rustix::stdio::stdin(), EventData::new_u64(INPUT), EventFlags::IN)?;
    let mut clients: HashMap<u64, Client> = HashMap::new();
    let mut next_client = 0;
    let mut answer = CannedReply::rows(&["abalance"], &[&[Some("0")]]);
    let mut events = Vec::with_capacity(64);
    let mut out = Vec::new();
    loop {
        events.clear();
        // It never sleeps: waking it would cost the generator more than the exchange itself.
        epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), Some(&Timespec::default()))?;
        for event in &events {
            match event.data.u64() {
                INPUT => return Ok(()),
                LISTENER => {
                    let Ok((socket, _)) = listener.accept() else { continue };
                    socket.set_nonblocking(true)?;
                    epoll::add(&set, &socket, EventData::new_u64(next_client), EventFlags::IN)?;
                    let client = Client { socket: socket.into(), server: Server::default() };
                    clients.insert(next_client, client);
                    next_client += 1;
                }
                number => {
                    let over = clients
                        .get_mut(&number)
                        .is_none_or(|client| !serve(client, &mut answer, &mut out));
                    if over {
                        clients.remove(&number);
                    }
                }
            }
        }
    }
}

/// Answers what a client has sent; false when it has disconnected.
fn serve(client: &mut Client, answer: &mut CannedReply, out: &mut Vec<u8>) -> bool {
    let mut bytes = [0_u8; 1024];
    match recv(&client.socket, &mut bytes, RecvFlags::empty()) {
        Ok((0, _)) => return false,
        Ok((count, _)) => {
            out.clear();
            if client.server.receive(&bytes[..count], answer, out).is_err() {
                return false;
            }
            // A client has at most one request in flight, and its answer fits into the socket's
            // buffer.
            let _ = send(&client.socket, out, SendFlags::NOSIGNAL);
        }
        Err(Errno::AGAIN | Errno::INTR) => {}
        Err(_) => return false,
    }
    !client.server.is_closed()
}
