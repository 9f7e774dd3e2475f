"""Removes a study with the runs that it made. Refuses one that is still running."""

from pathlib import Path

from dbdyno import store
from dbdyno.model.study import STUDY
from dbdyno.store.studies import StudyWriter, read_study_record, remove_study_folder


def remove_study(folder: Path) -> int:
    """How many runs went with it.

    The folder goes last: when something comes in between, the study is there to be removed again.
    """
    record = read_study_record(folder)
    with StudyWriter(folder, record):
        runs = [run for run in store.list_runs() if run.tags.get(STUDY) == record.study_id]
        for run in runs:
            store.remove_run(run.run_id)
        remove_study_folder(folder)
    return len(runs)
