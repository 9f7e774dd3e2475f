"""The database family of a run, by the protocol that the engine used.

MariaDB and MySQL are one family: their counters have the same meaning, though one of them lacks
some.
"""

from collections.abc import Mapping
from typing import Any

POSTGRESQL, MYSQL = "postgresql", "mysql"
PAGE_BYTES = {POSTGRESQL: 8192, MYSQL: 16384}
"""The default of each; a server may be built or initialized with another size."""


def protocol_of(plan: Mapping[str, Any]) -> str:
    """The plan's protocol; PostgreSQL's if it names none."""
    protocol: str = plan.get("endpoint", {}).get("protocol", POSTGRESQL)
    return protocol
