"""The measurements of a made-up run: derived from one number, the others in proportion.

The only source of such numbers. Which runs have them, and where they are stored, is defined in
``tests/answers/made.py``, ``tests/cli/made_up_runs.py`` and ``tests/analysis/records.py``.
"""

from dbdyno.model.record import CostRecord, Latency, Throughput


def throughput(tps):
    return Throughput(
        value=tps,
        low=tps * 0.98,
        high=tps * 1.02,
        min=tps * 0.9,
        max=tps * 1.1,
        samples=30,
        samples_effective=20.0,
        coefficient_of_variation=0.05,
    )


def latency(mean_ms):
    times = {"p50": 0.8, "p90": 2, "p95": 3, "p99": 5, "p999": 9, "p9999": 20, "max": 40}
    return Latency(mean=mean_ms, **{name: mean_ms * factor for name, factor in times.items()})


def cost(name, value, low=None, high=None, *, title=""):
    return CostRecord(
        id=name, title=title or name, unit="bytes", side="server", value=value, low=low, high=high
    )


def wal(value, low=None, high=None):
    return cost("wal_bytes", value, low, high, title="WAL")
