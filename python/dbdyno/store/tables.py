"""The tables of a run folder: their columns and types, in the order in which they are documented.

Only declares them: ``store/tabulator.py`` turns frames into rows.

``time_s`` counts from the end of the warm-up, so the warm-up has negative times. Latencies are in
milliseconds with the engine's 3 significant digits, for which single precision is enough. Counters
of ``intervals`` are cumulative over the measured part, as the engine counts them (``RISING``);
``completed_ok`` and the like refer to the single interval.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dbdyno.model import frame as frames
from dbdyno.model.recording import Columns
from dbdyno.store.columns import (
    BLOB,
    BOOL,
    F32,
    F64,
    I32,
    STEPS,
    TEXT,
    U16,
    U32,
    U64,
    Schema,
    TableBuilder,
)

COUNTERS = frames.Counters.__struct_fields__
ENGINE_COUNTS = tuple(
    name for name in frames.EngineInterval.__struct_fields__ if name != "lateness"
)
PERCENTILES = ("p50", "p90", "p95", "p99", "p999", "p9999")
LATENCY: Schema = {"count": U32} | {
    f"{name}_ms": F32 for name in ("mean", "min", *PERCENTILES, "max")
}
_BUCKETS: Schema = {"bucket": U16, "count": U32}

SCHEMAS: Mapping[str, Schema] = {
    "intervals": {
        "interval": U32,
        "phase": TEXT,
        "time_s": F64,
        "seconds": F64,
        "unix_s": F64,
        "completed_ok": U32,
        "completed_committed": U32,
        "completed_failed": U32,
    }
    | dict.fromkeys(COUNTERS, U64)
    | dict.fromkeys(ENGINE_COUNTS, U64),
    "scripts": {
        "interval": U32,
        "script": U16,
        "ok": U32,
        "committed": U32,
        "failed": U32,
        "skipped": U32,
        **LATENCY,
    },
    "services": {"interval": U32, "script": U16, **LATENCY},
    "statements": {
        "interval": U32,
        "statement": U32,
        "rows": F64,
        "executions_without_rows": F64,
        **LATENCY,
    },
    "failed": {"interval": U32, **LATENCY},
    "connects": {"interval": U32, **LATENCY},
    "lateness": {"interval": U32, **LATENCY},
    "script_buckets": {"interval": U32, "script": U16, **_BUCKETS},
    "service_buckets": {"interval": U32, "script": U16, **_BUCKETS},
    "statement_buckets": {"interval": U32, "statement": U32, **_BUCKETS},
    "failures": {"interval": U32, "class": TEXT, "code": TEXT, "count": U64, "message": TEXT},
    "slowest": {
        "interval": U32,
        "script": U16,
        "client": U32,
        "number": U64,
        "time_s": F64,
        "response_ms": F32,
        "service_ms": F32,
        "tries": U32,
        "statements": STEPS,
    },
    "windows": {"time_s": F64, "seconds": F64, "kind": TEXT, "number": U32, "histogram": BLOB},
    "totals": {"kind": TEXT, "number": U32, "histogram": BLOB},
    "outages": {"time_s": F64, "seconds": F64, "connections_lost": U32, "message": TEXT},
    "statement_texts": {
        "statement": U32,
        "script": U16,
        "index": U32,
        "line": U32,
        "sql": TEXT,
        "connection": U64,
        "server": U64,
    },
    "samples": {
        "time_s": F64,
        "source": TEXT,
        "seconds": F64,
        "cost_ms": F32,
        "was_reset": BOOL,
    },
    "counters": {"time_s": F64, "source": TEXT, "object": TEXT, "name": TEXT, "delta": F64},
    "levels": {"time_s": F64, "source": TEXT, "object": TEXT, "name": TEXT, "value": F64},
    "waits": {
        "time_s": F64,
        "who": TEXT,
        "statement": I32,
        "doing": TEXT,
        "state": TEXT,
        "wait_type": TEXT,
        "wait_event": TEXT,
        "count": U32,
    },
    "blocking": {
        "time_s": F64,
        "waiter_who": TEXT,
        "waiter": I32,
        "blocker_who": TEXT,
        "blocker": I32,
        "root_who": TEXT,
        "root": I32,
        "root_state": TEXT,
        "root_wait": TEXT,
        "lock": TEXT,
        "mode": TEXT,
        "relation": TEXT,
        "row": TEXT,
        "depth": U16,
        "count": U32,
        "waited_s": F64,
    },
    "log_entries": {
        "time_s": F64,
        "topic": TEXT,
        "severity": TEXT,
        "message": TEXT,
        "values": TEXT,
    },
    "lacks": {"time_s": F64, "source": TEXT, "reason": TEXT},
}

# What folders of an older dbdyno, without these columns, mean by them: it did not distinguish.
MEANT_BY_OLDER: Mapping[str, str] = {"committed": "ok", "completed_committed": "completed_ok"}

# What they do not have, and nothing of theirs stands for.
UNKNOWN_TO_OLDER = frozenset({"rows", "executions_without_rows"})

LEVELS = frozenset({"waiting", "in_flight"})


class Rising(NamedTuple):
    """Cumulative counts of a table, one series for each combination of values of ``of``."""

    names: tuple[str, ...]
    of: tuple[str, ...] = ()


RISING: Mapping[str, Rising] = {
    "intervals": Rising(tuple(name for name in COUNTERS if name not in LEVELS)),
    "failures": Rising(("count",), of=("class", "code")),
}


def no_rows(name: str) -> Columns:
    """Return a table's columns without rows."""
    return TableBuilder(SCHEMAS[name]).columns()
