"""Keeps passwords out of studies: the study file is stored with it, its words in every report."""

from dbdyno.model.study import OptionTable
from dbdyno.run.options import SCRIPT_OPTION
from dbdyno.store.secrets import without_password

ELSEWHERE = (
    "Leave it out. dbdyno reads it from PGPASSWORD or ~/.pgpass, from MYSQL_PWD or ~/.my.cnf, or "
    "from an ODBC data source in odbc.ini."
)
_OPTIONS = SCRIPT_OPTION.removeprefix("--")


def holds_password(options: OptionTable) -> bool:
    """Whether a target's address or an option of a sysbench script contains a password."""
    script_options = dict(options.get(_OPTIONS, {}))
    texts = [
        str(options.get("target", "")),
        *(f"--{name}={value}" for name, value in script_options.items()),
    ]
    return any(without_password(one) != one for one in texts)
