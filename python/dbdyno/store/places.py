"""Where runs are stored: the folder ``runs`` in dbdyno's home, and the files that identify each."""

from pathlib import Path

from dbdyno.home import home as dbdyno_home

RECORD = "run.json"
PLAN = "plan.json"
HOST = "host.json"
SERVER = "server.json"
ENGINE = "engine.json"
FACTS = "facts.json"
SCHEMA = "schema.json"
LOG = "log.txt"
RUNS = "runs"
MERGED = ".tables"


def runs_folder(home: Path | None = None) -> Path:
    """The folder that contains one folder per run."""
    return (home or dbdyno_home()) / RUNS
