//! A real server of the family in a folder of its own, on a Unix socket and on loopback.

use crate::common::process::{as_somebody_else, free_port, run};
use crate::common::socket::Socket;
use crate::scenarios::long_password;
use crate::tls::Transport;
use std::fs;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A running server; stopped when dropped.
pub(crate) struct Server {
    folder: TempDir,
    process: Child,
    port: u16,
}

impl Server {
    /// The distribution's MariaDB.
    pub(crate) fn mariadb() -> Self {
        let program = Path::new("/usr/sbin/mariadbd");
        assert!(program.exists(), "no MariaDB found: install the package mariadb-server");
        let folder = new_folder();
        run(as_somebody_else(Path::new("mariadb-install-db"))
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(option("datadir", &folder.path().join("data"))));
        let users = users_of_mariadb();
        make_certificate(folder.path());
        let mut command = as_somebody_else(program);
        command
            .args(["--no-defaults", "--plugin-load-add=auth_ed25519", "--skip-log-bin"])
            .arg(option("ssl-key", &folder.path().join("server.key")))
            .arg(option("ssl-cert", &folder.path().join("server.crt")));
        Self::launch(folder, &users, &mut command)
    }

    /// The MySQL 8 whose `bin`, `share` and `lib` are in this folder.
    pub(crate) fn mysql(base: &Path) -> Self {
        let program = base.join("bin/mysqld");
        let folder = new_folder();
        run(as_somebody_else(&program)
            .args(["--no-defaults", "--initialize-insecure"])
            .arg(option("basedir", base))
            .arg(option("datadir", &folder.path().join("data"))));
        let mut command = as_somebody_else(&program);
        command
            .args(["--no-defaults", "--mysqlx=OFF", "--local-infile=1", "--skip-log-bin"])
            .args(["--innodb-fast-shutdown=2", "--performance-schema=OFF"])
            .arg(option("basedir", base));
        Self::launch(folder, &users_of_mysql(), &mut command)
    }

    fn launch(folder: TempDir, users: &str, command: &mut Command) -> Self {
        let init = folder.path().join("users.sql");
        fs::write(&init, [COMMON, users].concat()).expect("the folder is ours");
        let log = fs::File::create(folder.path().join("log.txt")).expect("the folder is ours");
        let port = free_port();
        let process = command
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--max-connections=20"])
            .args(["--max-allowed-packet=64M", "--innodb-buffer-pool-size=16M"])
            .arg(format!("--port={port}"))
            .arg(option("datadir", &folder.path().join("data")))
            .arg(option("socket", &folder.path().join("socket")))
            .arg(option("pid-file", &folder.path().join("pid")))
            .arg(option("init-file", &init))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the server runs");
        let server = Self { folder, process, port };
        server.wait_until_up();
        server
    }

    pub(crate) fn connect(&self) -> Socket<UnixStream> {
        let stream = UnixStream::connect(self.socket()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time above zero");
        Socket(stream)
    }

    pub(crate) fn connect_tcp(&self) -> Transport {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time above zero");
        Transport::Clear(stream)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn wait_until_up(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while UnixStream::connect(self.socket()).is_err() {
            assert!(Instant::now() < deadline, "no server after 30 s: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log.txt")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.id().to_string();
        _ = Command::new("kill").args(["-TERM", &process]).status();
        _ = self.process.wait();
    }
}

fn new_folder() -> TempDir {
    tempfile::Builder::new().prefix("dbdyno-wire-").tempdir().expect("a folder")
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

fn make_certificate(folder: &Path) {
    run(Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout"])
        .arg(folder.join("server.key"))
        .arg("-out")
        .arg(folder.join("server.crt")));
}

/// An init file has one statement per line.
const COMMON: &str = "create database test;\n\
    create user if not exists root@'127.0.0.1' identified by '';\n\
    grant all on *.* to root@'127.0.0.1';\n";

fn users_of_mariadb() -> String {
    let long = long_password();
    format!(
        "create user native_user identified via mysql_native_password using password('secret');\n\
         create user long_user identified via mysql_native_password using password('{long}');\n\
         create user ed25519_user identified via ed25519 using password('secret');\n\
         create user long_ed25519_user identified via ed25519 using password('{long}');\n\
         grant all on test.* to native_user, long_user, ed25519_user, long_ed25519_user;\n"
    )
}

fn users_of_mysql() -> String {
    let long = long_password();
    let users = [
        ("native_user", "mysql_native_password", "secret"),
        ("long_user", "mysql_native_password", &long),
        ("sha2_user", "caching_sha2_password", "secret"),
        ("sha2_socket_user", "caching_sha2_password", "secret"),
        ("sha2_tls_user", "caching_sha2_password", "secret"),
        ("long_sha2_user", "caching_sha2_password", &long),
        ("other_long_user", "caching_sha2_password", &long),
        ("sha2_empty_user", "caching_sha2_password", ""),
        ("sha256_user", "sha256_password", "secret"),
    ];
    let statements = users.map(|(user, method, password)| {
        format!(
            "create user {user} identified with {method} by '{password}';\n\
             grant all on test.* to {user};\n"
        )
    });
    statements.concat()
}
