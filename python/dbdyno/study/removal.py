"""Removes a study together with its runs. Refuses one that is still running."""

from pathlib import Path

from dbdyno.model.study import STUDY
from dbdyno.store.errors import StoreError
from dbdyno.store.listing import remove_run
from dbdyno.store.studies import StudyWriter, read_study_record, remove_study_folder
from dbdyno.store.summary import list_runs


def remove_study(folder: Path) -> int:
    """Remove a study; return how many runs were removed with it.

    The study's folder is removed last: after an interruption the study can be removed again.
    """
    record = read_study_record(folder)
    if record.study_id != folder.name:
        raise StoreError(
            "not_a_study",
            f"{folder} is not the folder of its study, and may contain other files.",
            "Remove it yourself.",
        )
    with StudyWriter(folder, record):
        runs = [run for run in list_runs() if run.tags.get(STUDY) == record.study_id]
        for run in runs:
            remove_run(run.run_id)
        remove_study_folder(folder)
    return len(runs)
