"""Makes the golden run folders again: real runs with a planted cause, and clean ones.

    python -m tests.explain.make_golden [NAME …]     runs the causes (all, unless named) and keeps
                                                     what rules read of their folders
    python -m tests.explain.make_golden --words      rewrites what the rules report about them

The first needs a quiet machine and takes minutes; read the reports before they are committed.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dbdyno.explain.explain import explain
from dbdyno.explain.explanation_text import explanation_lines
from dbdyno.layout import laid_out
from dbdyno.servers.spec import Kind
from dbdyno.store.run import RunFolder
from tests.planted.causes import SCRIPTS, Cause
from tests.planted.network import SERVER_END
from tests.planted.planting import NAME, planted_run
from tests.planted.truth_set import truth_set
from tests.store.hdr import HISTOGRAMS

GOLDEN = Path(__file__).parent / "golden"
EXPLANATION = "explanation.txt"
# Rules read no distributions other than those in the record, and nothing about where the run
# was made.
FILES = ("run.json", "plan.json", "facts.json", "engine.json")
TABLES = (
    "intervals", "scripts", "connects", "failed", "failures", "statement_texts", "statements",
    "samples", "counters", "levels", "waits", "blocking", "log_entries", "lacks", "outages",
)  # fmt: skip
# A socket and a target that identify no machine.
SOMEWHERE: dict[Kind, tuple[str, str]] = {
    "postgres": ("/run/postgresql/.s.PGSQL.5432", "postgresql:///postgres"),
    "mariadb": ("/run/mysqld/mysqld.sock", "mariadb:///test"),
}
FAR_AWAY = f"postgresql://{SERVER_END}/postgres"


def arguments_of(folder: Path) -> str:
    """Everything that the rules report about a run."""
    explanation = explain(RunFolder(folder).load(HISTOGRAMS))
    return laid_out(explanation_lines(explanation, every=True)) + "\n"


def make(cause: Cause) -> None:
    """Runs one cause and keeps its folder."""
    with tempfile.TemporaryDirectory() as workplace:
        record = planted_run(cause, Path(workplace))
        made = Path(workplace, "home", "runs", record["run_id"])
        kept = GOLDEN / cause.name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for name in (*FILES, *(f"{table}.parquet" for table in TABLES)):
            if (made / name).exists():
                shutil.copy(made / name, kept)
        _forget_place(kept, str(Path(workplace, "home", "servers", NAME)), cause)
    (kept / EXPLANATION).write_text(arguments_of(kept), encoding="utf-8")


def _forget_place(folder: Path, place: str, cause: Cause) -> None:
    """Removes the addresses of servers that are gone, and the findings recorded at the time."""
    socket, target = SOMEWHERE[cause.kind]
    address: dict[str, Any] = {"unix": {"path": socket}}
    if cause.round_trip_ms:
        target, address = FAR_AWAY, {"tcp": {"host": SERVER_END, "port": 5432}}
    forgotten = {f"{SCRIPTS}/": "", place: str(Path(socket).parent)}
    _rewrite(folder / "plan.json", forgotten, lambda plan: plan["endpoint"].update(address=address))
    _rewrite(
        folder / "run.json",
        forgotten,
        lambda record: record.update(target=target, findings=[], not_looked=[], unexplained=None),
    )


def _rewrite(
    path: Path, forgotten: Mapping[str, str], change: Callable[[dict[str, Any]], None]
) -> None:
    text = path.read_text()
    for own, instead in forgotten.items():
        text = text.replace(own, instead)
    content = json.loads(text)
    change(content)
    path.write_text(json.dumps(content, indent=1) + "\n")


def main(arguments: list[str]) -> None:
    if arguments == ["--words"]:
        for folder in sorted(GOLDEN.iterdir()):
            (folder / EXPLANATION).write_text(arguments_of(folder), encoding="utf-8")
        return
    for cause in truth_set():
        if not arguments or cause.name in arguments:
            make(cause)


if __name__ == "__main__":
    main(sys.argv[1:])
