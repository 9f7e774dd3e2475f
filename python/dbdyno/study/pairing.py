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
from dbdyno.study.spec import ELSEWHERE, holds_password

SIDE, BEFORE, AFTER = "side", "before", "after"


def pair_spec(
    items: Sequence[WeightedName], options: RunOptions, hooks: Mapping[str, str], pairs: int
) -> StudySpec:
    """Return the study; ``hooks`` are the shell commands of the sides."""
    levels = tuple(Level(name=side, options={}, hook=hook) for side, hook in hooks.items())
    # The options of every run, with script files by their full paths: a resumed pair finds them.
    # The study gives each pair a seed of its own.
    files = tuple(_by_full_path(file) for file in options.script_files)
    table = option_table(replace(options, seed=None, script_files=files))
    if holds_password(table):
        raise DbdynoError(
            "usage", "the options contain a password, which would be recorded", ELSEWHERE
        )
    return StudySpec(
        name="pair",
        title=f"After against before: {hooks[AFTER]}",
        question="What changes with the command?",
        size="small",
        factors=(Factor(name=SIDE, title="side", levels=levels),),
        base={
            WORKLOAD: [
                str(_by_full_path(item) if looks_like_file(item.name) else item) for item in items
            ],
            **table,
            "tag": [f"{name}={value}" for name, value in options.tags],
        },
        repeats=pairs,
        metrics=USUAL,
        contrasts=(Contrast(factor=SIDE, before=BEFORE, after=AFTER),),
        seed=options.seed or 0,
    )


def _by_full_path(item: WeightedName) -> WeightedName:
    path = Path(item.name)
    return item._replace(name=str(path.absolute())) if path.is_file() else item
