"""Studies on real servers: every turn runs once, whatever happens in between."""

import os
import subprocess
import sys
import time
from dataclasses import astuple
from pathlib import Path

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done, Frame, Started
from dbdyno.model.study import StudyRecord
from dbdyno.run.tools import Tools, engine_tools
from dbdyno.servers.data_sets import list_data_sets
from dbdyno.servers.private import PrivateServer
from dbdyno.store.listing import find_run, read_record, runs_folder
from dbdyno.store.studies import list_studies, read_rates
from dbdyno.store.summary import list_runs
from dbdyno.study import turn, turn_server
from dbdyno.study.clocks import Instant, now
from dbdyno.study.execute import execute
from dbdyno.study.folder import begin_study, machine_held, reopen_study
from dbdyno.study.rates import Rates
from dbdyno.study.spec import AS_WRITTEN, read_study
from dbdyno.study.turn_server import TurnServer
from tests.study.files import CLIENTS, HEAD, written
from tests.study.watcher import Watcher
from tests.support.engine import Astray, Interrupted, InterruptedTwice, tools

BASE = """
[base]
workload = "bulk_insert@0"
time = "500ms"
warmup = "0s"
telemetry = "off"
scripts.count.text = "select count(*) from sbtest1;"
"""
ONCE = HEAD + 'restore = "once"\n' + BASE + CLIENTS
ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.usefixtures("home")


def begin(folder: Path, text: str, engine=None, watcher=None, **more) -> StudyRecord:
    path = written(folder, text)
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        return execute(writer, doors(engine), watcher or Watcher(), Rates(), **more)


def resume(watcher=None, repeats=None) -> StudyRecord:
    with reopen_study(study_folder(), repeats) as writer:
        return execute(writer, engine_tools(), watcher or Watcher(), Rates())


class Broken(Astray):
    """Raises an internal error where there are two clients."""

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Started) and self.plan.clients == 2:
            raise ZeroDivisionError("a slip")


def doors(engine: type[Astray] | None) -> Tools:
    return tools(engine) if engine else engine_tools()


def study_folder() -> Path:
    (record,) = list_studies()
    return runs_folder().parent / "studies" / record.study_id


def test_every_turn_is_a_run_with_the_tags_of_its_study(tmp_path):
    watcher = Watcher()
    record = begin(tmp_path, ONCE, watcher=watcher)
    assert record.status == "done"
    assert watcher.began == [one.point for one in record.turns]
    assert [result.turn for result in record.results] == record.turns
    for result in record.results:
        run = read_record(find_run(result.run_id))
        assert result.status == "done"
        assert run.seed == result.turn.seed
        assert run.tags == {
            "study": record.study_id,
            "point": result.turn.point,
            "block": str(result.turn.block),
        }


def test_time_is_recorded_by_phase_and_improves_the_estimates(tmp_path, monkeypatch):
    started, watcher = _counted_starts(monkeypatch), Watcher()

    def slow_to_start() -> Instant:
        """A clock by which a start takes longer than anything else on a stalled machine."""
        more_s = 1000.0 * len(started)
        return Instant(*(seconds + more_s for seconds in astuple(now())))

    record = begin(tmp_path, ONCE, watcher=watcher, clock=slow_to_start)
    first, *others = (result.spent for result in record.results)
    # Only the first turn started a server and loaded data.
    assert first.prepare_s > max(spent.prepare_s for spent in others)
    assert all(min(spent.prepare_s, spent.run_s, spent.other_s) >= 0 for spent in others)
    assert read_rates().keys() >= {"start_s", "other_s"}
    assert watcher.left_s[-1] == 0


def test_a_server_that_will_not_start_is_its_points_result_and_stops_nothing(tmp_path):
    factor = """
[[factor]]
name = "library"
[factor.levels.none]
[factor.levels.absent]
set.shared_preload_libraries = "no_such_library"
"""
    record = begin(tmp_path, HEAD.replace("repeats = 2", "repeats = 1") + BASE + factor)
    by_point = {result.turn.point: result for result in record.results}
    assert by_point["library=none"].status == "done"
    failed = by_point["library=absent"]
    assert failed.status == "failed"
    assert "no_such_library" in failed.error["message"]
    assert failed.error["code"] == "server_failed"
    assert record.status == "done"


def test_a_script_that_can_never_work_fails_its_point_at_once(tmp_path):
    factor = """
[[factor]]
name = "table"
[factor.levels.there]
[factor.levels.nowhere]
time = "60s"
scripts.lost.text = "select count(*) from nowhere;"
"""
    record = begin(tmp_path, HEAD.replace("repeats = 2", "repeats = 1") + BASE + factor)
    by_point = {result.turn.point: result for result in record.results}
    assert by_point["table=there"].status == "done"
    failed = by_point["table=nowhere"]
    assert failed.status == "failed"
    assert "lost.sql:1 can never work: 42P01" in failed.error["message"]
    assert failed.spent.run_s < 30


def test_a_limit_for_the_loads_statements_is_none_for_warming_the_cache(tmp_path, monkeypatch):
    def limit(_server, connection, _tables) -> str:
        return connection.execute("show statement_timeout").fetchone()[0]

    monkeypatch.setattr("dbdyno.servers.private.PrivateServer.warm", limit)
    limited = BASE.replace("[base]", '[base]\nset.statement_timeout = "9s"')
    record = begin(tmp_path, 'cache = "warm"\n' + ONCE.replace(BASE, limited))
    assert {"cache: 0"} == {note for one in record.results for note in one.notes if "cache" in note}


def test_an_internal_error_costs_one_turn(tmp_path):
    record = begin(tmp_path, ONCE, Broken)
    by_status = {(result.turn.point, result.status) for result in record.results}
    assert by_status == {("clients=1", "done"), ("clients=2", "failed")}
    assert "ZeroDivisionError: a slip" in str([result.error for result in record.results])


def test_a_study_that_was_killed_is_gone_on_with_and_no_turn_is_made_twice(tmp_path):
    path = written(tmp_path, ONCE)
    child = subprocess.run(
        [sys.executable, "-m", "tests.study.killed_study", str(path)], cwd=ROOT, check=False
    )
    assert child.returncode == -9
    (before,) = list_studies()
    assert before.status == "interrupted"
    assert len(before.results) == 2
    watcher = Watcher()
    after = resume(watcher=watcher)
    assert after.status == "done"
    assert after.results[:2] == before.results
    assert watcher.began == [one.point for one in before.turns[2:]]
    assert {run.status for run in list_runs()} == {"done", "interrupted"}
    assert len(list_runs()) == len(after.turns) + 1


@pytest.mark.parametrize("engine", [Interrupted, InterruptedTwice])
def test_an_interrupted_turn_is_made_again(tmp_path, engine):
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path, ONCE, engine)
    (before,) = list_studies()
    assert before.status == "interrupted"
    assert before.stopped["code"] == "interrupted"
    assert before.results == []
    after = resume()
    assert after.status == "done"
    assert after.stopped is None


def test_a_turn_that_was_measured_is_kept_whatever_becomes_of_its_server(tmp_path, monkeypatch):
    def interrupted(_server: TurnServer) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TurnServer, "end_turn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path, ONCE)
    (before,) = list_studies()
    assert [result.status for result in before.results] == ["done"]
    assert resume().results[:1] == before.results


def test_a_turn_beside_the_remains_of_the_previous_one_has_a_note(tmp_path, monkeypatch):
    message = "the previous server was still being removed when this one had started"
    monkeypatch.setattr(PrivateServer, "is_gone", False)
    record = begin(tmp_path, ONCE.replace('"once"', '"each block"'))
    assert [message in result.notes for result in record.results] == [False, False, True, False]


def test_a_study_whose_file_was_edited_is_not_gone_on_with(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path, ONCE, Interrupted)
    edited = ONCE.replace('time = "500ms"', 'time = "600ms"').replace("[1, 2]", "[1, 3]")
    written(tmp_path, edited)
    with pytest.raises(DbdynoError) as caught:
        resume()
    message = str(caught.value)
    assert 'base.time: "500ms" → "600ms"' in message
    assert 'factors[clients].levels[2].name: "2" → "3"' in message
    (tmp_path / "mini.toml").unlink()  # the study's folder has a copy
    assert resume().status == "done"


@pytest.mark.parametrize(
    "given", ['["bulk_insert@0", "mine.sql"]', '"bulk_insert@0"\nfile = ["mine.sql@2"]']
)
def test_a_study_whose_script_was_edited_is_not_gone_on_with(tmp_path, given):
    script = tmp_path / "mine.sql"
    script.write_text("select 1;")
    text = ONCE.replace('"bulk_insert@0"', given)
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path, text, Interrupted)
    script.write_text("select 2;")
    with pytest.raises(DbdynoError, match=f"{script} changed since"):
        resume()
    script.write_text("select 1;")
    assert resume().status == "done"


def test_a_study_that_is_done_or_running_is_not_gone_on_with(tmp_path):
    path = written(tmp_path, ONCE)
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        with pytest.raises(DbdynoError, match="is running on this host"):
            resume()
        execute(writer, engine_tools(), Watcher(), Rates())
    with pytest.raises(DbdynoError, match="is complete: all 4 turns have been run"):
        resume()


def test_a_study_goes_on_to_more_repeats_and_keeps_those_it_has(tmp_path):
    before = begin(tmp_path, ONCE)
    watcher = Watcher()
    after = resume(watcher, repeats=3)
    assert after.status == "done"
    assert after.spec.repeats == 3
    assert after.looks == [2]
    assert after.results[:4] == before.results
    assert [turn.block for turn in after.turns] == [1, 1, 2, 2, 3, 3]
    assert watcher.began == [turn.point for turn in after.turns[4:]]
    with pytest.raises(DbdynoError, match="already has 3"):
        resume(repeats=2)
    with pytest.raises(DbdynoError, match="all 6 turns have been run"):
        resume()


def test_an_interrupted_study_goes_on_to_more_repeats(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path, ONCE, Interrupted)
    after = resume(repeats=3)
    assert len(after.results) == 6
    assert after.status == "done"
    assert after.looks == []


def test_a_second_study_on_the_machine_is_refused_by_the_name_of_the_first(tmp_path):
    with machine_held("the-first"), pytest.raises(DbdynoError) as caught:
        begin(tmp_path, ONCE)
    assert "the study the-first" in str(caught.value)
    assert str(os.getpid()) in str(caught.value)
    assert list_studies() == []


def test_a_disk_that_fills_stops_the_study_where_it_can_be_gone_on_with(tmp_path, monkeypatch):
    class Filling(Astray):
        def meet(self, frame: Frame) -> None:
            if isinstance(frame, Done):
                monkeypatch.setattr(turn, "disk_free_bytes", lambda: 2_000_000)

    with pytest.raises(DbdynoError) as caught:
        begin(tmp_path, ONCE, Filling)
    assert caught.value.code == "disk_full"
    assert caught.value.exit_code == 2
    (record,) = list_studies()
    assert f"dbdyno study resume {record.study_id}" in caught.value.hint
    assert len(record.results) == 1
    assert record.stopped["code"] == "disk_full"


def test_room_for_data_is_needed_only_where_it_is_copied(tmp_path, monkeypatch):
    """All turns of a study that restores once have one copy."""

    class Filled(Astray):
        def meet(self, frame: Frame) -> None:
            if isinstance(frame, Done):
                monkeypatch.setattr(turn_server, "disk_free_bytes", lambda: 0)

    assert begin(tmp_path, ONCE, Filled).status == "done"


def test_a_server_of_the_users_that_is_not_there_is_not_its_points_result(tmp_path):
    text = ONCE.replace("[base]", '[base]\ntarget = "postgresql://me@127.0.0.1:1/app"')
    with pytest.raises(DbdynoError, match="Connection refused"):
        begin(tmp_path, text)
    assert [record.results for record in list_studies()] in ([], [[]])


def test_a_turn_that_met_a_full_disk_is_not_its_points_result(tmp_path):
    class Full(Astray):
        def meet(self, frame: Frame) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(DbdynoError, match="No space left"):
        begin(tmp_path, ONCE, Full)
    (record,) = list_studies()
    assert record.results == []
    assert resume().status == "done"


def test_a_turn_whose_server_had_no_room_is_not_its_points_result(tmp_path, monkeypatch):
    class Late(Astray):
        def meet(self, frame: Frame) -> None:
            if isinstance(frame, Done):
                frame.invalid_reasons.append("a slip")

    why = "the disk of the server's data is full"
    with monkeypatch.context() as patch:
        patch.setattr("dbdyno.run.conclude.full_disk", lambda _folder: why)
        with pytest.raises(DbdynoError, match=why) as caught:
            begin(tmp_path, ONCE, Late)
    assert caught.value.code == "disk_full"
    (record,) = list_studies()
    assert record.results == []
    assert resume().status == "done"


def test_a_clock_that_is_set_is_noted_and_durations_stay(tmp_path):
    moments = iter(range(1000))

    def jumping() -> Instant:
        instant = now()
        return Instant(instant.day + 3600 * next(moments), instant.steady, instant.boot)

    begun = time.monotonic()
    record = begin(tmp_path, ONCE, clock=jumping)
    elapsed_s = time.monotonic() - begun
    assert all("the clock was set by +" in result.notes[-1] for result in record.results)
    spent = sum(r.spent.prepare_s + r.spent.run_s + r.spent.other_s for r in record.results)
    assert spent < elapsed_s


def test_data_is_restored_as_often_as_the_study_requires(tmp_path, monkeypatch):
    for restore, servers in (("once", 1), ("each block", 2), ("each run", 4)):
        with monkeypatch.context() as patch:
            started = _counted_starts(patch)
            begin(tmp_path, ONCE.replace("once", restore))
        assert len(started) == servers, restore


def test_data_is_loaded_once_and_recorded_for_every_point(tmp_path):
    text = ONCE.replace("once", "each run").replace("repeats = 2", 'repeats = 1\ncache = "cold"')
    record = begin(tmp_path, text)
    (data,) = list_data_sets()
    for result in record.results:
        assert result.status == "done"
        assert f"data restored from {data.key}" in result.notes[0]
        assert any("restarted the server and dropped its" in note for note in result.notes)
    assert record.loads.keys() == {"clients=1", "clients=2"}
    assert set(record.loads["clients=1"].phases_s) == set(data.about.load["phases_s"])


def test_placement_is_verified_and_kept_with_the_turn(tmp_path):
    text = ONCE.replace("repeats = 2", "repeats = 1").replace(
        "scripts.", 'server-cpus = "0"\nscripts.'
    )
    record = begin(tmp_path, text)
    assert any("placement: " in note for result in record.results for note in result.notes)


def _counted_starts(monkeypatch) -> list[str]:
    from dbdyno.study import turn_server  # noqa: PLC0415 - only this test looks inside

    started: list[str] = []
    real = turn_server.start_private

    def start(spec, *more, **named):
        started.append(spec.kind)
        return real(spec, *more, **named)

    monkeypatch.setattr(turn_server, "start_private", start)
    return started


def test_a_server_that_runs_already_is_used_as_it_is(tmp_path, database):
    target = f'restore = "once"\n{BASE}target = "{database.url}"\n'
    record = begin(tmp_path, HEAD + target + CLIENTS)
    assert [result.status for result in record.results] == ["done"] * 4
    assert all(result.notes == [] for result in record.results)
    assert record.loads == {}
    assert list_data_sets() == []


def test_the_load_of_every_turn_may_be_shared(tmp_path):
    """How many agents there are can be what is studied."""
    workers = CLIENTS.replace("clients", "workers").replace("[1, 2]", '["local*1", "local*2"]')
    base = BASE.replace("[base]", "[base]\nclients = 2")
    begin(tmp_path, HEAD + 'restore = "once"\n' + base + workers)
    found = {
        record.tags["point"]: [worker.name for worker in record.workers]
        for record in map(read_record, runs_folder().iterdir())
    }
    assert found == {
        "workers=local*1": ["local-1"],
        "workers=local*2": ["local-1", "local-2"],
    }
