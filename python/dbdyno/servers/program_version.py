"""Asks a server's program for its version, which also shows that the installation works."""

import re
import subprocess
from pathlib import Path

from dbdyno.errors import DbdynoError


def reported_version(program: Path, pattern: re.Pattern[str], *options: str) -> re.Match[str]:
    """Return the match of the pattern in the version output; raise an error if it does not run."""
    command = [str(program), *options, "--version"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise _broken(program, error.strerror or str(error)) from error
    match = pattern.search(result.stdout)
    if match is None:
        why = (result.stderr or result.stdout).strip() or f"exit {result.returncode}"
        raise _broken(program, why)
    return match


def _broken(program: Path, why: str) -> DbdynoError:
    return DbdynoError("bad_binaries", f"{program} does not run: {why}", "name another path")
