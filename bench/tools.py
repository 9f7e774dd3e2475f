"""The tools, run as a user would run them and measured from outside."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dbdyno.model.telemetry import Level


@dataclass(frozen=True)
class Place:
    """Where a server listens."""

    host: str
    port: int
    user: str = "postgres"
    database: str = "postgres"

    @property
    def url(self) -> str:
        """As dbdyno takes it."""
        host = quote(self.host, safe="")
        return f"postgresql://{self.user}@/{self.database}?host={host}&port={self.port}"

    @property
    def flags(self) -> list[str]:
        """As pgbench takes it."""
        return ["-h", self.host, "-p", str(self.port), "-U", self.user, self.database]


@dataclass(frozen=True)
class Sample:
    """One run of one tool."""

    tps: float
    cpu_us_per_transaction: float
    telemetry_cores: float = 0.0
    """Processors that dbdyno's telemetry took, on both sides of its connections."""


@dataclass(frozen=True)
class Load:
    """The same load in the words of both tools."""

    workload: str
    script: Path | None
    """None: pgbench's built-in of the workload's meaning."""
    builtin: str
    scale: int
    clients: int
    threads: int
    seconds: int


def tree_cpu_s(command: Sequence[str], cpus: str | None = None) -> tuple[str, float, float]:
    """Run a command; its standard output, CPU seconds of its whole tree, wall seconds."""
    pinned = ["taskset", "-c", cpus, *command] if cpus else list(command)
    # As on anybody's machine, where Python keeps what it has compiled.
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as complaints:
        begin = os.times()
        process = subprocess.Popen(
            pinned, stdout=out, stderr=complaints, stdin=subprocess.DEVNULL, env=environment
        )
        code = process.wait()
        end = os.times()
        out.seek(0)
        if code != 0:
            complaints.seek(0)
            sys.exit(f"{' '.join(pinned)} ended with {code}:\n{complaints.read()}")
        cpu_s = end.children_user + end.children_system
        cpu_s -= begin.children_user + begin.children_system
        return out.read(), cpu_s, end.elapsed - begin.elapsed


def pgbench_path() -> str:
    """The pgbench to compare with."""
    path = shutil.which("pgbench")
    if path is None:
        sys.exit("the bench needs pgbench on PATH: apt-get install postgresql-contrib")
    return path


def dbdyno_path() -> str:
    """Our own command."""
    return str(Path(sys.executable).with_name("dbdyno"))


def run_pgbench(load: Load, place: Place, cpus: str | None = None) -> Sample:
    """One run of pgbench."""
    what = ["-f", str(load.script)] if load.script else ["-b", load.builtin]
    clients = ["-c", str(load.clients), "-j", str(load.threads), "-T", str(load.seconds)]
    scale = ["-s", str(load.scale)] if load.script else []
    command = [pgbench_path(), "-n", "-M", "prepared", *what, *clients, *scale, *place.flags]
    out, cpu_s, _ = tree_cpu_s(command, cpus)
    tps = re.search(r"^tps = ([\d.]+)", out, re.MULTILINE)
    count = re.search(r"actually processed: (\d+)", out)
    assert tps, out
    assert count, out
    return Sample(float(tps[1]), cpu_s * 1e6 / int(count[1]))


def run_dbdyno(
    load: Load,
    place: Place,
    cpus: str | None = None,
    *,
    io: str = "auto",
    telemetry: Level = "basic",
) -> Sample:
    """One run of dbdyno; all it does is counted, from its start to the finished record."""
    what = [str(load.script)] if load.script else [load.workload]
    clients = ["-c", str(load.clients), "-j", str(load.threads), "-T", str(load.seconds)]
    target = ["--target", place.url, "-s", str(load.scale), "--warmup", "0s", "--io", io]
    watched = ["--telemetry", telemetry, "--json"]
    out, cpu_s, _ = tree_cpu_s([dbdyno_path(), "run", *what, *clients, *target, *watched], cpus)
    told = json.loads(out)
    return Sample(
        told["throughput_tps"]["value"],
        cpu_s * 1e6 / told["transactions"]["ok"],
        _telemetry_cores(told["telemetry"]),
    )


def _telemetry_cores(cost: dict[str, Any]) -> float:
    """Without telemetry nothing was taken, nor said."""
    us = cost.get("cpu_us", 0) + (cost.get("server_cpu_us") or 0)
    return float(us / 1e6 / cost["seconds"]) if us else 0.0
