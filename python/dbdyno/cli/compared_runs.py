"""What the two sides of ``dbdyno compare`` mean: the runs of each side, and which form pairs.

A side is written as comma-separated runs, as ``tag:name=value``, or as a study with the levels of
its factors, ``STUDY:factor=level``. The only judgement here is whether a run may be compared at
all: one that did not finish, or is not valid, is left out and reported.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.analysis.compare.metrics import metrics_of
from dbdyno.errors import DbdynoError
from dbdyno.model.record import RunRecord
from dbdyno.model.study import BLOCK, POINT, STUDY, levels_of
from dbdyno.run.options.grammar import assignments, tags_of
from dbdyno.store.listing import find_run, runs_folder
from dbdyno.store.run import RunFolder
from dbdyno.store.summary import RunSummary, list_runs

PAIR_TAGS = (BLOCK, "pair")
_ALL_RUNS = "dbdyno runs lists all runs with their tags."


class RunSet(Struct, frozen=True, kw_only=True):
    """The runs of one side, oldest first, and why others of it are left out."""

    label: str
    runs: Sequence[RunFolder]
    left_out: Sequence[str] = ()

    @property
    def records(self) -> list[RunRecord]:
        """The records of its runs, in their order."""
        return [run.record for run in self.runs]

    @property
    def common_tags(self) -> dict[str, str]:
        """The tags that all its runs share; a single run's tags say nothing about a set.

        Tags with a comma cannot be written as a side.
        """
        first, *others = (run.tags.items() for run in self.records)
        shared = [one for one in first if all(one in tags for tags in others)] if others else []
        common = {name: value for name, value in shared if name not in (*PAIR_TAGS, STUDY)}
        return {name: value for name, value in common.items() if "," not in name + value}


class ComparedRuns(Struct, frozen=True, kw_only=True):
    """Both sides; if ``paired``, runs at the same position form a pair."""

    before: RunSet
    after: RunSet
    paired: bool = False
    notes: Sequence[str] = ()
    """What was left out, in sentences."""

    @property
    def sides(self) -> tuple[RunSet, RunSet]:
        """Both sides, in order."""
        return self.before, self.after

    @property
    def metrics(self) -> list[str]:
        """The metrics that were measured in some run of either side."""
        names = (name for side in self.sides for run in side.records for name in metrics_of(run))
        return list(dict.fromkeys(names))

    @property
    def are_single(self) -> bool:
        """Whether these are just two runs."""
        return len(self.before.runs) == len(self.after.runs) == 1 and not self.paired

    @property
    def study_id(self) -> str | None:
        """The study to which all runs belong, if there is one."""
        studies = {run.tags.get(STUDY) for side in self.sides for run in side.records}
        return studies.pop() if len(studies) == 1 else None

    @property
    def tags(self) -> list[dict[str, str]]:
        """The tags that distinguish the sides: the runs' own if these do, else new ones."""
        both = [side.common_tags for side in self.sides]
        one, other = (tags.items() for tags in both)
        if not one <= other and not other <= one:
            return both
        return [{"variant": side.runs[0].run_id} for side in self.sides]


def select_runs(before: str, after: str) -> ComparedRuns:
    """Return the runs that these words select, in pairs if they were measured in pairs."""
    first, second = run_set(before), run_set(after)
    if shared := {run.run_id for run in first.runs} & {run.run_id for run in second.runs}:
        raise DbdynoError(
            "same_run",
            f"{min(shared)} is on both sides",
            "Compare different runs: dbdyno compare last~1 last",
        )
    return paired(first, second)


def run_set(text: str) -> RunSet:
    """Return the runs that one side's words select."""
    kind, colon, rest = text.partition(":")
    tags = tags_of(text)
    if not colon:
        label, runs = _named(text)
    elif tags is not None:
        label = rest
        runs = [_run(one) for one in _oldest_first() if tags.items() <= one.tags.items()]
    else:
        label, runs = rest, _of_study(kind, dict(assignments(rest, f"{kind}:clients=8")))
    if not runs:
        raise DbdynoError("nothing_to_compare", f"no run has {text}", _ALL_RUNS)
    reasons = {run.run_id: why_not(run.record) for run in runs}
    usable = [run for run in runs if not reasons[run.run_id]]
    left_out = [f"{name} is left out: {reason}" for name, reason in reasons.items() if reason]
    if not usable:
        raise DbdynoError(
            "nothing_to_compare",
            "; ".join([f"no run of {text} can be compared", *left_out]),
            _ALL_RUNS,
        )
    return RunSet(label=label, runs=usable, left_out=left_out)


def why_not(run: RunRecord) -> str:
    """Return why a run says nothing about its variant; empty if it can be used."""
    if run.status == "running":
        return "it is still running"
    if run.status != "done":
        return "it was interrupted" if run.status == "interrupted" else "it failed"
    if not run.valid and not (run.imported and run.valid is None):
        return "it is not valid: " + ("; ".join(run.invalid_reasons) or "no verdict was recorded")
    return ""


def _named(text: str) -> tuple[str, list[RunFolder]]:
    """Return the runs of comma-separated IDs, paths and ``last``."""
    folders = [find_run(name.strip()) for name in text.split(",")]
    runs = [RunFolder(folder) for folder in dict.fromkeys(folders)]
    return (runs[0].run_id if len(runs) == 1 else text), runs


def _oldest_first() -> list[RunSummary]:
    return list_runs()[::-1]


def _run(listed: RunSummary) -> RunFolder:
    return RunFolder(runs_folder() / listed.run_id)


def _of_study(name: str, wanted: Mapping[str, str]) -> list[RunFolder]:
    """Return the runs of the one point of a study with these levels."""
    study_id, runs = _study(name)
    points = {run.tags[POINT]: levels_of(run.tags[POINT]) for run in runs}
    meant = [key for key, levels in points.items() if wanted.items() <= levels.items()]
    if len(meant) == 1:
        return [_run(run) for run in runs if run.tags[POINT] == meant[0]]
    text = ", ".join(f"{factor}={level}" for factor, level in wanted.items())
    raise DbdynoError(
        "no_point" if not meant else "several_points",
        f"{len(meant)} points of {study_id} match {text}; exactly one must",
        f"Candidates: {'; '.join(sorted(meant or points))}. "
        "Give a level of each factor, separated by commas.",
    )


def _study(name: str) -> tuple[str, list[RunSummary]]:
    """Return the runs of the newest study with this name, or of the one with this ID."""
    of_studies = [run for run in _oldest_first() if {STUDY, POINT} <= run.tags.keys()]
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


def paired(before: RunSet, after: RunSet) -> ComparedRuns:
    """Pair the runs if each run of both sides says to which pair it belongs; else keep two sets."""
    notes = [*before.left_out, *after.left_out]
    first, second = _by_pair(before.runs), _by_pair(after.runs)
    both = [key for key in first if key in second] if first and second else []
    if not both:
        return ComparedRuns(before=before, after=after, notes=notes)
    alone = [run.run_id for run in _without(first, both) + _without(second, both)]
    notes += [f"{run_id} is left out: the other run of its pair is missing" for run_id in alone]
    return ComparedRuns(
        before=RunSet(label=before.label, runs=[first[key] for key in both]),
        after=RunSet(label=after.label, runs=[second[key] for key in both]),
        paired=True,
        notes=notes,
    )


def _by_pair(runs: Sequence[RunFolder]) -> dict[str, RunFolder]:
    """Return the runs by the pair to which they belong: equal blocks of two studies are two pairs.

    Empty if a run does not name its pair, or two name the same: then they are a set of runs.
    """
    for tag in PAIR_TAGS:
        tags = [(run, run.record.tags) for run in runs if tag in run.record.tags]
        tagged = {f"{its.get(STUDY, '')}/{its[tag]}": run for run, its in tags}
        if len(tagged) == len(runs):
            return tagged
    return {}


def _without(runs: Mapping[str, RunFolder], keys: Sequence[str]) -> list[RunFolder]:
    return [run for key, run in runs.items() if key not in keys]
