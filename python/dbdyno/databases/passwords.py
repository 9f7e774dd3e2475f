"""Passwords in targets, and passphrases of keys: refused where they cannot be used.

No part of a password is quoted. The drivers can use keys with a passphrase, the engine's TLS
cannot; that is reported when the target is inspected, since the load's own connections come after
loading.
"""

import re

from dbdyno.errors import DbdynoError

_QUERY = re.compile(r"\?[a-z_-]+=")
_NOT_ENCODED = re.compile("%(?![0-9a-fA-F]{2})")


def refuse_unencoded(target: str, *, ends_at_last_at: bool = False) -> None:
    """Refuse a URL whose password would be read as host, port or database, and then be shown.

    A login ends at the first ``@``, for some drivers at the last one, and before any ``/``. A URL
    whose database has an ``@`` of its own looks the same: it is refused as well.
    """
    _, is_url, rest = target.partition("://")
    rest = _QUERY.split(rest, maxsplit=1)[0]
    authority, _, path = rest.partition("/")
    login, _, _ = rest.rpartition("@")
    if not is_url or ":" not in login:
        return
    is_refused = "@" in path
    if not ends_at_last_at:
        is_refused |= authority.count("@") > 1 or bool(_NOT_ENCODED.search(login))
    if is_refused:
        raise DbdynoError(
            "bad_target",
            "cannot read the target: a character of its password is not encoded",
            "in a URL write %40 for @, %25 for %, %2F for /, %3A for : and %3F for ?",
        )


def locked_key(key: str, option: str) -> DbdynoError:
    """Return the error for a key that ``option`` names."""
    return DbdynoError(
        "tls_failed",
        f"the key {key} has a passphrase: the load's connections cannot use it",
        f"write it without a passphrase to a file that only you can read (openssl pkey -in {key} "
        f"-out FILE), and {option}",
    )
