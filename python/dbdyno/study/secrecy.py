"""No password stands in a study: its file is kept with it, and its words are in every report."""

from dbdyno.model.study import Words
from dbdyno.run.options import SCRIPT_OPTION
from dbdyno.store.secrets import without_password

ELSEWHERE = (
    "Leave it out. dbdyno reads it from PGPASSWORD or ~/.pgpass, from MYSQL_PWD or ~/.my.cnf, or "
    "from an ODBC data source in odbc.ini."
)
_OPTIONS = SCRIPT_OPTION.removeprefix("--")


def holds_password(words: Words) -> bool:
    """Whether a target's address or an option of a sysbench script has one."""
    options = dict(words.get(_OPTIONS, {}))
    said = [str(words.get("target", "")), *(f"--{name}={value}" for name, value in options.items())]
    return any(without_password(one) != one for one in said)
