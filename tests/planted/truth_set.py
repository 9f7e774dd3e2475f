"""All that is planted, on every kind of server."""

from tests.planted.causes import Cause, causes
from tests.planted.mariadb_causes import mariadb_causes


def truth_set() -> list[Cause]:
    """PostgreSQL's first."""
    return [*causes(), *mariadb_causes()]
