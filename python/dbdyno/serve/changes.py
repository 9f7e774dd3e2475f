"""The pages that lead to a change: what is started and stopped, tagged and removed.

Each is a form that works without scripts; what it does is a request of its own method, which
access admits from a page of this server only.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl, quote

from msgspec.structs import asdict
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from dbdyno.errors import DbdynoError, nearest
from dbdyno.run.options.grammar import assignment
from dbdyno.run.options.words import command_of
from dbdyno.serve.access import Access
from dbdyno.serve.commands import text_of
from dbdyno.serve.operations import body_of, query_of
from dbdyno.serve.reading import run_named
from dbdyno.serve.replies import REPORT_POLICY, html_reply, problem_of
from dbdyno.serve.requests import REQUESTS, Request as Asked, again, known_names
from dbdyno.serve.showing import shown
from dbdyno.serve.starting import (
    Started,
    all_started,
    last_lines,
    log_of,
    report_of,
    start,
    started,
    stop,
    stop_start,
)
from dbdyno.store.files import LOG
from dbdyno.store.listing import read_record, remove_run, retag_run

_LISTS = ("tags", "slo")
"""Fields into which several words are written."""


class Changes:
    """The pages with forms."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def routes(self) -> list[Route]:
        """What the server has to route."""
        return [
            Route("/start", self.form),
            Route("/start", self.start, methods=["POST"]),
            Route("/started/{start_id}", self.started),
            Route("/started/{start_id}/report", self.report),
            Route("/started/{start_id}/stop", self.stop_start, methods=["POST"]),
            Route("/runs/{run_id}/about", self.about),
            Route("/runs/{run_id}/stop", self.stop, methods=["POST"]),
            Route("/runs/{run_id}/tags", self.tag, methods=["POST"]),
            Route("/remove", self.removal),
            Route("/remove", self.remove, methods=["POST"]),
        ]

    def form(self, request: Request) -> Response:
        """What can be started, with the command that does the same."""
        given = _fields(request.query_params.multi_items())
        try:
            if (run_id := given.get("again")) is not None:
                given = _written(again(read_record(run_named(run_id))))
            asked = _asked(given) if "kind" in given else None
            if asked is not None:
                asked.check()
        except DbdynoError as error:
            return self._form(request, given, error=error)
        return self._form(request, given, asked)

    async def start(self, request: Request) -> Response:
        """Start what the form has; lead to its page, or say in the form why not."""
        given = _fields(await _body(request))
        try:
            begun = await run_in_threadpool(start, _asked(given))
        except DbdynoError as error:
            return await run_in_threadpool(self._form, request, given, error=error)
        return RedirectResponse(_page_of(begun), HTTPStatus.SEE_OTHER)

    def _form(
        self,
        request: Request,
        given: Mapping[str, str],
        asked: Asked | None = None,
        error: DbdynoError | None = None,
    ) -> Response:
        words = asked.words() if asked else []
        plan = text_of(["study", "plan", *words[2:]]) if words[:2] == ["study", "run"] else ""
        page = shown(
            "start.html",
            title="Start",
            names=known_names(),
            given=given,
            kind=given.get("kind", "run"),
            command=f"dbdyno {' '.join(words)}" if words else "",
            plan=plan,
            error=error,
            starts=all_started(),
            may_change=self._access.may_change(request),
        )
        return html_reply(page, problem_of(error).status if error else HTTPStatus.OK)

    def started(self, request: Request) -> Response:
        """How something stands that was started here; leads to its run."""
        found = started(request.path_params["start_id"])
        if found.kind == "run" and found.run_id is not None:
            return RedirectResponse(_page_of(found), HTTPStatus.SEE_OTHER)
        page = shown(
            "started.html",
            title={"running": "Under way", "done": "Done", "failed": "Not done"}[found.status],
            start=found,
            log=log_of(found.start_id),
            may_change=self._access.may_change(request),
        )
        return html_reply(page)

    def report(self, request: Request) -> Response:
        """What a search has found."""
        path = report_of(request.path_params["start_id"])
        return html_reply(path.read_text("utf-8"), policy=REPORT_POLICY)

    async def stop_start(self, request: Request) -> Response:
        """End what was started, as Ctrl-C does."""
        start_id = request.path_params["start_id"]
        await run_in_threadpool(stop_start, start_id)
        return RedirectResponse(f"/started/{quote(start_id)}", HTTPStatus.SEE_OTHER)

    async def stop(self, request: Request) -> Response:
        """End a run as Ctrl-C does."""
        folder = run_named(request.path_params["run_id"])
        await run_in_threadpool(stop, folder)
        return RedirectResponse(f"/runs/{quote(folder.name)}", HTTPStatus.SEE_OTHER)

    def about(self, request: Request) -> Response:
        """The log of a run, its tags, and what can be done with it."""
        folder = run_named(request.path_params["run_id"])
        page = shown(
            "about.html",
            title=folder.name,
            run=(record := read_record(folder)),
            command=command_of(record.command),
            log=last_lines(folder / LOG),
            may_change=self._access.may_change(request),
        )
        return html_reply(page)

    async def tag(self, request: Request) -> Response:
        """Give a run the tags of the form, or take one away."""
        folder = run_named(request.path_params["run_id"])
        given = await _body(request)
        tags: dict[str, str | None] = {}
        for name, value in given:
            try:
                tags |= {value: None} if name == "without" else dict([assignment(value)])
            except ValueError as error:
                raise DbdynoError("usage", str(error), "Write index=none.") from error
        await run_in_threadpool(retag_run, folder, tags)
        return RedirectResponse(f"/runs/{quote(folder.name)}/about", HTTPStatus.SEE_OTHER)

    def removal(self, request: Request) -> Response:
        """Asks whether the runs that are ticked shall be removed."""
        found = _ticked(request.query_params.multi_items())
        page = shown(
            "remove.html",
            title="Remove these runs?" if len(found) > 1 else "Remove this run?",
            runs=[read_record(run_named(run_id)) for run_id in found],
            may_change=self._access.may_change(request),
        )
        return html_reply(page)

    async def remove(self, request: Request) -> Response:
        """Remove runs; one that goes on removes none."""
        folders = [run_named(run_id) for run_id in _ticked(await _body(request))]
        for folder in folders:
            if read_record(folder).status == "running":
                raise DbdynoError("running", f"{folder.name} is still running", "Stop it first.")
        for folder in folders:
            await run_in_threadpool(remove_run, folder)
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)


def _page_of(begun: Started) -> str:
    is_run = begun.kind == "run" and begun.run_id is not None
    return f"/runs/{quote(begun.run_id or '')}" if is_run else f"/started/{quote(begun.start_id)}"


async def _body(request: Request) -> list[tuple[str, str]]:
    return parse_qsl((await body_of(request)).decode("utf-8", "replace"))


def _ticked(given: Sequence[tuple[str, str]]) -> list[str]:
    found = [value for name, value in given if name == "run"]
    if not found:
        raise DbdynoError("usage", "No run is ticked", "Tick some in the list of runs.")
    return [*dict.fromkeys(found)]


def _fields(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {name: value.strip() for name, value in given if value.strip()}


def _asked(given: Mapping[str, str]) -> Asked:
    kind = given.get("kind", "run")
    if kind not in REQUESTS:
        raise DbdynoError("usage", f"{kind!a} cannot be started", nearest(kind, REQUESTS))
    words = [(name, word) for name in _LISTS for word in given.get(name, "").split()]
    others = [(name, value) for name, value in given.items() if name not in ("kind", *_LISTS)]
    return query_of([*others, *words], REQUESTS[kind])


def _written(asked: Asked) -> dict[str, str]:
    """A request as the fields of its form."""
    given: dict[str, str] = {"kind": asked.kind}
    for name, value in asdict(asked).items():
        if value:
            given[name] = " ".join(value) if name in _LISTS else str(value)
    return given
