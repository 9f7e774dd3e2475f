"""Column types in both directions: from those of ``databases.schema``, and back."""

import re

TYPES = {
    "serial": "int",
    "bigserial": "bigint",
    "boolean": "tinyint",
    "timestamp": "datetime(6)",
    "timestamptz": "timestamp(6)",
}
CANONICAL_TYPES = {
    written: name for name, written in TYPES.items() if not name.endswith("serial")
} | {"longtext": "json"}  # what MariaDB makes of JSON


def word_of(column_type: str) -> str:
    """Return our name for the type, without the meaningless width of integers in some versions."""
    bare = re.sub(r"^((?:big|small|tiny)?int)\(\d+\)", r"\1", column_type.lower())
    return CANONICAL_TYPES.get(bare, bare)
