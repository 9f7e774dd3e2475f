"""The output of ``dbdyno explain --verify``: what was predicted against what was measured."""

from dbdyno.formatting import THIN_SPACE, counted, seconds, tps
from dbdyno.run.verify import Trial, Verification


def verification_lines(found: Verification, trial: Trial) -> list[str]:
    """Return the pairs, the ratio with its interval, and what that says about the prediction."""
    lines = [
        "The advised statement order against the original one:",
        *(f"  {tps(before)} TPS, advised {tps(after)} TPS" for before, after in found.pairs),
        f"  measured: {_ratio_text(found, trial)}",
        f"  predicted: {found.predicted:.3g} times at most",
        f"  {_judgement(found)}",
    ]
    return [line.replace(THIN_SPACE, " ") for line in lines]


def _ratio_text(found: Verification, trial: Trial) -> str:
    ratio = found.measured
    runs = f"{counted(len(found.pairs), 'pair')} of {seconds(trial.duration_ns / 1e9)}"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3g} times ({runs}; one pair has no interval)"
    return f"{ratio.value:.3g} times, {ratio.low:.3g} to {ratio.high:.3g} at 95 % ({runs})"


def _judgement(found: Verification) -> str:
    ratio = found.measured
    if not ratio.is_significant:
        return "These runs cannot tell the two orders apart; more pairs may."
    if ratio.value < 1:
        return "The advice is refuted: the advised order is slower."
    assert ratio.low is not None
    if ratio.low > found.predicted:
        return "The advised order is faster, by more than predicted."
    return "The advised order is faster, as predicted."
