"""A before/after comparison as a study: one factor, whose two levels differ by their hooks.

So order, servers, data, resuming and errors are those of any study.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno.analysis.compare.metrics import USUAL
from dbdyno.errors import DbdynoError
from dbdyno.model.study import Contrast, Factor, Level, StudySpec
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.options.words import WORKLOAD, option_table
from dbdyno.run.work import looks_like_file
from dbdyno.store.secrets import without_password
from dbdyno.study.spec import ELSEWHERE

SIDE, BEFORE, AFTER = "side", "before", "after"


def pair_spec(
    items: Sequence[WeightedName], options: RunOptions, hooks: Mapping[str, str], pairs: int
) -> StudySpec:
    """Return the study; ``hooks`` are the shell commands of the sides."""
    if options.target is not None and without_password(options.target) != options.target:
        raise DbdynoError(
            "usage", "--target contains a password, which would be recorded", ELSEWHERE
        )
    levels = tuple(Level(name=side, options={}, hook=hook) for side, hook in hooks.items())
    # The options of every run, with script files by their full paths: a resumed pair finds them.
    # The study gives each pair a seed of its own.
    given = replace(options, seed=None)
    return StudySpec(
        name="pair",
        title=f"After against before: {hooks[AFTER]}",
        question="What changes with the command?",
        size="small",
        factors=(Factor(name=SIDE, title="side", levels=levels),),
        base={
            WORKLOAD: [_weighted(item) for item in items],
            **option_table(given),
            "tag": [f"{name}={value}" for name, value in options.tags],
        },
        repeats=pairs,
        metrics=USUAL,
        contrasts=(Contrast(factor=SIDE, before=BEFORE, after=AFTER),),
        seed=options.seed or 0,
    )


def _weighted(item: WeightedName) -> str:
    path = Path(item.name)
    name = str(path.absolute()) if looks_like_file(item.name) and path.is_file() else item.name
    return str(item._replace(name=name))
