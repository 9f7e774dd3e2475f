"""TLS client keys with a passphrase: the drivers can use them, the engine's TLS cannot.

Reported when the target is inspected: the load's own connections would come after loading.
"""

from dbdyno.errors import DbdynoError


def locked_key(key: str, option: str) -> DbdynoError:
    """Return the error for a key that ``option`` names."""
    return DbdynoError(
        "tls_failed",
        f"the key {key} has a passphrase: the load's connections cannot use it",
        f"write it without a passphrase to a file that only you can read (openssl pkey -in {key} "
        f"-out FILE), and {option}",
    )
