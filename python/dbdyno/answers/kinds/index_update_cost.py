"""The extra cost of updating an indexed column compared with a plain column.

Compares two loads pair by pair within each engine: log records and bytes, buffers and CPU time per
transaction, which noise hardly affects, and throughput. On PostgreSQL the share of HOT updates
explains the difference. The two loads may write columns of different widths, so bytes alone would
mislead: the number of log records reflects index entries.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trials
from dbdyno.answers.grouping import by_level, chosen, compared, pairs
from dbdyno.answers.intervals import lowered, range_text, times_of
from dbdyno.answers.measuring import hot_share
from dbdyno.answers.tables import table
from dbdyno.formatting import percent, significant, tps
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
            shown = table(
                f"{engine}: update of an indexed column against a plain one",
                found.values(),
                {
                    "": lambda one: one.title,
                    str(options["plain"]): lambda one: significant(one.before),
                    str(options["indexed"]): lambda one: significant(one.after),
                    "ratio": lambda one: significant(one.ratio),
                    "95 %": range_text,
                    "verdict": lambda one: one.verdict,
                },
                texts=("", "verdict"),
                note="Per transaction, except throughput. Log bytes also depend on the width of "
                "the updated columns.",
            )
            tables.append(shown)
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
    if telling is throughput:  # the server counts neither records nor buffers
        text = (
            f"the load that updates an indexed column runs at {tps(telling.after)} TPS, the one "
            f"that updates a plain column at {tps(telling.before)}: {times_of(telling)}"
        )
    else:
        text = (
            f"an update of an indexed column takes {significant(telling.after)} "
            f"{lowered(telling.title)}, one of a plain column {significant(telling.before)}: "
            f"{times_of(telling)}"
        )
    hot, is_hot_lost = "", False
    if plain_hot is not None and indexed_hot is not None:
        # HOT updates are counted one by one: if most are gone, nothing needs to be estimated.
        is_hot_lost = plain_hot - indexed_hot > MOST
        hot = (
            f"{percent(plain_hot)} of the updates of a plain column were HOT, "
            f"{percent(indexed_hot)} of those of an indexed column, which therefore write an "
            "entry to every index; "
        )
    yield Claim(
        sentence=f"{engine}: {hot}{text}.",
        is_decided=telling.verdict in CHANGED or is_hot_lost,
        effect=telling.ratio,
        low=telling.low,
        high=telling.high,
        doubt=throughput.sentence if throughput else "",
        evidence={"hot_share_plain": plain_hot, "hot_share_indexed": indexed_hot},
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
