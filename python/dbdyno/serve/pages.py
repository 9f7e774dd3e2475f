"""The pages for people, which read without scripts."""

import warnings
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from markupsafe import Markup
from msgspec import structs
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dbdyno.errors import DbdynoError
from dbdyno.explain.explain import explain
from dbdyno.formatting import milliseconds, tps
from dbdyno.model.run import Run
from dbdyno.report.content import PageSection, filled
from dbdyno.report.page_order import all_sections
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import bundle, environment, render_html, rendered, style
from dbdyno.serve.access import TOKEN_PARAMETER, Access, without_token
from dbdyno.serve.api import RunQuery
from dbdyno.serve.commands import object_of, page_of, word
from dbdyno.serve.live import Live, Report
from dbdyno.serve.operations import body_of, query_of
from dbdyno.serve.reading import Reader, run_named
from dbdyno.serve.replies import REPORT_POLICY, Problem, html_reply
from dbdyno.serve.starting import RunRequest, servers, start, stop
from dbdyno.store.errors import LeftOut
from dbdyno.store.listing import runs_folder
from dbdyno.store.studies import list_studies
from dbdyno.workloads.registry import all_workloads

_TEMPLATES = Path(__file__).parent / "templates"
_LISTED = 200
_TOP = '<header class="top">'
"""Where the links belong in a page that a command has written."""
NOW = ("waits", "locks")
"""The sections of a report that show what happens now, and cost little."""
LINKS = (
    ("/", "Runs"),
    ("/start", "Start"),
    ("/studies", "Studies"),
    ("/history", "History"),
    ("/doctor", "This host"),
)
"""The pages that every page leads to."""


class Pages:
    """The pages about runs."""

    def __init__(self, reader: Reader, live: Live, access: Access) -> None:
        self._reader = reader
        self._live = live
        self._access = access

    def routes(self) -> list[Route]:
        """What the server has to route."""
        return [
            Route("/", self.runs),
            Route("/runs/{run_id}", self.run),
            Route("/runs/{run_id}/now", self.now),
            Route("/start", self.form),
            Route("/start", self.start, methods=["POST"]),
            Route("/runs/{run_id}/stop", self.stop, methods=["POST"]),
            Route("/compare", self.compare),
            Route("/history", self.history),
            Route("/studies", self.studies),
            Route("/studies/{study_id}", self.study),
            Route("/doctor", self.doctor),
            Route("/static/site.css", self.sheet),
            Route("/static/live.js", self.script),
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

    async def run(self, request: Request) -> Response:
        """The report of a run; while it goes on, what there is of it so far."""
        run_id = request.path_params["run_id"]
        live = await self._live.run(run_id)
        if live is not None:
            report = await run_in_threadpool(live.report.of, live.run)
            return html_reply(report.page)
        page = await run_in_threadpool(self._reader.made, _report, run_id)
        return html_reply(page, policy=REPORT_POLICY)

    async def now(self, request: Request) -> Response:
        """What clients of a run are waiting for: a part of its page."""
        live = await self._live.run(request.path_params["run_id"])
        if live is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html_reply(await run_in_threadpool(live.now.of, live.run))

    def form(self, request: Request) -> Response:
        """What can be started, with the command that does the same."""
        given = _fields(request.query_params.multi_items())
        asked = _asked(given) if given else None
        if asked is not None:
            asked.check()
        return html_reply(
            _shown(
                "start.html",
                title="Start a run",
                workloads=[*all_workloads()],
                servers=servers(),
                given=given,
                command=f"dbdyno {' '.join(asked.words())}" if asked else "",
                may_change=self._access.may_change(request),
            )
        )

    async def start(self, request: Request) -> Response:
        """Start the run of the form; lead to its page, or to the list until it has one."""
        given = _fields(parse_qsl((await body_of(request)).decode("utf-8", "replace")))
        started = await run_in_threadpool(start, _asked(given))
        onward = f"/runs/{started.run_id}" if started.run_id else "/"
        return RedirectResponse(onward, HTTPStatus.SEE_OTHER)

    async def stop(self, request: Request) -> Response:
        """End a run as Ctrl-C does."""
        folder = run_named(request.path_params["run_id"])
        await run_in_threadpool(stop, folder)
        return RedirectResponse(f"/runs/{folder.name}", HTTPStatus.SEE_OTHER)

    def compare(self, request: Request) -> Response:
        """Two runs compared, the older one first."""
        chosen = sorted(set(request.query_params.getlist("run")))
        if len(chosen) != 2:
            raise DbdynoError("usage", "Two runs can be compared: tick two in the list of runs")
        return _of_command(["compare", *map(word, chosen)], "--report")

    def history(self, request: Request) -> Response:
        """Comparable runs over time."""
        workload = request.query_params.get("workload")
        return _of_command(["history", *([word(workload)] if workload else [])], "--report")

    def studies(self, _request: Request) -> Response:
        """The studies that were run, newest first, with how far they have come."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeftOut)
            found = list_studies()
        return html_reply(_shown("studies.html", title="Studies", studies=found[::-1]))

    def study(self, request: Request) -> Response:
        """The report of a study, as far as it has come."""
        study_id = word(request.path_params["study_id"])
        return _of_command(["study", "report", study_id], "--output")

    def doctor(self, _request: Request) -> Response:
        """What on this host distorts measurements."""
        found = msgspec.json.decode(object_of(["doctor"]))["diagnoses"]
        return html_reply(_shown("doctor.html", title="This host", diagnoses=found))

    def sheet(self, _request: Request) -> Response:
        """The style of all pages."""
        own = (_TEMPLATES / "site.css").read_text("utf-8")
        return Response(style() + own, media_type="text/css")

    def script(self, _request: Request) -> Response:
        """The script of live pages."""
        return Response(bundle("live"), media_type="text/javascript")


def live_page(run: Run) -> Report:
    """The page of a run that goes on, and what it has shown so far."""
    page = run_page(run)
    shown = [section for section in page.sections if section.id not in NOW]
    return Report(
        page=_shown(
            "live.html",
            title=page.title,
            page=structs.replace(page, sections=shown),
            run_id=run.record.run_id,
            now=Markup(now_part(run)),  # escaped when it was made
        ),
        explanation=explain(run),
    )


def now_part(run: Run) -> str:
    """The sections that show what happens now."""
    sections = [
        PageSection(id=section.id, title=section.title, blocks=section.build(run))
        for section in all_sections()
        if section.id in NOW
    ]
    return _shown("now.html", sections=filled(*sections))


def _report(run: Run) -> str:
    run_id = run.record.run_id
    return render_html(run_page(run), [*LINKS, (f"/api/v1/runs/{run_id}", "JSON")])


def _of_command(words: Sequence[str], into: str) -> Response:
    page = page_of(words, into)
    links = _shown("links.html")
    return html_reply(page.replace(_TOP, _TOP + links, 1), policy=REPORT_POLICY)


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


def _fields(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {name: value.strip() for name, value in given if value.strip()}


def _asked(given: dict[str, str]) -> RunRequest:
    tags = [("tags", tag) for tag in given.get("tags", "").split()]
    others = [(name, value) for name, value in given.items() if name != "tags"]
    return query_of([*others, *tags], RunRequest)


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
