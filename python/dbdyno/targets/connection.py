"""The word for a control connection: of the target's own driver, opened by whoever asks."""

from typing import Any, TypeAlias

Connection: TypeAlias = Any
