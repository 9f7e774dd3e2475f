"""What users mean by the names they give: of runs, ages and metrics. Changes nothing itself.

A shell that completes a name is given those that there are: see ``commands/completion.py``.

Metrics are named by an ID, or by a part of its words that is unambiguous: ``p99`` is
``response_p99_ms``, ``wal`` is ``wal_bytes`` if nothing else of the WAL was measured. The IDs are
declared in ``analysis/compare/metrics.py``.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Annotated, TypeAlias, TypeVar

from cyclopts import Parameter

from dbdyno.errors import DbdynoError
from dbdyno.run.options.grammar import span_ns
from dbdyno.run.options.parameters import parsed
from dbdyno.store.listing import run_folders

T = TypeVar("T")


def run_names(_typed: object) -> list[str]:
    """Return the names of all runs, the newest first, for a shell."""
    return ["last", *(folder.name for folder in reversed(run_folders()))]


def workload_names(_typed: object) -> Mapping[str, str]:
    """Return the names of all workloads, each with its summary, for a shell."""
    from dbdyno.workloads.registry import all_workloads  # noqa: PLC0415 - only here, and not quick

    return {name: workload.summary for name, workload in all_workloads().items()}


RunName: TypeAlias = Annotated[str, Parameter(completer=run_names)]
WorkloadName: TypeAlias = Annotated[str, Parameter(completer=workload_names)]


def find_all(names: Iterable[str], find: Callable[[str], T]) -> list[T]:
    """Return what each name means.

    Everything is found before anything is removed: a misspelt name, which ``find`` refuses, removes
    nothing.
    """
    return [find(name) for name in dict.fromkeys(names)]


def age_of(text: str) -> timedelta:
    """Parse a duration; a bare number is in days."""
    return timedelta(microseconds=span_ns(text, "d") / 1_000)


Age = Annotated[timedelta | None, Parameter(converter=parsed(age_of), metavar="TIME")]


def metric_named(name: str, known: Iterable[str]) -> str:
    """Return the ID of the metric that the name means."""
    ids = list(dict.fromkeys(known))
    wanted = name.strip().lower().replace("-", "_")
    if wanted in ids:
        return wanted
    meant = [one for one in ids if wanted and f"_{wanted}_" in f"_{one}_"]
    if len(meant) == 1:
        return meant[0]
    if meant:
        message = f"{name!r} is ambiguous: {' or '.join(meant)}"
        raise DbdynoError("ambiguous_metric", message, "Give its full name.")
    message = f"these runs have no metric {name!r}"
    raise DbdynoError("unknown_metric", message, f"They have {', '.join(ids)}.")
