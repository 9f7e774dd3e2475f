"""A client's key behind a passphrase: the drivers open such a one, the engine's TLS does not.

Said when the target is looked at: the load's own connections come when data is there already.
"""

from dbdyno.errors import DbdynoError


def locked_key(key: str, option: str) -> DbdynoError:
    """The error for a key that ``option`` names."""
    return DbdynoError(
        "tls_failed",
        f"the key {key} has a passphrase: the load's connections cannot use it",
        f"write it without a passphrase to a file that only you can read (openssl pkey -in {key} "
        f"-out FILE), and {option}",
    )
