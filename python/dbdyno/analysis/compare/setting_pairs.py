"""The settings of two servers side by side, those that differ first.

Recorded are the settings that are not a server's defaults, so what one side lacks has its default
there. Directories are left out: those of private servers always differ.
"""

from collections.abc import Iterable, Sequence

from dbdyno.analysis.compare.unequal_conditions import DEFAULT, durability_facts, setting_facts
from dbdyno.model.comparison import SettingPair
from dbdyno.model.run import Conditions


def setting_pairs(before: Sequence[Conditions], after: Sequence[Conditions]) -> list[SettingPair]:
    """Each setting with its values on both sides; several runs of a side may have several."""
    sides = [[_settings(run) for run in side] for side in (before, after)]
    names = sorted({name for side in sides for settings in side for name in settings})
    pairs = [
        SettingPair(
            name=name,
            before=_values(settings.get(name, DEFAULT) for settings in sides[0]),
            after=_values(settings.get(name, DEFAULT) for settings in sides[1]),
        )
        for name in names
    ]
    return sorted(pairs, key=lambda pair: not pair.differs)


def _settings(run: Conditions) -> dict[str, str]:
    return {**setting_facts(run), **durability_facts(run.record)}


def _values(found: Iterable[str]) -> str:
    return " or ".join(sorted(set(found)))
