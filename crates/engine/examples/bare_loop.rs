//! The minimal client: sends statements and receives answers, without measuring anything.
//!
//! `bare_loop SOCKET USER DATABASE CLIENTS THREADS SECONDS STATEMENT…` runs the statements, which
//! form a transaction, in a closed loop on a PostgreSQL server that asks for no password. `{1..10}`
//! in a statement is an integer that is drawn each time. It interprets no script, reads no clock,
//! keeps no histogram, looks only at the end of each answer, and stops at the first error: the
//! processor time it uses is what the kernel takes from every client on that machine.

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use std::error::Error;
use std::io::{Read, Write};
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

type Failure = Box<dyn Error + Send + Sync>;

const PROTOCOL: u32 = 196_608;
const INT4: u32 = 23;
/// `ReadyForQuery`: the last message of an answer.
const READY_BYTES: usize = 6;
/// Longer than the answers of statements that load generators are worth measuring with.
const ANSWER_BYTES: usize = 4096;
const SENT: u64 = u64::MAX;
const USAGE: &str = "usage: bare_loop SOCKET USER DATABASE CLIENTS THREADS SECONDS STATEMENT...";

/// A prepared statement's messages, and the positions of the drawn numbers in them.
struct Statement {
    text: String,
    bytes: Vec<u8>,
    draws: Vec<(usize, RangeInclusive<u32>)>,
}

struct Client {
    socket: UnixStream,
    out: Vec<u8>,
    answer: Vec<u8>,
    /// The statement in flight.
    at: usize,
}

fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [socket, user, database, clients, threads, seconds, texts @ ..] = given.as_slice() else {
        return Err(USAGE.into());
    };
    let (clients, threads): (usize, usize) = (clients.parse()?, threads.parse()?);
    let time = Duration::from_secs(seconds.parse()?);
    let statements = texts.iter().enumerate().map(|(number, text)| statement(number, text));
    let statements: Vec<Statement> = statements.collect::<Result<_, _>>()?;
    let transactions: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let count = clients / threads + usize::from(thread < clients % threads);
                let connect = || connected(socket, user, database, &statements);
                let seed = thread as u64 + 1;
                let statements = &statements;
                scope.spawn(move || {
                    let all: Result<Vec<_>, _> = (0..count).map(|_| connect()).collect();
                    run(&mut all?, statements, time, seed)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum::<Result<_, _>>()
    })?;
    println!("{transactions} transactions, {} a second", transactions as f64 / time.as_secs_f64());
    Ok(())
}

/// Each `{LOW..HIGH}` becomes a parameter.
fn statement(number: usize, given: &str) -> Result<Statement, Failure> {
    let mut ranges = Vec::new();
    let mut text = String::new();
    let mut rest = given;
    while let Some((before, after)) = rest.split_once('{') {
        let (range, after) = after.split_once('}').ok_or("a { without its }")?;
        let (low, high) = range.split_once("..").ok_or("a range is LOW..HIGH")?;
        ranges.push(low.parse()?..=high.parse()?);
        text = format!("{text}{before}${}", ranges.len());
        rest = after;
    }
    text += rest;
    let (bytes, first_draw) = exchange(number, ranges.len());
    let draws = ranges.into_iter().enumerate();
    let draws = draws.map(|(index, range)| (first_draw + 8 * index, range)).collect();
    Ok(Statement { text, bytes, draws })
}

/// Bind, Execute and Sync with binary numbers, and the position of the first number.
fn exchange(number: usize, parameters: usize) -> (Vec<u8>, usize) {
    let count = (parameters as u16).to_be_bytes();
    let formats = [&1_u16.to_be_bytes()[..], &1_u16.to_be_bytes()].concat();
    let mut bind = [b"\0", name(number).as_slice(), &formats, &count].concat();
    let first_draw = 1 + 4 + bind.len() + 4;
    for _ in 0..parameters {
        bind.extend(4_u32.to_be_bytes());
        bind.extend([0; 4]);
    }
    bind.extend(0_u16.to_be_bytes());
    let execute = message(b'E', b"\0\0\0\0\0");
    (tail(&[message(b'B', &bind), execute]), first_draw)
}

fn name(number: usize) -> Vec<u8> {
    format!("s{number}\0").into_bytes()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// The messages, followed by a Sync.
fn tail(messages: &[Vec<u8>]) -> Vec<u8> {
    [messages.concat(), message(b'S', &[])].concat()
}

/// A session with all statements prepared.
fn connected(
    path: &str,
    user: &str,
    database: &str,
    statements: &[Statement],
) -> Result<Client, Failure> {
    let mut socket = UnixStream::connect(path)?;
    let words = format!("user\0{user}\0database\0{database}\0\0");
    let body = [&PROTOCOL.to_be_bytes()[..], words.as_bytes()].concat();
    socket.write_all(&[&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat())?;
    until_ready(&mut socket)?;
    for (number, statement) in statements.iter().enumerate() {
        let types = statement.draws.iter().flat_map(|_| INT4.to_be_bytes());
        let mut parse = name(number);
        parse.extend([statement.text.as_bytes(), b"\0"].concat());
        parse.extend((statement.draws.len() as u16).to_be_bytes());
        parse.extend(types);
        socket.write_all(&tail(&[message(b'P', &parse)]))?;
        until_ready(&mut socket)?;
    }
    Ok(Client { socket, out: Vec::new(), answer: vec![0; ANSWER_BYTES], at: 0 })
}

/// Receives until the server waits for more.
fn until_ready(socket: &mut UnixStream) -> Result<(), Failure> {
    let mut received = Vec::new();
    let mut bytes = [0; ANSWER_BYTES];
    while !is_ready(&received)? {
        let count = socket.read(&mut bytes)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        received.extend(&bytes[..count]);
    }
    Ok(())
}

/// Whether an answer is complete; an error is not accepted.
fn is_ready(received: &[u8]) -> Result<bool, Failure> {
    if received.first() == Some(&b'E') {
        return Err(String::from_utf8_lossy(received).into());
    }
    let end = received.len().saturating_sub(READY_BYTES);
    Ok(received[end..].starts_with(&[b'Z', 0, 0, 0, 5]))
}

/// Runs a thread's clients until the time is over; returns their number of transactions.
fn run(
    clients: &mut [Client],
    statements: &[Statement],
    time: Duration,
    seed: u64,
) -> Result<u64, Failure> {
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .build((2 * clients.len().max(1)).next_power_of_two() as u32)?;
    let files: Vec<_> = clients.iter().map(|client| client.socket.as_raw_fd()).collect();
    ring.submitter().register_files(&files)?;
    let mut chance = seed;
    for (number, client) in clients.iter_mut().enumerate() {
        send(&mut ring, number, client, &statements[0], &mut chance)?;
    }
    let patience = Timespec::from(Duration::from_millis(100));
    let (begin, mut transactions) = (Instant::now(), 0);
    while begin.elapsed() < time {
        let waited = ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&patience));
        if let Err(error) = waited
            && error.raw_os_error() != Some(libc::ETIME)
        {
            return Err(error.into());
        }
        let ended: Vec<_> =
            ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (number, count) in ended {
            let client = clients.get_mut(number as usize).ok_or("a send failed")?;
            if !is_ready(&client.answer[..usize::try_from(count)?])? {
                return Err("an answer came in parts".into());
            }
            client.at = (client.at + 1) % statements.len();
            transactions += u64::from(client.at == 0);
            let next = &statements[client.at];
            send(&mut ring, number as usize, client, next, &mut chance)?;
        }
    }
    Ok(transactions)
}

/// Queues a statement with newly drawn numbers, and the receive of its answer.
fn send(
    ring: &mut IoUring,
    number: usize,
    client: &mut Client,
    statement: &Statement,
    chance: &mut u64,
) -> Result<(), Failure> {
    client.out.clear();
    client.out.extend(&statement.bytes);
    for (at, range) in &statement.draws {
        *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let span = u64::from(range.end() - range.start()) + 1;
        let drawn = range.start() + ((*chance >> 33) % span) as u32;
        client.out[*at..*at + 4].copy_from_slice(&drawn.to_be_bytes());
    }
    let file = Fixed(number as u32);
    let send = opcode::Send::new(file, client.out.as_ptr(), client.out.len() as u32)
        .flags(libc::MSG_NOSIGNAL)
        .build()
        .flags(squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS)
        .user_data(SENT);
    let receive = opcode::Recv::new(file, client.answer.as_mut_ptr(), ANSWER_BYTES as u32)
        .build()
        .user_data(number as u64);
    // SAFETY: both buffers belong to the client, which lives longer than the ring, and are not
    // touched before the receive has completed.
    unsafe { ring.submission().push_multiple(&[send, receive])? };
    Ok(())
}
