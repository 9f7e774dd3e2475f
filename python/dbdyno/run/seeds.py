"""The seed of all random numbers: as given, or else drawn."""

import secrets

from dbdyno.run.options import DataOptions

_BITS = 32


def seed_of(options: DataOptions) -> int:
    """The seed of a run, which its record contains so that the run can be repeated."""
    return secrets.randbits(_BITS) if options.seed is None else options.seed
