"""The host, and what the engine reported about itself on it."""

from collections.abc import Sequence

from dbdyno.explain.explain import explained_record
from dbdyno.formatting import count, significant
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Facts, Section
from dbdyno.report.facts import readable_pairs


def build(run: Run) -> Sequence[Block]:
    """Host facts, then the engine's."""
    hello, client = run.engine.hello, explained_record(run).client
    reported = {"io": hello.io, "io_reason": hello.io_reason, "threads": hello.threads}
    engine = {name: value for name, value in reported.items() if value}
    pairs = readable_pairs(run.as_recorded.host) + readable_pairs({"engine": engine})
    if client and client.cpu_us_per_transaction is not None:
        cost = f"{significant(client.cpu_us_per_transaction)}\u202fµs per transaction"
        pairs.append(("Engine CPU", cost))
    switches = run.intervals.involuntary_switches
    if len(switches) and not run.record.imported:
        pairs.append(("Engine involuntary context switches", count(int(switches.sum()))))
    return [Facts(pairs=pairs)] if pairs else []


SECTION = Section(id="host", title="Host", build=build)
