"""Which kind of database a run loaded, by the protocol that the engine spoke with it.

MariaDB and MySQL are one here: what they count and what it means is the same, but for what one
of them does not tell.
"""

from collections.abc import Mapping
from typing import Any

POSTGRESQL, MYSQL = "postgresql", "mysql"
PAGE_BYTES = {POSTGRESQL: 8192, MYSQL: 16384}
"""As all are built and set up unless somebody asks for another size."""


def protocol_of(plan: Mapping[str, Any]) -> str:
    """As the plan says; the first of them where it does not."""
    protocol: str = plan.get("endpoint", {}).get("protocol", POSTGRESQL)
    return protocol
