"""pgbench's own scripts: their names, how they are shown, and the workloads that they are here."""

from dataclasses import dataclass

from dbdyno.peers.command_line import RefusalError
from dbdyno.workloads.pgbench.workload import FOLDER

_VARIABLES = """\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
"""
_ACCOUNT = """\
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
_TELLER_AND_BRANCH = """\
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
"""
_HISTORY = """\
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
"""


@dataclass(frozen=True)
class Builtin:
    """One of them; ``text`` is what pgbench shows, and what ``workload`` does in our spelling."""

    name: str
    description: str
    workload: str
    text: str

    @property
    def path(self) -> str:
        """The file of the workload's script, to run it beside another workload."""
        return str(FOLDER / f"{self.workload}.sql")


BUILTINS = (
    Builtin(
        "tpcb-like",
        "<builtin: TPC-B (sort of)>",
        "tpcb",
        f"{_VARIABLES}BEGIN;\n{_ACCOUNT}{_TELLER_AND_BRANCH}{_HISTORY}END;\n",
    ),
    Builtin(
        "simple-update",
        "<builtin: simple update>",
        "simple-update",
        f"{_VARIABLES}BEGIN;\n{_ACCOUNT}{_HISTORY}END;\n",
    ),
    Builtin(
        "select-only",
        "<builtin: select only>",
        "select-only",
        "\\set aid random(1, 100000 * :scale)\n"
        "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    ),
)


def listed() -> str:
    """Return the list of them."""
    lines = (f"  {builtin.name:>13}: {builtin.description}\n" for builtin in BUILTINS)
    return f"Available builtin scripts:\n{''.join(lines)}\n"


def find_builtin(name: str) -> Builtin:
    """Return the one whose name begins so."""
    found = [builtin for builtin in BUILTINS if builtin.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    problem = (
        f'ambiguous builtin name: {len(found)} builtin scripts found for prefix "{name}"'
        if found
        else f'no builtin script found for name "{name}"'
    )
    raise RefusalError(f"error: {problem}", text=listed())
