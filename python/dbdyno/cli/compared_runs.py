"""What the two sides of ``dbdyno compare`` mean: which runs stand on each, and which are pairs.

A side is written as runs with commas between them, as ``tag:name=value``, or as a study with
the levels of its factors, ``STUDY:factor=level``. Nothing is judged here but whether a run may
be compared at all: one that did not end, or is not valid, is left out and said.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.cli.tags import assignments, tags_of
from dbdyno.errors import DbdynoError
from dbdyno.model.record import RunRecord
from dbdyno.model.study import BLOCK, POINT, STUDY, levels_of
from dbdyno.store.listing import find_run
from dbdyno.store.places import runs_folder
from dbdyno.store.run import Run
from dbdyno.store.summary import read_records

PAIR_TAGS = (BLOCK, "pair")


class Side(Struct, frozen=True, kw_only=True):
    """The runs of one side, oldest first, and why others of it are not among them."""

    label: str
    runs: Sequence[Run]
    left_out: Sequence[str] = ()

    @property
    def records(self) -> list[RunRecord]:
        """Of its runs, in their order."""
        return [run.record for run in self.runs]


class Sides(Struct, frozen=True, kw_only=True):
    """Both sides; when ``paired``, the runs at the same place belong together."""

    before: Side
    after: Side
    paired: bool = False
    notes: Sequence[str] = ()
    """What was left out, each a sentence."""


def sides_of(before: str, after: str) -> Sides:
    """The runs that these words mean, in pairs where they were measured in pairs."""
    found = [side_of(text) for text in (before, after)]
    _refuse_the_same(*found)
    return paired(*found)


def side_of(text: str) -> Side:
    """The runs that one side's words mean."""
    kind, colon, rest = text.partition(":")
    tags = tags_of(text)
    if not colon:
        label, runs = _named(text)
    elif tags is not None:
        label, runs = rest, _tagged(tags)
    else:
        label, runs = rest, _of_study(kind, dict(assignments(rest, f"{kind}:clients=8")))
    reasons = {run.run_id: why_not(run.record) for run in runs}
    usable = [run for run in runs if not reasons[run.run_id]]
    left_out = [f"{name} is left out: {reason}" for name, reason in reasons.items() if reason]
    if not usable:
        raise DbdynoError(
            "nothing_to_compare",
            "; ".join([f"no run of {text} can be compared", *left_out]),
            "dbdyno runs lists all runs with their tags.",
        )
    return Side(label=label, runs=usable, left_out=left_out)


def why_not(run: RunRecord) -> str:
    """Why a run says nothing about its variant; empty when it may be used."""
    if run.status == "running":
        return "it is still running"
    if run.status != "done":
        return "it was interrupted" if run.status == "interrupted" else "it failed"
    if not run.valid:
        return "it is not valid: " + ("; ".join(run.invalid_reasons) or "no verdict was recorded")
    return ""


def _named(text: str) -> tuple[str, list[Run]]:
    """The runs of ids, paths and ``last``, with commas between them."""
    folders = [find_run(name.strip()) for name in text.split(",")]
    runs = [Run(folder) for folder in dict.fromkeys(folders)]
    return (runs[0].run_id if len(runs) == 1 else text), runs


def _tagged(wanted: Mapping[str, str]) -> list[Run]:
    """Those that carry all of these tags."""
    return [_run(record) for record in read_records() if wanted.items() <= record.tags.items()]


def _run(record: RunRecord) -> Run:
    return Run(runs_folder() / record.run_id)


def _of_study(name: str, wanted: Mapping[str, str]) -> list[Run]:
    """The runs of the one point of a study at these levels."""
    study_id, records = _study(name)
    points = {record.tags[POINT]: levels_of(record.tags[POINT]) for record in records}
    meant = [key for key, levels in points.items() if wanted.items() <= levels.items()]
    if len(meant) == 1:
        return [_run(record) for record in records if record.tags[POINT] == meant[0]]
    said = ", ".join(f"{factor}={level}" for factor, level in wanted.items())
    raise DbdynoError(
        "no_point" if not meant else "several_points",
        f"{len(meant)} points of {study_id} match {said}; exactly one must",
        f"Candidates: {'; '.join(sorted(meant or points))}. "
        "Give a level of each factor, separated by commas.",
    )


def _study(name: str) -> tuple[str, list[RunRecord]]:
    """The runs of the newest study of this name, or of the one with this id."""
    of_studies = [run for run in read_records() if {STUDY, POINT} <= run.tags.keys()]
    ids = [run.tags[STUDY] for run in of_studies if name in run.tags[STUDY]]
    exact = [study_id for study_id in ids if study_id == name]
    if not ids:
        raise DbdynoError(
            "no_study",
            f"no runs of a study named {name!r}",
            "dbdyno study list shows the studies; to select runs by tag, write tag:NAME=VALUE.",
        )
    newest = (exact or ids)[-1]
    return newest, [run for run in of_studies if run.tags[STUDY] == newest]


def _refuse_the_same(before: Side, after: Side) -> None:
    shared = {run.run_id for run in before.runs} & {run.run_id for run in after.runs}
    if shared:
        raise DbdynoError(
            "same_run",
            f"{min(shared)} is on both sides",
            "Compare different runs: dbdyno compare last~1 last",
        )


def paired(before: Side, after: Side) -> Sides:
    """In pairs when each run of both sides says to which pair it belongs, else as two sets."""
    notes = [*before.left_out, *after.left_out]
    first, second = _by_pair(before.runs), _by_pair(after.runs)
    both = [key for key in first if key in second] if first and second else []
    if not both:
        return Sides(before=before, after=after, notes=notes)
    alone = [run.run_id for run in _without(first, both) + _without(second, both)]
    notes += [f"{run_id} is left out: the other run of its pair is missing" for run_id in alone]
    return Sides(
        before=Side(label=before.label, runs=[first[key] for key in both]),
        after=Side(label=after.label, runs=[second[key] for key in both]),
        paired=True,
        notes=notes,
    )


def _by_pair(runs: Sequence[Run]) -> dict[str, Run]:
    """The runs by the pair that they belong to.

    Nothing when a run does not say it, or two say the same: then they are two sets of runs.
    """
    for tag in PAIR_TAGS:
        tagged = {_pair_of(run.record, tag): run for run in runs if tag in run.record.tags}
        if len(tagged) == len(runs):
            return tagged
    return {}


def _pair_of(run: RunRecord, tag: str) -> str:
    """Blocks of two studies are not the same block."""
    return f"{run.tags.get(STUDY, '')}/{run.tags[tag]}"


def _without(runs: Mapping[str, Run], keys: Sequence[str]) -> list[Run]:
    return [run for key, run in runs.items() if key not in keys]
