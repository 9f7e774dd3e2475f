"""All planted causes, for every kind of server."""

from tests.planted.causes import Cause
from tests.planted.mariadb_causes import mariadb_causes
from tests.planted.postgresql_causes import postgresql_causes


def truth_set() -> list[Cause]:
    """Return all causes, PostgreSQL's first."""
    return [*postgresql_causes(), *mariadb_causes()]
