"""A Ray cluster of a test: its nodes are on this host, each with its own raylet, ports and folder.

Started as its users start it, with the settings of the manual.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.engine.postgres import free_port
from tests.support.patience import wait_until

RAY = Path(sys.executable).with_name("ray")
# What integrations/ray has, but for the health checks: on a busy host, a test's nodes are slow.
SETTINGS = {"RAY_worker_niceness": "0"}
# However the tests end; Ray's own children end with it.
WITH_US = ("setpriv", "--pdeathsig", "KILL")
OBJECTS_BYTES = 80 * 2**20  # about the least that Ray accepts


class RayCluster:
    """A head without CPUs and some nodes with two each, and a token, or none."""

    def __init__(
        self, nodes: int, *, has_token: bool = True, host: str = "127.0.0.1", **settings: str
    ) -> None:
        # The names of Ray's sockets are long, and those of sockets must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
        self.address = f"{host}:{free_port()}"
        self.client = f"{host}:{free_port()}"
        self.token = secrets.token_hex(32)
        (self.folder / "token").write_text(self.token)
        self.environment = {
            "RAY_ADDRESS": self.address,
            "RAY_AUTH_MODE": "token" if has_token else "disabled",
            "RAY_AUTH_TOKEN_PATH": str(self.folder / "token"),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self._settings = SETTINGS | settings
        self._nodes = nodes
        self.processes: list[subprocess.Popen[bytes]] = []
        try:
            self.start()
        except BaseException:
            self.remove()
            raise

    def start(self) -> None:
        """Start it, also once more at the same address."""
        host, _, port = self.address.partition(":")
        self._start(
            *("--head", f"--node-ip-address={host}", f"--port={port}", "--num-cpus=0"),
            f"--ray-client-server-port={self.client.partition(':')[2]}",
            *("--include-dashboard=false", f"--temp-dir={self.folder}/ray"),
        )
        for _ in range(self._nodes):
            self.add()

    def add(self, *before: str) -> None:
        """Start a further node, by a command that has its own in the end."""
        words = (f"--address={self.address}", "--num-cpus=2", '--resources={"load": 1}')
        self._start(*words, before=before)

    def kill(self, number: int) -> None:
        """End all processes of a node at once."""
        for process in self.processes_of(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def processes_of(self, number: int) -> list[int]:
        """Return the processes of a node: Ray's, and what they have started."""
        return list(self._tree(self.processes[number].pid))

    def stop(self) -> None:
        """Stop it, the head last; it can be started again."""
        for number in reversed(range(len(self.processes))):
            self.kill(number)
            self.processes[number].wait()
        self.processes = []

    def remove(self) -> None:
        """Stop it for good."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, *arguments: str, before: tuple[str, ...] = ()) -> None:
        log = self.folder / f"{len(self.processes)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [
                    *WITH_US,
                    *before,
                    RAY,
                    "start",
                    "--block",
                    f"--object-store-memory={OBJECTS_BYTES}",
                    *arguments,
                ],
                env=os.environ | self.environment | self._settings,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.processes.append(process)
        wait_until(
            lambda: "Ray runtime started" in log.read_text() or process.poll() is not None,
            "a node of Ray",
        )
        assert process.poll() is None, log.read_text()

    def _tree(self, process: int) -> Iterator[int]:
        yield process
        # A raylet starts its workers in threads of its own.
        for task in Path(f"/proc/{process}/task").glob("*"):
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield from self._tree(int(child))
