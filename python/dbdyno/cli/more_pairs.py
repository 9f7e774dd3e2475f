"""The command that would decide an open comparison: more pairs of the same two runs.

It consists of the words that requested the runs, so it can be pasted into a shell as it is. A study
is continued: with further blocks, on the same data.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.cli.compared_runs import PAIR_TAGS, ComparedRuns, RunSet
from dbdyno.model.comparison import Comparison
from dbdyno.model.record import RunRecord
from dbdyno.model.study import STUDY
from dbdyno.run.command_line import command_of, flags
from dbdyno.run.work import STANDARD_INPUT
from dbdyno.store.errors import StoreError
from dbdyno.store.studies import find_study_folder, read_study_record
from dbdyno.study.feasibility import span

_PAIR = PAIR_TAGS[-1]
_LONG_S = 900
_SCRIPTS = (".sql", ".lua")
_CHANGED_ELSEWHERE = "# with the commands that bring the server into the state of each side"
_CHANGED_BY_HAND = "  # the two commands are identical: change what differs between the variants"


def more_pairs_command(compared: ComparedRuns, comparison: Comparison) -> str:
    """Return the command; empty if everything is decided, or if a run cannot be repeated."""
    more = comparison.more_pairs
    runs = [run_set.records[-1] for run_set in (compared.before, compared.after)]
    if not more:
        return ""
    if study_id := _study_of_all(compared):
        return _study_further(study_id, comparison.pairs_in_all)
    if not all(map(_can_be_repeated, runs)):
        return ""
    if runs[0].command == runs[1].command and _are_single(compared):
        return "\n".join([*_length(runs, more), *_pair(runs[0], more)])
    tags = _tags(compared)
    first = len(compared.before.runs) + 1 if compared.paired else 1
    return "\n".join(
        [
            *_length(runs, more),
            f"for {_PAIR} in $(seq {first} {first + more - 1}); do",
            *([_CHANGED_BY_HAND] if runs[0].command == runs[1].command else []),
            *(f"  {_run(run, own)}" for run, own in zip(runs, tags, strict=True)),
            "done",
            shlex.join(["dbdyno", "compare", *map(_with_runs, tags)]),
        ]
    )


def _length(runs: Sequence[RunRecord], more: int) -> list[str]:
    """Return a comment that warns before pasting a command that takes long."""
    took_s = more * sum(run.duration_s or 0 for run in runs)
    if took_s < _LONG_S:
        return []
    return [f"# {span(took_s)} at least; a single metric (--metric) may need fewer pairs"]


def _are_single(compared: ComparedRuns) -> bool:
    return len(compared.before.runs) == len(compared.after.runs) == 1 and not compared.paired


def _pair(run: RunRecord, more: int) -> list[str]:
    """Return the command for two equal runs: what differs between them was changed elsewhere."""
    words = shlex.join(["dbdyno", "pair", *_without_seed(run.command)])
    return [_CHANGED_ELSEWHERE, f"{words} --pairs {more} --before '…' --after '…'"]


def _without_seed(command: Sequence[str]) -> list[str]:
    words, seed = list(command), flags()["seed"]
    if seed in words:
        place = words.index(seed)
        del words[place : place + 2]
    return words


def _can_be_repeated(run: RunRecord) -> bool:
    """Whether the run's words are complete: not with a script from standard input, or one gone."""
    flag = f"{flags()['script_files']}={STANDARD_INPUT}"
    from_input = any(word.partition("@")[0] == flag for word in run.command)
    return bool(run.command) and not from_input and not any(map(_is_gone, run.command))


def _is_gone(word: str) -> bool:
    """Whether a word names a script that no longer exists: that of explain --verify is temporary.

    Without a full path it is relative to the folder of the run, which need not be this one.
    """
    script = Path(re.sub(r"@\d+$", "", word))
    return script.is_absolute() and script.suffix in _SCRIPTS and not script.is_file()


def _study_of_all(compared: ComparedRuns) -> str | None:
    """Return the study to which all runs belong, if there is one."""
    records = [
        record for run_set in (compared.before, compared.after) for record in run_set.records
    ]
    studies = {record.tags.get(STUDY) for record in records}
    return studies.pop() if len(studies) == 1 else None


def _study_further(study_id: str, repeats: int) -> str:
    """Return the command that continues the study up to this many repeats; empty if it is gone."""
    try:
        return read_study_record(find_study_folder(study_id)).further(repeats)
    except StoreError:
        return ""


def _tags(compared: ComparedRuns) -> list[dict[str, str]]:
    """Return the tags that distinguish the sides: the runs' own if these do, else new ones."""
    both = [_common_tags(run_set) for run_set in (compared.before, compared.after)]
    one, other = (tags.items() for tags in both)
    if not one <= other and not other <= one:
        return both
    return [{"variant": run_set.runs[0].run_id} for run_set in (compared.before, compared.after)]


def _common_tags(run_set: RunSet) -> dict[str, str]:
    """Return the tags that all runs of a side share; a single run's tags say nothing about a set.

    Tags with a comma cannot be written as a side.
    """
    first, *others = (run.tags.items() for run in run_set.records)
    shared = [one for one in first if all(one in tags for tags in others)] if others else []
    common = {name: value for name, value in shared if name not in (*PAIR_TAGS, STUDY)}
    return {name: value for name, value in common.items() if "," not in name + value}


def _run(run: RunRecord, tags: Mapping[str, str]) -> str:
    """Return the command of one run; a seed that was given is one for each pair from now on.

    With the same seed in all pairs, they would repeat the same random choices.
    """
    given = [word for name, value in tags.items() for word in ("--tag", f"{name}={value}")]
    seed = flags()["seed"]
    words = _without_seed(run.command)
    own = f' {seed} "${_PAIR}"' if seed in run.command else ""
    return f'{command_of(words, *given)}{own} --tag "{_PAIR}=${_PAIR}"'


def _with_runs(tags: Mapping[str, str]) -> str:
    return "tag:" + ",".join(f"{name}={value}" for name, value in tags.items())
