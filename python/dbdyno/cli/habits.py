"""What users of pgbench, sysbench and other tools write out of habit, and what says the same here.

Only options that `dbdyno run` does not have: those it has mean what they mean there. Nothing is
guessed: the person is told what to write.
"""

_TARGET = "Here one word says where: --target postgresql://USER@HOST:PORT/DATABASE"
_MYSQL = "Here one word says where: --target mysql://USER@HOST:PORT/DATABASE"
_SCRIPT_OPTION = (
    "Here it is -D NAME=VALUE, as in -D table_size=100000; what a script of sysbench takes stands "
    "after --, as in: dbdyno run FILE.lua -- --table-size=100000"
)
_KEPT = "Leave it out: each run keeps it, and dbdyno report and dbdyno sql show it."

_INSTEAD = {
    "-S --select-only": "The workload is a word of its own: dbdyno run select-only",
    "-N --skip-some-updates": "The workload is a word of its own: dbdyno run simple-update",
    "-b --builtin": "The workload is a word of its own: dbdyno run tpcb (or select-only, …)",
    "-i --initialize -I --init-steps": "Data is loaded by: dbdyno load tpcb -s SCALE --target URL",
    "-F --fillfactor": "Here it is a parameter of the workload: -D fillfactor=90",
    "--unlogged-tables": "Here it is a parameter of the workload: -D unlogged=on",
    "--foreign-keys": "Here it is a parameter of the workload: -D foreign_keys=on",
    "--partitions": "Here it is a parameter of the workload: -D partitions=4",
    "--partition-method": "Here it is a parameter of the workload: -D partition_method=hash",
    "-h --host -p --port -U --username -d --dbname": _TARGET,
    "--pgsql-host --pgsql-port --pgsql-user --pgsql-password --pgsql-db": _TARGET,
    "--mysql-host --mysql-port --mysql-user --mysql-password --mysql-db --mysql-socket": _MYSQL,
    "--db-driver": "Here the target's URL says it: --target mysql://… or postgresql://…",
    "-r --report-per-command --report-latencies --percentile --histogram": _KEPT,
    "-l --log --aggregate-interval --sampling-rate --log-prefix --failures-detailed": _KEPT,
    "-v --vacuum-all": "Leave it out: a private server is vacuumed, any other is left as it is.",
    "--random-seed --rand-seed": "Here it is --seed NUMBER.",
    "--events": "Here it is -t NUMBER, of each client.",
    "--warmup-time": "Here it is --warmup TIME.",
    "--report-interval": "Here it is -P TIME.",
    "--tables --table-size --rand-type": _SCRIPT_OPTION,
    "--dry-run": "What a study would do is told by: dbdyno study plan NAME, which starts nothing",
}
_HINTS = {option: hint for options, hint in _INSTEAD.items() for option in options.split()}
OPTIONS = frozenset(_HINTS)


def habit_of(option: str) -> str:
    """What to write instead of this option; empty when it is nobody's habit."""
    name = option.partition("=")[0]
    return _HINTS.get(name) or ("" if name.startswith("--") else _HINTS.get(name[:2], ""))


def takes_host(words: list[str]) -> bool:
    """Whether ``-h`` was meant as pgbench's: followed by a value, while help stands alone."""
    if "-h" not in words[:-1]:
        return False
    return not words[words.index("-h") + 1].startswith("-")
