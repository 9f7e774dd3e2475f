"""Column types as the catalog names them, in the words of ``databases.schema``."""

import re

_WORDS = {
    "integer": "int",
    "jsonb": "json",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}
_SIZED = (
    (re.compile(r"^character varying\b"), "varchar"),
    (re.compile(r"^character\b"), "char"),
    (re.compile(r"^numeric\b"), "decimal"),
)


def word_of(catalog_type: str) -> str:
    """Return our name for a type as ``format_type`` writes it."""
    for pattern, word in _SIZED:
        catalog_type = pattern.sub(word, catalog_type)
    return _WORDS.get(catalog_type, catalog_type)
