"""An ssh server of a test: on a port of its own, with keys of its own, and a client that knows it.

The client is found before the real one in PATH, and reads no configuration but the test's.
"""

import getpass
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.engine.postgres import free_port
from tests.support.patience import PATIENCE_S, wait_until

ROOT = Path(__file__).parent.parent.parent
# Not every user looks there.
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PRIVILEGE_SEPARATION = Path("/run/sshd")

SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
"""
CLIENT = """
Host h*
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile {folder}/user
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known
    StrictHostKeyChecking accept-new
    LogLevel ERROR
"""


class SshServer:
    """Hosts h1, h2 and so on: all are this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        for name in ("host", "user"):
            self._run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        (folder / "server").write_text(SERVER.format(port=self.port, folder=folder))
        client = CLIENT.format(port=self.port, folder=folder, user=getpass.getuser())
        (folder / "client").write_text(client)
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._script("ssh", f'exec {shutil.which("ssh")} -F {folder}/client "$@"')
        # What stands for an installed dbdyno: this one.
        path = f"PYTHONPATH={ROOT}/python"
        self.dbdyno = self._script("dbdyno", f'exec env {path} {sys.executable} -m dbdyno "$@"')
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
        self.process = self._started()

    def workers(self, count: int) -> str:
        """Return what ``--workers`` says for so many hosts."""
        return ",".join(f"ssh:h{number + 1}{self.dbdyno}" for number in range(count))

    def sessions(self) -> list[int]:
        """Return the processes of the server beside itself, one or two for each session."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in children.split()]

    def remove(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def _started(self) -> subprocess.Popen[bytes]:
        program = shutil.which("sshd", path=SBIN)
        assert program, "openssh-server is missing: tools/test-needs.sh installs it"
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, "-D", "-e", "-f", self.folder / "server"], stdout=log, stderr=log
            )
        text = (self.folder / "log").read_text
        wait_until(lambda: "Server listening" in text(), "the ssh server")
        return process

    def _script(self, name: str, line: str) -> Path:
        script = self.bin / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o755)
        return script

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)
