"""Who may ask for what: checked before any page or object is made.

A request needs a token: in a cookie, which the address with ``?token=`` sets, or as
``Authorization: Bearer``. A browser cannot be used against the server: requests under a foreign
host name (DNS rebinding) and from a foreign page (``Origin``) are refused, and a change that rests
on the cookie must come from a page of this server.
"""

import hmac
import ipaddress
import re
import secrets
import socket
import stat
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct
from starlette.requests import HTTPConnection

from dbdyno.errors import DbdynoError

Right = Literal["change", "read"]
FREE_PATHS = frozenset({"/healthz", "/static/site.css", "/favicon.ico"})
"""What everybody may ask: that the server is there, and how its pages look."""
TOKEN_PARAMETER = "token"
_TOKEN = re.compile(r"[\w.~+/=-]{16,}", re.ASCII)
_READING = "read-only"
_SAFE_METHODS = frozenset({"GET", "HEAD"})


class RefusedError(DbdynoError):
    """A request that is refused, with the status of its answer."""

    def __init__(self, status: HTTPStatus, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.status = status


class Access(Struct, frozen=True, kw_only=True):
    """The tokens with their rights, and the names under which this server may be called."""

    tokens: dict[str, Right]
    cookie: str
    names: frozenset[str] = frozenset()
    """Host names besides ``localhost``. An IP address is no name that could be rebound."""
    is_read_only: bool = False

    def check(self, request: HTTPConnection, method: str) -> None:
        """Raise :class:`RefusedError` for a request that may not be answered."""
        self._check_host(request)
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers["host"]:
            raise _foreign(f"a page of {origin} asked for this")
        if request.scope["path"] in FREE_PATHS:
            return
        right = self.right_of(request)
        if right is None:
            raise RefusedError(
                HTTPStatus.UNAUTHORIZED,
                "no_token",
                "A token is needed.",
                "Open the address that dbdyno serve printed, or send its token as "
                "Authorization: Bearer TOKEN.",
            )
        if method not in _SAFE_METHODS:
            self._check_change(request, right)

    def right_of(self, request: HTTPConnection) -> Right | None:
        """The right that a request's token gives; None without a token, or with a wrong one."""
        return self.right_of_token(_bearer(request) or request.cookies.get(self.cookie, ""))

    def right_of_token(self, given: str) -> Right | None:
        """The right of a token, compared in a time that tells nothing about it."""
        found: Right | None = None
        for token, right in self.tokens.items():
            if hmac.compare_digest(token.encode(), given.encode(errors="replace")):
                found = right
        return found

    def may_change(self, request: HTTPConnection) -> bool:
        """Whether a page for this request may offer changes."""
        return not self.is_read_only and self.right_of(request) == "change"

    def _check_host(self, request: HTTPConnection) -> None:
        name = ""
        with suppress(ValueError):
            name = (urlsplit(f"//{request.headers.get('host', '')}").hostname or "").lower()
        if name not in {"localhost", *self.names} and not is_address(name):
            raise RefusedError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "foreign_host",
                "This server is not known by the name in the request.",
                "Start it with --allow-host NAME.",
            )

    def _check_change(self, request: HTTPConnection, right: Right) -> None:
        if self.is_read_only or right != "change":
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "read_only", "This token, or this server, may only read."
            )
        site = request.headers.get("sec-fetch-site")
        is_own_page = site == "same-origin" or (site is None and "origin" in request.headers)
        if not _bearer(request) and not is_own_page:
            raise _foreign("this change was not requested by a page of this server")


def without_token(request: HTTPConnection) -> str:
    """The path of a request and its query, as they were sent, without the token."""
    path = "/" + request.scope["raw_path"].decode("ascii").lstrip("/")  # never another host
    given = parse_qsl(request.scope["query_string"].decode("ascii"))
    query = [pair for pair in given if pair[0] != TOKEN_PARAMETER]
    return f"{path}?{urlencode(query)}" if query else path


def new_tokens() -> dict[str, Right]:
    """One token that nobody guesses, with every right."""
    return {secrets.token_urlsafe(24): "change"}


def read_tokens(path: Path) -> dict[str, Right]:
    """The tokens of a file: one a line, followed by ``read-only`` if it may only read."""
    make = f"Make one: (umask 077; openssl rand -hex 24 > {path})"
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise DbdynoError("token_file", f"{path} cannot be read: {why}", make) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        hint = f"Make it yours alone: chmod 600 {path}"
        raise DbdynoError("token_file", f"{path} can be read by others", hint)
    found: dict[str, Right] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if not _TOKEN.fullmatch(words[0]) or words[1:] not in ([], [_READING]):
            what = f"line {number} of {path} is not a token of 16 characters or more"
            raise DbdynoError("token_file", f'{what}, and perhaps "{_READING}"', make)
        found[words[0]] = "read" if words[1:] else "change"
    if not found:
        raise DbdynoError("token_file", f"{path} has no token", make)
    return found


def own_names(allowed: Iterable[str]) -> frozenset[str]:
    """The names under which this host may be called: its own, and those that are allowed."""
    return frozenset(name.lower() for name in (socket.gethostname(), socket.getfqdn(), *allowed))


def is_address(name: str) -> bool:
    """Whether this is an IP address rather than a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _bearer(request: HTTPConnection) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _foreign(what: str) -> RefusedError:
    return RefusedError(HTTPStatus.FORBIDDEN, "foreign_origin", f"Refused: {what}.")
