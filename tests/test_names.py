"""A database's name is in its folder, and elsewhere only where the table says why.

Code asks what a database can do (``has``), takes its words (``terms``) or data that its
``database.py``, driver or product declares. Sentences for people may name what they are about.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.databases.known import all_databases

PACKAGE = Path(__file__).parent.parent / "python/dbdyno"
WORDS = {
    word
    for one in all_databases().values()
    for word in (one.name, one.product, one.title, one.protocol)
    if word and one.known_from != "nothing"
}
"""A text that is one of these and nothing else is no sentence: code compares or chooses by it."""
IN_NAMES = re.compile(r"(?i)postgres|mysql|mariadb|oracle|cockroach|yugabyte|tidb|citus")

REASONS = {
    "model/plan.py": "the protocols, as the engine knows them",
    "engine.py": "the grammars of SQL, as the engine knows them",
    "model/run.py": "what a run of an old version without a product was made on",
    "serve/requests.py": "the private servers that its form offers",
    "servers/spec.py": "the server that is started if none is named",
    "cli/commands/server.py": "the same, as an option's default",
    "servers/privileges.py": "the system account that distributions create for servers",
    "analysis/waits/disturbance.py": "names of processes, on the host of any run",
    "explain/statements/sql.py": "a protocol without a grammar of SQL of its own",
    "report/masking.py": "usual names of users and databases, which are not masked",
    "explain/sentences.py": "words of --server, which keep their small letter at the beginning",
    "host/probes/private_servers.py": "a line of the doctor for each server that can be started",
    "imports/readers/benchbase.py": "the servers' names in its texts",
    "imports/readers/hammerdb.py": "the same",
    "imports/readers/pgbench.py": "the server that this tool measures",
    "imports/readers/pgbench_logs.py": "the same",
    "imports/readers/sysbench_lines.py": "sysbench's own options, which have its drivers' names",
    "run/lua/sysbench_target.py": "sysbench's own options, which have its drivers' names",
    "peers/sysbench/command.py": "the same, and its default",
    "cli/help.py": "the same, where they are refused with what to write instead",
    "run/job.py": "a protocol whose database is known only when it is connected",
    "workloads/base.py": "how a row is inserted unless it exists differs with the dialect",
    "workloads/ycsb/workload.py": "functions for JSON documents differ with the dialect",
    "workloads/tpcc/workload.py": "InnoDB's plain reads see a snapshot, its locking reads do not",
    "workloads/oltp/workload.py": "sysbench numbers rows by itself in the dialect of MySQL alone",
}


def named(path: Path) -> Iterator[str]:
    """The lines of a file whose code has a database's name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if word := _word(node):
            yield f"line {getattr(node, 'lineno', 0)}: {word}"


def _word(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)) if text in WORDS:
            return text
        case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
            return name if IN_NAMES.search(name) else ""
        case ast.ClassDef(name=name) | ast.ImportFrom(module=str(name)):
            return name if IN_NAMES.search(name) else ""
    return ""


MODULES = [
    str(path.relative_to(PACKAGE))
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).parts[0] != "databases"
]


@pytest.mark.parametrize("module", MODULES)
def test_a_database_is_named_only_where_the_table_says_why(module: str) -> None:
    found = list(named(PACKAGE / module))
    if module in REASONS:
        assert found, f"{module} needs no exception any more"
    else:
        assert not found, "ask what it can do, or let its folder declare it"


def test_every_exception_is_of_a_module_that_exists() -> None:
    assert REASONS.keys() <= set(MODULES)
