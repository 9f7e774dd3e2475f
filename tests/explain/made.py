"""Made-up runs for the rules: a bare one, and additions that several tests share."""

from dbdyno.model.telemetry import IndexFacts, ServerFacts, TableFacts, WaitCount
from tests.support.recordings import MadeRun, changed

CORE_S = 1e6  # in microseconds, as the kernel counts


def made_run(*statements, ok=1000, seconds=60, clients=8, **more):
    """A run with these statements in its only script."""
    run = MadeRun(ok=ok, seconds=seconds, clients=clients, **more)
    for sql in statements:
        run.statement(sql)
    return run


def in_lua(run):
    """The run as if its scripts were a workload's Lua."""
    loaded = run.loaded()
    scripts = [{**one, "language": "lua"} for one in loaded.as_recorded.plan["scripts"]]
    return changed(loaded, plan={"scripts": scripts})


def with_processors(run, *, server, engine=0.1, others=0.0, stolen=0.0, cores=2):
    """CPU use in cores, on average; the rest was idle."""
    busy = server + engine + others
    run.counters("processes", {"user_us": server * CORE_S}, of="server")
    run.counters("processes", {"user_us": engine * CORE_S}, of="engine")
    machine = {
        "user_us": busy * CORE_S,
        "steal_us": stolen * CORE_S,
        "idle_us": (cores - busy - stolen) * CORE_S,
    }
    run.counters("machine", machine)
    run.levels("processes", {"count": 12}, of="server")
    return run.levels("machine", {"processors": cores})


def with_looks(run, *seen, every_s=0.5, worth_s=None):
    """Session samples over the whole measured part, all alike.

    Each of ``seen`` is (statement, wait type, wait event, sessions); an empty type means working,
    ``idle`` means idle. A sample is worth the time since the previous one, or ``worth_s``.
    """
    for number in range(int(run.seconds / every_s)):
        waits = [_wait(*one) for one in seen]
        run.look((number + 1) * every_s, waits, seconds=worth_s or every_s)
    return run


def _wait(statement, wait_type, wait_event, count):
    if wait_type == "idle":
        return WaitCount("client", -1, "idle", "idle", "Client", "ClientRead", count)
    return WaitCount("client", statement, "asking", "active", wait_type, wait_event, count)


def table(
    name="accounts", *, rows=100_000, row_bytes=100.0, fillfactor=100, columns=("id",), **more
):
    """A table with an index on its key."""
    indexes = more.pop("indexes", (index(f"{name}.{name}_pkey", "id"),))
    return TableFacts(
        name=name,
        rows=rows,
        bytes=int(rows * (row_bytes + 28)),
        pages=int(rows * (row_bytes + 28) // 8192),
        fillfactor=fillfactor,
        row_bytes=row_bytes,
        columns=columns,
        indexes=indexes,
        **more,
    )


def index(name, *columns):
    return IndexFacts(name=name, columns=columns, is_unique=False, is_primary=False, bytes=2 << 20)


def facts(*tables, units=None, **settings):
    """A server's facts; ``units`` are the units of its settings."""
    return ServerFacts(tables=tables, settings=settings, details={"units": units or {}})


def with_profile(run, functions, *, cores=1.5, task_class="client", hz=100):
    """A profile in which functions have these shares of so many cores, in every second.

    A function is (name, object), or for the kernel (name, entry, "kernel").
    """
    run.profile(
        {(task_class, *function): share * cores * hz for function, share in functions.items()}, hz
    )
    return run
