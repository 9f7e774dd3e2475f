"""Many runs as pages that lead to each other: the list of runs, and kinds of load by server."""

from collections.abc import Callable, Iterable, Sequence
from math import exp, fsum, log

from msgspec import Struct

from dbdyno.formatting import NOTHING, counted, milliseconds, tps
from dbdyno.model.run import Conditions
from dbdyno.report.content import Block, HeadLine, Page, PageSection, Table, Text
from dbdyno.report.verdict import conditions, is_for_use, server_label, verdict

_NO_RESULT = "No run has a result that can be used."
_COLUMNS = ("Run", "Began", "Workload", "Server", "Clients", "TPS", "p99", "Result", "Tags")
_NUMERIC = frozenset({1, 4, 5, 6})


class Published(Struct, frozen=True):
    """A run, and the address of its report relative to these pages."""

    run: Conditions
    address: str

    @property
    def server(self) -> str:
        """The server, in a few words."""
        record = self.run.record
        return server_label(record.target, record.server)

    @property
    def load(self) -> str:
        """What was run, and how."""
        return f"{self.run.record.workload}, {conditions(self.run.record, self.run.plan)}"

    @property
    def tps(self) -> float | None:
        """The throughput, if it can be used."""
        found = self.run.record.throughput_tps
        return found.value if found and is_for_use(self.run.record) else None

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile of response times, if it can be used."""
        found = self.run.record.response_ms
        return found.p99 if found and is_for_use(self.run.record) else None


def index_page(title: str, runs: Sequence[Published]) -> Page:
    """The runs, the newest first, each with its report."""
    table = Table(
        caption="Runs, the newest first",
        columns=_COLUMNS,
        rows=[_row(one) for one in runs],
        numeric=_NUMERIC,
        addresses=[(one.address, *[""] * (len(_COLUMNS) - 1)) for one in runs],
    )
    days = sorted(one.run.record.started_at[:10] for one in runs)
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return Page(
        name="published runs",
        title=title,
        head=[HeadLine(text=f"{counted(len(runs), 'run')}, {span}")],
        top=[],
        sections=[PageSection(id="runs", title="Runs", blocks=[table])],
        footer="Names of hosts, users, databases and folders are masked.",
    )


def matrix_page(title: str, runs: Sequence[Published]) -> Page:
    """Each kind of load on each server: its throughput, and its response times."""
    usable = [one for one in runs if one.tps is not None]
    blocks: list[Block] = [Text(text=_NO_RESULT)]
    if usable:
        blocks = [
            _matrix("Transactions per second", usable, [one.tps for one in usable], tps),
            _matrix("99th percentile", usable, [one.p99_ms for one in usable], milliseconds),
        ]
    return Page(
        name="published runs",
        title=title,
        head=[HeadLine(text="What does each server do under each load?", style="question")],
        top=[],
        sections=[PageSection(id="matrix", title="Load by server", blocks=blocks)],
        footer="Geometric means of the valid runs, with their number; each leads to the latest. "
        "Runs of different hosts or days differ for other reasons, too: dbdyno compare judges.",
    )


def _row(published: Published) -> Sequence[str]:
    run = published.run
    return (
        run.record.run_id,
        run.record.started_at[:16].replace("T", " "),
        run.record.workload,
        published.server,
        str(run.plan.clients),
        tps(published.tps),
        milliseconds(published.p99_ms),
        verdict(run.record),
        " ".join(f"{name}={value}" for name, value in run.record.tags.items()),
    )


def _matrix(
    caption: str,
    runs: Sequence[Published],
    values: Iterable[float | None],
    write: Callable[[float], str],
) -> Table:
    """A row for each load, a column for each server; ``values`` are those of the runs."""
    servers = sorted({one.server for one in runs})
    loads = sorted({one.load for one in runs})
    cells: dict[tuple[str, str], list[tuple[Published, float]]] = {}
    for one, value in zip(runs, values, strict=True):
        if value is not None and value > 0:
            cells.setdefault((one.load, one.server), []).append((one, value))
    rows, addresses = [], []
    for load in loads:
        row, leads = [load], [""]
        for server in servers:
            found = cells.get((load, server), [])
            mean = exp(fsum(log(value) for _, value in found) / len(found)) if found else None
            number = f" ({len(found)})" if len(found) > 1 else ""
            row.append(NOTHING if mean is None else f"{write(mean)}{number}")
            leads.append(found[0][0].address if found else "")
        rows.append(row)
        addresses.append(leads)
    return Table(
        caption=caption,
        columns=("Load", *servers),
        rows=rows,
        numeric=frozenset(range(1, len(servers) + 1)),
        addresses=addresses,
    )
