"""Options of pgbench, sysbench and other tools, with their equivalents here.

Only options that `dbdyno run` does not have: those it has mean the same as there. Nothing is
guessed: the hint says what to write.
"""

_TARGET = "Give the server as a URL: --target postgresql://USER@HOST:PORT/DATABASE"
_MYSQL = "Give the server as a URL: --target mysql://USER@HOST:PORT/DATABASE"
_SCRIPT_OPTION = (
    "Set a workload's parameter with -D, as in -D table_size=100000; options of a sysbench script "
    "follow --, as in: dbdyno run FILE.lua -- --table-size=100000"
)
_KEPT = "Leave it out: every run records this, and dbdyno report and dbdyno sql show it."

_INSTEAD = {
    "-S --select-only": "Give the workload as an argument: dbdyno run select-only",
    "-N --skip-some-updates": "Give the workload as an argument: dbdyno run simple-update",
    "-b --builtin": "Give the workload as an argument: dbdyno run tpcb (or select-only, …)",
    "-i --initialize -I --init-steps": "To load data: dbdyno load tpcb -s SCALE --target URL",
    "-F --fillfactor": "Set the workload's parameter: -D fillfactor=90",
    "--unlogged-tables": "Set the workload's parameter: -D unlogged=on",
    "--foreign-keys": "Set the workload's parameter: -D foreign_keys=on",
    "--partitions": "Set the workload's parameter: -D partitions=4",
    "--partition-method": "Set the workload's parameter: -D partition_method=hash",
    "-h --host -p --port -U --username -d --dbname": _TARGET,
    "--pgsql-host --pgsql-port --pgsql-user --pgsql-password --pgsql-db": _TARGET,
    "--mysql-host --mysql-port --mysql-user --mysql-password --mysql-db --mysql-socket": _MYSQL,
    "--db-driver": "The target's URL determines the driver: --target mysql://… or postgresql://…",
    "-r --report-per-command --report-latencies --percentile --histogram": _KEPT,
    "-l --log --aggregate-interval --sampling-rate --log-prefix --failures-detailed": _KEPT,
    "-v --vacuum-all": "Leave it out: dbdyno vacuums a private server and no other.",
    "--random-seed --rand-seed": "Use --seed NUMBER.",
    "--events": "Use -t NUMBER, which is per client.",
    "--warmup-time": "Use --warmup TIME.",
    "--report-interval": "Use -P TIME.",
    "--tables --table-size --rand-type": _SCRIPT_OPTION,
    "--dry-run": "To see what a study would run, without running it: dbdyno study plan NAME",
}
_HINTS = {option: hint for options, hint in _INSTEAD.items() for option in options.split()}
OPTIONS = frozenset(_HINTS)


def hint_for(option: str) -> str:
    """Return what to write instead of this option; empty for unknown ones."""
    name = option.partition("=")[0]
    return _HINTS.get(name) or ("" if name.startswith("--") else _HINTS.get(name[:2], ""))


def takes_host(arguments: list[str]) -> bool:
    """Whether ``-h`` means pgbench's option: it is followed by a value, while help stands alone."""
    if "-h" not in arguments[:-1]:
        return False
    return not arguments[arguments.index("-h") + 1].startswith("-")
