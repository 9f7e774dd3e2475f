"""Frames: what the engine reports while it runs, one MessagePack map each.

On the wire each frame is a little-endian u32 length and that many bytes. Mirrors
``crates/hist/src/frame.rs``. Instants are nanoseconds on the engine's monotonic clock, whose offset
to Unix time is in :class:`Started`.
"""

from typing import TypeAlias

from dbdyno.model.frame.loading import (
    Loaded,
    Progress,
)
from dbdyno.model.frame.measured import (
    Copied,
    Counters,
    Distribution,
    EngineInterval,
    FailureCount,
    ScriptInterval,
    ServerInterval,
    SlowTransaction,
    WindowScript,
    WorkerInterval,
    bucket_low_ns,
)
from dbdyno.model.frame.running import (
    Activity,
    Connected,
    Connecting,
    Done,
    Failed,
    Hello,
    Interval,
    Note,
    Outage,
    OutageBegun,
    ScriptProblem,
    Started,
    Statement,
    StatementInfo,
    Survey,
    Transactions,
    Window,
)

__all__ = [
    "Activity",
    "Connected",
    "Connecting",
    "Copied",
    "Counters",
    "Distribution",
    "Done",
    "EngineInterval",
    "Failed",
    "FailureCount",
    "Frame",
    "Hello",
    "Interval",
    "Loaded",
    "Note",
    "Outage",
    "OutageBegun",
    "Progress",
    "ScriptInterval",
    "ScriptProblem",
    "ServerInterval",
    "SlowTransaction",
    "Started",
    "Statement",
    "StatementInfo",
    "Survey",
    "Transactions",
    "Window",
    "WindowScript",
    "WorkerInterval",
    "bucket_low_ns",
]

Frame: TypeAlias = (
    Hello
    | Connecting
    | Connected
    | Started
    | Interval
    | Activity
    | Window
    | Transactions
    | OutageBegun
    | Outage
    | Note
    | Statement
    | Survey
    | Done
    | Progress
    | Loaded
    | Failed
)
