"""Parses ODBC connection strings: separates user and password from the other attributes."""

import re

from msgspec import Struct

from dbdyno.errors import DbdynoError

SCHEME = "odbc:"
USER_NAMES = ("uid", "user", "username", "user id")
PASSWORD_NAMES = ("pwd", "password")
# Such attributes belong where they are not recorded.
SECRET = re.compile(r"pwd|password|secret|token|passphrase", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\s*(?P<name>[^=;{}]+?)\s*=(?P<value>\{(?:[^}]|\}\})*\}|[^;]*)\s*(?:;|$)")


class Attributes(Struct, frozen=True, kw_only=True):
    """A connection string; ``place`` is the rest without user and password."""

    place: str
    user: str = ""
    password: str | None = None


def read_target(target: str) -> Attributes:
    """Parse ``odbc:…``."""
    text = target[len(SCHEME) :]
    place: list[str] = []
    user, password = "", None
    position = 0
    while text[position:].strip(" ;"):
        found = _ATTRIBUTE.match(text, position)
        if found is None:
            raise _malformed()
        position = found.end()
        name, value = found["name"].lower(), _unbraced(found["value"])
        if name in USER_NAMES:
            user = value
        elif name in PASSWORD_NAMES:
            password = value
        elif SECRET.search(name):
            raise _secret(found["name"])
        else:
            place.append(f"{found['name']}={found['value'].strip()}")
    if not place:
        raise _malformed()
    return Attributes(place=";".join(place), user=user, password=password)


def connection_string(attributes: Attributes) -> str:
    """Return the whole connection string again. Contains the password, if there is one."""
    login = {"UID": attributes.user or None, "PWD": attributes.password}
    assignments = [f"{name}={_braced(value)}" for name, value in login.items() if value is not None]
    return ";".join([attributes.place, *assignments])


def shown(place: str, user: str) -> str:
    """Return a target that may be shown and stored."""
    return f"{SCHEME}{place};UID={user}" if user else f"{SCHEME}{place}"


def _unbraced(value: str) -> str:
    value = value.strip()
    return value[1:-1].replace("}}", "}") if value.startswith("{") else value


def _braced(value: str) -> str:
    """Put braces around a value only if necessary: not all drivers remove them."""
    is_plain = value == value.strip() and not set(value) & set(";{}")
    return value if is_plain else "{" + value.replace("}", "}}") + "}"


def _malformed() -> DbdynoError:
    return DbdynoError(
        "bad_target",
        "this is not an ODBC connection string",
        "write --target 'odbc:Driver={…};Server=…;UID=…', with the attributes the driver needs",
    )


def _secret(name: str) -> DbdynoError:
    return DbdynoError(
        "bad_target",
        f"{name} looks like a secret, which would be visible on the command line and in the record",
        "put it into a data source in odbc.ini, and use that: odbc:DSN=…",
    )
