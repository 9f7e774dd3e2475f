"""Whether the run was what its workload is defined as, and whether its data is still in order."""

from collections.abc import Iterator, Sequence

from dbdyno.analysis.doubts import allowed, amount
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import count, counted, seconds
from dbdyno.model.record import AuditRecord, CheckRecord, RunRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Number, Numbers, Section, Table

_VERDICTS = {True: "met", False: "not met", None: "too few to tell"}


def build(run: Run) -> Sequence[Block]:
    """The demands with what was measured, and the conditions with the rows that break them."""
    record = explained_record(run)
    counts = Table(
        caption="What the scripts counted",
        columns=("Count", "Number"),
        rows=[(name, count(number)) for name, number in record.counted.items()],
        numeric=frozenset({1}),
    )
    shown = [counts] if record.counted else []
    return [*_demands(record.audit), *shown, *_conditions(record.checks)]


def _demands(audit: Sequence[AuditRecord]) -> Iterator[Block]:
    if audit:
        yield Table(
            caption="What the definition of the workload demands",
            columns=("Demand", "Allowed", "Measured", "Of", "Verdict"),
            rows=[
                (
                    one.name,
                    allowed(one),
                    amount(one, one.value),
                    count(one.count),
                    _VERDICTS[one.ok],
                )
                for one in audit
            ],
            numeric=frozenset({2, 3}),
        )


def _conditions(checks: Sequence[CheckRecord]) -> Iterator[Block]:
    if not checks:
        return
    yield Table(
        caption="Conditions of the data",
        columns=("ID", "Condition", "Read", "Rows that break it"),
        rows=[
            (
                one.id,
                one.claim,
                counted(one.times, "time"),
                count(one.rows)
                + (f" ({count(one.rows_before)} before the load)" if one.rows_before else ""),
            )
            for one in checks
        ],
        numeric=frozenset({0, 3}),
    )
    for one in checks:
        if one.example is not None:
            at = one.broken_at_s
            when = "after the run" if at is None else f"{seconds(at)} after the load began"
            yield Table(
                caption=f"The first row that broke condition {one.id}, {when}",
                columns=[*one.example],
                rows=[["NULL" if value is None else str(value) for value in one.example.values()]],
                numeric=frozenset(range(len(one.example))),
            )


def summary(record: RunRecord) -> Sequence[Block]:
    """How many demands were met, and how many conditions hold."""
    numbers = [*_in_short(record.audit, record.checks)]
    return [Numbers(numbers=numbers)] if numbers else []


def _in_short(audit: Sequence[AuditRecord], checks: Sequence[CheckRecord]) -> Iterator[Number]:
    if audit:
        met = sum(one.ok is True for one in audit)
        others = {
            "too few to tell": [one.name for one in audit if one.ok is None],
            "not met": [one.name for one in audit if one.ok is False],
        }
        notes = [f"{said}: {', '.join(names)}" for said, names in others.items() if names]
        yield Number(name="audit", value=f"{met} of {len(audit)} demands met", notes=notes)
    if checks:
        broken = [one.id for one in checks if not one.ok]
        said = f"{len(broken)} of {len(checks)} broken: {', '.join(broken)}"
        held = f"{len(checks)} read, all of them hold"
        yield Number(name="conditions", value=said if broken else held)


SECTION = Section(id="audit", title="Audit", build=build, summary=summary)
