"""What watches others from a thread of its own: that engines, agents and servers still answer."""

import threading
from types import TracebackType
from typing import Self


class Watch:
    """Watches from a thread of its own for the duration of a block."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name=type(self).__name__.lower(), daemon=True
        )

    def _watch(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Start watching."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self._over.set()
