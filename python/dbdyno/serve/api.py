"""What programs can ask for. Objects are those of ``--json``, with their declared types."""

import inspect
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from http import HTTPStatus
from importlib import metadata
from typing import Annotated, Any

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dbdyno.analysis.summarize import full_record
from dbdyno.errors import DbdynoError
from dbdyno.explain.explain import Explanation, explain
from dbdyno.model.comparison import Comparison
from dbdyno.model.record import RunRecord
from dbdyno.run.options.grammar import names_and_tags, span_ns
from dbdyno.serve.commands import object_of, word
from dbdyno.serve.intervals import IntervalResult, Intervals, intervals_of
from dbdyno.serve.live import Event, Live, RunState
from dbdyno.serve.metrics import MEDIA_TYPE, exposition
from dbdyno.serve.operations import (
    VERSION,
    NoQuery,
    Operation,
    body_of,
    described,
    object_from,
    query_of,
)
from dbdyno.serve.reading import Reader, run_named
from dbdyno.serve.replies import Problem, json_reply
from dbdyno.serve.requests import RunRequest, SearchRequest, StudyRequest
from dbdyno.serve.starting import Started, start, started, stop, stop_start
from dbdyno.store.listing import remove_run, retag_run
from dbdyno.store.summary import MadeFor, RunFilter, RunSummary, State, list_runs

PING_S = 15
"""A line that keeps proxies from ending a quiet stream."""
SEND_S = 30
"""A reader that takes nothing for this long is gone."""


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs: as for ``dbdyno runs``."""

    which: list[str] = []
    """Parts of names, and tag:NAME=VALUE."""
    workload: str | None = None
    status: State | None = None
    made_for: MadeFor | None = None
    since: str | None = None
    """At most this long ago: 2d, 12h."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None

    def chosen(self) -> list[RunSummary]:
        """The runs that are meant, newest first."""
        names, tags = names_and_tags(self.which)
        wanted = RunFilter(
            names=names,
            tags=tags,
            workload=self.workload or None,
            state=self.status,
            made_for=self.made_for,
            age_max=_age(self.since) if self.since else None,
        )
        return [*filter(wanted.admits, list_runs())][: self.limit]


def _age(text: str) -> timedelta:
    try:
        return timedelta(microseconds=span_ns(text, "d") / 1000)
    except ValueError as error:
        raise DbdynoError("usage", str(error), "Write 2d or 12h.") from error


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """The runs, newest first."""

    runs: list[RunSummary]


class Tags(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tags of a run; one without a value is taken away."""

    tags: dict[str, str | None]


class IntervalQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which intervals of a run."""

    since: int = -1
    """Only those with a higher number."""


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """The two sides of a comparison, each as ``dbdyno compare`` takes them."""

    a: str
    b: str


class HistoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Whose history."""

    workload: str | None = None


class RunExplanation(Explanation, frozen=True):
    """What limited a run: as from ``dbdyno explain``."""

    run_id: str = ""


class Api:
    """The operations on the run folders."""

    def __init__(self, reader: Reader, live: Live) -> None:
        self._reader = reader
        self._live = live
        self.operations = [
            Operation(path="/runs", answer=self.runs, takes=RunQuery, returns=RunList),
            *(
                Operation(
                    path=path,
                    method="POST",
                    answer=answer,
                    body=body,
                    returns=Started,
                    status=HTTPStatus.ACCEPTED,
                )
                for path, answer, body in (
                    ("/runs", self.start, RunRequest),
                    ("/searches", self.start_search, SearchRequest),
                    ("/studies", self.start_study, StudyRequest),
                )
            ),
            Operation(path="/started/{start_id}", answer=self.started, returns=Started),
            Operation(
                path="/started/{start_id}/stop",
                method="POST",
                answer=self.stop_start,
                returns=Started,
                status=HTTPStatus.ACCEPTED,
            ),
            Operation(
                path="/runs/{run_id}/stop",
                method="POST",
                answer=self.stop,
                returns=RunState,
                status=HTTPStatus.ACCEPTED,
            ),
            Operation(path="/runs/{run_id}", answer=self.run, returns=RunRecord),
            Operation(path="/runs/{run_id}", method="DELETE", answer=self.remove, returns=RunState),
            Operation(
                path="/runs/{run_id}/tags",
                method="POST",
                answer=self.tag,
                body=Tags,
                returns=RunRecord,
            ),
            Operation(
                path="/runs/{run_id}/intervals",
                answer=self.intervals,
                takes=IntervalQuery,
                returns=Intervals,
            ),
            Operation(
                path="/runs/{run_id}/explanation", answer=self.explanation, returns=RunExplanation
            ),
            Operation(
                path="/runs/{run_id}/events",
                answer=self.events,
                takes=IntervalQuery,
                returns=IntervalResult,
                media_type="text/event-stream",
            ),
            Operation(path="/compare", answer=self.compare, takes=Sides, returns=Comparison),
            Operation(
                path="/history", answer=self.history, takes=HistoryQuery, returns=dict[str, Any]
            ),
            Operation(path="/studies", answer=self.studies, returns=dict[str, Any]),
            Operation(path="/studies/{study_id}", answer=self.study, returns=dict[str, Any]),
            Operation(path="/doctor", answer=self.doctor, returns=dict[str, Any]),
        ]

    def runs(self, query: RunQuery) -> RunList:
        """The list of runs, newest first: as from dbdyno runs."""
        return RunList(runs=query.chosen())

    def start(self, request: RunRequest) -> Started:
        """Starts a run, after the checks of the command line; it outlives this server."""
        return start(request)

    def start_search(self, request: SearchRequest) -> Started:
        """Starts a search for the highest rate, after the checks of the command line."""
        return start(request)

    def start_study(self, request: StudyRequest) -> Started:
        """Starts a study, after the checks of the command line."""
        return start(request)

    def started(self, _query: NoQuery, start_id: str) -> Started:
        """How something stands that was started here."""
        return started(start_id)

    def stop_start(self, _query: NoQuery, start_id: str) -> Started:
        """Ends something that was started here, as Ctrl-C does."""
        stop_start(start_id)
        return started(start_id)

    def remove(self, _query: NoQuery, run_id: str) -> RunState:
        """Removes a run, unless it goes on: as dbdyno runs rm."""
        return RunState(run_id=remove_run(run_named(run_id)).name, status="removed")

    def tag(self, given: Tags, run_id: str) -> RunRecord:
        """Gives a run tags, or takes away those without a value: as dbdyno runs tag."""
        return retag_run(run_named(run_id), given.tags)

    def stop(self, _query: NoQuery, run_id: str) -> RunState:
        """Ends a run as Ctrl-C does: what was measured is kept."""
        folder = run_named(run_id)
        stop(folder)
        return RunState(run_id=folder.name, status="running")

    def run(self, _query: NoQuery, run_id: str) -> RunRecord:
        """The record of a run, with the numbers so far while it lasts: as from dbdyno report."""
        return self._reader.made(full_record, run_id)

    async def intervals(self, query: IntervalQuery, run_id: str) -> Response:
        """The measurement intervals of a run so far."""
        live = await self._live.run(run_id)
        run = live.run if live else await run_in_threadpool(self._reader.run, run_id)
        return json_reply(await run_in_threadpool(intervals_of, run, query.since))

    def explanation(self, _query: NoQuery, run_id: str) -> RunExplanation:
        """What limited a run, as far as it has come: as from dbdyno explain."""
        found = self._reader.made(explain, run_id)
        name = run_named(run_id).name
        return RunExplanation(**msgspec.structs.asdict(found), run_id=name)

    async def events(self, query: IntervalQuery, run_id: str) -> Response:
        """The stream of a run: interval, findings, and at its end state.

        It goes on after the header Last-Event-ID, the number of an interval.
        """
        return _Stream(await self._live.stream(run_id, query.since), self._live)

    def compare(self, query: Sides) -> msgspec.Raw:
        """Two sets of runs compared: as from dbdyno compare A B."""
        return object_of(["compare", word(query.a), word(query.b)])

    def history(self, query: HistoryQuery) -> msgspec.Raw:
        """Comparable runs over time, and when their level changed: as from dbdyno history."""
        return object_of(["history", *([word(query.workload)] if query.workload else [])])

    def studies(self, _query: NoQuery) -> msgspec.Raw:
        """The studies that there are, and those that were run: as from dbdyno study list."""
        return object_of(["study", "list"])

    def study(self, _query: NoQuery, study_id: str) -> msgspec.Raw:
        """The points, comparisons and answers of a study: as from dbdyno study report."""
        return object_of(["study", "report", word(study_id)])

    def doctor(self, _query: NoQuery) -> msgspec.Raw:
        """What on this host distorts measurements: as from dbdyno doctor."""
        return object_of(["doctor"])

    def description(self) -> dict[str, Any]:
        """The description of all this, for programs that make clients."""
        return described(self.operations, Problem, metadata.version("dbdyno"))

    def routes(self) -> list[Route]:
        """What the server has to route."""
        return [
            Route("/openapi.json", self._describe),
            Route("/metrics", self._metrics),
            *(
                Route(VERSION + one.path, _endpoint(one), methods=[one.method])
                for one in self.operations
            ),
        ]

    def _describe(self, _request: Request) -> Response:
        return json_reply(self.description())

    async def _metrics(self, _request: Request) -> Response:
        runs = await self._live.running()
        text = await run_in_threadpool(exposition, runs)
        return Response(text, media_type=MEDIA_TYPE)


class _Stream(EventSourceResponse):
    """Events, which count as an open stream before the first of them is asked for."""

    def __init__(self, events: AsyncIterator[Event], live: Live) -> None:
        sent = (_sent(event) async for event in events)
        super().__init__(sent, ping=PING_S, send_timeout=SEND_S)
        self._live = live
        live.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them until there are no more, or nobody reads them."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._live.streams -= 1


def _sent(event: Event) -> ServerSentEvent:
    return ServerSentEvent(
        data=msgspec.json.encode(event.data).decode(),
        event=event.kind,
        id=None if event.id is None else str(event.id),
    )


def _endpoint(operation: Operation) -> Any:
    async def endpoint(request: Request) -> Response:
        query: msgspec.Struct = query_of(request.query_params.multi_items(), operation.takes)
        if operation.body is not None:
            query = object_from(await body_of(request), operation.body)
        names: Mapping[str, str] = request.path_params
        if inspect.iscoroutinefunction(operation.answer):
            last = request.headers.get("last-event-id", "")
            if isinstance(query, IntervalQuery) and last.isdecimal():
                query = IntervalQuery(since=int(last))
            reply: Response = await operation.answer(query, **names)
            return reply
        found = await run_in_threadpool(operation.answer, query, **names)
        return json_reply(found, operation.status)

    return endpoint
