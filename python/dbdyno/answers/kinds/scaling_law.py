"""Scaling law: how throughput grows with clients, where it peaks, and how many to allow.

The Universal Scalability Law is fitted to single runs, resampled by block. No peak is claimed where
the runs show none, and where the means do not have the law's shape the answer states this.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dbdyno.analysis.growth.connections import advise_connections
from dbdyno.analysis.growth.scaling import LEVELS_MIN, Measurement, Scaling, scaling
from dbdyno.answers.answer import Answer, Answered, Claim, CurveOf, CurveSeries, Trial, Trials
from dbdyno.answers.curves import series_over
from dbdyno.answers.grouping import chosen, title_of
from dbdyno.answers.intervals import in_brackets
from dbdyno.answers.measuring import throughput
from dbdyno.answers.two_updates import clients_text
from dbdyno.formatting import percent, significant, tps

_DRAWN = 120


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The law of the runs at the levels that ``at`` names."""
    over = str(options.get("over", "clients"))
    among = chosen(trials, options.get("at"))
    law = scaling(measurements(among, over))
    if law is None:
        return Answered(
            claims=[],
            missing=f"the law needs at least {LEVELS_MIN} numbers of {over}, all above 0",
        )
    advice = advise_connections(law)
    advised = Claim(
        sentence=advice.text.rstrip("."),
        is_decided=advice.limit is not None and not advice.doubt,
        effect=advice.limit,
        low=law.knee.low,
        high=law.knee.high,
        doubt=advice.doubt,
        evidence={"limit": advice.limit, "best_clients": law.best.clients},
    )
    picture = _picture(trials, among, law, over)
    return Answered(claims=[advised, _peak(law), _shape(law)], shown=[picture])


def measurements(among: Sequence[Trial], over: str) -> list[Measurement]:
    """Each run at its number of clients."""
    return [
        Measurement(round(float(trial.point[over])), value, trial.block)
        for trial in among
        if (value := throughput(trial)) is not None
    ]


def _peak(law: Scaling) -> Claim:
    if law.peak is None:
        if law.is_structured:
            why = "the measured throughput does not have the law's shape"
        elif law.law.peak_clients > law.clients_max:
            most = f"{law.clients_max} clients, the most that were measured"
            why = f"the law has none up to {most}"
        elif not law.crosstalk.low:
            why = "the interval of the crosstalk κ includes 0"
        else:
            fewest = f"{clients_text(law.fewest.clients)} on, the fewest that were measured"
            why = f"throughput may fall from {fewest}"
        return Claim(
            sentence=f"No peak is claimed: {why}",
            is_decided=False,
            evidence={"crosstalk": law.crosstalk.value},
        )
    peak_tps = law.law.tps_at(law.peak.value)
    return Claim(
        sentence=f"Throughput peaks at {significant(law.peak.value)} clients"
        f"{in_brackets(law.peak)} with {tps(peak_tps)} TPS by the fitted law",
        is_decided=True,
        effect=law.peak.value,
        low=law.peak.low,
        high=law.peak.high,
    )


def _shape(law: Scaling) -> Claim:
    """σ and κ with their intervals, and how well they describe what was measured."""
    crosstalk = f"{law.crosstalk.value:.2g}{in_brackets(law.crosstalk, '{:.2g}'.format)}"
    doubt = ""
    if law.is_structured is None:
        doubt = "One run at each number of clients: the fit of the law cannot be judged"
    elif law.is_structured:
        doubt = (
            "The misfit is larger than noise explains: σ and κ describe these runs but do not "
            "predict others"
        )
    return Claim(
        sentence=f"The law's contention σ is {percent(law.contention.value)}"
        f"{in_brackets(law.contention, percent)}, its crosstalk κ {crosstalk}"
        f"; it misses the means by {percent(law.misfit)}",
        is_decided=law.is_structured is False,
        effect=law.contention.value,
        low=law.contention.low,
        high=law.contention.high,
        doubt=doubt,
        evidence={
            "one_client_tps": law.one_client_tps.value,
            "contention": law.contention.value,
            "crosstalk": law.crosstalk.value,
            "misfit": law.misfit,
        },
    )


def _picture(trials: Trials, among: Sequence[Trial], law: Scaling, over: str) -> CurveOf:
    measured = series_over("measured", among, over, throughput)
    clients = np.geomspace(min(measured.x), max(measured.x), _DRAWN)
    fitted = CurveSeries(
        label="law", x=clients.tolist(), y=law.law.tps(clients).tolist(), fitted=True
    )
    return CurveOf(
        title=f"Throughput over {title_of(trials, over)}",
        summary=f"Best: {tps(law.best.tps)} TPS at {law.best.clients}.",
        x_title=title_of(trials, over),
        y_title="TPS",
        series=[measured, fitted],
        x_axis="log",
        marks=[(law.knee.value, f"knee {significant(law.knee.value)}")],
    )


ANSWER = Answer(
    id="scaling-law",
    title="How it scales",
    options={
        "over": "the factor that counts the clients (clients)",
        "at": "levels of the other factors",
    },
    answer=answer,
)
