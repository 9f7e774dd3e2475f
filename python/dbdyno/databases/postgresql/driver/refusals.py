"""Why a connection failed, in words the user can act on.

libpq returns only a text for any failure, so the cause is determined from that text; what is not
recognized is shown as it is. No message here contains a password, not even one in a malformed URL.
"""

import re
from collections.abc import Mapping

import psycopg

from dbdyno.errors import DbdynoError
from dbdyno.model.secrets import Masker

NO_ENTRY = "no pg_hba.conf entry"
BAD_OPTION = "check that part of the target, or its PG… variable"
# (text to look for, our code, hint); the first match is used.
CAUSES = (
    (
        "password authentication failed",
        "wrong_password",
        "check user and password; PGPASSWORD or ~/.pgpass keep it off the command line",
    ),
    (
        "no password supplied",
        "wrong_password",
        "the server asks for a password: set PGPASSWORD or write a ~/.pgpass",
    ),
    (
        NO_ENTRY,
        "no_rights",
        "the server's pg_hba.conf has no line for this user, database and host",
    ),
    (
        "Peer authentication failed",
        "no_rights",
        "the server wants the system user of the same name: connect as that user, or over TCP",
    ),
    ("permission denied for database", "no_rights", "grant CONNECT on the database to this user"),
    ("is not permitted to log in", "no_rights", "ALTER ROLE … LOGIN lets this user in"),
    (
        "too many clients",
        "too_many_connections",
        "raise max_connections, or end other sessions",
    ),
    (
        "remaining connection slots are reserved",
        "too_many_connections",
        "raise max_connections, or end other sessions",
    ),
    (
        "too many connections for",
        "too_many_connections",
        "raise the CONNECTION LIMIT of this role or database",
    ),
    (
        "database system is",  # starting up, shutting down, in recovery mode
        "not_ready",
        "wait until the server accepts connections, then try again",
    ),
    ("could not translate host name", "unreachable", "check the host's name"),
    ("Servname not supported", "bad_target", "check the port: it must be a number up to 65535"),
    ("failed to resolve host", "unreachable", "check the host's name"),
    ("definition of service", "bad_target", "check PGSERVICE and the service file"),
    ("service file", "bad_target", "check PGSERVICEFILE and the service file"),
    ("for connection option", "bad_target", BAD_OPTION),
    ("invalid port number", "bad_target", BAD_OPTION),
    ("could not match", "bad_target", BAD_OPTION),  # numbers of hosts, addresses and ports
    ("bad value for", "bad_target", BAD_OPTION),  # the driver's words, as for connect_timeout
    ('value: "', "bad_target", BAD_OPTION),
    (
        "invalid value for parameter",
        "bad_target",
        "check that setting in the target's options, its PG… variable, and the role's settings",
    ),
    (
        "hot standby mode",
        "not_ready",
        "target_session_attrs excludes this server: name another, or leave it out",
    ),
    (
        "session is",  # read-only, or not
        "not_ready",
        "target_session_attrs excludes this server: name another, or leave it out",
    ),
    ("SSL", "tls_failed", "check sslmode and the certificates"),
    ("certificate", "tls_failed", "check sslmode and the certificates"),
    ("Permission denied", "no_rights", "this user may not open the server's socket"),
    ("Connection refused", "unreachable", "is the server running, and is this its port?"),
    ("No such file or directory", "unreachable", "is the server running, and is this its socket?"),
    ("timeout", "unreachable", "is the host up, and does a firewall drop the packets?"),
    ("unreachable", "unreachable", "is the host up, and is there a route to it?"),
)
MISSING_DATABASE = re.compile(r'database ".*" does not exist')
MISSING_ROLE = re.compile(r'role ".*" does not exist')
UNENCRYPTED = re.compile(r'no pg_hba\.conf entry for host "(?!\[local\]).*(no encryption|SSL off)')
ENCRYPTED = re.compile(r"SSL encryption|SSL on")
SECRET = re.compile(
    r"(?:^|://)[^:/?#=]*:(?P<url>.*)@|password\s*=\s*(?P<pair>'(?:[^'\\]|\\.)*'|\S+)|[?&]password=(?P<query>[^&]+)"
)


def refusal(error: psycopg.Error, given: Mapping[str, str]) -> DbdynoError:
    """Return the error for a connection that the server, or the network, refused."""
    text = _tidy(str(error))
    code, hint = _cause(text)
    text = Masker([given.get("password", "")]).text(text)
    return DbdynoError(code, f"cannot connect: {text}", hint)


def malformed(target: str, error: psycopg.ProgrammingError | UnicodeDecodeError) -> DbdynoError:
    """Return the error for a target that libpq cannot parse; libpq's may quote the password."""
    undecoded = isinstance(error, UnicodeDecodeError)
    text = "it is not UTF-8 text" if undecoded else _tidy(str(error))
    secrets = [part for match in SECRET.finditer(target) for part in match.groups() if part]
    for quoted in re.findall(r'"([^"]*)"', text):
        if any(quoted in secret or secret in quoted for secret in secrets):
            text = text.replace(quoted, "***")
    return DbdynoError(
        "bad_target",
        f"cannot read the target: {text}",
        "write postgresql://user@host:port/database, with all characters but letters and digits "
        "percent-encoded; or libpq keywords: dbname=NAME host=HOST. A kept server is given by "
        "--server NAME",
    )


def _cause(text: str) -> tuple[str, str]:
    if MISSING_DATABASE.search(text):
        return "missing_database", "create it (createdb NAME), or name another in the target"
    if MISSING_ROLE.search(text):
        return "missing_user", "create the role, or name another user in the target"
    for sign, code, hint in CAUSES:
        if sign == NO_ENTRY and UNENCRYPTED.search(text) and not ENCRYPTED.search(text):
            return code, f"{hint}, without encryption: try sslmode=require"
        if sign in text:
            return code, hint
    return "connect_failed", "the server's log may say more"


def _tidy(text: str) -> str:
    """Join libpq's lines into one sentence, without its own questions and the driver's prefix."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith("Is the server running")]
    return "; ".join(kept).removeprefix("connection failed: ").removeprefix("connection is bad: ")
