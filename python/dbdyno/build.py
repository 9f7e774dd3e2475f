"""Names a build of the engine: only the same ones count in the same way.

A module of its own, because an agent that is asked for it starts without everything else.
"""

import hashlib


def build_of(module: str) -> str:
    """Return the name of the build that is in this file."""
    with open(module, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
