"""How users name metrics: by an ID, or by a part of its words that is unambiguous.

``p99`` is ``response_p99_ms``, ``wal`` is ``wal_bytes`` if nothing else of the WAL was measured.
The IDs are declared in ``analysis/metrics.py``.
"""

from collections.abc import Iterable, Sequence

from dbdyno.errors import DbdynoError


def metric_named(name: str, known: Iterable[str]) -> str:
    """Return the ID of the metric that the name means."""
    ids = list(dict.fromkeys(known))
    wanted = name.strip().lower().replace("-", "_")
    if wanted in ids:
        return wanted
    meant = [one for one in ids if wanted and f"_{wanted}_" in f"_{one}_"]
    if len(meant) != 1:
        raise _not_one(name, meant, ids)
    return meant[0]


def _not_one(name: str, meant: Sequence[str], ids: Sequence[str]) -> DbdynoError:
    if meant:
        message = f"{name!r} is ambiguous: {' or '.join(meant)}"
        return DbdynoError("ambiguous_metric", message, "Give its full name.")
    return DbdynoError(
        "unknown_metric",
        f"these runs have no metric {name!r}",
        f"They have {', '.join(ids)}.",
    )
