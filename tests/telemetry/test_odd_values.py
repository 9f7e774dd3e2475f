"""What a server may never return: NULL, text, huge and negative values in every column.

The queries are those that a real server is asked when all of telemetry is read once. Their answers
are then changed, column by column, so that a new query is part of the test by itself.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest

from dbdyno.databases.adapters import native_adapter
from dbdyno.databases.postgresql.telemetry.prepared_queries import Answer
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.model.frame import Activity
from dbdyno.model.telemetry import Counts, Lack, ServerFacts, TelemetryFrame
from dbdyno.servers.base import Server
from dbdyno.store.frames_file import FrameAppender, read_frames
from dbdyno.store.tabulator import Tabulator
from dbdyno.telemetry.differences import finite_numbers
from dbdyno.telemetry.joining import Joiner, SessionSample
from dbdyno.telemetry.publisher import FramePublisher
from dbdyno.telemetry.recorder import Recorder
from dbdyno.telemetry.server_task import ServerTask
from dbdyno.telemetry.statement_texts import StatementTexts
from tests.support.odd_answers import ODD, Answers, Column

STATEMENTS = [ScriptStatement(0, "update t set v = v + 1 where id = :id")]


class Telemetry(NamedTuple):
    """What telemetry recorded, with the facts that it kept."""

    frames: list[TelemetryFrame]
    facts: dict[str, Any]

    def counters(self) -> set[tuple[str, str]]:
        """Every counter and level, with its source."""
        counts = [frame for frame in self.frames if isinstance(frame, Counts)]
        return {(its.source, name) for its in counts for _, name, _ in (*its.deltas, *its.levels)}

    def lacks(self) -> set[str]:
        return {frame.source for frame in self.frames if isinstance(frame, Lack)}


@pytest.fixture(params=["embedded_server", "mariadb_server"])
def server(request: pytest.FixtureRequest, new_database: Callable[[Server], Server]) -> Server:
    return new_database(request.getfixturevalue(request.param))


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def record(
    server: Server, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Telemetry]]:
    telemetry = native_adapter(server.endpoint().protocol).telemetry
    rows_of = Answer.rows

    def rows(answer: Answer) -> list[Any]:
        return answers.change(", ".join(answer.names), answer.names, rows_of(answer))

    with server.connect() as connection:
        connection.execute("create table t (id int primary key, v int)")
        answers.change_those_of(connection, monkeypatch)
        monkeypatch.setattr(Answer, "rows", rows)
        yield lambda: _record(telemetry, connection)
        monkeypatch.undo()


def _record(telemetry: Any, connection: Any) -> Telemetry:
    """Read all of telemetry once, as its threads do."""
    packed: list[bytes] = []
    facts: dict[str, Any] = {}
    folder = SimpleNamespace(
        append_frames=packed.extend, write_facts=facts.update, log=lambda _line: None
    )
    watched = SimpleNamespace(
        own_sessions=frozenset(),
        cores=1,
        telemetry=telemetry,
        reconnects=False,
        knows_sessions=True,
    )
    recorder = Recorder(watched, folder)
    publisher = recorder._publisher
    access = SimpleNamespace(telemetry=telemetry, openings=1, call=lambda read: read(connection))
    task = ServerTask(access, STATEMENTS, list, recorder._keep_facts, publisher)
    publisher.begin()
    try:
        task.prepare()
    except Exception as error:  # as the thread does
        publisher.publish_lack("server", repr(error))
    task.conclude()
    joiner = Joiner(StatementTexts({0: STATEMENTS[0].sql}), telemetry.conflicts, set())
    try:
        pending = telemetry.sample_with_locks(connection)
        sample = SessionSample(at_ns=1, seconds=0.1, cost_us=1, pending=pending, locks_seconds=0.1)
        publisher.publish(joiner.join(sample, Activity(1, b"", b"")))
    except Exception as error:  # as the sampler does
        publisher.publish_lack("waits", repr(error))
    decoder = msgspec.msgpack.Decoder(TelemetryFrame)
    return Telemetry([decoder.decode(one) for one in packed], facts)


def _together(columns: Sequence[Column], counters: Set[str]) -> list[list[Column]]:
    """Return the columns that are changed in one pass: those of all readings at one place.

    Readings do not depend on each other, and what is asked before them is changed alone.
    """
    readings = {column.query for column in columns if column.name in counters}
    passes: dict[object, list[Column]] = defaultdict(list)
    for column in columns:
        passes[column.place if column.query in readings else column].append(column)
    return list(passes.values())


def test_an_odd_value_costs_no_more_than_what_needs_it(
    record: Callable[[], Telemetry], answers: Answers
) -> None:
    whole = record()
    counters = {name for _, name in whole.counters()}
    assert len(counters) > 50
    unsaid, others = [], []
    for columns in _together(list(answers.seen), counters):
        answers.changed = columns
        names = {column.name for column in answers.changed}
        for kind, answers.value in ODD.items():
            found = record()
            Tabulator().take(found.frames).tables()
            for facts in found.facts.values():
                msgspec.convert(facts, ServerFacts)
            lost = whole.counters() - found.counters()
            is_said = {source for source, _ in lost} <= found.lacks() or "server" in found.lacks()
            has_names = any(column.has_names for column in columns)
            if kind in {"text", "huge"} and not has_names and not is_said:
                unsaid.append((answers.changed, kind, lost))
            if names <= counters and not {name for _, name in lost} <= names:
                others.append((answers.changed, kind, lost))
    assert unsaid == []
    assert others == []


def test_what_is_no_number_is_left_out_by_name() -> None:
    answer = {"t": {"a": "7", "b": None, "c": "x", "d": "inf", None: 1}, None: {"a": 1}}
    assert finite_numbers(answer) == ({"t": {"a": 7.0}}, {"c", "d", "name", "object"})


def test_an_odd_row_costs_its_frame_nothing_else() -> None:
    packed: list[bytes] = []
    log: list[str] = []
    publisher = FramePublisher(packed.extend, log.append)
    publisher.begin()
    odd_row: Any = (None, "done", 1.0)
    publisher.publish(Counts(5, "progress", 1.0, 3, [], [("COPY/t", "done", 2.0), odd_row]))
    kept = [msgspec.msgpack.decode(one, type=TelemetryFrame) for one in packed]
    said = "some levels were of another kind than expected, and are left out"
    assert next(one for one in kept if isinstance(one, Lack)).reason == said
    assert next(one for one in kept if isinstance(one, Counts)).levels == [("COPY/t", "done", 2.0)]
    assert log == [f"telemetry: progress: {said}"]


def test_a_folder_with_an_odd_row_is_read_without_it(tmp_path: Path) -> None:
    """Earlier versions have written such rows."""
    frame = Counts(5, "progress", 1.0, 3, [], [("COPY/t", "done", 2.0), (None, "done", 1.0)])  # type: ignore[list-item]
    appender = FrameAppender(tmp_path / "frames.bin")
    appender.append([msgspec.msgpack.encode(frame)])
    appender.close()
    tables = Tabulator().take(read_frames(tmp_path / "frames.bin")).tables()
    assert tables["levels"]["object"].tolist() == ["COPY/t"]
    assert tables["lacks"]["source"].tolist() == ["progress"]
