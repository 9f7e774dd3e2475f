//! A real PostgreSQL server in a folder of its own, on a Unix socket and on loopback.

use crate::common::process::{as_somebody_else, free_port, run};
use crate::common::socket::Socket;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The newest server's folder of programs: the one on PATH, otherwise a distribution's.
pub(crate) fn newest_binaries() -> PathBuf {
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>())
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
    on_path.or_else(newest_of_distribution).expect(
        "no PostgreSQL server found on PATH or under /usr/lib/postgresql: install the package \
         postgresql",
    )
}

fn newest_of_distribution() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib/postgresql").ok()?;
    let major = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = folders.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(major)?;
    Some(newest.join("bin"))
}

/// How many ports are tried before giving up.
const PORTS_TRIED: u32 = 5;

/// A running server; stopped when dropped.
pub(crate) struct Server {
    folder: TempDir,
    process: Child,
    pub(crate) port: u16,
    pub(crate) major: u32,
}

impl Server {
    pub(crate) fn start(binaries: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("dbdyno-wire-").tempdir().expect("a folder");
        let data = folder.path().join("data");
        init(binaries, &data);
        let (process, port) = launch_somewhere(binaries, folder.path());
        let major = major(&data);
        Self { folder, process, port, major }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.port))
    }

    /// The server's certificate, in DER.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        let file = self.folder.path().join("data/server.crt");
        run(Command::new("openssl").args(["x509", "-outform", "der", "-in"]).arg(file))
    }

    /// An encrypted connection, made by `openssl`: what we write and read is unencrypted.
    pub(crate) fn connect_encrypted(&self) -> Socket<Pipe> {
        let process = Command::new("openssl")
            .args(["s_client", "-quiet", "-starttls", "postgres", "-connect"])
            .arg(format!("127.0.0.1:{}", self.port))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is installed");
        Socket(Pipe(process))
    }

    pub(crate) fn connect(&self) -> Socket<UnixStream> {
        let stream = UnixStream::connect(self.socket()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time above zero");
        Socket(stream)
    }
}

/// A server that accepts logins. A port that was free may be taken before the server binds it: then
/// the server ends, and another port is tried.
fn launch_somewhere(binaries: &Path, folder: &Path) -> (Child, u16) {
    for _ in 0..PORTS_TRIED {
        let port = free_port();
        let mut process = launch(binaries, folder, port);
        if comes_up(&mut process, folder) {
            return (process, port);
        }
    }
    panic!("no server on {PORTS_TRIED} ports: {}", log(folder));
}

/// Waits until the server accepts logins, as the eighth line of its own file reports; false when it
/// has ended instead.
fn comes_up(process: &mut Child, folder: &Path) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    let status = folder.join("data/postmaster.pid");
    let is_ready = |text: String| text.lines().nth(7).is_some_and(|l| l.trim() == "ready");
    while !fs::read_to_string(&status).is_ok_and(is_ready) {
        if process.try_wait().expect("a process of ours").is_some() {
            return false;
        }
        if Instant::now() > deadline {
            _ = process.kill();
            panic!("no server after 30 s: {}", log(folder));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("log.txt")).unwrap_or_default()
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.id().to_string();
        _ = Command::new("kill").args(["-INT", &process]).status();
        _ = self.process.wait();
    }
}

/// A process whose input and output are a stream.
pub(crate) struct Pipe(Child);

impl Read for Pipe {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.stdout.as_mut().expect("piped").read(bytes)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.stdin.as_mut().expect("piped").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.stdin.as_mut().expect("piped").flush()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Users for each authentication method. `md5_user` is created after the others.
const USERS: &str = "create user password_user password 'secret';\
    create user scram_user password 'secret';\
    create user rejected_user;\
    set password_encryption to md5;\
    create user md5_user password 'secret';";

const HBA: &str = "local all password_user password\n\
    local all md5_user md5\n\
    local all scram_user scram-sha-256\n\
    host all scram_user 127.0.0.1/32 scram-sha-256\n\
    local all rejected_user reject\n\
    local all all trust\n";

fn init(binaries: &Path, data: &Path) {
    run(program(binaries, "initdb")
        .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
        .args(["--no-sync", "--pgdata"])
        .arg(data));
    fs::write(data.join("pg_hba.conf"), HBA).expect("the data folder is ours");
    make_certificate(data);
    make_users(binaries, data);
}

/// Single-user mode reads one statement per line.
fn make_users(binaries: &Path, data: &Path) {
    let mut single = program(binaries, "postgres")
        .args(["--single", "-D"])
        .arg(data)
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("postgres runs");
    let statements = USERS.replace(';', ";\n");
    single.stdin.take().expect("piped").write_all(statements.as_bytes()).expect("it reads");
    assert!(single.wait().expect("it ends").success());
}

/// Signed with SHA-384, so that the channel binding does not use SHA-256 by coincidence.
fn make_certificate(data: &Path) {
    run(Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-sha384", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout"])
        .arg(data.join("server.key"))
        .arg("-out")
        .arg(data.join("server.crt")));
}

fn launch(binaries: &Path, folder: &Path, port: u16) -> Child {
    let log = fs::File::create(folder.join("log.txt")).expect("the folder is ours");
    let tls = if has_tls(binaries, &folder.join("data")) { "ssl=on" } else { "ssl=off" };
    program(binaries, "postgres")
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", tls])
        .args(["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=10"])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("postgres runs")
}

/// Some builds come without OpenSSL.
fn has_tls(binaries: &Path, data: &Path) -> bool {
    let output = program(binaries, "postgres").args(["-C", "ssl_library", "-D"]).arg(data).output();
    output.expect("postgres runs").stdout.starts_with(b"OpenSSL")
}

fn program(binaries: &Path, name: &str) -> Command {
    as_somebody_else(&binaries.join(name))
}

fn major(data: &Path) -> u32 {
    let version = fs::read_to_string(data.join("PG_VERSION")).expect("initdb writes it");
    version.trim().parse().expect("a number")
}
