"""Creates a cause's server and data, runs dbdyno as users do, and returns its record."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from psycopg.conninfo import make_conninfo

from dbdyno.servers.base import Server
from dbdyno.servers.kept import start_kept, stop_kept
from dbdyno.servers.spec import Kind, ServerSpec
from tests.engine.certificates import make_certificates
from tests.planted.causes import Cause
from tests.planted.network import Way, far_away, listening_spec
from tests.support.watchman import watch

SMALL: dict[Kind, dict[str, str]] = {
    "postgres": {
        "shared_buffers": "128MB",
        "max_wal_size": "1GB",
        "max_parallel_workers": "2",
    },
    "mariadb": {"innodb_buffer_pool_size": "128M", "innodb_log_file_size": "256M"},
}
DBDYNO = (sys.executable, "-m", "dbdyno")
NAME = "planted"
PATIENCE_S = 300
STATEMENT = re.compile(r"(?:\$\$.*?\$\$|[^;])+", re.DOTALL)
"""Up to its semicolon; a function's body in ``$$`` has its own."""


def planted_run(cause: Cause, workplace: Path) -> dict[str, Any]:
    """Return the record of one run with the cause; its folder stays below ``workplace``."""
    home = workplace / "home"
    watch(home)
    with (
        _environment({"DBDYNO_HOME": str(home)}),
        _server(cause, workplace) as server,
    ):
        _make_ready(cause, server)
        with cause.disturb(server), _way(cause, server) as way:
            return _measured(cause, way)


def _way(cause: Cause, server: Server) -> AbstractContextManager[Way]:
    if cause.round_trip_ms:
        return far_away(server, cause.round_trip_ms)
    if cause.sslmode:
        url = make_conninfo(server.conninfo, sslmode=cause.sslmode)
        return nullcontext(Way((), ("--target", url)))
    return nullcontext(Way((), ("--server", NAME)))


def _measured(cause: Cause, way: Way) -> dict[str, Any]:
    command = [*way.place, *DBDYNO, "run", *cause.run, *way.target, "--telemetry", "full"]
    options = ["--warmup", "1", "-T", str(cause.seconds), "--json", "--seed", "7"]
    ended = subprocess.run(
        command + options, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ended.returncode in (0, 3), ended.stderr + ended.stdout
    record: dict[str, Any] = json.loads(ended.stdout)
    return record


@contextmanager
def _server(cause: Cause, workplace: Path) -> Iterator[Server]:
    spec = ServerSpec(kind=cause.kind, settings={**SMALL[cause.kind], **cause.settings})
    if cause.round_trip_ms:
        spec = listening_spec(spec, workplace)
    if cause.sslmode:
        spec = spec.with_settings(_certificate(workplace))
    is_reached_by_tcp = bool(cause.round_trip_ms or cause.sslmode)
    with _environment({**cause.environment, **_slow_storage(cause, workplace)}):
        server = start_kept(NAME, spec, connections=cause.clients_max + 10, tcp=is_reached_by_tcp)
    try:
        yield server
    finally:
        stop_kept(NAME)


def _certificate(workplace: Path) -> dict[str, str]:
    """Return the settings of a server's certificate."""
    files = make_certificates(workplace)
    return {
        "ssl_cert_file": str(files / "server.crt"),
        "ssl_key_file": str(files / "server.key"),
    }


def _slow_storage(cause: Cause, workplace: Path) -> dict[str, str]:
    """Return the environment that makes a server's storage slow."""
    if not cause.slow:
        return {}
    library = workplace / "slow_storage.so"
    source = Path(__file__).with_name("slow_storage.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    library.chmod(0o755)
    return {"LD_PRELOAD": str(library), **cause.slow}


def _make_ready(cause: Cause, server: Server) -> None:
    if cause.load:
        subprocess.run([*DBDYNO, "load", *cause.load, "--server", NAME], check=True)
    with server.connect() as connection:
        for statement in filter(None, map(str.strip, STATEMENT.findall(cause.sql))):
            connection.execute(statement)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
