"""The extra cost of updating an indexed column compared with a plain column.

Compares two loads pair by pair within each engine: log records and bytes, buffers and CPU time per
transaction, which noise hardly affects, and throughput. On PostgreSQL the share of HOT updates
explains the difference. The two loads may write columns of different widths, so bytes alone would
mislead: the number of log records reflects index entries.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trials
from dbdyno.answers.grouping import by_level, chosen, compared, pairs, times_of
from dbdyno.answers.hot_updates import hot_share
from dbdyno.formatting import NOTHING, percent, significant, tps
from dbdyno.model.comparison import CHANGED, MetricComparison

TELLING = ("wal_records", "buffers_hit")
METRICS = (*TELLING, "wal_bytes", "server_cpu_us", "throughput_tps")
MOST = 0.5


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim and a table for each engine that ran both loads."""
    among = chosen(trials, options.get("at"))
    claims: list[Claim] = []
    tables = []
    for engine, of in by_level(trials, among, str(options["within"])).items():
        both = pairs(of, str(options["factor"]), str(options["plain"]), str(options["indexed"]))
        found = compared(both, METRICS) if both else {}
        if found:
            plain, indexed = ([pair[side] for pair in both] for side in (0, 1))
            claims += _claims(engine, found, hot_share(plain), hot_share(indexed))
            tables.append(_table(engine, found, options))
    if not claims:
        return Answered(claims=[], missing="no engine ran both loads in one block")
    return Answered(claims=claims, shown=tables)


def _claims(
    engine: str,
    found: Mapping[str, MetricComparison],
    plain_hot: float | None,
    indexed_hot: float | None,
) -> Iterator[Claim]:
    """Claims from log records, from buffers if the server does not count those, or the rate."""
    throughput = found.get("throughput_tps")
    telling = next((found[name] for name in TELLING if name in found), throughput)
    if telling is None:
        return
    text = _rate_text(telling) if telling is throughput else _cost_text(telling)
    yield Claim(
        sentence=f"{engine}: {_hot_text(plain_hot, indexed_hot)}{text}.",
        is_decided=telling.verdict in CHANGED or _lost(plain_hot, indexed_hot),
        effect=telling.ratio,
        low=telling.low,
        high=telling.high,
        doubt=throughput.sentence if throughput else "",
        evidence={"hot_share_plain": plain_hot, "hot_share_indexed": indexed_hot},
    )


def _cost_text(of: MetricComparison) -> str:
    return (
        f"an update of an indexed column takes {significant(of.after)} {_small(of.title)}, one of "
        f"a plain column {significant(of.before)}: {times_of(of)}"
    )


def _rate_text(of: MetricComparison) -> str:
    """For a server that counts neither records nor buffers."""
    return (
        f"the load that updates an indexed column runs at {tps(of.after)} TPS, the one that "
        f"updates a plain column at {tps(of.before)}: {times_of(of)}"
    )


def _lost(plain: float | None, indexed: float | None) -> bool:
    """HOT updates are counted one by one: if most are gone, nothing needs to be estimated."""
    return plain is not None and indexed is not None and plain - indexed > MOST


def _small(title: str) -> str:
    """A title within a sentence; one in capitals is unchanged."""
    return title if title[:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _hot_text(plain: float | None, indexed: float | None) -> str:
    if plain is None or indexed is None:
        return ""
    return (
        f"{percent(plain)} of the updates of a plain column were HOT, {percent(indexed)} of those "
        "of an indexed column, which therefore write an entry to every index; "
    )


def _table(
    engine: str, found: Mapping[str, MetricComparison], options: Mapping[str, Any]
) -> TableOf:
    return TableOf(
        title=f"{engine}: update of an indexed column against a plain one",
        columns=("", str(options["plain"]), str(options["indexed"]), "ratio", "95 %", "verdict"),
        rows=[_row(one) for one in found.values()],
        numeric=frozenset({1, 2, 3, 4}),
        note="Per transaction, except throughput. Log bytes also depend on the width of the "
        "updated columns.",
    )


def _row(one: MetricComparison) -> tuple[str, ...]:
    known = one.low is not None and one.high is not None
    interval = f"{significant(one.low or 0)} to {significant(one.high or 0)}" if known else NOTHING
    return (
        one.title,
        significant(one.before),
        significant(one.after),
        significant(one.ratio),
        interval,
        one.verdict,
    )


ANSWER = Answer(
    id="index-update-cost",
    title="What an update of an indexed column costs",
    options={
        "factor": "the factor of the two loads",
        "plain": "its level that updates a column without an index",
        "indexed": "its level that updates an indexed column",
        "within": "the factor of the engines: each is compared with itself",
        "at": "levels of other factors",
    },
    answer=answer,
)
