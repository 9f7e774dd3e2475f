"""The tools, run as a user runs them and measured from outside."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint
from dbdyno.servers.connecting import url_of


@dataclass(frozen=True)
class Load:
    """The same load in the options of both tools, and the numbers that both have."""

    dbdyno_options: tuple[str, ...]
    """Options of ``dbdyno run``: the workload or a script, its size, and what else differs."""
    peer_options: tuple[str, ...]
    clients: int
    threads: int
    """Threads of the peer; dbdyno chooses its own number."""
    seconds: int


@dataclass(frozen=True)
class Outcome:
    """What a tool reports about its own run."""

    tps: float
    transactions: int
    failed: int


@dataclass(frozen=True)
class Sample:
    """One run of one tool."""

    tps: float
    cpu_us_per_transaction: float
    failed_share: float
    telemetry_cores: float = 0.0
    """CPU cores that dbdyno's telemetry used, in its own process and in the server."""

    @classmethod
    def of(cls, outcome: Outcome, cpu_s: float, telemetry_cores: float = 0.0) -> Self:
        """The tool's own counts, and the CPU time that was measured from outside."""
        if outcome.transactions == 0:
            result = f"the tool completed no transaction ({outcome.failed} failed)"
            raise DbdynoError("tool_idle", result, "check the server, or make the run longer")
        return cls(
            outcome.tps,
            cpu_s * 1e6 / outcome.transactions,
            outcome.failed / (outcome.transactions + outcome.failed),
            telemetry_cores,
        )


def tree_cpu_s(command: Sequence[str], cpus: str | None = None) -> tuple[str, float, float]:
    """Run a command; its standard output, CPU seconds of its whole tree, wall seconds.

    A DbdynoError with its whole output if it fails.
    """
    pinned = ["taskset", "-c", cpus, *command] if cpus else list(command)
    # As on a user's host, where Python caches bytecode.
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
            output = out.read() + complaints.read()  # sysbench prints errors to standard output
            command_line = " ".join(pinned)
            raise DbdynoError("tool_failed", f"{command_line} exited with {code}", output.strip())
        cpu_s = end.children_user + end.children_system
        cpu_s -= begin.children_user + begin.children_system
        return out.read(), cpu_s, end.elapsed - begin.elapsed


def dbdyno_path() -> str:
    """Our own command."""
    return str(Path(sys.executable).with_name("dbdyno"))


def load_data(endpoint: Endpoint, *arguments: str) -> None:
    """``dbdyno load``, silent on success."""
    tree_cpu_s([dbdyno_path(), "load", *arguments, "--target", url_of(endpoint)])


def run_dbdyno(load: Load, endpoint: Endpoint, io: str = "auto") -> Sample:
    """One run of dbdyno; its CPU time is that of the whole command, up to the finished record."""
    numbers = ["-c", str(load.clients), "-T", str(load.seconds)]
    common = [*numbers, "--target", url_of(endpoint), "--warmup", "0s", "--io", io, "--json"]
    out, cpu_s, _ = tree_cpu_s([dbdyno_path(), "run", *common, *load.dbdyno_options])
    result = json.loads(out)
    counts = result["transactions"]
    outcome = Outcome(result["throughput_tps"]["value"], counts["ok"], counts["failed"])
    return Sample.of(outcome, cpu_s, _telemetry_cores(result["telemetry"]))


def _telemetry_cores(cost: dict[str, Any]) -> float:
    """0 without telemetry, which then reports nothing."""
    us = cost.get("cpu_us", 0) + (cost.get("server_cpu_us") or 0)
    return float(us / 1e6 / cost["seconds"]) if us else 0.0
