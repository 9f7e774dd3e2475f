"""dbdyno, run as a user runs it; its CPU time is that of the whole command."""

import json

from bench.tool import Load, Outcome, Tool, dbdyno_path
from dbdyno.databases.connecting import url_of
from dbdyno.model.plan import Endpoint


def _arguments(load: Load, endpoint: Endpoint) -> list[str]:
    numbers = ["-c", str(load.clients), "-T", str(load.seconds), "--warmup", "0s"]
    return ["run", *load.options, *numbers, "--target", url_of(endpoint), "--json"]


def _read(out: str) -> Outcome:
    result = json.loads(out)
    counts = result["transactions"]
    return Outcome(result["throughput_tps"]["value"], counts["ok"], counts["failed"])


DBDYNO = Tool(name="dbdyno", find=dbdyno_path, arguments=_arguments, read=_read)
