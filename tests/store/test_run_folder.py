import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from dbdyno.model.plan import Lua
from dbdyno.model.run import TABLES
from dbdyno.store import ids
from dbdyno.store.errors import LeftOut, StoreError
from dbdyno.store.files import LOCK, hold_lock, is_locked, read_json, replace_json
from dbdyno.store.listing import find_run, remove_run
from dbdyno.store.run import FollowedRun, open_run
from dbdyno.store.summary import list_runs
from dbdyno.store.writer import RunWriter
from tests.cli.test_pages import files_of_at_most
from tests.store import synthetic
from tests.store.hdr import HISTOGRAMS
from tests.support.program import Program


def write_run(home, frames, **changes):
    with RunWriter(synthetic.record(**changes), synthetic.plan(), home) as writer:
        for frame in frames:
            writer.append_frame(frame)
        synthetic.finish(writer, synthetic.record(status="done", valid=True, **changes))
        return writer.run_id


def same(left, right):
    if left.dtype.kind == "O":
        return [str(value) for value in left] == [str(value) for value in right]
    return left.dtype == right.dtype and np.array_equal(
        left, right, equal_nan=left.dtype.kind == "f"
    )


def test_tables_are_the_same_before_and_after_conversion(tmp_path, frames):
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in frames:
            writer.append_frame(frame)
        raw = open_run("last", tmp_path).load(HISTOGRAMS)
        synthetic.finish(writer, synthetic.record(status="done"))
    final = open_run("last", tmp_path).load(HISTOGRAMS)
    for name, columns in raw.columns.items():
        assert list(columns) == list(final.columns[name])
        different = [
            c for c in columns if c != "statements" and not same(columns[c], final.columns[name][c])
        ]
        assert not different, (name, different)
    assert raw.as_recorded.engine == final.as_recorded.engine
    assert raw.engine == final.engine
    assert len(raw.statement_buckets.count) > 100


def test_a_run_that_is_followed_is_the_run_that_is_read_at_once(tmp_path, frames):
    with (
        RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer,
        closing(FollowedRun(writer.folder)) as followed,
    ):
        for place, frame in enumerate(frames):
            writer.append_frame(frame)
            if place % 7 == 0:
                assert followed.has_more()
                seen = followed.load(HISTOGRAMS)
                assert not followed.has_more()
                if place == 7:
                    early = seen
        synthetic.finish(writer, synthetic.record(status="done"))  # removes the frames
        last = followed.load(HISTOGRAMS)
    final = open_run("last", tmp_path).load(HISTOGRAMS)
    assert len(seen.intervals) <= len(last.intervals) == len(final.intervals)
    # What was seen earlier has no later rows, also in tables that nobody has asked for until now.
    assert 0 < len(early.intervals) < len(last.intervals)
    known = early.columns["script_buckets"]
    assert known["interval"].max() == early.intervals.interval.max()
    for column, values in known.items():
        assert same(values, final.columns["script_buckets"][column][: len(values)])
    for name in ("intervals", "scripts", "script_buckets"):
        for column, values in last.columns[name].items():
            assert same(values, final.columns[name][column]), (name, column)


def test_slow_transactions_keep_their_statements(tmp_path, frames):
    write_run(tmp_path, frames)
    slowest = open_run("last", tmp_path).columns("slowest")
    steps = slowest["statements"][0]
    assert [step["statement"] for step in steps] == list(range(7))
    assert sum(step["ms"] for step in steps) <= slowest["response_ms"][0]


def test_bucket_counts_add_up_to_the_transactions(tmp_path, frames):
    write_run(tmp_path, frames)
    run = open_run("last", tmp_path)
    buckets = run.columns("script_buckets")
    by_interval = np.bincount(buckets["interval"], buckets["count"])
    assert by_interval.tolist() == run.columns("intervals")["completed_ok"].tolist()


def test_a_finished_folder_holds_open_formats_only(tmp_path, frames):
    folder = find_run(write_run(tmp_path, frames), tmp_path)
    assert {path.suffix or path.name for path in folder.iterdir()} == {
        ".json",
        ".parquet",
        ".txt",
        "lock",
    }
    assert folder.stat().st_mode & 0o777 == 0o700


def test_ids_sort_by_time_and_are_unique(tmp_path, frames):
    first, second = write_run(tmp_path, frames), write_run(tmp_path, frames)
    assert re.fullmatch(r"\d{8}-\d{6}-tpcb-[0-9a-f]{4}", first)
    assert first != second
    hostile = write_run(tmp_path, frames, workload="../../etc/Päss wd; rm -rf")
    assert re.fullmatch(r"\d{8}-\d{6}-etc-p-ss-wd-rm-rf-[0-9a-f]{4}", hostile)


def test_an_id_that_is_taken_is_not_given_again(tmp_path, monkeypatch):
    noon = SimpleNamespace(now=lambda _: datetime(2026, 11, 20, 12, tzinfo=UTC))
    drawn = iter(map(bytes.fromhex, ["3f2a", "3f2a", "9c04"]))
    monkeypatch.setattr(ids, "datetime", noon)
    monkeypatch.setattr(ids.os, "urandom", lambda _: next(drawn))
    kind = ids.RecordKind(noun="run", plural="runs", called="run", hint="", first="")
    first = ids.new_id("tpcb", kind, beside=tmp_path)
    (tmp_path / first).mkdir()
    assert first == "20261120-120000-tpcb-3f2a"
    assert ids.new_id("tpcb", kind, beside=tmp_path) == "20261120-120000-tpcb-9c04"


def test_no_password_anywhere(tmp_path, frames):
    record = synthetic.record(command=["tpcb", "--target", synthetic.record().target])
    with RunWriter(record, synthetic.plan(), tmp_path) as writer:
        for frame in frames:
            writer.append_frame(frame)
        writer.log(f"connecting with {synthetic.PASSWORD}")
        synthetic.finish(writer, msgspec.structs.replace(record, status="done"))
    for path in writer.folder.iterdir():
        assert synthetic.PASSWORD.encode() not in path.read_bytes(), path
    assert "***" in open_run("last", tmp_path).log


@pytest.mark.parametrize(
    ("target", "stored"),
    [
        ("postgresql://u:se:c@ret@h/db", "postgresql://u:***@h/db"),
        (
            "postgresql://u@h/db?password=x%20y&sslmode=require",
            "postgresql://u@h/db?password=***&sslmode=require",
        ),
        ("host=h password='a b\\' c' user=u", "host=h password=*** user=u"),
        ("postgresql:///db?host=/tmp/a:b@c", "postgresql:///db?host=/tmp/a:b@c"),
        ("postgresql://u:p?w@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:p#w d@h/db", "postgresql://u:***@h/db"),
        ("host=h password=s3&cret user=u", "host=h password=*** user=u"),
        (r"host=h password=a\ b user=u", "host=h password=*** user=u"),
        ("odbc:DSN=x;PWD=correct horse;Port=1", "odbc:DSN=x;PWD=***;Port=1"),
        ("odbc:DSN=x;pwd={a;b}}c};Port=1", "odbc:DSN=x;pwd=***;Port=1"),
        ("odbc:DSN=x;PWD=a&b", "odbc:DSN=x;PWD=***"),
        ("--pgsql-password=a b", "--pgsql-password=***"),
    ],
)
def test_targets_lose_their_password(tmp_path, target, stored):
    with RunWriter(synthetic.record(target=target), synthetic.plan(), tmp_path) as writer:
        assert writer.record.target == stored


def test_the_target_of_a_command_is_the_one_that_was_made_without_a_password(tmp_path):
    record = synthetic.record(
        target="postgresql://u@h/db",
        command=["tpcb", "--target", "postgresql://u@h/db?pass%77ord=tiger", "--clients", "2"],
    )
    with RunWriter(record, synthetic.plan(), tmp_path) as writer:
        stored = ["tpcb", "--target", "postgresql://u@h/db", "--clients", "2"]
        assert writer.record.command == stored


def test_the_targets_further_parameters_stay_in_the_command(tmp_path):
    target = "postgresql://u@h/db"
    command = ["tpcb", "--target", f"{target}?sslmode=verify-full&password=tiger"]
    record = synthetic.record(target=target, command=command)
    with RunWriter(record, synthetic.plan(), tmp_path) as writer:
        stored = ["tpcb", "--target", f"{target}?sslmode=verify-full&password=***"]
        assert writer.record.command == stored


def test_secrets_of_the_servers_settings_are_not_kept(tmp_path):
    secrets = {
        "primary_conninfo": "user=repl password=tiger host=primary",
        "archive_command": "TOKEN=tiger push %p",
        "report_password": "tiger",
        "wsrep_sst_auth": "sst:tiger",
        "app.jwt_secret": "tiger",
    }
    others = {
        "password_encryption": "scram-sha-256",
        "restore_command": "",
        "unset": None,
        "work_mem": "4096",
    }
    settings = [
        {"name": name, "value": value, "unit": "", "source": "configuration file"}
        for name, value in (secrets | others).items()
    ]
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        writer.write_server({"settings": settings, "chosen": settings[:1]})
    stored = json.loads((writer.folder / "server.json").read_text())
    assert "tiger" not in json.dumps(stored)
    values = {setting["name"]: setting["value"] for setting in stored["settings"]}
    assert values["primary_conninfo"] == "user=repl password=*** host=primary"
    assert {name: values[name] for name in others} == others


def test_secrets_of_scripts_are_not_kept(tmp_path):
    plan = msgspec.structs.replace(
        synthetic.plan(),
        variables={"db_password": "tiger", "passwords": 3},
        lua=Lua(path="mine.lua", arguments={"redis_password": "tiger", "tables": "4"}),
    )
    with RunWriter(synthetic.record(), plan, tmp_path) as writer:
        stored = json.loads((writer.folder / "plan.json").read_text())
    assert stored["variables"] == {"db_password": "***", "passwords": 3}
    assert stored["lua"]["arguments"] == {"redis_password": "***", "tables": "4"}


def test_running_until_the_writer_is_gone(tmp_path, frames):
    writer = RunWriter(synthetic.record(), synthetic.plan(), tmp_path)
    assert open_run("last", tmp_path).status == "running"
    with pytest.raises(StoreError, match="still running"):
        remove_run("last", tmp_path)
    writer.close()
    assert open_run("last", tmp_path).status == "interrupted"
    remove_run("last", tmp_path)
    assert list_runs(tmp_path) == []


def test_a_removal_never_leaves_the_home(tmp_path):
    """Neither by a path, nor by a link in the home, nor by what a record says of itself."""
    home = tmp_path / "home"
    with RunWriter(synthetic.record(), synthetic.plan(), home) as writer:
        ours = writer.folder
    elsewhere = tmp_path / "project"
    shutil.copytree(ours, elsewhere)
    with pytest.raises(StoreError, match="is not in"):
        remove_run(elsewhere, home)
    (home / "runs" / "linked").symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is not in"):
        remove_run("linked", home)
    assert (elsewhere / "run.json").exists()
    claim = (ours / "run.json").read_text().replace(ours.name, "../../project")
    (ours / "run.json").write_text(claim)
    assert open_run(ours).run_id == ours.name
    remove_run(ours.name, home)
    assert not ours.exists()
    assert (elsewhere / "run.json").exists()


WRITE_FOR_EVER = """
import sys, time
from pathlib import Path
from dbdyno.store.errors import LeftOut
from dbdyno.store.writer import RunWriter
from tests.store import synthetic
writer = RunWriter(synthetic.record(), synthetic.plan(), Path(sys.argv[1]))
for frame in synthetic.packed(synthetic.Shape(seconds=5, tps=50, done=False)):
    writer.append_frame(frame)
print("written", flush=True)
time.sleep(60)
"""


def test_killed_with_9_it_stays_readable(tmp_path):
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path)]
    with Program(command, stdout=subprocess.PIPE, text=True, env=python_path()) as writer:
        assert writer.stdout.readline() == "written\n"
        assert open_run("last", tmp_path).status == "running"
        writer.send_signal(signal.SIGKILL)
    run = open_run("last", tmp_path)
    assert run.status == "interrupted"
    assert len(run.columns("intervals")["interval"]) == 8
    assert not list(run.folder.glob("*.parquet"))


def python_path():
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_a_truncated_file_gives_the_whole_frames_before(tmp_path, frames):
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in frames[:8]:
            writer.append_frame(frame)
    path = writer.folder / "frames.bin"
    whole = path.read_bytes()
    counts = []
    for length in range(0, len(whole) + 1, 97):
        path.write_bytes(whole[:length])
        counts.append(len(open_run("last", tmp_path).columns("intervals")["interval"]))
    assert counts == sorted(counts)
    assert counts[0] == 0
    path.write_bytes(whole + bytes(4096))
    assert len(open_run("last", tmp_path).columns("intervals")["interval"]) == 5


def test_a_frame_that_is_none_is_an_error(tmp_path):
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        writer.append_frame(msgspec.msgpack.encode({"kind": "unheard of"}))
    with pytest.raises(StoreError, match="Frame 0 of"):
        open_run("last", tmp_path).columns("intervals")


FILL_THE_DISK = """
import resource, signal, sys
from pathlib import Path
from dbdyno.store.errors import LeftOut, StoreError
from dbdyno.store.writer import RunWriter
from tests.store import synthetic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
frames = synthetic.packed(synthetic.Shape(seconds=20, tps=200))
writer = RunWriter(synthetic.record(), synthetic.plan(), Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    for frame in frames:
        writer.append_frame(frame)
except StoreError as error:
    print(error.code)
    synthetic.finish(writer, synthetic.record(status="failed"))
"""


def test_a_full_disk_fails_clearly_and_what_was_written_stays_readable(tmp_path):
    """A file size limit stands in for a full disk: the kernel refuses the write in the same way."""
    command = [sys.executable, "-c", FILL_THE_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=python_path(), check=False)
    assert done.stdout == "disk_full\n", done.stderr
    run = open_run("last", tmp_path)
    assert run.status == "failed"
    assert len(run.columns("intervals")["interval"]) > 3


def test_room_after_a_full_disk_does_not_hide_what_was_lost(tmp_path):
    """The next frame may be another thread's: nobody could read it after half a frame."""
    frames = synthetic.packed(synthetic.Shape(seconds=20, tps=200))
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        with files_of_at_most(5_000), pytest.raises(StoreError, match="no space left"):
            writer.append_frames(frames)
        with pytest.raises(StoreError, match="no space left"):
            writer.append_frame(frames[0])


def test_a_folder_that_may_not_be_written_is_explained(tmp_path):
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(StoreError) as caught:
        RunWriter(synthetic.record(), synthetic.plan(), tmp_path)
    assert caught.value.code == "io"
    assert "creating a run folder in" in caught.value.message


def open_below(folder):
    """What this process has open there; elsewhere, leftovers of other tests may close any time."""
    held = (number.resolve() for number in Path("/proc/self/fd").iterdir())
    return [path for path in held if path.is_relative_to(folder)]


@pytest.mark.parametrize("name", ["PLAN", "FRAMES", "LOG"])
def test_a_folder_that_cannot_be_begun_leaves_nothing_open(tmp_path, monkeypatch, name):
    monkeypatch.setattr(f"dbdyno.store.writer.{name}", "no such folder/file")
    with pytest.raises(StoreError, match="while creating"):
        RunWriter(synthetic.record(), synthetic.plan(), tmp_path)
    assert open_below(tmp_path) == []
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_folder_whose_beginning_is_interrupted_leaves_nothing(tmp_path, monkeypatch):
    """The record is synced to a disk, which may take its time."""

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dbdyno.store.files.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RunWriter(synthetic.record(), synthetic.plan(), tmp_path)
    assert open_below(tmp_path) == []
    assert list((tmp_path / "runs").iterdir()) == []


def test_an_interrupted_replacement_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    path = tmp_path / "study.json"
    replace_json(path, {"turns": 1})
    monkeypatch.setattr("dbdyno.store.files.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_json(path, {"turns": 2})
    assert read_json(path) == {"turns": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_refuses_the_last_of_it_does_not_keep_the_lock(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.EIO, "Input/output error")

    writer = RunWriter(synthetic.record(), synthetic.plan(), tmp_path)
    assert open_below(tmp_path)
    monkeypatch.setattr("dbdyno.store.frames_file.os.fsync", refuse)
    with pytest.raises(OSError, match="Input/output error"):
        writer.close()
    assert open_below(tmp_path) == []
    assert open_run(writer.run_id, tmp_path).status == "interrupted"


def test_what_ended_a_run_is_not_replaced_by_the_disks_last_refusal(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def end_run():
        with RunWriter(synthetic.record(), synthetic.plan(), tmp_path):
            monkeypatch.setattr("dbdyno.store.frames_file.os.fsync", refuse)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        end_run()


NUMBERS_OF_STATEMENTS = [
    (table, column)
    for table, kind in TABLES.items()
    for column in kind.schema
    if column in {"statement", "index", "number", "waiter", "blocker", "root"}
]


@pytest.mark.parametrize(("table", "column"), NUMBERS_OF_STATEMENTS)
def test_a_script_may_have_very_many_statements(table, column):
    """As many as oltp_read_write has with two thousand tables."""
    kind = TABLES[table].schema[column]
    assert np.array([96_002], dtype=kind.numpy)[0] == 96_002


def test_a_newer_format_is_refused_and_does_not_hide_other_runs(tmp_path, frames):
    old, new = write_run(tmp_path, frames), write_run(tmp_path, frames)
    path = find_run(new, tmp_path) / "run.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 99'))
    with pytest.raises(StoreError, match="has format 99"):
        open_run(new, tmp_path)
    with pytest.warns(LeftOut, match=f"{new} is left out"):
        assert [run.run_id for run in list_runs(tmp_path)] == [old]


def test_a_reader_that_runs_for_an_instant_is_not_the_running_process(tmp_path):
    with hold_lock(tmp_path), pytest.raises(BlockingIOError):
        hold_lock(tmp_path)
    reader = (tmp_path / LOCK).open("rb")
    fcntl.flock(reader, fcntl.LOCK_SH)
    threading.Timer(0.1, reader.close).start()
    with hold_lock(tmp_path):
        assert is_locked(tmp_path)
