"""The seed of all chance: as given, else drawn anew."""

import secrets

from dbdyno.run.options import DataOptions

_BITS = 32


def seed_of(options: DataOptions) -> int:
    """What a run records, so that it can be had again."""
    return secrets.randbits(_BITS) if options.seed is None else options.seed
