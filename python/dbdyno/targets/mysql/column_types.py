"""Column types in both directions: from the words of ``targets.schema``, and back."""

import re

TYPES = {
    "serial": "int",
    "timestamp": "datetime(6)",
    "timestamptz": "timestamp(6)",
}
WORDS = {written: word for word, written in TYPES.items() if word != "serial"}


def type_of(word: str) -> str:
    """How these servers write the type."""
    return TYPES.get(word, word)


def word_of(column_type: str) -> str:
    """Our word; some versions add a width to integers that means nothing."""
    bare = re.sub(r"^((?:big|small|tiny)?int)\(\d+\)", r"\1", column_type.lower())
    return WORDS.get(bare, bare)
