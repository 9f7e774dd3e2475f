"""The engine alone, with no run around it: for what is measured of it and beside it."""

import subprocess
from collections.abc import Iterator

from dbdyno.engine import EngineProcess
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Failed, Frame
from dbdyno.model.plan import Plan


def frames_of(plan: Plan) -> Iterator[Frame]:
    """Of a load until its end; one that fails says why, and one that nobody reads is ended."""
    engine = EngineProcess(plan, subprocess.DEVNULL)
    try:
        for _, frame in engine:
            if isinstance(frame, Failed):
                raise DbdynoError(frame.code, frame.message, frame.hint)
            yield frame
    finally:
        engine.kill()
