"""Databases that are not PostgreSQL and speak its protocol, from Maven: QuestDB and H2.

Each jar is pinned by its SHA-256 and kept for the next tests. A server runs in a folder
and on a port of its own until the block ends.
"""

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from dbdyno.home import locked
from tests.engine.postgres import free_port

KEPT = Path(tempfile.gettempdir()) / "dbdyno-test-jars"
DOWNLOAD_S = 600
START_S = 300  # a virtual machine is slow on a host whose cores are all busy
# Nothing but PostgreSQL's protocol, and one thread: it would use every core while it waits.
QUESTDB = """
http.enabled=false
http.min.enabled=false
line.tcp.enabled=false
line.http.enabled=false
telemetry.enabled=false
shared.worker.count=1
pg.net.bind.to=127.0.0.1:{port}
"""


@dataclass(frozen=True)
class Foreign:
    """A database of Maven: its jar, and how it is started."""

    name: str
    artifact: str
    sha256: str
    login: str
    database: str
    command: Callable[[Path, Path, int], Sequence[str]]


def _questdb(jar: Path, folder: Path, port: int) -> Sequence[str]:
    (folder / "conf").mkdir()
    (folder / "conf/server.conf").write_text(QUESTDB.format(port=port))
    return ("-p", str(jar), "-m", "io.questdb/io.questdb.ServerMain", "-d", str(folder))


def _h2(jar: Path, folder: Path, port: int) -> Sequence[str]:
    place = ("-pg", "-pgPort", str(port), "-baseDir", str(folder), "-ifNotExists")
    return ("-cp", str(jar), "org.h2.tools.Server", *place)


FOREIGN = (
    Foreign(
        name="QuestDB",
        artifact="org.questdb:questdb:9.2.2",
        sha256="fdd5d817966b1b44ce5ca3c8ca5a716ca3012eee0f3dd42686fde6a4a6966af1",
        login="admin:quest",
        database="qdb",
        command=_questdb,
    ),
    Foreign(
        name="H2",
        artifact="com.h2database:h2:2.5.252",
        sha256="90b11dc413da82070ef15fc943282c1408e6ffd34fa68998335fea8603b5ff20",
        login="sa:sa",
        database="test",
        command=_h2,
    ),
)


@contextmanager
def running(foreign: Foreign) -> Iterator[str]:
    """Run the server for the block, and yield its URL."""
    jar = _jar(foreign)
    folder = Path(tempfile.mkdtemp(prefix=f"dbdyno-{foreign.name}-"))
    port = free_port()
    url = f"postgresql://{foreign.login}@127.0.0.1:{port}/{foreign.database}?sslmode=disable"
    log = folder / "log.txt"
    with log.open("w") as out:
        command = ["java", "-Xmx512m", *foreign.command(jar, folder, port)]
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
    try:
        deadline = time.monotonic() + START_S
        while not _answers(url):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"it does not answer: {log.read_text()}"
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def _jar(foreign: Foreign) -> Path:
    _, name, version = foreign.artifact.split(":")
    jar = KEPT / f"{name}-{version}.jar"
    KEPT.mkdir(exist_ok=True)
    with locked(KEPT / "lock"):
        if not jar.exists():
            with tempfile.TemporaryDirectory(dir=KEPT) as scratch:
                copy = (f"-Dartifact={foreign.artifact}", f"-DoutputDirectory={scratch}")
                command = ["mvn", "--batch-mode", "--quiet", "dependency:copy", *copy]
                subprocess.run(command, check=True, timeout=DOWNLOAD_S, cwd=scratch)
                Path(scratch, jar.name).rename(jar)
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == foreign.sha256, jar
    return jar
