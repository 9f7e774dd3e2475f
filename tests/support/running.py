"""Whole runs from words and options, as commands make them."""

from collections.abc import Sequence

from dbdyno.model.run import Run
from dbdyno.run import runner
from dbdyno.run.job import check
from dbdyno.run.observer import Observer
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import Tools


def run(
    items: Sequence[WeightedName], options: RunOptions, tools: Tools, observer: Observer
) -> Run:
    return runner.run(check(items, options, tools, observer.say), tools, observer)
