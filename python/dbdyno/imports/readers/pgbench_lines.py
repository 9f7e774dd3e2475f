"""What each line of pgbench says, from PostgreSQL 8.4 to 19, and which versions print it so."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from dbdyno.imports.numbers import NUMBER, count_of, number_of, readings_of

VERSIONS = ("8.4", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5", "9.6", *map(str, range(10, 20)))
_DECIMALS_MS, _DECIMALS_LONG = 3, 6
"""Those of times, and of rates and old times."""
_COMMAND_MAX = 2000

_BANNER = re.compile(r"pgbench \((?P<own>\d[^()]*?(?:\([^()]*\))?)(?:, server (?P<server>.+))?\)")
_COMMAND = re.compile(r"(?:^|.*?[\s/\"'(])pgbench(?:\.exe)?\s+(?P<rest>[^(\s].*)")
_OPTION = re.compile(r"(?:^|\s)-{1,2}[A-Za-z]")
_INITIALIZES = re.compile(r"(?:^|\s)(?:-[a-zA-Z]*i\b|--initialize\b)")
_BULLET = re.compile(r"^[\s*•#-]+")
_LABELLED = re.compile(r"(?P<label>[A-Za-z][^:=]*?)\s*(?P<mark>[:=])\s*(?P<value>\S.*)")
_COUNTS = re.compile(
    rf"(?P<count>{NUMBER})(?:\s*/\s*(?P<of>{NUMBER}))?(?:\s*\((?P<share>{NUMBER})\s*%\))?"
)
_LIMIT = re.compile(rf"number of transactions above the (?P<limit>{NUMBER}) ms latency limit")
_LAG = re.compile(rf"avg (?P<mean>{NUMBER}) \(max (?P<max>{NUMBER})\) ms")
_TIME = re.compile(rf"(?P<ms>{NUMBER}) ms(?: \((?P<note>[a-z ]+)\))?")
_TPS = re.compile(rf"(?P<value>{NUMBER})\s*\((?P<which>[a-z][a-z ]*)\)")
_SCRIPT = re.compile(r"SQL script \d+: (?P<name>.+)")
_STATEMENTS = re.compile(
    r"statement latencies in milliseconds(?P<counts>(?:,| and) failures(?: and retries)?)?"
    r"(?:, file \d+)?:?"
)
_ROW = re.compile(r"\s*(?P<ms>\d[\d',. ]*[.,](?:\d{6}|\d{3}))(?P<rest>\s+\S.*)")
_ABORTED = re.compile(r".*run was aborted; the above results are incomplete\.?", re.IGNORECASE)
_CLIENT_ABORTED = re.compile(r".*\bclient (?P<client>\d+) aborted\b.*", re.IGNORECASE)

PROCESSED = "number of transactions actually processed"
ABOVE_LIMIT = "number of transactions above the latency limit"


class Label(NamedTuple):
    """A label of the summary."""

    kind: Literal["text", "count", "seconds", "ms", "tps"]
    field: str = ""
    """What it sets of :class:`~dbdyno.imports.imported_run.ImportedRun`."""
    since: str = ""
    """The first version that prints it; empty if all do."""


# In the order of printing.
LABELS = {
    "transaction type": Label("text", "workload"),
    "scaling factor": Label("count", "scale"),
    "partition method": Label("text", since="13"),
    "partitions": Label("count", since="13"),
    "query mode": Label("text", "query_mode"),
    "number of clients": Label("count", "clients"),
    "number of threads": Label("count", "threads", since="9.0"),
    "maximum number of tries": Label("count", since="15"),
    "number of transactions per client": Label("count"),
    "duration": Label("seconds", "duration_s"),
    PROCESSED: Label("count", "ok"),
    "number of failed transactions": Label("count", "failed", since="15"),
    "number of serialization failures": Label("count", since="15"),
    "number of deadlock failures": Label("count", since="15"),
    "number of other failures": Label("count", since="19"),
    "number of transactions retried": Label("count", "retried", since="15"),
    "total number of retries": Label("count", since="15"),
    "number of transactions skipped": Label("count", "skipped", since="9.5"),
    ABOVE_LIMIT: Label("count", "late", since="9.5"),
    "latency average": Label("ms"),
    "latency stddev": Label("ms"),
    "rate limit schedule lag": Label("ms", since="9.4"),
    "average connection time": Label("ms", since="14"),
    "initial connection time": Label("ms", since="14"),
    "tps": Label("tps"),
}
RATES = {
    "without initial connection time": ("14", ""),
    "including reconnection times": ("14", ""),
    "excluding connections establishing": ("", "14"),
    "including connections establishing": ("", "14"),
}
"""The versions of each kind of rate. The first that a text has is its rate: throughput is without
the time of the connects, where pgbench prints it."""
_PART_MIN = 8
"""The characters of a part of a label that is taken for one."""
_OPENINGS = ("progress:", *LABELS, "number of transactions above")
_OLD_TYPES = ("TPC-B (sort of)", "Update only pgbench_accounts", "SELECT only", "Custom query")
_OWN_NAMES = {
    "TPC-B (sort of)": "tpcb",
    "simple update": "simple-update",
    "Update only pgbench_accounts": "simple-update",
    "select only": "select-only",
    "SELECT only": "select-only",
}


class VersionRange:
    """The versions that print all the words that were seen."""

    def __init__(self) -> None:
        self._first, self._end = 0, len(VERSIONS)

    def narrow(self, since: str, before: str = "") -> None:
        """Leave the versions from one on, and before another; empty for no such bound."""
        self._first = max(self._first, VERSIONS.index(since) if since else 0)
        self._end = min(self._end, VERSIONS.index(before) if before else len(VERSIONS))

    def __str__(self) -> str:
        """``9.5 to 13``; empty if no version prints all of it."""
        if self._first >= self._end:
            return ""
        first, last = VERSIONS[self._first], VERSIONS[self._end - 1]
        return first if first == last else f"{first} to {last}"


class Figure(NamedTuple):
    """A printed figure."""

    name: str
    value: float | str
    unit: str = ""


class Labelled(NamedTuple):
    """A label with its figures, the one that it names first; the versions that print it so."""

    label: str
    figures: list[Figure]
    since: str
    before: str


class Row(NamedTuple):
    """A statement with its mean latency, and how often it failed and was tried again."""

    mean_ms: float
    counts: list[int]
    sql: str
    is_long: bool
    """Whether its latency has as many digits as those of old versions."""


class Banner(NamedTuple):
    """The versions of pgbench and of the server."""

    version: str
    server_version: str


def banner_of(text: str) -> Banner | None:
    """The first line since 14; before 15, and with equal versions, it names one of them."""
    if found := _BANNER.fullmatch(text.strip()):
        own, server = found["own"].split()[0], found["server"]
        return Banner(own, server.split()[0] if server else own)
    return None


def command_of(text: str) -> str | None:
    """The command line that runs pgbench; empty if it loads data, None if there is none."""
    found = _COMMAND.fullmatch(text) if len(text) < _COMMAND_MAX else None
    if found is None or not _OPTION.search(found["rest"]):
        return None
    return "" if _INITIALIZES.search(found["rest"]) else f"pgbench {found['rest'].strip()}"


def is_broken(text: str) -> bool:
    """Whether a line begins as pgbench's and may go on in the next: others have cut it in two."""
    begin = _BULLET.sub("", text)
    is_part_of_label = len(begin) >= _PART_MIN and any(one.startswith(begin) for one in _OPENINGS)
    return is_part_of_label or begin.startswith(_OPENINGS)


def labelled(text: str, *, is_whole: bool) -> Labelled | None:
    """A line of the summary; None if it is none, or may be cut off within a number."""
    found = _LABELLED.fullmatch(_BULLET.sub("", text))
    if found is None or not (is_whole or not text[-1:].isdigit()):
        return None
    printed, value = found["label"].strip(), found["value"].strip()
    limit = _LIMIT.fullmatch(printed)
    label = ABOVE_LIMIT if limit else printed
    if label not in LABELS:
        return None
    figures = list(_figures(label, value))
    if not figures:
        return None
    since, before = LABELS[label].since, ""
    if label == "tps":
        since, before = RATES[figures[0].name.partition("(")[2].rstrip(")")]
    elif label.startswith("latency"):
        since, before = ("", "9.6") if found["mark"] == ":" else ("9.6", "")
    elif label == "transaction type":
        since = "9.6" if value.startswith("<builtin") else ""
        before = "9.6" if value in _OLD_TYPES else ""
    if limit and (limit_ms := number_of(limit["limit"], 1)) is not None:
        figures.append(Figure("latency limit", limit_ms, "ms"))
    return Labelled(label, figures, since, before)


def _figures(label: str, value: str) -> Iterator[Figure]:
    match LABELS[label].kind:
        case "text":
            yield Figure(label, value)
        case "seconds":
            if value.endswith("s") and (seconds := count_of(value[:-1])) is not None:
                yield Figure(label, seconds, "s")
        case "tps":
            found = _TPS.fullmatch(value)
            if found and found["which"] in RATES and (tps := tps_readings(found["value"])):
                # Which of two readings is meant, other figures decide.
                rate: float | str = tps[0] if len(tps) == 1 else found["value"]
                yield Figure(f"{label} ({found['which']})", rate, "TPS")
        case "count":
            yield from _counts(label, value)
        case _:
            yield from _times(label, value)


def _times(label: str, value: str) -> Iterator[Figure]:
    found = _TIME.fullmatch(value)
    named = {f"{label} ({found['note']})" if found["note"] else label: found["ms"]} if found else {}
    if found := _LAG.fullmatch(value):
        named = {f"{label} {word}": text for word, text in found.groupdict().items()}
    for name, text in named.items():
        if (ms := number_of(text, _DECIMALS_MS)) is not None:
            yield Figure(name, ms, "ms")


def _counts(label: str, value: str) -> Iterator[Figure]:
    found = _COUNTS.fullmatch(value)
    if found is None or (number := count_of(found["count"])) is None:
        return
    yield Figure(label, number)
    if found["of"] and (total := count_of(found["of"])) is not None:
        yield Figure(f"{label} (of)", total)
    if found["share"] and (share := number_of(found["share"], _DECIMALS_MS)) is not None:
        yield Figure(f"{label} (share)", share, "%")


def tps_readings(text: str) -> tuple[float, ...]:
    """What a printed rate may mean."""
    return readings_of(text, _DECIMALS_LONG)


def script_of(text: str) -> str | None:
    """The name of one of several scripts, where the lines about it begin."""
    found = _SCRIPT.fullmatch(text.strip())
    return name_of(found["name"]) if found else None


_OF_SCRIPT = (
    re.compile(rf"weight: (?P<weight>\d+)(?: \(targets (?P<targets>{NUMBER})% of total\))?"),
    re.compile(
        rf"(?P<transactions>{NUMBER}) transactions \((?P<share>{NUMBER})% of total"
        rf"(?:, tps = (?P<tps>{NUMBER}))?\)"
    ),
    re.compile(rf"{PROCESSED}: (?P<processed>{NUMBER}) \(tps = (?P<tps>{NUMBER})\)"),
)
_SCRIPT_FIGURES = {
    "weight": Figure("weight", 0),
    "targets": Figure("targets", 1, "%"),
    "transactions": Figure("transactions", 0),
    "share": Figure("share of total", 1, "%"),
    "tps": Figure("tps", _DECIMALS_LONG, "TPS"),
    "processed": Figure(PROCESSED, 0),
}
"""What the parts of these lines are called, the decimals of each, and its unit."""


def of_script(text: str, *, is_whole: bool) -> list[Figure]:
    """The figures of a line about one of several scripts; empty if it is none."""
    line = text.strip()
    if not line.startswith("-"):
        return []
    line = line.lstrip("- ")
    for pattern in _OF_SCRIPT:
        if found := pattern.fullmatch(line):
            return list(_script_figures(found.groupdict()))
    of_label = labelled(line, is_whole=is_whole)
    return of_label.figures if of_label else []


def _script_figures(printed: dict[str, str | None]) -> Iterator[Figure]:
    for part, text in printed.items():
        name, decimals, unit = _SCRIPT_FIGURES[part]
        if text is not None:
            assert isinstance(decimals, int)
            value = number_of(text, decimals) if decimals else count_of(text)
            if value is not None:
                yield Figure(name, value, unit)


def counts_of_rows(text: str) -> int | None:
    """How many counts the rows have that follow this heading; None if it is none."""
    found = _STATEMENTS.fullmatch(_BULLET.sub("", text))
    if found is None:
        return None
    return sum((found["counts"] or "").count(word) for word in ("failures", "retries"))


def row_of(text: str, counts: int) -> Row | None:
    """A row with the latency of one statement."""
    found = _ROW.fullmatch(text)
    if found is None:
        return None
    decimals = len(re.split("[.,]", found["ms"])[-1])
    *words, sql = found["rest"].strip().split(maxsplit=counts)
    numbers = [number for word in words if (number := count_of(word)) is not None]
    mean_ms = number_of(found["ms"], decimals)
    if mean_ms is None or len(numbers) != counts:
        return None
    return Row(mean_ms, numbers, sql, is_long=decimals == _DECIMALS_LONG)


_PROGRESS = {
    re.compile(rf"progress: (?P<time_s>{NUMBER}) s"): 1,
    re.compile(rf"(?P<tps>{NUMBER}) tps"): 1,
    re.compile(rf"lat (?P<mean_ms>{NUMBER}) ms(?: stddev (?P<stddev_ms>{NUMBER}))?"): 3,
    re.compile(rf"lag (?P<lag_ms>{NUMBER}) ms"): 3,
    re.compile(rf"(?P<failed>{NUMBER}) failed"): 0,
    re.compile(rf"(?P<skipped>{NUMBER}) skipped"): 0,
    re.compile(rf"(?P<retried>{NUMBER}) retried"): 0,
    re.compile(rf"(?P<retries>{NUMBER}) retries"): 0,
}
"""The parts of a progress line, each with its decimals; which there are, the options choose."""


def progress_of(text: str) -> dict[str, float] | None:
    """The figures of a progress line; None if it is none. What is not a number is not known."""
    begin = text.find("progress: ")
    if begin < 0:
        return None
    printed: dict[str, float] = {}
    for part in text[begin:].strip().split(", "):
        matches = ((pattern.fullmatch(part), decimals) for pattern, decimals in _PROGRESS.items())
        found, decimals = next(((one, its) for one, its in matches if one), (None, 0))
        if found is None:
            return None
        for name, number in found.groupdict().items():
            if number is None or number.lower().endswith("nan"):
                continue
            value = number_of(number, decimals) if decimals else count_of(number)
            if value is None:
                return None
            printed[name] = value
    return printed if {"time_s", "tps"} <= printed.keys() else None


def aborted_client(text: str) -> int | None:
    """The client that pgbench has given up."""
    found = _CLIENT_ABORTED.fullmatch(text)
    return int(found["client"]) if found else None


def says_aborted(text: str) -> bool:
    """Whether pgbench says that the whole run was given up."""
    return _ABORTED.fullmatch(text) is not None


def is_empty_word(text: str) -> bool:
    """Whether the line is pgbench's, and says nothing."""
    word = _BULLET.sub("", text)
    return word == "script statistics:" or word.startswith("starting vacuum")


def name_of(printed: str) -> str:
    """The name of a script: those of the built-in ones are dbdyno's workloads."""
    name = printed.strip()
    built_in = re.fullmatch(r"<builtin: (.+)>", name)
    return _OWN_NAMES.get(built_in[1] if built_in else name, name)
