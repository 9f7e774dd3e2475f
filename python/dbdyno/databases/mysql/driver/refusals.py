"""Why a connection failed, in words the user can act on.

Servers number their errors; errors of the driver or the system only have a text. No message here
contains a password.
"""

import pymysql

from dbdyno.databases.mysql.driver.authentication import METHODS
from dbdyno.databases.mysql.driver.login import Login
from dbdyno.errors import DbdynoError
from dbdyno.model.secrets import Masker

# The server's error number → our code and hint.
NUMBERS = {
    1045: (
        "wrong_password",
        "check user and password; ~/.my.cnf or MYSQL_PWD keep it off the command line. An account "
        "that requires TLS refuses others with the same message: ?ssl-mode=REQUIRED",
    ),
    1698: (
        "no_rights",
        "the account is for the system user of its name: connect as that user, or with another "
        "account",
    ),
    1044: ("no_rights", "grant this user a right on the database, or name another"),
    1049: ("missing_database", "create it (CREATE DATABASE name), or name another in the target"),
    1040: ("too_many_connections", "raise max_connections, or end other sessions"),
    1203: ("too_many_connections", "raise max_user_connections, or end other sessions"),
    1226: ("too_many_connections", "raise the limits of this user's account"),
    1129: ("no_rights", "FLUSH HOSTS on the server lets this host in again"),
    1130: ("no_rights", "the server has no account for this host: CREATE USER name@host"),
    1524: ("no_rights", "the account's authentication plugin is not loaded in the server"),
    1820: ("no_rights", "set a new password for this account first"),
    3118: ("no_rights", "ALTER USER … ACCOUNT UNLOCK lets this user in"),
    3159: ("tls_required", "the server wants TLS: add ?ssl-mode=REQUIRED to the target"),
    4151: ("no_rights", "ALTER USER … ACCOUNT UNLOCK lets this user in"),
}
# (text to look for, our code, hint); the first match is used.
TEXTS = (
    ("insecure transport", *NUMBERS[3159]),
    ("SSL", "tls_failed", "check ssl-mode and the certificates"),
    ("certificate", "tls_failed", "check ssl-mode and the certificates"),
    ("No such file", "unreachable", "is the server running, and is this its socket?"),
    ("Connection refused", "unreachable", "is the server running, and is this its port?"),
    ("Name or service", "unreachable", "check the host's name"),
    ("name resolution", "unreachable", "check the host's name"),
    ("No address", "unreachable", "check the host's name"),
    ("timed out", "unreachable", "is the host up, and does a firewall drop the packets?"),
    ("unreachable", "unreachable", "is the host up, and is there a route to it?"),
    ("Not a directory", "unreachable", "the socket's path leads through a file"),
    (
        "too long",
        "unreachable",
        "the socket's path is too long for the kernel: use a symbolic link to its folder",
    ),
    ("Permission denied", "no_rights", "this user may not open the server's socket"),
    (
        "authentication method",
        "no_rights",
        f"use an account with one of {', '.join(METHODS)}: dbdyno answers no questions of PAM "
        "(dialog), and sends no password in the clear",
    ),
    ("authentication plugin", "no_rights", "this kind of account is not supported: use another"),
)
# For error numbers of the client, the text says more.
CLIENT_NUMBERS = range(2000, 3000)


def refusal(error: pymysql.Error, login: Login) -> DbdynoError:
    """Return the error for a connection that the server, or the network, refused."""
    number, text = _parts(error)
    code, hint = _cause(number, text)
    text = Masker([login.password]).text(text)
    return DbdynoError(code, f"cannot connect: {_place(login, number)}{text}", hint)


def _parts(error: pymysql.Error) -> tuple[int, str]:
    match error.args:
        case (int(number), text, *_):
            return number, str(text)
        case _:
            return 0, str(error)


def _place(login: Login, number: int) -> str:
    """Return the address that was tried, unless the server itself answered."""
    address = login.address
    if number not in CLIENT_NUMBERS:
        return ""
    origin = f" ({login.address_origin})" if login.address_origin else ""
    if address.unix:
        return f"socket {address.unix.path}{origin}: "
    return f"host{origin}: " if origin else ""


def _cause(number: int, text: str) -> tuple[str, str]:
    if number in NUMBERS:
        return NUMBERS[number]
    for sign, code, hint in TEXTS:
        if sign in text:
            return code, hint
    return "connect_failed", "the server's error log may say more"
