"""Whether a server can be run as an ordinary user by root."""

import os
import shutil
import subprocess
from pathlib import Path

from dbdyno.host.doctor import Finding, Probe


def judge(is_root: bool, works: bool) -> Finding:
    """What it means for private servers."""
    if not is_root:
        return Finding(level="ok", found="not needed: dbdyno runs as an ordinary user")
    if works:
        return Finding(level="ok", found="work: private servers run as nobody in one")
    return Finding(
        level="note",
        found="closed: private servers run as the user nobody instead",
        mend="Keep DBDYNO_HOME in a folder that nobody can reach, or run as an ordinary user.",
    )


def _works() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    command = [unshare, "--user", "--map-user=65534", "--map-group=65534", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def look(_root: Path) -> Finding:
    """Enters one and leaves it again, as root."""
    is_root = os.geteuid() == 0
    return judge(is_root, is_root and _works())


PROBE = Probe(
    title="user namespaces",
    meaning="PostgreSQL refuses to run as root; in a namespace of its own it does not see "
    "that it does.",
    look=look,
)
