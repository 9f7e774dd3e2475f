"""The server of each turn: private, with fresh data as often as the study wants it.

A turn that needs another server or other data than the one before begins with fresh data
whatever the study says: what ran before it must not be seen in it.
"""

from types import TracebackType
from typing import Self

from dbdyno.model.study import StudySpec
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.study.asking import Asked

Key = tuple[object, ...]


class Workshop:
    """Holds at most one server at a time; a context manager that ends the last."""

    def __init__(self, spec: StudySpec, connections: int) -> None:
        self._spec = spec
        self._connections = connections
        self._held: Server | None = None
        self._key: Key = ()
        self.notes: list[str] = []
        """How the server of the last turn was made ready, for its record."""

    def server_for(self, asked: Asked, block: int) -> Server | None:
        """A server that is ready for the point; None where the point names one that runs."""
        if not asked.is_private:
            return None
        key = self._key_of(asked, block)
        if self._held is None or key != self._key:
            self.release()
            self._held = start_private(asked.server, self._connections)
            self._key = key
        return self._held

    def end_turn(self) -> None:
        """Ends the server unless the next turn may go on with it."""
        if self._spec.restore == "each run":
            self.release()

    def release(self) -> None:
        """Ends the server that is held."""
        held, self._held = self._held, None
        if held is not None:
            held.stop()

    def _key_of(self, asked: Asked, block: int) -> Key:
        data = asked.data_key if asked.tables else ""
        return (asked.server, data, block if self._spec.restore == "each block" else 0)

    def __enter__(self) -> Self:
        """Nothing is started yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends what is left."""
        self.release()
