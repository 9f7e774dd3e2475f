"""The whole server as one application: who may ask, what there is, and how problems are told."""

import traceback
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dbdyno.errors import DbdynoError
from dbdyno.model.run import Histograms
from dbdyno.serve.access import Access, RefusedError
from dbdyno.serve.api import Api
from dbdyno.serve.changes import Changes
from dbdyno.serve.live import Live
from dbdyno.serve.pages import Pages, now_part, report_so_far
from dbdyno.serve.reading import Reader
from dbdyno.serve.replies import GENERAL, problem_of, problem_reply, wants_page
from dbdyno.serve.showing import entry_page, problem_page


def application(histograms: Histograms, access: Access) -> ASGIApp:
    """Everything that the server answers."""
    reader = Reader(histograms)
    live = Live(histograms, report_so_far, now_part)
    routes = [
        Route("/healthz", _healthy),
        *Api(reader, live).routes(),
        *Pages(reader, live, access).routes(),
        *Changes(access).routes(),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={DbdynoError: _told, HTTPException: _told, Exception: _told},
    )
    return _Guarded(app, access)


def _healthy(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _told(request: Request, error: Exception) -> Response:
    """A problem, as a page or as an object; a defect is also written to standard error."""
    if isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
        message = f"There is no page {request.scope['path']}"
        if status != HTTPStatus.NOT_FOUND:
            message = f"{status.phrase}: {request.scope['path']}"
        error = RefusedError(status, "no_page", message, "All runs are at /.")
    if not isinstance(error, DbdynoError):
        traceback.print_exception(error)
        error = RefusedError(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            "defect",
            "This is a defect of dbdyno.",
            "What dbdyno serve has printed says more.",
        )
    problem = problem_of(error)
    return problem_page(problem) if wants_page(request) else problem_reply(problem)


class _Guarded:
    """Asks for access before the application, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        answer: Callable[[Scope, Receive, Send], Awaitable[None]] = self._app
        try:
            self._access.check(request, request.method)
        except RefusedError as error:
            is_stranger = error.status == HTTPStatus.UNAUTHORIZED
            answer = (entry_page(self._access, request) if is_stranger else None) or _told(
                request, error
            )
        else:
            # Whoever has the cookie already may still use the address with the token.
            answer = entry_page(self._access, request) or self._app
        await answer(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name for name, _ in message["headers"]}
            added = [(name.encode(), value.encode()) for name, value in GENERAL.items()]
            message["headers"] = [
                *message["headers"],
                *(one for one in added if one[0] not in known),
            ]
        await send(message)

    return sending
