"""``python -m bench [--pairs N] [--seconds N] [--io auto|uring|epoll] [--only WORD]``."""

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from bench import (
    ceiling,
    compare_command,
    fleet,
    footprint,
    home,
    loading,
    long_report,
    profile_cost,
    start_up,
    telemetry,
    watched,
)
from bench.cases import Case, cases
from bench.ceiling import Report
from bench.compare import compare_all
from bench.compare_command import Bench
from bench.server import BenchServer, bench_server
from bench.tally import Tally
from dbdyno.errors import DbdynoError
from dbdyno.servers.spec import Kind

SERVERS: tuple[Kind, ...] = ("postgres", "mariadb")
CEILING = ("ceiling", "recording")
WITHOUT_SERVER: Mapping[str, Callable[[Report], None]] = {
    long_report.NAME: long_report.measure,
    start_up.NAME: start_up.measure,
}

Part = Callable[[BenchServer], None]


def main() -> int:
    """Measures everything, or what ``--only`` names; exit code 1 if a bound is missed."""
    options = _options()
    tally = Tally()

    def wanted(name: str) -> bool:
        return options.only is None or options.only in name

    names = _names(tally, options)
    if not any(map(wanted, names)):
        sys.exit(f"no part has {options.only!r} in its name; the parts are: {'; '.join(names)}")
    if any(map(wanted, CEILING)):
        with tally.attempt(*CEILING):
            ceiling.measure(tally.report, options.pairs, options.io)
    for name, measure in WITHOUT_SERVER.items():
        if wanted(name):
            with tally.attempt(name):
                measure(tally.report)
    for kind in SERVERS:
        parts = {name: part for name, part in _parts(kind, tally, options).items() if wanted(name)}
        chosen = [case for case in cases(options.io) if case.server == kind and wanted(_name(case))]
        if parts or chosen:
            _measure_on(kind, parts, chosen, tally, options)
    return 0 if tally.all_passed else 1


def _names(tally: Tally, options: argparse.Namespace) -> Sequence[str]:
    """The names of everything that can be measured."""
    parts = [name for kind in SERVERS for name in _parts(kind, tally, options)]
    loads = map(_name, cases(options.io))
    return list(dict.fromkeys([*CEILING, *WITHOUT_SERVER, *parts, *loads]))


def _name(case: Case) -> str:
    return f"{case.entrants[0].name}: {case.title}"


def _parts(kind: Kind, tally: Tally, options: argparse.Namespace) -> Mapping[str, Part]:
    """What is measured besides loads of two tools: most of it only on PostgreSQL."""
    report, pairs = tally.report, options.pairs
    scripts: dict[str, Part] = {
        "footprint of scripts": lambda at: footprint.measure_scripts(report, at.server, options.io),
    }
    if kind != "postgres":
        return scripts
    return scripts | {
        **{one.name: partial(loading.measure, report, pairs, one) for one in loading.LOADINGS},
        "footprint": lambda at: footprint.measure(report, at.server, options.io),
        "home": lambda at: home.measure(report, at.server),
        fleet.NAME: lambda at: fleet.measure(report, at.server),
        "page": lambda at: watched.measure(report, at.server),
        "telemetry": lambda at: telemetry.measure(report, at.server, at.socket),
        "profile": lambda at: profile_cost.measure(report, at.server, at.socket),
        **{name: partial(_compare, report, part) for name, part in compare_command.PARTS.items()},
    }


def _compare(report: Report, part: Callable[[Report, Bench], None], at: BenchServer) -> None:
    part(report, compare_command.prepared(at.server, at.socket))


def _measure_on(
    kind: Kind,
    parts: Mapping[str, Part],
    chosen: Sequence[Case],
    tally: Tally,
    options: argparse.Namespace,
) -> None:
    """Measures on a fresh server; lists the parts if none can be started."""
    with ExitStack() as stack:
        try:
            at = stack.enter_context(bench_server(kind))
        except DbdynoError as error:
            tally.not_measured([*parts, *(case.title for case in chosen)], error)
            return
        for name, part in parts.items():
            with tally.attempt(name):
                part(at)
        compare_all(tally, at, chosen, options.pairs, options.seconds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each tool in each case")
    parser.add_argument("--seconds", type=int, default=20, help="seconds of load of each run")
    parser.add_argument("--io", choices=["auto", "uring", "epoll"], default="auto")
    parser.add_argument("--only", help="measure only the parts with this text in their name")
    return parser.parse_args()


if __name__ == "__main__":
    # Stopped tools would otherwise outlive it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
