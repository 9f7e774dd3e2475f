"""What each line of sysbench says, from 0.4 to 1.1, with the output of its CSV and JSON hooks."""

import json
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from dbdyno.imports.numbers import count_of, number_of

_NUMBER = r"\d[\d.,]*\d|\d|-?[Nn]a[Nn]"
_COMMAND_MAX = 2000

_BANNER = re.compile(r"sysbench (?P<version>\d+\.\d+(?:\.\d+)?)\S*(?:\s.*|:.*)?")
_COMMAND = re.compile(r"(?:^|.*?[\s/\"'(])sysbench\s+(?P<rest>\S.*)")
_TEST = re.compile(r"--test=(?P<old>\S+)|(?:^|\s)(?P<new>[\w./-]+)(?=\s|$)")
_VERBS = ("prepare", "run", "cleanup", "help", "prewarm", "check", "warmup")
_PART_MIN = 8
"""The characters of a part of a label that is taken for one."""
_INTERIM = re.compile(rf"\[\s*(?P<time_s>{_NUMBER})\s*s\s*\]\s*(?P<rest>\S.*)")
_RATES = re.compile(
    rf"thds: (?P<threads>\d+) tps: (?P<tps>{_NUMBER}) qps: (?P<queries_per_s>{_NUMBER}) \(r/w/o:"
    rf" (?P<reads_per_s>{_NUMBER})/(?P<writes_per_s>{_NUMBER})/(?P<others_per_s>{_NUMBER})\)"
    rf" lat \(ms,\s?(?P<percentile>{_NUMBER})%\): (?P<percentile_ms>{_NUMBER})"
    rf" err/s:? (?P<errors_per_s>{_NUMBER}) reconn/s:? (?P<reconnects_per_s>{_NUMBER})"
)
_OLD_RATES = re.compile(
    rf"threads: (?P<threads>\d+), tps: (?P<tps>{_NUMBER}), reads(?:/s)?: (?P<reads_per_s>{_NUMBER})"
    rf", writes(?:/s)?: (?P<writes_per_s>{_NUMBER}),?"
    rf" response time: (?P<percentile_ms>{_NUMBER})\s?ms \((?P<percentile>{_NUMBER})%\)"
    rf"(?:, errors:\s+(?P<errors_per_s>{_NUMBER}), reconnects:\s+(?P<reconnects_per_s>{_NUMBER}))?"
)
_QUEUE = re.compile(r"queue length: (?P<queue_length>\d+),? concurrency: (?P<concurrency>\d+)")
_CSV = re.compile(r"\d+,\d+(?:,\d+\.\d\d){8}")
_CSV_NAMES = (
    *("time_s", "threads", "tps", "queries_per_s", "reads_per_s", "writes_per_s"),
    *("others_per_s", "percentile_ms", "errors_per_s", "reconnects_per_s"),
)
_CHECKPOINT = re.compile(r"\[\s*(?P<time_s>\d+)\s*s\s*\] Checkpoint report:")
_BAR = re.compile(r"\s*(?P<ms>\d+\.\d{3}) \|\**\s*(?P<count>\d+)")
_LABELLED = re.compile(r"\s*(?P<label>[A-Za-z\d][^:]*?)\s*:\s*(?P<value>\S.*)?")
_RATE = re.compile(rf"(?P<count>\d[\d.,]*)\s*\((?P<rate>{_NUMBER}) per sec\.\)")
_PAIR = re.compile(rf"(?P<mean>{_NUMBER})\s*/\s*(?P<deviation>{_NUMBER})")
_PERCENTILE = re.compile(r"(?:approx\.\s+)?(?P<percent>[\d.]+)(?:th)? percentile", re.IGNORECASE)
_TIME = re.compile(rf"(?P<number>{_NUMBER})\s?(?:ms|s)?")

SECTIONS = {
    "sql statistics": "",
    "oltp test statistics": "",
    "queries performed": "queries performed: ",
    "general statistics": "",
    "test execution summary": "",
    "throughput": "",
    "latency (ms)": "latency ",
    "response time": "latency ",
    "per-request statistics": "latency ",
    "threads fairness": "",
}
"""Headings of the final report, with what they put before the names of their figures."""
BEGINS = ("sql statistics", "oltp test statistics")


class Label(NamedTuple):
    """A label of the final report, or of the header."""

    kind: Literal["count", "rate", "seconds", "number", "pair"]
    decimals: int = 2
    unit: str = ""


LAST = "execution time (avg/stddev)"
"""What a report ends with."""
LABELS = {
    "read": Label("count"),
    "write": Label("count"),
    "other": Label("count"),
    "total": Label("count"),
    "transactions": Label("rate"),
    "queries": Label("rate"),
    "read/write requests": Label("rate"),
    "other operations": Label("rate"),
    "deadlocks": Label("rate"),
    "ignored errors": Label("rate"),
    "reconnects": Label("rate"),
    "number of unfinished transactions on forced shutdown": Label("count"),
    "events/s (eps)": Label("number", 4),
    "time elapsed": Label("seconds", 4, "s"),
    "total time": Label("seconds", 4, "s"),
    "total number of events": Label("count"),
    "total time taken by event execution": Label("seconds", 4, "s"),
    "min": Label("seconds", 2, "ms"),
    "avg": Label("seconds", 2, "ms"),
    "max": Label("seconds", 2, "ms"),
    "sum": Label("seconds", 2, "ms"),
    "events (avg/stddev)": Label("pair", 4),
    LAST: Label("pair", 4, "s"),
    "number of threads": Label("count"),
    "warmup time": Label("seconds", 0, "s"),
    "target transaction rate": Label("number", 0),
}
HEADER = ("number of threads", "warmup time", "target transaction rate")


class Figure(NamedTuple):
    """A printed figure."""

    name: str
    value: float
    unit: str = ""


class Command(NamedTuple):
    """A command line of sysbench."""

    words: str
    test: str
    product: str
    """Of the server; empty if it does not say."""
    runs: bool


def version_of(text: str) -> str | None:
    """The version, from the first line of an output."""
    found = _BANNER.fullmatch(text.strip())
    return found["version"] if found else None


def command_of(text: str) -> Command | None:
    """A command line that starts sysbench."""
    found = _COMMAND.fullmatch(text) if len(text) < _COMMAND_MAX else None
    if found is None or "--" not in found["rest"]:
        return None
    rest = found["rest"].strip()
    words = [word for word in rest.split() if not word.startswith("-") and word not in _VERBS]
    old = re.search(r"--test=(\S+)", rest)
    test = old[1] if old else next(iter(words), "")
    driver = re.search(r"--db-driver=(\w+)", rest)
    product = driver[1] if driver else re.search(r"--(mysql|pgsql)-", rest)
    name = product if isinstance(product, str) else product[1] if product else ""
    return Command(
        words=f"sysbench {rest}",
        test=test.rpartition("/")[2].removesuffix(".lua").strip("'\""),
        product={"pgsql": "postgres", "mysql": "mysql"}.get(name, ""),
        runs="prepare" not in rest.split() and "cleanup" not in rest.split(),
    )


def interim_of(text: str) -> dict[str, float] | None:
    """The figures of an interim report, also those of the CSV hook; None if it is none."""
    text = text.strip()
    if _CSV.fullmatch(text):
        return dict(zip(_CSV_NAMES, map(float, text.split(",")), strict=True))
    found = _INTERIM.fullmatch(text)
    if found is None:
        return None
    rest = found["rest"].strip()
    rates = _RATES.fullmatch(rest) or _OLD_RATES.fullmatch(rest) or _QUEUE.fullmatch(rest)
    time_s = number_of(found["time_s"], 0)
    if rates is None or time_s is None:
        return None
    printed = {"time_s": time_s}
    for name, number in rates.groupdict().items():
        if number is None or number.lower().endswith("nan"):
            continue
        value = number_of(number, 2)
        if value is None:
            return None
        printed[name] = value
    return printed


def from_hook(text: str) -> dict[str, float] | None:
    """The figures of one object of the JSON hook."""
    try:
        found = json.loads(text)
        queries = found["qps"]
        printed = {
            "time_s": found["time"],
            "threads": found["threads"],
            "tps": found["tps"],
            "queries_per_s": queries["total"],
            "reads_per_s": queries["reads"],
            "writes_per_s": queries["writes"],
            "others_per_s": queries["other"],
            "percentile_ms": found["latency"],
            "errors_per_s": found["errors"],
            "reconnects_per_s": found["reconnects"],
        }
        return {name: float(value) for name, value in printed.items()}
    except (ValueError, KeyError, TypeError):
        return None


def checkpoint_of(text: str) -> int | None:
    """The second of the checkpoint whose report begins here."""
    found = _CHECKPOINT.fullmatch(text.strip())
    return int(found["time_s"]) if found else None


def bar_of(text: str) -> tuple[str, int] | None:
    """A bar of the histogram: the latency in milliseconds as printed, and how often."""
    found = _BAR.fullmatch(text)
    return (found["ms"], int(found["count"])) if found else None


def section_of(text: str) -> str | None:
    """The heading of a part of the final report."""
    heading = text.strip().lower()
    return heading[:-1] if heading.endswith(":") and heading[:-1] in SECTIONS else None


def percent_of(label: str) -> float | None:
    """Which percentile a label names."""
    found = _PERCENTILE.fullmatch(label)
    return float(found["percent"]) if found else None


def is_broken(text: str) -> bool:
    """Whether a line begins as sysbench's and may go on in the next: others have cut it in two."""
    begin = " ".join(text.lower().split())
    is_part_of_label = len(begin) >= _PART_MIN and any(
        f"{label}:".startswith(begin) for label in LABELS
    )
    return is_part_of_label or _INTERIM.fullmatch(text) is not None


def labelled(text: str, section: str, *, is_whole: bool) -> tuple[str, list[Figure]] | None:
    """A line of a report: its label, and its figures, the one that it names first."""
    found = _LABELLED.fullmatch(text)
    if found is None or found["value"] is None or not (is_whole or not text[-1:].isdigit()):
        return None
    label, value = " ".join(found["label"].lower().split()), found["value"].strip()
    kind = LABELS.get(label)
    if kind is None and percent_of(label) is not None:
        kind = Label("seconds", 2, "ms")
    if kind is None or (label in LABELS and label not in HEADER and not section):
        return None
    name = f"{SECTIONS.get(section, '')}{label}"
    figures = list(_figures(kind, name, value))
    return (label, figures) if figures else None


def _figures(kind: Label, name: str, value: str) -> Iterator[Figure]:
    match kind.kind:
        case "count":
            if (number := count_of(value)) is not None:
                yield Figure(name, number)
        case "rate":
            found = _RATE.fullmatch(value)
            number, rate = (
                (count_of(found["count"]), number_of(found["rate"], 2)) if found else (None, None)
            )
            if number is not None and rate is not None:
                yield Figure(name, number)
                yield Figure(f"{name} (rate)", rate, "1/s")
        case "pair":
            found = _PAIR.fullmatch(value)
            for word, decimals in (("mean", 4), ("deviation", 2)) if found else ():
                part = number_of(found[word], decimals) if found else None
                if part is not None:
                    yield Figure(f"{name.partition(' (')[0]} {word}", part, kind.unit)
        case _:
            found = _TIME.fullmatch(value.removesuffix("/sec"))
            amount = number_of(found["number"], kind.decimals) if found else None
            if amount is not None:
                yield Figure(name, amount, kind.unit)
