"""Pages are made of templates here: the links that all have, problems, and how one enters."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from dbdyno.formatting import milliseconds, tps
from dbdyno.report.render_html import environment, rendered
from dbdyno.serve.access import TOKEN_PARAMETER, Access, without_token
from dbdyno.serve.replies import Problem, html_reply

TEMPLATES = Path(__file__).parent / "templates"
LINKS = (
    ("/", "Runs"),
    ("/start", "Start"),
    ("/studies", "Studies"),
    ("/history", "History"),
    ("/doctor", "This host"),
)
"""The pages that every page leads to."""


def shown(template: str, **values: Any) -> str:
    """A page of this server."""
    templates = environment(TEMPLATES)
    known = {"links": LINKS, "tps": tps, "milliseconds": milliseconds}
    return rendered(templates.get_template(template), **known, **values)


def problem_page(problem: Problem) -> HTMLResponse:
    """A problem for a person: what happened, and what to do next."""
    title = f"{problem.detail[:1].upper()}{problem.detail[1:].rstrip('.')}"
    return html_reply(shown("problem.html", title=title, problem=problem), problem.status)


def entry_page(access: Access, request: Request) -> HTMLResponse | None:
    """The page that exchanges a token in an address for a cookie; None if it has none.

    A redirection would still count as coming from where the address was clicked, and the browser
    would not send the new cookie with it.
    """
    token = request.query_params.get(TOKEN_PARAMETER)
    if token is None or access.right_of_token(token) is None:
        return None
    onward = without_token(request)
    reply = html_reply(shown("entry.html", title="dbdyno", onward=onward), HTTPStatus.OK)
    reply.set_cookie(
        access.cookie,
        token,
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
    return reply
