"""Column types in both directions: from those of ``targets.schema``, and back."""

import re

TYPES = {
    "serial": "int",
    "timestamp": "datetime(6)",
    "timestamptz": "timestamp(6)",
}
WORDS = {written: word for word, written in TYPES.items() if word != "serial"}


def type_of(word: str) -> str:
    """Return the type as these servers write it."""
    return TYPES.get(word, word)


def word_of(column_type: str) -> str:
    """Return our name for the type, without the meaningless width of integers in some versions."""
    bare = re.sub(r"^((?:big|small|tiny)?int)\(\d+\)", r"\1", column_type.lower())
    return WORDS.get(bare, bare)
