"""The commands of ``dbdyno``, one file for each: its name, its options, its ``app``.

This file lists them, for those who must not wait until any of them is imported.
"""

import re
from pathlib import Path

# In the order in which they are needed; each name is that of a file in this folder.
GROUPS = {
    "Measure": (
        "run",
        "pair",
        "search",
        "study",
        "import",
        "workloads",
        "pgbench",
        "sysbench",
    ),
    "Understand results": (
        "explain",
        "report",
        "compare",
        "history",
        "publish",
        "runs",
        "serve",
        "sql",
    ),
    "Databases, data and host": (
        "load",
        "check",
        "script",
        "server",
        "data",
        "home",
        "doctor",
        "workers",
        "agent",
        "completion",
    ),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
# Those that accept a script's own options after ``--``.
SCRIPTED = ("run", "search", "load", "script")
# Those whose words are another tool's, which a link of that name to dbdyno takes as well.
PEERS = ("pgbench", "sysbench")

_FOLDER = Path(__file__).parent
# A command's description is that of its application, or of the function that is its default.
_DESCRIPTION = re.compile(r'^(?:app\.help = |@app\.default\n(?:.+\n)+?    )"""(.+)', re.MULTILINE)


def first_sentence(name: str) -> str:
    """Return the first line of a command's description from its file, which is not imported."""
    found = _DESCRIPTION.search((_FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    assert found is not None, f"the command {name} has no description"
    return found[1]
