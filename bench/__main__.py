"""``python -m bench [--pairs N] [--seconds N] [--io auto|uring|epoll] [--only WORD]``."""

import argparse
import sys

from bench import ceiling, footprint, loading, telemetry
from bench.cases import cases
from bench.compare import compare, prepare, verdict
from bench.server import bench_server


def main() -> int:
    """Everything, or what ``--only`` names; exit code 1 when a bound is not kept."""
    options = _options()
    kept: list[bool] = []

    def told(name: str, words: str, good: bool) -> None:
        kept.append(good)
        print(f"{'ok  ' if good else 'MISS'} {name:42} {words}", flush=True)

    def wanted(name: str) -> bool:
        return options.only is None or options.only in name

    if any(wanted(part) for part in ("ceiling", "recording")):
        ceiling.measure(told, options.pairs, options.io)
    with bench_server() as (server, unix, tcp):
        if wanted("loading"):
            loading.measure(told, server, unix, options.pairs)
        if wanted("footprint"):
            footprint.measure(told, server, options.io)
        if wanted("telemetry"):
            telemetry.measure(told, server, unix, options.pairs, options.seconds)
        chosen = [
            case for case in cases(options.seconds) if wanted(f"{case.name} {_way(case.over_tcp)}")
        ]
        if chosen:
            prepare(server, unix)
        for case in chosen:
            tps, cpu = compare(
                case, server, tcp if case.over_tcp else unix, options.pairs, options.io
            )
            name = f"{case.name}, {_way(case.over_tcp)}"
            told(name, f"TPS {tps}   client CPU {cpu}   of pgbench", verdict(case, tps, cpu))
    return 0 if all(kept) else 1


def _way(over_tcp: bool) -> str:
    return "TCP" if over_tcp else "Unix socket"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each tool for a case")
    parser.add_argument("--seconds", type=int, default=20, help="length of each run")
    parser.add_argument("--io", choices=["auto", "uring", "epoll"], default="auto")
    parser.add_argument("--only", help="only what has this word in its name")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
