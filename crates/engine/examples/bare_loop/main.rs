//! The minimal client: sends statements and receives answers, without measuring anything.
//!
//! `bare_loop PROTOCOL ADDRESS USER DATABASE CLIENTS THREADS SECONDS STATEMENT…` runs the
//! statements, which form a transaction, in a closed loop. The protocol is `postgresql` or `mysql`,
//! the address a socket's path or `HOST:PORT`, and `PGPASSWORD` the password, if one is needed.
//! In a statement, `{1..10}` is an integer that is drawn each time, `{}` the one drawn last, and
//! `{%4}` the client's own number from 1 to 4. A transaction that fails is rolled back and counted.
//!
//! It interprets no script, reads no clock, keeps no histogram, and looks only for the end of each
//! answer: the processor time it uses is what the kernel takes from every client on that machine.

mod exchange;
mod mysql;
mod postgres;
mod ring;
mod session;
mod template;

use exchange::Account;
use session::Protocol;
use std::error::Error;
use std::thread;
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "usage: bare_loop postgresql|mysql ADDRESS USER DATABASE CLIENTS THREADS \
                     SECONDS STATEMENT...";
/// Ends a transaction that failed; prepared like the statements, after them.
const ROLLBACK: &str = "rollback";

fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, address, user, database, clients, threads, seconds, texts @ ..] =
        given.as_slice()
    else {
        return Err(USAGE.into());
    };
    let protocol = Protocol::named(protocol).ok_or(USAGE)?;
    let account = Account {
        address: address.clone(),
        user: user.clone(),
        database: database.clone(),
        password: std::env::var("PGPASSWORD").ok(),
    };
    let clients: usize = clients.parse()?;
    let threads = threads.parse::<usize>()?.min(clients);
    let time = Duration::from_secs(seconds.parse()?);
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain([ROLLBACK]).collect();
    let counts: Vec<ring::Counts> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (account, texts) = (&account, &texts);
                scope.spawn(move || {
                    let own = (thread..clients).step_by(threads);
                    let sessions =
                        own.map(|client| session::open(protocol, account, texts, client));
                    let mut sessions = sessions.collect::<Result<Vec<_>, _>>()?;
                    ring::run(&mut sessions, protocol, time, thread as u64 + 1)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect::<Result<_, _>>()
    })?;
    let transactions: u64 = counts.iter().map(|count| count.transactions).sum();
    let failed: u64 = counts.iter().map(|count| count.failed).sum();
    let tps = transactions as f64 / time.as_secs_f64();
    println!("{transactions} transactions, {tps} a second, {failed} failed");
    Ok(())
}
