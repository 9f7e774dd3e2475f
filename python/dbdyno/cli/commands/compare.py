"""``dbdyno compare``: compares two variants by their runs; fails if one is worse than allowed.

An open comparison ends with the command that would decide it: the words that requested the runs, to
be pasted into a shell as they are. A study is continued: with further blocks, on the same data.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import asdict, replace

from dbdyno.analysis.compare.compare import compare as compare_metrics
from dbdyno.analysis.compare.metrics import USUAL
from dbdyno.analysis.compare.setting_pairs import setting_pairs
from dbdyno.analysis.compare.unequal_conditions import changed_plans, unequal
from dbdyno.cli.app import Json, command
from dbdyno.cli.compared_runs import PAIR_TAGS, ComparedRuns, select_runs
from dbdyno.cli.lookup import metric_named
from dbdyno.cli.output import Exit, print_json, refuse_several_forms
from dbdyno.cli.pages import (
    Form,
    FormOption,
    JunitFile,
    PageParts,
    ReportFile,
    print_page,
    print_report_path,
    refuse_unwritable,
    write_page,
    write_text,
)
from dbdyno.errors import DbdynoError
from dbdyno.formatting import roughly
from dbdyno.model.comparison import Comparison
from dbdyno.model.record import RunRecord
from dbdyno.model.study import MARGIN
from dbdyno.report.pages.comparison import comparison_page
from dbdyno.report.pages.comparison_gates import Gate, GateResult, apply_gates, is_broken
from dbdyno.report.render_junit import render_junit
from dbdyno.run.options.grammar import percentage
from dbdyno.run.options.parameters import each, parsed
from dbdyno.run.options.words import command_of, flags
from dbdyno.run.work import STANDARD_INPUT
from dbdyno.store.errors import StoreError
from dbdyno.store.studies import find_study_folder, read_study_record
from dbdyno.workloads.registry import default_texts

app = command(
    "compare",
    "dbdyno compare last~1 last                      costs per transaction",
    "dbdyno compare tag:variant=old tag:variant=new  sets of runs",
    "dbdyno compare hot-rows:clients=20,order=as-written \\\n"
    "      hot-rows:clients=20,order=branches-first",
    "dbdyno compare A1,A2,A3 B1,B2,B3 --metric tps --metric wal_bytes --markdown",
    "dbdyno compare last~1 last --report compare.html",
    "dbdyno compare last~1 last --format markdown > change.md",
    "dbdyno compare last~1 last --tables tables",
    "dbdyno compare tag:build=main tag:build=mine \\\n"
    "      --fail-if worse:3% --fail-if p99:worse:10% --junit compare.xml",
)

Margin = Annotated[
    float | None, Parameter(converter=parsed(percentage), n_tokens=1, metavar="SHARE")
]
_PAIR = PAIR_TAGS[-1]
_LONG_S = 900
_SCRIPTS = (".sql", ".lua")
_CHANGED_ELSEWHERE = "# with the commands that bring the server into the state of each side"
_CHANGED_BY_HAND = "  # the two commands are identical: change what differs between the variants"


def gate(text: str) -> Gate:
    """Parse ``worse:3%`` for any metric, ``p99:worse:5%`` for one."""
    match = re.fullmatch(r"(?:(?P<metric>[\w-]+):)?worse:(?P<share>[^:]+)", text.strip())
    if match is None:
        raise ValueError(f'"{text}" is not a condition: write worse:3% or p99:worse:5%')
    return Gate(metric=match["metric"] or "", share=percentage(match["share"]))


Gates = Annotated[
    tuple[Gate, ...],
    Parameter(
        name="--fail-if",
        converter=each(gate),
        n_tokens=1,
        accepts_keys=False,
        metavar="[METRIC:]worse:SHARE",
    ),
]


@app.default
def compare(  # noqa: PLR0913 - one for each option
    before: str,
    after: str,
    /,
    *,
    metric: tuple[str, ...] = (),
    margin: Margin = None,
    fail_if: Gates = (),
    markdown: bool = False,
    form: FormOption = None,
    report: ReportFile = None,
    parts: PageParts = PageParts(),
    junit: JunitFile = None,
    json: Json = False,
) -> int:
    """Compare two variants by their runs.

    Each metric is better, worse, the same, or dbdyno cannot tell. The unit of comparison is the
    run. Runs of one block of a study are pairs, and so are your own runs with the same value of
    the tag pair; all others are compared as two sets. Listed are differences of durability,
    version, build, schema, plans, settings, host and load, findings of one side, and the
    subsystems and functions of the server that take more or less CPU time (--telemetry full).
    Two single runs decide costs per transaction, and changes to more than 4 times with another
    plan or other work as the reason; for the rest dbdyno prints the commands that would decide it.

    Parameters
    ----------
    before
        Runs (names, unique parts of names, paths, last, last~1), separated by commas; or
        tag:NAME=VALUE[,…]; or a study with levels of its factors, STUDY:FACTOR=LEVEL[,…].
    after
        The other variant, written the same way.
    metric
        Metric to compare: its id or a part of it, such as tps, p99 or wal_bytes; repeatable.
        Each further metric makes differences harder to detect in all of them.
    margin
        Largest change that does not matter: within it the variants are the same. Default 3%,
        or the smallest share of --fail-if.
    fail_if
        Exit with 4 if a metric is significantly worse by more than this share; repeatable. A
        metric that cannot be decided does not fail, and is reported.
    markdown
        Print Markdown, for a merge request: short for --format markdown.
    report
        Write the comparison as a page to this file; .txt, .md and .json by its ending.
    """
    forms = {"--markdown": markdown, "--format": form is not None, "--json": json}
    refuse_several_forms(f"compare {before} {after}", forms)
    if junit is not None and not fail_if:
        raise DbdynoError(
            "usage", "--junit needs --fail-if: its tests", "For example: --fail-if worse:3%"
        )
    refuse_unwritable(report)
    refuse_unwritable(junit)
    compared = select_runs(before, after)
    known = compared.metrics
    gates = [
        Gate(metric=one.metric and metric_named(one.metric, known), share=one.share)
        for one in fail_if
    ]
    if margin is None:  # "same" must not include a change that a gate forbids
        margin = min((one.share for one in gates), default=MARGIN)
    comparison = comparison_of(compared, _metrics(metric, gates, known), margin)
    results = apply_gates(comparison, gates)
    if junit is not None:
        sides = f"{comparison.after} against {comparison.before}"
        write_text(render_junit("compare", sides, [one.case for one in results]), junit)
    form = "markdown" if markdown else form
    show_comparison(
        compared, comparison, results, report=report, parts=parts, form=form, as_json=json
    )
    return Exit.VERDICT_FAILED if is_broken(results) else Exit.OK


def _metrics(names: Sequence[str], gates: Sequence[Gate], known: Sequence[str]) -> list[str] | None:
    """Return the requested metrics, plus those of gates; None for the usual ones."""
    gated = [one.metric for one in gates if one.metric]
    if not names and not gated:
        return None
    chosen = [metric_named(name, known) for name in names] or [*filter(known.__contains__, USUAL)]
    return list(dict.fromkeys([*chosen, *gated]))


def comparison_of(
    compared: ComparedRuns, metrics: Sequence[str] | None, margin: float = MARGIN
) -> Comparison:
    """Compare; add notes on omitted runs to the doubts, and the command to decide the rest."""
    before, after = compared.before, compared.after
    labels = (before.label, after.label)
    first, second = ([run.conditions for run in side.runs] for side in (before, after))
    found = compare_metrics(
        before.records,
        after.records,
        metrics,
        labels=labels,
        margin=margin,
        paired=compared.paired,
        changed_plans=changed_plans(first, second),
        unequal=unequal(first, second, labels, default_texts()),
    )
    return replace(
        found,
        settings=setting_pairs(first, second),
        doubts=[*compared.notes, *found.doubts],
        decide_with=more_pairs_command(compared, found),
    )


def show_comparison(  # noqa: PLR0913 - what it is about, and each form it can have
    compared: ComparedRuns,
    comparison: Comparison,
    results: Sequence[GateResult] = (),
    *,
    report: Path | None,
    parts: PageParts = PageParts(),
    form: Form | None = None,
    as_json: bool,
) -> None:
    """Write the page if it is wanted, and print the comparison in one of its forms."""
    sides = {"before": compared.before.runs, "after": compared.after.runs}
    page = comparison_page(comparison, results, (len(sides["before"]), len(sides["after"])))
    if report is not None:
        write_page(page, report)
        print_report_path(report)
    parts.write(page)
    if as_json:
        runs = {side: [run.run_id for run in its] for side, its in sides.items()}
        print_json(
            {**asdict(comparison), "runs": runs, "paired": compared.paired, "fail_if": results}
        )
    else:
        print_page(page, form)


def more_pairs_command(compared: ComparedRuns, comparison: Comparison) -> str:
    """Return the command; empty if everything is decided, or if a run cannot be repeated."""
    more = comparison.more_pairs
    runs = [side.records[-1] for side in compared.sides]
    if not more:
        return ""
    if compared.study_id:
        try:
            study = read_study_record(find_study_folder(compared.study_id))
        except StoreError:
            return ""  # it is gone
        return study.with_more(more)
    if not all(map(_can_be_repeated, runs)):
        return ""
    if runs[0].command == runs[1].command and compared.are_single:
        # What differs between two equal runs was changed elsewhere.
        words = shlex.join(["dbdyno", "pair", *_without_seed(runs[0].command)])
        again = f"{words} --pairs {more} --before '…' --after '…'"
        return "\n".join([*_length(runs, more), _CHANGED_ELSEWHERE, again])
    tags = compared.tags
    sides = ["tag:" + ",".join(f"{name}={value}" for name, value in own.items()) for own in tags]
    first = len(compared.before.runs) + 1 if compared.paired else 1
    return "\n".join(
        [
            *_length(runs, more),
            f"for {_PAIR} in $(seq {first} {first + more - 1}); do",
            *([_CHANGED_BY_HAND] if runs[0].command == runs[1].command else []),
            *(f"  {_run(run, own)}" for run, own in zip(runs, tags, strict=True)),
            "done",
            shlex.join(["dbdyno", "compare", *sides]),
        ]
    )


def _length(runs: Sequence[RunRecord], more: int) -> list[str]:
    """Return a comment that warns before pasting a command that takes long."""
    took_s = more * sum(run.duration_s or 0 for run in runs)
    if took_s < _LONG_S:
        return []
    return [f"# {roughly(took_s)} at least; a single metric (--metric) may need fewer pairs"]


def _without_seed(command: Sequence[str]) -> list[str]:
    words, seed = list(command), flags()["seed"]
    if seed in words:
        place = words.index(seed)
        del words[place : place + 2]
    return words


def _can_be_repeated(run: RunRecord) -> bool:
    """Whether the run's words are complete: not with a script from standard input, or one gone."""
    flag = f"{flags()['script_files']}={STANDARD_INPUT}"
    if not run.command or any(word.partition("@")[0] == flag for word in run.command):
        return False
    # Scripts of explain --verify are temporary. Without a full path, one is relative to the folder
    # of the run, which need not be this one.
    words = (Path(re.sub(r"@\d+$", "", word)) for word in run.command)
    scripts = (path for path in words if path.is_absolute() and path.suffix in _SCRIPTS)
    return all(script.is_file() for script in scripts)


def _run(run: RunRecord, tags: Mapping[str, str]) -> str:
    """Return the command of one run; a seed that was given is one for each pair from now on.

    With the same seed in all pairs, they would repeat the same random choices.
    """
    given = [word for name, value in tags.items() for word in ("--tag", f"{name}={value}")]
    seed = flags()["seed"]
    words = _without_seed(run.command)
    own = f' {seed} "${_PAIR}"' if seed in run.command else ""
    return f'{command_of(words, *given)}{own} --tag "{_PAIR}=${_PAIR}"'
