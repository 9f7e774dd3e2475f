"""All planted causes, for every kind of server."""

from tests.planted.causes import Cause
from tests.planted.mariadb_causes import MARIADB, mariadb_causes
from tests.planted.postgresql_causes import postgresql_causes
from tests.planted.postgresql_ground import POSTGRESQL
from tests.planted.workload_causes import workload_causes


def truth_set() -> list[Cause]:
    """Return all causes, PostgreSQL's first."""
    return [
        *postgresql_causes(),
        *workload_causes(POSTGRESQL),
        *mariadb_causes(),
        *workload_causes(MARIADB),
    ]
