"""What each process or thread of the server is there for: the load, autovacuum, checkpoints.

Sessions are known by the numbers that engine and server have for them, all others by what they call
themselves. While clients reconnect (``-C``), most sessions end before anybody can ask whose they
are: one that began during the load and is nobody else's as far as is known counts as the load's.
Behind a pooler nobody knows whose any session is, and none is counted as anybody's.
"""

import re
from collections.abc import Callable, Collection, Mapping, Set
from pathlib import Path

from dbdyno.databases.telemetry import Telemetry
from dbdyno.host import files
from dbdyno.model.telemetry import TaskClass


class TaskClassifier:
    """Classifies the tasks of one server; used by several threads.

    ``load_sessions`` and ``own_sessions`` are the server's numbers of the load's sessions and of
    telemetry's.
    """

    def __init__(  # noqa: PLR0913 - independent inputs
        self,
        root: Path,
        telemetry: Telemetry,
        load_sessions: Callable[[], Collection[int]],
        own_sessions: Set[int],
        *,
        reconnects: bool,
        knows_sessions: bool = True,
    ) -> None:
        self._root = root
        self._are_processes = telemetry.sessions_are_processes
        self._patterns = [(its, re.compile(text)) for its, text in telemetry.task_classes]
        self._load_sessions = load_sessions
        self._own_sessions = own_sessions
        self._reconnects = reconnects
        self._knows_sessions = knows_sessions
        self._clients: set[int] = set()
        self._session_of: Mapping[int, int] = {}
        self._named: dict[int, TaskClass] = {}
        self._before: set[int] = set()
        self._has_begun = False

    @property
    def ended(self) -> TaskClass:
        """The class of sessions that came and went unseen."""
        return "client" if self._reconnects else "rest"

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Note the task that serves each session of the server."""
        self._session_of = {task: session for session, task in tasks.items()}

    def begin(self) -> None:
        """Note that the load begins: what is classified for the first time from now on is new."""
        self._has_begun = True

    def refresh(self) -> None:
        """Ask for the load's sessions: more may have been reported since the last time."""
        self._clients.update(self._load_sessions())
        self._clients.discard(0)

    def classify(self, pid: int, tid: int, noted: str = "") -> TaskClass:
        """Return a task's class; ``noted`` is what it called itself, if it is gone by now."""
        task = pid if self._are_processes else tid
        if not self._has_begun:
            self._before.add(task)
        session = task if self._are_processes else self._session_of.get(task)
        if self._knows_sessions and session in self._own_sessions:
            return "telemetry"
        if session in self._clients:
            return "client"
        found = self._named.get(task) or self._by_name(task, self._name(pid, tid) or noted)
        if session is not None and not self._are_processes:
            found = "foreign"
        if found == "foreign" and not self._knows_sessions:
            return "rest"
        is_new = self._has_begun and task not in self._before
        if is_new and self._reconnects and found in ("foreign", "rest"):
            return "client"
        return found

    def _by_name(self, task: int, name: str) -> TaskClass:
        found = (its for its, text in self._patterns if text.search(name))
        its: TaskClass = next(found, "rest")
        if its != "rest":  # one that has just begun has not called itself anything yet
            self._named[task] = its
        return its

    def _name(self, pid: int, tid: int) -> str:
        file = f"{pid}/cmdline" if self._are_processes else f"{pid}/task/{tid}/comm"
        try:
            text = files.short(f"{self._root}/proc/{file}")
        except OSError:
            return ""
        return text.rstrip(b"\0\n").decode(errors="replace").replace("\0", " ")
