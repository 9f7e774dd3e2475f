"""The settings of two servers side by side, those that differ first.

Recorded are the settings that are not a server's defaults, so what one side lacks has its default
there, unless it is a setting of another product. Directories are left out: those of private servers
always differ.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from dbdyno.analysis.compare.unequal_conditions import DEFAULT, durability_facts, setting_facts
from dbdyno.formatting import NOTHING
from dbdyno.model.comparison import SettingPair
from dbdyno.model.run import Conditions


def setting_pairs(before: Sequence[Conditions], after: Sequence[Conditions]) -> list[SettingPair]:
    """Each setting with its values on both sides; several runs of a side may have several."""
    sides = [[(_product(run), _settings(run)) for run in side] for side in (before, after)]
    known: dict[str, set[str]] = defaultdict(set)
    for product, settings in (run for side in sides for run in side):
        known[product] |= settings.keys()

    def values(side: Iterable[tuple[str, dict[str, str]]], name: str) -> str:
        found = {
            settings.get(name, DEFAULT if name in known[product] else NOTHING)
            for product, settings in side
        }
        return " or ".join(sorted(found))

    pairs = [
        SettingPair(name=name, before=values(sides[0], name), after=values(sides[1], name))
        for name in sorted(set().union(*known.values()))
    ]
    return sorted(pairs, key=lambda one: (not one.differs, NOTHING in (one.before, one.after)))


def _product(run: Conditions) -> str:
    return str(run.record.server.get("product", ""))


def _settings(run: Conditions) -> dict[str, str]:
    return {**setting_facts(run), **durability_facts(run.record)}
