"""dbdyno's side of the guard: starts it, has it stop and start its server, dismisses it."""

import json
import subprocess
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from msgspec import to_builtins

from dbdyno.errors import DbdynoError
from dbdyno.servers import guard
from dbdyno.servers.cluster import not_started
from dbdyno.servers.groups import Group, make_groups, remove_groups
from dbdyno.servers.placement import policy_order
from dbdyno.servers.processes import ProcessMark, kill_with_children, mark_of
from dbdyno.servers.product import Cluster

STOP_PATIENCE_S = 30


class StillEnding(UserWarning):
    """A private server is still being stopped; the results measured on it do not wait for that."""


@dataclass
class Guard:
    """The process between dbdyno and a private server."""

    process: "subprocess.Popen[str]"
    groups: tuple[Group, ...]
    mark: ProcessMark | None = None
    """The server's process, from its announcement until its end was reported."""

    @classmethod
    def start(cls, cluster: Cluster, lock: int, *, is_installed: bool) -> Self:
        """Start it in a process group of its own: a Ctrl-C in the terminal is not for the server.

        The server stays in our session, because the kernel's autogroups divide cores between
        sessions: the threads of MariaDB and of the load generator then compete as equals.

        It creates the data first, unless ``is_installed``.
        """
        placement = cluster.blueprint.placement
        groups = make_groups(placement.server_cores, placement.server_memory_bytes)
        order = _order(cluster, groups, is_installed=is_installed)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, json.dumps(order)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                process_group=0,
                pass_fds=[lock],
            )
        except BaseException:
            remove_groups(groups)
            raise
        return cls(process, groups)

    def announced(self, cluster: Cluster) -> ProcessMark:
        """Return the server's process, once the guard has prepared its folder and started it."""
        message = self._received()
        if message.startswith("refused "):
            raise DbdynoError(
                "placement_refused",
                f"the kernel refuses the server's placement: {message.removeprefix('refused ')}",
                "in a container this may need a capability (set_mempolicy: CAP_SYS_NICE)",
            )
        if not message and self._has_been_killed():
            title = cluster.blueprint.product.title
            raise DbdynoError(
                "guard_killed",
                f"the guard of the private {title} was killed before the server had started",
                "was it the kernel, for lack of memory? (dmesg)",
            )
        if not message.isdecimal():
            raise not_started(cluster)
        try:
            self.mark = mark_of(int(message))
        except OSError as error:  # it ended at once
            raise not_started(cluster) from error
        return self.mark

    def shut_down(self, cluster: Cluster) -> None:
        """Have the server write everything to disk and end, however long that takes."""
        product = cluster.blueprint.product
        if self.mark is None:
            raise DbdynoError(
                "not_shut_down", f"{product.title} is not running", f"its log is {cluster.log}"
            )
        self._send("stop")
        message, self.mark = self._received(), None
        if message != "ended 0" or not product.is_clean(cluster):
            code = message.removeprefix("ended ") or "unknown: its guard is gone"
            raise DbdynoError(
                "not_shut_down",
                f"{product.title} did not shut down cleanly (exit code {code})",
                f"its log is {cluster.log}",
            )

    def kill(self) -> None:
        """Kill all of the server's processes, if it has not ended yet."""
        if self.mark is not None:
            kill_with_children(self.mark, STOP_PATIENCE_S)
            self._received()  # the guard has noticed it, or the end of before
            self.mark = None

    def start_again(self, cluster: Cluster) -> ProcessMark:
        """Start a server that was shut down; return its process."""
        self._send("start")
        return self.announced(cluster)

    def dismiss(self) -> None:
        """Close our end of the pipe, and wait until the guard has cleaned up.

        With a large folder on a slow disk this may exceed the limit: the guard then continues
        alone.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):  # a command that it has never read
            self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            text = (
                f"a private server has not stopped after {STOP_PATIENCE_S} s: its guard (process "
                f"{self.process.pid}) continues, and removes its folder when it has stopped"
            )
            warnings.warn(StillEnding(text), stacklevel=2)

    @property
    def was_killed(self) -> bool:
        """Whether it has ended without cleaning up."""
        return self.process.poll() not in (None, 0)

    def _has_been_killed(self) -> bool:
        """Wait for the end that a closed pipe announces; return whether it was a kill."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_PATIENCE_S)
        return self.was_killed

    def _send(self, message: str) -> None:
        """Send a command, even if the guard has ended: the reply then shows that."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(f"{message}\n")
            self.process.stdin.flush()

    def _received(self) -> str:
        """Return the guard's next line; empty if it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


def _order(cluster: Cluster, groups: tuple[Group, ...], *, is_installed: bool) -> dict[str, object]:
    blueprint = cluster.blueprint
    placement = blueprint.placement
    installer, server = cluster.commands()
    return {
        "commands": [server] if is_installed else [installer, server],
        "account": blueprint.identity.account,
        "folders": [str(folder) for folder in cluster.folders],
        "log": str(cluster.log),
        "stop_signal": blueprint.product.stop_signal,
        "clean_signal": blueprint.product.clean_signal,
        "release": blueprint.product.release(cluster.data),
        "placement": {
            "cpus": placement.server_cpus.numbers if placement.server_cpus else (),
            "policy": policy_order(placement.numa) if placement.numa else None,
            "groups": to_builtins(groups),
        },
    }
