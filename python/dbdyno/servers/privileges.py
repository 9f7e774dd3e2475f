"""The account of a private server: database servers refuse to run as root.

For root, a user namespace is the first choice: no account is needed, files still belong to root,
and folders of mode 0700 above the data stay closed. If namespaces are disabled (in many
containers), an ordinary account runs the server and owns its folder.
"""

import os
import pwd
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.servers import guard

UNSHARE = ("unshare", "--user", "--map-user=65534", "--map-group=65534", "--")
ACCOUNTS = ("postgres", "nobody")


class Identity(Struct, frozen=True):
    """The prefix of each command, and the account that runs it (None: our own)."""

    prefix: tuple[str, ...] = ()
    account: str | None = None

    def command(self, *arguments: object) -> list[str]:
        """Return a command with the prefix of this identity; does not switch the account."""
        return [*self.prefix, *(str(argument) for argument in arguments)]

    def take_over(self, *folders: Path) -> None:
        """Transfer folders, and their contents, to the account.

        Links are not followed: the account could let one lead out of its folder.
        """
        if self.account is None:
            return
        owner = pwd.getpwnam(self.account).pw_uid
        for folder in folders:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, owner, -1, follow_symlinks=False)

    def can_pass(self, folder: Path) -> bool:
        """Whether the account may pass through this folder and all its parents."""
        probe = subprocess.run(["test", "-x", folder], check=False, **self.credentials())
        return probe.returncode == 0

    def credentials(self) -> dict[str, Any]:
        """Return the arguments that run a child as the account, without our groups."""
        return guard.credentials(self.account)


def is_root() -> bool:
    """Whether servers would refuse to run as the present user."""
    return os.geteuid() == 0


@cache
def server_identity() -> Identity:
    """Return the identity for servers that this process starts."""
    if not is_root():
        return Identity()
    if shutil.which(UNSHARE[0]) is not None:
        probe = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False)
        if probe.returncode == 0:
            return Identity(prefix=UNSHARE)
    return ordinary_account()


def ordinary_account() -> Identity:
    """Return the first account that exists here."""
    known = {entry.pw_name for entry in pwd.getpwall()}
    for account in ACCOUNTS:
        if account in known:
            return Identity(account=account)
    raise DbdynoError(
        "no_ordinary_account",
        "a database server does not run as root, and no other account was found",
        "run dbdyno as an ordinary user",
    )
