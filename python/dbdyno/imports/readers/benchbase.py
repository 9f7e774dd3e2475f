"""Reads BenchBase, also as OLTPBench and TPC-C of YugabyteDB: its log, and ``summary.json``."""

import json
import re
from typing import Any

from dbdyno.imports.imported_run import ImportedRun, ImportedScript
from dbdyno.imports.text import Line
from dbdyno.model.record import PrintedFigure

OBJECT_LINES_MAX = 200
_RATE = re.compile(
    r".*Rate limited reqs/s: Results\((?:state=\w+, )?nanoSeconds=(?P<ns>\d+), "
    r"measuredRequests=(?P<requests>\d+)\) = (?P<rate>[\d.]+(?:[eE]-?\d+)?) requests/sec"
    r"(?: \(throughput\), (?P<goodput>[\d.]+(?:[eE]-?\d+)?) requests/sec \(goodput\))?.*"
)
_ORDERS = re.compile(r".*INFO\s+- (?P<name>TPM-C|Efficiency)\s?: (?P<value>[\d.]+)")
_PRODUCTS = {"POSTGRES": "postgres", "MYSQL": "mysql", "MARIADB": "mariadb", "ORACLE": "oracle"}
_LATENCY = "Latency Distribution"
_LATENCIES = {
    "Average Latency (microseconds)": "mean",
    "Median Latency (microseconds)": "p50",
    "90th Percentile Latency (microseconds)": "p90",
    "95th Percentile Latency (microseconds)": "p95",
    "99th Percentile Latency (microseconds)": "p99",
    "Maximum Latency (microseconds)": "max",
}
_UNIT = re.compile(r"(?P<name>.+?) \((?P<unit>[a-z/]+)\)")
_UNITS = {"microseconds": "µs", "milliseconds": "ms", "nanoseconds": "ns", "requests/second": "1/s"}


class BenchbaseReader:
    """Reads the output of BenchBase."""

    def __init__(self) -> None:
        self.runs: list[ImportedRun] = []
        self.notes: list[str] = []
        self._object: list[str] = []
        self._begins_at = 0
        self._of_log: ImportedRun | None = None

    def take(self, line: Line) -> bool:
        """Return whether the line is BenchBase's."""
        return self._summary(line) or self._rate(line) or self._orders(line)

    def finish(self) -> None:
        """Do nothing: a result is whole with its line, or with its object."""

    def _rate(self, line: Line) -> bool:
        found = _RATE.fullmatch(line.text)
        if found is None or not line.is_whole:
            return False
        requests, rate = int(found["requests"]), float(found["rate"])
        printed = {
            "elapsed time": (int(found["ns"]), "ns"),
            "measured requests": (requests, ""),
            "throughput": (rate, "1/s"),
        }
        if found["goodput"]:
            printed["goodput"] = (float(found["goodput"]), "1/s")
        self._of_log = ImportedRun(
            tool="BenchBase",
            first_line=line.number,
            last_line=line.number,
            is_complete=True,
            workload="benchbase",
            duration_s=int(found["ns"]) / 1e9,
            ok=requests,
            tps=rate,
            figures=[
                PrintedFigure(name=name, value=value, unit=unit, line=line.number)
                for name, (value, unit) in printed.items()
            ],
        )
        self.runs.append(self._of_log)
        return True

    def _orders(self, line: Line) -> bool:
        """What the client of YugabyteDB prints after the rate."""
        found = _ORDERS.fullmatch(line.text)
        run = self._of_log
        if found is None or run is None or not line.is_whole:
            return False
        value = float(found["value"])
        run.figures.append(PrintedFigure(name=found["name"], value=value, line=line.number))
        run.last_line = line.number
        if found["name"] == "TPM-C":
            run.nopm, run.workload = value, "tpcc (BenchBase)"
        return True

    def _summary(self, line: Line) -> bool:
        """The object of ``summary.json``, over several lines."""
        text = line.text.strip()
        if not self._object:
            if not text.startswith("{"):
                return False
            self._begins_at = line.number
        self._object.append(text)
        joined = "\n".join(self._object)
        if joined.count("{") > joined.count("}") and len(self._object) < OBJECT_LINES_MAX:
            return False
        self._object = []
        try:
            told = json.loads(joined)
        except ValueError:
            return False
        if not isinstance(told, dict) or "Throughput (requests/second)" not in told:
            return False
        self.runs.append(self._of_object(told, line.number))
        return True

    def _of_object(self, told: dict[str, Any], last_line: int) -> ImportedRun:
        latencies = told.get(_LATENCY) or {}
        scale, began_ms = told.get("scalefactor"), told.get("Start timestamp (milliseconds)")
        length_ns, clients = told.get("Elapsed Time (nanoseconds)"), told.get("terminals")
        product = _PRODUCTS.get(str(told.get("DBMS Type")), "")
        version = re.search(r"\d+(?:\.\d+)+", str(told.get("DBMS Version")))
        run = ImportedRun(
            tool="BenchBase",
            first_line=self._begins_at,
            last_line=last_line,
            is_complete=True,
            workload=f"{told.get('Benchmark Type') or 'benchbase'} (BenchBase)",
            product=product,
            server_version=version[0] if version and product else "",
            began_unix_s=None if began_ms is None else began_ms / 1e3,
            clients=None if clients is None else int(clients),
            scale=int(float(scale)) if scale and float(scale).is_integer() else None,
            duration_s=None if length_ns is None else length_ns / 1e9,
            ok=told.get("Measured Requests"),
            tps=told["Throughput (requests/second)"],
            latencies_ms={
                short: latencies[name] / 1e3
                for name, short in _LATENCIES.items()
                if latencies.get(name) is not None
            },
            figures=[
                figure_of(name, value, self._begins_at)
                for name, value in (told | latencies).items()
                if isinstance(value, int | float | str)
            ],
        )
        if run.ok is not None:
            run.scripts = [ImportedScript(name=run.workload, ok=run.ok)]
        return run


def figure_of(printed: str, value: float | str, line: int) -> PrintedFigure:
    """A figure of the summary, whose name ends in its unit."""
    found = _UNIT.fullmatch(printed)
    if found is None or found["unit"] not in _UNITS:
        return PrintedFigure(name=printed, value=value, line=line)
    return PrintedFigure(name=found["name"], value=value, unit=_UNITS[found["unit"]], line=line)
