"""Where dbdyno keeps what it wrote: ``DBDYNO_HOME``, by default ``~/.local/share/dbdyno``."""

import os
from pathlib import Path


def home_folder() -> Path:
    """The folder of runs, private servers and cached data sets."""
    named = os.environ.get("DBDYNO_HOME")
    return Path(named) if named else Path.home() / ".local" / "share" / "dbdyno"


def runs_folder(home: Path | None = None) -> Path:
    """The folder that holds one folder per run."""
    return (home or home_folder()) / "runs"
