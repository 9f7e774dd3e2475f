"""The answers of the server: objects, pages and problems, each with the headers that belong to it.

A page may load nothing from elsewhere, may not be framed, and runs the scripts of this server only.
"""

from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dbdyno.errors import DbdynoError
from dbdyno.serve.access import RefusedError

_STATUS_OF = {
    "no_longer": HTTPStatus.CONFLICT,
    "no_": HTTPStatus.NOT_FOUND,
    "running": HTTPStatus.CONFLICT,
    "busy": HTTPStatus.CONFLICT,
    "too_many": HTTPStatus.SERVICE_UNAVAILABLE,
    "usage": HTTPStatus.BAD_REQUEST,
    "ambiguous": HTTPStatus.BAD_REQUEST,
    "unknown_": HTTPStatus.BAD_REQUEST,
}
"""By how an error's code begins, in this order; others are about what was asked for: it cannot be
shown."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""A report has style and script inside; its own policy admits one script, by its hash."""
GENERAL = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with less, a form of ours would have no origin
    "x-content-type-options": "nosniff",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, as RFC 9457 has it; ``code`` and ``hint`` are those of ``--json``."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""


def json_reply(value: object, status: int = HTTPStatus.OK, **headers: str) -> Response:
    """An object, in the form that ``--json`` has it."""
    return Response(
        msgspec.json.encode(value), status, headers={**headers}, media_type="application/json"
    )


def html_reply(text: str, status: int = HTTPStatus.OK, policy: str = POLICY) -> HTMLResponse:
    """A page that may do what the policy says."""
    return HTMLResponse(text, status, headers={"content-security-policy": policy})


def problem_of(error: DbdynoError) -> Problem:
    """The problem that an error is to whoever asked."""
    status = (
        error.status
        if isinstance(error, RefusedError)
        else next(
            (found for begin, found in _STATUS_OF.items() if error.code.startswith(begin)),
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    )
    return Problem(
        title=status.phrase,
        status=status,
        detail=error.message,
        code=error.code,
        hint=error.hint,
    )


def problem_reply(problem: Problem) -> Response:
    """A problem for a program."""
    headers = {
        HTTPStatus.UNAUTHORIZED: {"www-authenticate": "Bearer"},
        # Whoever asks for too much does not keep a connection that others need.
        HTTPStatus.SERVICE_UNAVAILABLE: {"connection": "close"},
    }
    return Response(
        msgspec.json.encode(problem),
        problem.status,
        headers=headers.get(HTTPStatus(problem.status), {}),
        media_type="application/problem+json",
    )


def wants_page(request: Request) -> bool:
    """Whether a person asks, with a browser."""
    return not request.scope["path"].startswith("/api/") and "text/html" in request.headers.get(
        "accept", ""
    )
