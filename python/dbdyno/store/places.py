"""Where runs are kept: the folder ``runs`` in dbdyno's home, and what says which run each is."""

from pathlib import Path

from dbdyno.home import home as dbdyno_home

RECORD = "run.json"
PLAN = "plan.json"


def runs_folder(home: Path | None = None) -> Path:
    """The folder that holds one folder per run."""
    return (home or dbdyno_home()) / "runs"
