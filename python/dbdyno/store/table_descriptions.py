"""What a row of each table and each column means, for the reference. A test finds what is missing.

A column that means the same in several tables is described once, under its own name; one that
means something else in a table, under ``table.column``.
"""

from collections.abc import Mapping

ROWS: Mapping[str, str] = {
    "runs": "One run, as in `dbdyno runs --json`. Latencies are response times.",
    "intervals": "One measurement interval: the load, and the load generator itself.",
    "scripts": "Transactions of one script that ended in one interval, with their response times.",
    "services": "Service times of one script in one interval; only in an open loop, as in a "
    "closed loop they equal the response times.",
    "statements": "Latency of one statement in one interval, and the rows that it touched.",
    "failed": "Response times of the failed transactions of one interval.",
    "connects": "Connection attempts that ended in one interval: with `-C`, and reconnects.",
    "lateness": "How late transactions of one interval were sent although a client was idle: the "
    "load generator's own delay, in an open loop.",
    "script_buckets": "One coarse bucket of a script's response times in one interval.",
    "service_buckets": "The same of service times, in an open loop.",
    "statement_buckets": "The same of a statement's latency.",
    "failures": "Failed transactions of one class and code, as counted in one interval.",
    "slowest": "One of the slowest transactions of an interval.",
    "windows": "A full histogram of about ten seconds.",
    "totals": "A full histogram of the measured part, the warm-up left out.",
    "outages": "One outage, as the clients of one thread of the load generator saw it.",
    "statement_texts": "One statement of the scripts.",
    "samples": "One reading of a source of telemetry.",
    "counters": "The increase of one counter between two readings of its source. An increase of 0 "
    "is left out, but for the first reading that could have one: it shows that the counter exists.",
    "levels": "A value at the instant of a reading, if it differs from that of the reading before.",
    "waits": "Sessions that were alike in one session sample. They stand for the `seconds` of the "
    "sample: the row of `samples` with the same `time_s` and the source `waits`.",
    "blocking": "Sessions that waited for one lock behind the same blocker in one lock sample. "
    "They stand for the `seconds` of that sample, whose source is `locks`.",
    "log_entries": "One line of the server's log that matters for the run.",
    "lacks": "A source that could not be read, or no longer.",
}

_LATENCY = {
    "mean_ms": "mean",
    "min_ms": "minimum",
    "p50_ms": "median",
    "p90_ms": "90th percentile",
    "p95_ms": "95th percentile",
    "p99_ms": "99th percentile",
    "p999_ms": "percentile 99.9",
    "p9999_ms": "percentile 99.99",
    "max_ms": "maximum",
}

_ENGINE = {
    "cpu_us": "user and system time of the load generator",
    "backlog": "transactions that were due and not started when the interval ended",
    "bytes_sent": "bytes sent to the server",
    "bytes_received": "bytes received from it",
    "round_trips": "requests answered",
    "voluntary_switches": "context switches of the load generator because it waited",
    "involuntary_switches": "context switches of the load generator because it was preempted",
    "paused_us": "for how long the load generator stood still: stopped, frozen or without CPU",
}

_RUNS = {
    "status": "`running`, `done`, `failed` or `interrupted`",
    "started_at": "beginning in UTC, as text; `started_at::timestamp` is an instant",
    "workload": "name of the workload or the scripts",
    "command": "the arguments of `dbdyno run`, without passwords",
    "target": "the database, without password",
    "product": "`postgres`, `mariadb`, `mysql` …",
    "version": "the server's version",
    "promise": "durability level: `full`, `relaxed` or `none`",
    "clients": "clients requested",
    "threads": "threads of the load generator",
    "scale": "the value of `:scale` in the scripts; NULL if they have none",
    "loop": "`closed` or `open`",
    "rate_tps": "rate requested; NULL in a closed loop and with several rates",
    "query_mode": "`simple`, `extended` or `prepared`",
    "valid": "whether the run is valid; NULL until it is known",
    "duration_s": "measured time",
    "retried": "transactions that took more than one try",
    "tps": "transactions per second",
    "tps_low": "lower end of its 95 % interval within the run",
    "tps_high": "upper end of it",
    "copy_in_rows_per_s": "rows copied to the server (`copy … from stdin`) per second",
    "copy_in_bytes_per_s": "their bytes per second",
    "copy_out_rows_per_s": "rows copied from the server (`copy … to stdout`) per second",
    "copy_out_bytes_per_s": "their bytes per second",
    "server_cpu_us": "CPU time of the server per transaction",
    "engine_cpu_us": "CPU time of the load generator per transaction",
    "wal_bytes": "WAL, or redo log, per transaction",
    "made_for": "`study`, `search` or `verifies` for runs that a command made for a result of its "
    "own, with the tag of this name; else NULL",
    "tags": "the tags, a JSON object",
}

_MEASURED = {
    "due": "became due",
    "started": "were started",
    "skipped": "were not started, because they would have been too late (`-L`)",
    "waiting": "were due and not started when the interval ended",
    "ok": "ran to the end of their script without an error",
    "committed": "were committed; in older runs, which did not distinguish, all of `ok`",
    "rolled_back": "ran to the end and were rolled back by their script",
    "aborted": "ran to the end and were rolled back by the server instead of committed",
    "left_open": "ran to the end and left their transaction open",
    "failed": "failed, and were not retried",
    "in_flight": "were in flight when the interval ended",
    "unfinished": "were cut off when the grace period was over",
    "retried": "took more than one try",
    "retries": "further tries",
    "late": "succeeded, but took longer than `-L`",
}

_BLOCKING = {
    "waiter_who": "who waits, as `who` in `waits`",
    "waiter": "the statement that waits; −1 if it is not one of the scripts",
    "blocker_who": "who is directly ahead of it",
    "blocker": "the statement of the blocker, or −1",
    "root_who": "who is at the end of the chain, and waits for no lock",
    "root": "the statement of the root, or −1",
    "root_state": "the session state of the root",
    "root_wait": "what the root waits for; empty if for nothing that the server knows of",
    "lock": "kind of the lock, in the server's terms: `transactionid`, `tuple`, `relation` …",
    "mode": "mode of the lock that is waited for",
    "relation": "the table",
    "row": "the row, as the server writes its location; or empty",
    "depth": "number of steps from the waiter to the root",
    "waited_s": "time waited so far, summed over the waiters; NULL if the server does not tell",
}

COLUMNS: Mapping[str, str] = {
    "run_id": "the run",
    "interval": "number of the interval in `intervals`; those of the warm-up are included",
    "phase": "`warmup`, `measure`, or `drain`: the grace period for transactions in flight",
    "time_s": "instant, counted from the end of the warm-up: negative during it",
    "seconds": "length",
    "unix_s": "beginning, in seconds since 1970",
    "completed_ok": "transactions that ran to their end in this interval, whenever they were due",
    "completed_committed": "those of `completed_ok` that were committed: throughput",
    "completed_failed": "transactions that failed in it",
    "script": "number of the script, in the order of the command line, from 0",
    "statement": "number of the statement in `statement_texts`",
    "count": "number of values",
    "number": "number of the script or statement; 0 if `kind` has only one",
    "histogram": "HdrHistogram V2, of nanoseconds",
    "bucket": "number of the bucket, an eighth of an octave",
    "class": "kind of error: `serialization`, `deadlock`, `lock_timeout` …",
    "code": "SQLSTATE, or the error number of MySQL and MariaDB",
    "message": "message",
    "source": "name of the source",
    "object": "what the source tells apart, such as a table or a process; or empty",
    "name": "name, which ends in its unit if it has one",
    **{name: f"latency: {word}" for name, word in _LATENCY.items()},
    **{
        f"intervals.{name}": f"measured transactions that {word}"
        for name, word in _MEASURED.items()
    },
    **_ENGINE,
    **_RUNS,
    **_BLOCKING,
    "ok": "transactions that ran to the end of their script without an error",
    "committed": "those of `ok` that were committed; in older runs all",
    "failed": "transactions that failed",
    "intervals.interval": "number of the interval, from 0",
    "intervals.time_s": "beginning, counted from the end of the warm-up: negative during it",
    "intervals.copy_in_rows": "rows that committed transactions copied to the server",
    "intervals.copy_in_bytes": "bytes of these rows",
    "intervals.copy_out_rows": "rows that committed transactions copied from the server",
    "intervals.copy_out_bytes": "bytes of these rows",
    "intervals.retries": "tries of measured transactions after the first",
    "scripts.skipped": "transactions that were not started, because they would have been too late",
    "failures.count": "failed transactions",
    "failures.message": "the first message of this class and code",
    "statements.rows": "rows that it returned, changed or, by an update that changed nothing, "
    "found; NULL in older runs",
    "statements.executions_without_rows": "executions that touched no row; NULL in older runs",
    "slowest.client": "number of the client, from 0",
    "slowest.number": "number of the transaction: of its client, in an open loop of all clients",
    "slowest.time_s": "when it was due",
    "slowest.response_ms": "done − due",
    "slowest.service_ms": "done − sent",
    "slowest.tries": "number of tries",
    "slowest.statements": "the statements of its last try in order, with their latencies",
    "windows.time_s": "beginning",
    "windows.kind": "`script_response`, `script_service` or `statement`",
    "totals.kind": "`response`, `service`, `failed_response`, `lateness`, or a kind of `windows`",
    "outages.time_s": "when the first connection was lost",
    "outages.seconds": "length; NULL if no connection was regained",
    "outages.connections_lost": "number of connections lost",
    "outages.message": "the first error",
    "statement_texts.statement": "number of the statement, from 0",
    "statement_texts.index": "position among the commands of the script, from 0",
    "statement_texts.line": "line in the script; 0 for statements of Lua scripts",
    "statement_texts.sql": "text; of Lua scripts with `?` for values",
    "statement_texts.connection": "number of the client's connection that it was sent on: 0 is the "
    "first, and a Lua script may open more",
    "statement_texts.server": "number of the server that it was sent to, among those of `--target` "
    "and `--further-target`; 0 for statements that are not of Lua scripts",
    "samples.source": "name of the source; `waits` and `locks` for samples of sessions and locks",
    "samples.seconds": "seconds since the reading before, 0 for the first; of `waits` and `locks` "
    "those of the run for which the sample stands",
    "samples.cost_ms": "time that the reading took",
    "samples.was_reset": "whether increases are unknown, because counters were reset or the source "
    "could not be read",
    "counters.time_s": "instant of the reading; the increase is over the `seconds` before it, "
    "which `samples` has",
    "counters.delta": "increase",
    "levels.value": "value; 0 if the object has disappeared",
    "waits.who": "`client` (of this run), `foreign` (another client), `unknown` (one of the two, "
    "while clients connect), or the server's term for one of its processes",
    "waits.statement": "the statement that a client waits for; −1 for none and for other sessions",
    "waits.doing": "what a client was doing, by the load generator: `asking` (it waits for the "
    "server), `pausing`, `idle`, `unconnected`; empty for other sessions",
    "waits.state": "session state, in the server's terms; empty if it does not know the session",
    "waits.wait_type": "kind of the wait; empty if the server knows of none: an active session is "
    "then on a CPU or waits for one",
    "waits.wait_event": "what is waited for",
    "waits.count": "sessions",
    "blocking.count": "waiting sessions",
    "log_entries.topic": "`checkpoint_end`, `autovacuum`, `deadlock`, `error` …",
    "log_entries.severity": "severity, in the server's terms",
    "log_entries.values": "what was parsed from the message: a JSON object with units in the names",
    "lacks.reason": "the reason",
}


def meaning_of(table: str, column: str) -> str:
    """Return the description of a table's column."""
    return COLUMNS.get(f"{table}.{column}") or COLUMNS[column]
