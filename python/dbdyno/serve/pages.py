"""The pages for people, which read without scripts."""

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import quote

import msgspec
from markupsafe import Markup
from msgspec import structs
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dbdyno.analysis.compare.run_series import RUNS_MIN, is_of_a_history
from dbdyno.errors import DbdynoError
from dbdyno.explain.explain import explain
from dbdyno.model.run import Run
from dbdyno.report.content import Folded, Items, PageSection, Text, filled
from dbdyno.report.page_order import all_sections
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import bundle, render_html, style
from dbdyno.report.sections.locks import queue_now
from dbdyno.serve.access import Access
from dbdyno.serve.api import RunQuery
from dbdyno.serve.commands import object_of, page_of, word
from dbdyno.serve.live import Live, Report
from dbdyno.serve.operations import query_of
from dbdyno.serve.reading import Reader, is_name
from dbdyno.serve.replies import REPORT_POLICY, html_reply
from dbdyno.serve.requests import AGAIN
from dbdyno.serve.showing import LINKS, TEMPLATES, shown
from dbdyno.serve.starting import last_lines
from dbdyno.store.files import LOG
from dbdyno.store.listing import runs_folder
from dbdyno.store.studies import list_studies
from dbdyno.store.summary import list_runs

_LISTED = 200
_LOG_LINES = 12
_TOP = '<header class="top">'
"""Where the links belong in a page that a command has written."""
NOW = ("waits", "locks")
"""The sections of a report that show what happens now, and cost little."""
CONDITIONS = ("host", "server", "telemetry", "plan")
"""Those of what does not change while a run goes on."""


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
            shown(
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
            return html_reply(
                shown(
                    "live.html",
                    title=report.title,
                    head=report.head,
                    now=Markup(await run_in_threadpool(live.now.of, live.run)),
                    body=Markup(report.body),  # both were escaped when they were made
                    run_id=live.run_id,
                    may_change=self._access.may_change(request),
                )
            )
        page = await run_in_threadpool(self._reader.made, _report, run_id)
        return html_reply(page, policy=REPORT_POLICY)

    async def now(self, request: Request) -> Response:
        """What clients of a run are waiting for: a part of its page."""
        live = await self._live.run(request.path_params["run_id"])
        if live is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return html_reply(await run_in_threadpool(live.now.of, live.run))

    def compare(self, request: Request) -> Response:
        """Two runs compared, the older one first."""
        chosen = sorted(set(request.query_params.getlist("run")))
        if len(chosen) != 2:
            raise DbdynoError("usage", "Two runs can be compared", "Tick two in the list of runs.")
        return _of_command(["compare", *map(word, chosen)], "--report")

    def history(self, request: Request) -> Response:
        """Comparable runs over time; what is missing if there are none."""
        workload = request.query_params.get("workload")
        chosen = [word(workload)] if workload else []
        usable = {
            run.workload
            for run in list_runs()
            if is_of_a_history(run.status, run.valid, run.tags, is_imported=run.tool is not None)
        }
        if not usable or (workload and workload not in usable):
            title = f"No history of {workload} yet" if workload else "No history yet"
            there = sorted(usable)
            return html_reply(shown("history.html", title=title, there=there, needed=RUNS_MIN))
        return _of_command(["history", *chosen], "--report")

    def studies(self, _request: Request) -> Response:
        """The studies that were run, newest first, with how far they have come."""
        return html_reply(shown("studies.html", title="Studies", studies=list_studies()[::-1]))

    def study(self, request: Request) -> Response:
        """The report of a study, as far as it has come."""
        study_id = word(request.path_params["study_id"])
        return _of_command(["study", "report", study_id], "--output")

    def doctor(self, _request: Request) -> Response:
        """What on this host distorts measurements."""
        found = msgspec.json.decode(object_of(["doctor"]))["diagnoses"]
        return html_reply(shown("doctor.html", title="This host", diagnoses=found))

    def sheet(self, _request: Request) -> Response:
        """The style of all pages."""
        own = (TEMPLATES / "site.css").read_text("utf-8")
        return Response(style() + own, media_type="text/css")

    def script(self, _request: Request) -> Response:
        """The script of live pages."""
        return Response(bundle("live"), media_type="text/javascript")


def report_so_far(run: Run) -> Report:
    """What a run that goes on has shown so far."""
    page = run_page(run)
    kept = [
        structs.replace(section, blocks=[Folded(title="Unfold", blocks=section.blocks)])
        if section.id in CONDITIONS
        else section
        for section in page.sections
        if section.id not in NOW
    ]
    body = shown("so-far.html", page=structs.replace(page, sections=kept))
    return Report(title=page.title, head=page.head, body=body, explanation=explain(run))


def now_part(run: Run) -> str:
    """The sections that show what happens now."""
    sections = [
        PageSection(id=section.id, title=section.title, blocks=section.build(run))
        for section in all_sections()
        if section.id in NOW
    ]
    queue = queue_now(run)
    if queue is not None:
        waiting = Items(sentences=queue) if queue else Text(text="Nobody waits for a lock.")
        sections.append(PageSection(id="queue-now", title="Lock queue now", blocks=[waiting]))
    lines = last_lines(runs_folder() / run.record.run_id / LOG).splitlines()[-_LOG_LINES:]
    log = [Text(text="\n".join(lines), code=True)] if lines else []
    sections.append(PageSection(id="log", title="Log", blocks=log))
    return shown("now.html", sections=filled(*sections))


def _report(run: Run) -> str:
    run_id = quote(run.record.run_id)
    own = [(f"/runs/{run_id}/about", "Log, tags, again"), (f"/api/v1/runs/{run_id}", "JSON")]
    earlier = run.record.tags.get(AGAIN, "")
    if is_name(earlier) and (runs_folder() / earlier).is_dir():
        own.insert(0, (f"/compare?run={quote(earlier)}&run={run_id}", f"Compared with {earlier}"))
    return render_html(run_page(run), [*LINKS, *own])


def _of_command(words: Sequence[str], into: str) -> Response:
    page = page_of(words, into)
    links = shown("links.html")
    return html_reply(page.replace(_TOP, _TOP + links, 1), policy=REPORT_POLICY)


def _words(given: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was typed into one field, as the words of a command."""
    return [
        (name, word)
        for name, value in given
        for word in (value.split() if name == "which" else [value])
    ]
