"""Ssh servers of a test: on a port and with keys of their own, and a client that knows them.

The client is found before the real one in PATH, and reads no configuration but the test's.
"""

import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.engine.postgres import free_port
from tests.fleet.network import Host
from tests.support.patience import PATIENCE_S, wait_until

ROOT = Path(__file__).parent.parent.parent
# Not every user looks there.
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PRIVILEGE_SEPARATION = Path("/run/sshd")

SERVER = """
Port {port}
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
"""
CLIENT = """
Host {host}
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {folder}/user
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known
    StrictHostKeyChecking accept-new
    LogLevel ERROR
"""


class SshServer:
    """Hosts h1, h2 and so on: all are this one, or each is one of some network."""

    def __init__(self, folder: Path, hosts: Sequence[Host] = ()) -> None:
        self.folder = folder
        self.port = free_port()
        for name in ("host", "user"):
            self._run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        named = {f"h{number}": host for number, host in enumerate(hosts, 1)}
        known = {name: host.address for name, host in named.items()} or {"h*": "127.0.0.1"}
        words = {"port": self.port, "folder": folder, "user": getpass.getuser()}
        client = [CLIENT.format(host=name, address=known[name], **words) for name in known]
        (folder / "client").write_text("".join(client))
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._script("ssh", f'exec {shutil.which("ssh")} -F {folder}/client "$@"')
        # What stands for an installed dbdyno: this one.
        path = f"PYTHONPATH={ROOT}/python"
        self.dbdyno = self._script("dbdyno", f'exec env {path} {sys.executable} -m dbdyno "$@"')
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
        self.processes: list[subprocess.Popen[bytes]] = []
        for name, address in known.items():
            self._start(address, named[name].inside if named else ())

    def workers(self, count: int) -> str:
        """Return what ``--workers`` says for so many hosts."""
        return ",".join(f"ssh:h{number + 1}{self.dbdyno}" for number in range(count))

    def sessions(self, host: int | None = None) -> list[int]:
        """Return the processes of the servers beside themselves, one or two for each session.

        With the index of a host, those on it.
        """
        servers = self.processes if host is None else [self.processes[host]]
        pids = [process.pid for process in servers]
        children = [Path(f"/proc/{pid}/task/{pid}/children").read_text().split() for pid in pids]
        return [int(child) for of_one in children for child in of_one]

    def remove(self) -> None:
        """Stop them."""
        for process in self.processes:
            process.terminate()
            process.wait(PATIENCE_S)

    def _start(self, address: str, before: Sequence[str]) -> None:
        program = shutil.which("sshd", path=SBIN)
        assert program, "openssh-server is missing: tools/test-needs.sh installs it"
        settings = self.folder / f"server-{len(self.processes)}"
        settings.write_text(SERVER.format(port=self.port, folder=self.folder, address=address))
        log = settings.with_suffix(".log")
        with log.open("wb") as file:
            command = [*before, program, "-D", "-e", "-f", str(settings)]
            self.processes.append(subprocess.Popen(command, stdout=file, stderr=file))
        wait_until(lambda: "Server listening" in log.read_text(), "the ssh server")

    def _script(self, name: str, line: str) -> Path:
        script = self.bin / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o755)
        return script

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)
