"""Writes one run folder during the run.

The folder is readable at any time: the record exists from the beginning, frames are appended as
they arrive, and tables replace the frames only once all of them are complete. The writer does no
arithmetic: its caller supplies the final record, and the tables on which it is based.
"""

import shutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from dbdyno.home import make_closed
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.model.secrets import Masker, secrets_of
from dbdyno.store.errors import explained
from dbdyno.store.files import (
    ENGINE,
    FACTS,
    HOST,
    LOG,
    PLAN,
    RECORD,
    SCHEMA,
    SERVER,
    hold_lock,
    replace_json,
)
from dbdyno.store.frames_file import FRAMES, FrameAppender
from dbdyno.store.ids import new_id
from dbdyno.store.listing import RUN, runs_folder
from dbdyno.store.parquet import write_tables
from dbdyno.store.secrets import plan_to_keep, record_to_keep, server_to_keep


class RunWriter:
    """A run folder that is being written; a context manager that releases the lock.

    ``record`` is given without a run ID and gets one, of its workload or another ``name``; an
    imported run has no plan. If :meth:`finish` is not called, the folder is readable as an
    interrupted run.
    """

    def __init__(
        self, record: RunRecord, plan: Plan | None, home: Path | None = None, name: str = ""
    ) -> None:
        runs = runs_folder(home)
        with explained("creating a run folder in", runs):
            make_closed(runs.parent, runs.name)
            run_id = new_id(name or record.workload, RUN, beside=runs)
            self.record = record_to_keep(
                msgspec.structs.replace(record, run_id=run_id, status="running")
            )
            self.folder = runs / self.record.run_id
            self._fill(plan)
        self._masker = Masker(secrets_of(plan) if plan else ())
        self._log_lock = threading.Lock()

    def _fill(self, plan: Plan | None) -> None:
        """Create the folder under another name; rename it once it has all that a reader needs."""
        unfinished = self.folder.with_name(f".{self.folder.name}")
        unfinished.mkdir(mode=0o700)
        try:
            with ExitStack() as opened:
                opened.enter_context(hold_lock(unfinished))
                replace_json(unfinished / RECORD, self.record)
                if plan:
                    replace_json(unfinished / PLAN, plan_to_keep(plan))
                self._frames = opened.enter_context(closing(FrameAppender(unfinished / FRAMES)))
                log = (unfinished / LOG).open("a", encoding="utf-8", buffering=1)  # line by line
                self._log = opened.enter_context(log)
                unfinished.rename(self.folder)
                self._opened = opened.pop_all()
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    @property
    def run_id(self) -> str:
        """The folder's name, which sorts by time."""
        return self.record.run_id

    def write_host(self, host: Mapping[str, Any]) -> None:
        """Write what the load and, if private, the server ran on."""
        self._write_json(HOST, host)

    def write_server(self, server: Mapping[str, Any]) -> None:
        """Write what the server was: version, settings, sizes."""
        self._write_json(SERVER, server_to_keep(server))

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """Write the server's state apart from its work: ``before`` the load and ``after`` it."""
        self._write_json(FACTS, self._masker.values(facts))

    def write_schema(self, schema: Mapping[str, Any]) -> None:
        """Write the database's schema as it was before the load."""
        self._write_json(SCHEMA, schema)

    def _write_json(self, name: str, value: object) -> None:
        path = self.folder / name
        with explained("writing", path):
            replace_json(path, value)

    def append_frame(self, frame: bytes) -> None:
        """Append one frame as it came from the engine, without its length."""
        self.append_frames([frame])

    def append_frames(self, frames: Sequence[bytes]) -> None:
        """Append frames that arrived together, as those of telemetry do; masks their texts."""
        path = self.folder / FRAMES
        with explained("writing", path):
            self._frames.append([self._masker.packed(frame) for frame in frames])

    def log(self, line: str) -> None:
        """Append a line to the log, with the time."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        path = self.folder / LOG
        with explained("writing", path), self._log_lock:
            self._log.write(f"{now} {self._masker.text(line)}\n")

    def finish(self, whole: Run) -> None:
        """Write the final record, then the tables made from the frames.

        The record comes first: if the disk is full the verdict is safe, and the frames stay until
        the tables are complete.
        """
        same_run = record_to_keep(msgspec.structs.replace(whole.record, run_id=self.run_id))
        self._write_json(RECORD, same_run)
        self.record = same_run
        frames = self.folder / FRAMES
        with explained("writing", frames):
            self._frames.close()
        self._write_json(ENGINE, whole.as_recorded.engine)
        write_tables(self.folder, whole.columns)
        frames.unlink()
        with explained("writing", self.folder):
            self.close()

    def close(self) -> None:
        """Stop writing and release the lock, even if the disk refuses the last write."""
        self._opened.close()

    def __enter__(self) -> Self:
        """Do nothing: the folder exists since the writer was created."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """See :meth:`close`; what ended the run is not replaced by the disk's last refusal."""
        with suppress(OSError) if error else explained("writing", self.folder):
            self.close()
