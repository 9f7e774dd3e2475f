"""The pages for people, which read without scripts."""

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dbdyno.formatting import milliseconds, tps
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import environment, render_html, rendered, style
from dbdyno.serve.access import TOKEN_PARAMETER, Access, without_token
from dbdyno.serve.api import RunQuery
from dbdyno.serve.operations import query_of
from dbdyno.serve.reading import Reader
from dbdyno.serve.replies import REPORT_POLICY, Problem, html_reply
from dbdyno.store.listing import runs_folder

_TEMPLATES = Path(__file__).parent / "templates"
_LISTED = 200
LINKS = (("/", "Runs"),)
"""The pages that every page leads to."""


class Pages:
    """The pages about runs."""

    def __init__(self, reader: Reader, access: Access) -> None:
        self._reader = reader
        self._access = access

    def routes(self) -> list[Route]:
        """What the server has to route."""
        return [
            Route("/", self.runs),
            Route("/runs/{run_id}", self.run),
            Route("/static/site.css", self.sheet),
            Route("/favicon.ico", lambda _: Response(status_code=HTTPStatus.NO_CONTENT)),
        ]

    def runs(self, request: Request) -> Response:
        """The list of runs, with a form that selects some."""
        given = [(name, value) for name, value in request.query_params.multi_items() if value]
        query = query_of(_words(given), RunQuery)
        found = query.chosen()
        return html_reply(
            _shown(
                "runs.html",
                title="Runs",
                runs=found[: query.limit or _LISTED],
                number=len(found),
                query=query,
                folder=runs_folder(),
                may_change=self._access.may_change(request),
            )
        )

    def run(self, request: Request) -> Response:
        """The report of a run, or of what there is of it so far."""
        run_id = request.path_params["run_id"]
        links = [*LINKS, (f"/api/v1/runs/{run_id}", "JSON")]
        page = self._reader.made(run_page, run_id)
        return html_reply(render_html(page, links), policy=REPORT_POLICY)

    def sheet(self, _request: Request) -> Response:
        """The style of all pages."""
        own = (_TEMPLATES / "site.css").read_text("utf-8")
        return Response(style() + own, media_type="text/css")


def problem_page(problem: Problem) -> HTMLResponse:
    """A problem for a person."""
    return html_reply(_shown("problem.html", title=problem.title, problem=problem), problem.status)


def entry_page(access: Access, request: Request) -> HTMLResponse | None:
    """The page that exchanges a token in an address for a cookie; None if it has none.

    A redirection would still count as coming from where the address was clicked, and the browser
    would not send the new cookie with it.
    """
    token = request.query_params.get(TOKEN_PARAMETER)
    if token is None or access.right_of_token(token) is None:
        return None
    onward = without_token(request)
    reply = html_reply(_shown("entry.html", title="dbdyno", onward=onward), HTTPStatus.OK)
    reply.set_cookie(
        access.cookie,
        token,
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
    return reply


def _words(given: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was typed into one field, as the words of a command."""
    return [
        (name, word)
        for name, value in given
        for word in (value.split() if name == "which" else [value])
    ]


def _shown(template: str, **values: Any) -> str:
    templates = environment(_TEMPLATES)
    known = {"links": LINKS, "tps": tps, "milliseconds": milliseconds}
    return rendered(templates.get_template(template), **known, **values)
