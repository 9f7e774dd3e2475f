"""The engine alone, with no run around it: for what is measured of it and beside it."""

import subprocess
from collections.abc import Iterator

from dbdyno.engine import EngineProcess
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done, Failed, Frame
from dbdyno.model.plan import Plan


def engine_of(plan: Plan) -> EngineProcess:
    """A load that has begun."""
    return EngineProcess(plan, subprocess.DEVNULL)


def frames_of(engine: EngineProcess) -> Iterator[Frame]:
    """Of a load until its end; one that fails says why, and one that nobody reads is ended."""
    end = ""
    try:
        for _, frame in engine:
            match frame:
                case Failed():
                    raise DbdynoError(frame.code, frame.message, frame.hint)
                case Done(end="aborted" | "stalled"):
                    raise DbdynoError("no_load", f"the load was {frame.end}: {frame.reason}", "")
                case Done():
                    end = frame.end
                case _:
                    pass
            yield frame
    finally:
        engine.abandon()
    if not end:
        raise DbdynoError("no_load", f"the engine ended amid it (code {engine.returncode})", "")
