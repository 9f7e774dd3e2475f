"""How many transactions succeeded."""

from collections.abc import Sequence

from dbdyno.analysis.summarize import full_record
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Facts, Section


def build(run: Run) -> Sequence[Block]:
    """One fact."""
    counts = full_record(run).transactions
    return [Facts(pairs=[("succeeded", str(counts.ok))])] if counts else []


SECTION = Section(id="transactions", title="All transactions", build=build)
