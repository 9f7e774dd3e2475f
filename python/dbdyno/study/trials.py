"""Reads a study's runs back: all that its answers are made from."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from dbdyno.answers.answer import Trial, Trials
from dbdyno.explain.case import Case
from dbdyno.model.recording import Histograms
from dbdyno.model.study import StudyRecord
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.places import runs_folder
from dbdyno.store.run import Run


def trials_of(study: StudyRecord, histograms: Histograms) -> Trials:
    """Return the runs that succeeded, in the order in which they were run."""
    return Trials(study=study, trials=[*_trials(study, histograms)])


def lost_runs(study: StudyRecord) -> list[str]:
    """Return the IDs of runs that no longer exist."""
    runs = [result.run_id for result in study.results if result.status == "done"]
    return [run_id for run_id in runs if not (runs_folder() / run_id).is_dir()]


def _trials(study: StudyRecord, histograms: Histograms) -> Iterator[Trial]:
    levels = {point.key: point.levels for point in study.points}
    for result in study.results:
        if result.status != "done":
            continue
        folder = runs_folder() / result.run_id
        try:
            found = Run(folder)
        except StoreError as error:
            if folder.is_dir():  # of those that were removed, ``lost_runs`` tells
                leave_out(folder, error)
            continue  # the other runs still count
        point = levels[result.turn.point]
        load = partial(_case, found.folder, histograms)
        yield Trial(point, result.turn.block, found.record, load)


def _case(folder: Path, histograms: Histograms) -> Case:
    return Case(Run(folder).recording(), histograms)
