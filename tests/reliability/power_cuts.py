"""Cuts the power of a database server under load, again and again; counts lost commits.

``unshare --mount python -m tests.reliability.power_cuts SERVER DURABILITY CUTS SEED`` as root;
prints one JSON object. (A mount that others have copied into their namespace is never unmounted.)
A killed process loses nothing that the kernel was given, so a kill is no power cut. Here the
server's data is on a file system of its own (ext4 on a loop device), which the kernel is told to
shut down as it stands (``EXT4_IOC_SHUTDOWN`` without a flush of its journal): what had not reached
the device then is gone, as the file system's own tests of crashes do it. Its journal is replayed by
the next mount, and the server recovers on what is left.

What it does not show: a device that loses or reorders what it has been given (a volatile write
cache without flushes), a page that is torn in the middle, and the loss of the rest of the host.
Before the load begins everything is written out once, so that the installation itself, which no
server syncs, counts as old.
"""

import ctypes
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from dbdyno.databases.connecting import driver_of
from dbdyno.errors import DbdynoError
from dbdyno.run.bystanders.witness import Witness
from dbdyno.servers.placement import Placement
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.processes import children_of
from dbdyno.servers.spec import parse_spec
from tests.support.patience import wait_until

SIZE_BYTES = 2 << 30  # of a sparse file
SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2  # linux/ext4.h
UNDER_LOAD_S = (0.5, 2.5)
CONNECTIONS = 20
SETTINGS = {
    "postgres": "postgres,max_wal_size=256MB",
    "mariadb": "mariadb,innodb_log_file_size=64M,innodb_buffer_pool_size=128M",
}


@dataclass
class Audit:
    """What was found so far."""

    server: str
    durability: str
    cuts: int = 0
    acknowledged: int = 0
    lost: list[int] = field(default_factory=list)
    """By cut."""
    lost_ms: list[float] = field(default_factory=list)
    """For how long before each cut that lost something."""
    not_recovered: list[str] = field(default_factory=list)
    """Why a server did not start any more, or had not even the table: all its commits are lost."""
    violations: list[str] = field(default_factory=list)
    """Invariants of the load that were violated."""


class Disk:
    """A file system of its own, whose power can be cut."""

    def __init__(self, folder: Path) -> None:
        self._image, self.root = folder / "image", folder / "disk"
        with self._image.open("wb") as image:
            image.truncate(SIZE_BYTES)
        self.root.mkdir()
        subprocess.run(["mkfs.ext4", "-q", "-F", self._image], check=True)
        self._mount()
        self.root.chmod(0o755)

    def cut(self) -> None:
        """Lose all that has not reached the device."""
        handle = os.open(self.root, os.O_RDONLY)
        fcntl.ioctl(handle, SHUTDOWN, ctypes.c_uint32(WITHOUT_FLUSH))
        os.close(handle)

    def repower(self) -> None:
        """Mount what is left; its journal is replayed."""
        self.release()
        self._mount()

    def write_out(self) -> None:
        """Have everything on the device."""
        subprocess.run(["sync", "-f", self.root], check=True)

    def release(self) -> None:
        """Unmount it, once nobody uses it."""
        unmount = ["umount", self.root]
        wait_until(lambda: not subprocess.run(unmount, check=False).returncode, "unmounted")

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", self._image, self.root], check=True)


@contextmanager
def powered(kind: str, durability: str) -> Iterator[tuple[Disk, PrivateServer]]:
    with TemporaryDirectory(prefix="power-") as folder:
        Path(folder).chmod(0o755)
        disk = Disk(Path(folder))
        try:
            spec = parse_spec(SETTINGS[kind]).with_durability(durability)
            place = Placement(data_folder=disk.root)
            with start_private(spec, CONNECTIONS, placement=place) as server:
                yield disk, server
        finally:
            disk.release()


@contextmanager
def loaded(server: PrivateServer, audit: Audit) -> Iterator[None]:
    """Keep the server under load during the block, from another process; it outlives the cuts."""
    begin = subprocess.Popen(
        [
            *(sys.executable, "-m", "dbdyno", "run", "tpcb", "--target", server.url, "-c", "4"),
            *("-T", "1h", "--warmup", "0", "--telemetry", "off", "--max-failures", "100%"),
            *("--max-disturbance", "100%", "-P", "1s", "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in begin.stderr or ():
            if line.startswith("measure"):
                break
        yield
    finally:
        begin.send_signal(signal.SIGINT)
        record = json.loads(begin.communicate()[0])
        reasons = record.get("invalid_reasons", [])
        audit.violations += [reason for reason in reasons if "invariant" in reason]
        # Each cut broke transactions of the load: it lasted, and its data could be compared.
        has_lasted = record["transactions"]["failed"] >= audit.cuts
        if not audit.not_recovered and not (has_lasted and record["invariants_read"]):
            audit.violations.append(f"nothing is known of the load: {record}")


def survive(audit: Audit, cuts: int, chance: random.Random) -> None:
    """Cut the power until there were so many cuts, or the server does not recover."""
    with (
        powered(audit.server, audit.durability) as (disk, first),
        loaded(first, audit),
    ):
        server = first
        while audit.cuts < cuts:
            witness = Witness(server.connect, driver_of(server.endpoint().protocol))
            witness.create()
            disk.write_out()
            witness.begin()
            time.sleep(chance.uniform(*UNDER_LOAD_S))
            assert server.process_id is not None
            for process in (server.process_id, *children_of(server.process_id)):
                os.kill(process, signal.SIGSTOP)  # all at one instant
            disk.cut()
            cut_ns = time.monotonic_ns()
            server.kill()
            disk.repower()
            audit.cuts += 1
            try:
                server = server.started_again()
            except DbdynoError as error:
                witness.end()
                audit.not_recovered.append(error.message)
                return
            seen = witness.testimony()
            audit.acknowledged += len(seen.acknowledged_ns)
            if seen.lost_ns is None:
                audit.not_recovered.append("the table could not be read")
                return
            audit.lost.append(len(seen.lost_ns))
            audit.lost_ms += [(cut_ns - at_ns) / 1e6 for at_ns in seen.lost_ns[:1]]


def main(kind: str, durability: str, cuts: str, seed: str) -> None:
    """Run the audit."""
    audit, chance = Audit(kind, durability), random.Random(int(seed))
    while audit.cuts < int(cuts):
        survive(audit, int(cuts), chance)
    sys.stdout.write(json.dumps(vars(audit)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
