"""Whether the variants are equally durable: their durability settings side by side.

A server that is faster because it is less durable has won nothing. The durability level follows
from the server's own settings, as recorded with every run; durability achieved in other ways (a
battery, a replica) is not visible here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.formatting import NOTHING

_SEVERAL = ", "


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """One claim, and every durability setting of every variant."""
    sides = by_level(trials, chosen(trials, options.get("at")), str(options["factor"]))
    if not sides:
        return Answered(claims=[], missing=f"no run has a level of {options['factor']}")
    promises = {name: _values_text(among, "promise") for name, among in sides.items()}
    rows = []
    for name, among in sides.items():
        settings = dict.fromkeys(
            f"{setting}={value}"
            for trial in among
            for setting, value in trial.record.server.get("durability", {}).items()
        )
        version = _values_text(among, "version")
        rows.append((name, version, promises[name], ", ".join(settings)))
    shown = TableOf(
        title="Durability of each variant, and its settings",
        columns=("", "version", "durability", "settings"),
        rows=rows,
    )
    return Answered(claims=[_claim(promises)], shown=[shown])


def _values_text(among: Sequence[Trial], field: str) -> str:
    """The value that all runs have, or each value that some of them have."""
    found = dict.fromkeys(str(trial.record.server.get(field) or NOTHING) for trial in among)
    return _SEVERAL.join(found)


def _claim(promises: Mapping[str, str]) -> Claim:
    kept = set(promises.values())
    levels = ", ".join(f"{name} {promise}" for name, promise in promises.items())
    if any(NOTHING in promise or _SEVERAL in promise for promise in kept):
        return Claim(
            sentence=f"Whether the variants are equally durable is not known ({levels}): the "
            "settings of some are no known level, or change from run to run.",
            is_decided=False,
            doubt="Compare the settings, or run again with --durability full.",
        )
    if len(kept) == 1:
        return Claim(
            sentence=f"All variants have the same durability: {kept.pop()}.", is_decided=True
        )
    return Claim(
        sentence=f"The variants differ in durability ({levels}): a faster one may only be less "
        "durable.",
        is_decided=True,
        doubt="Run again with --durability full before drawing conclusions.",
    )


ANSWER = Answer(
    id="equal-promise",
    title="Durability of the variants",
    options={
        "factor": "the factor of the variants",
        "at": "levels of other factors",
    },
    answer=answer,
)
