"""The engine alone, without a run around it, for measurements of the engine and beside it."""

import subprocess
from collections.abc import Iterator

from dbdyno.engine import EngineProcess
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done, Failed, Frame
from dbdyno.model.plan import Plan


def engine_of(plan: Plan) -> EngineProcess:
    """An engine that has started its load."""
    return EngineProcess(plan, subprocess.DEVNULL)


def frames_of(engine: EngineProcess) -> Iterator[Frame]:
    """The frames of a load until its end; an error if it fails. Stops the engine when closed."""
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
        raise DbdynoError("no_load", f"the engine ended early (code {engine.returncode})", "")
