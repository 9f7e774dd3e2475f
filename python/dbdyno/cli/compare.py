"""``dbdyno compare``: compares two variants by their runs; fails if one is worse than allowed."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import asdict, replace

from dbdyno.analysis.compare import MARGIN, compare as compare_metrics
from dbdyno.analysis.metrics import USUAL, metrics_of
from dbdyno.analysis.unequal_conditions import changed_plans, unequal
from dbdyno.cli.app import command
from dbdyno.cli.compared_runs import ComparedRuns, select_runs
from dbdyno.cli.metric_names import metric_named
from dbdyno.cli.more_pairs import more_pairs_command
from dbdyno.cli.output import Exit, Json, print_json, print_result, refuse_several_forms, screen
from dbdyno.cli.pages import ReportFile, print_report_path, refuse_unwritable, write_page
from dbdyno.model.comparison import Comparison
from dbdyno.report.comparison import render_comparison_markdown, render_comparison_text
from dbdyno.report.comparison_gates import Gate, GateResult, apply_gates, is_broken
from dbdyno.report.comparison_page import render_comparison_html
from dbdyno.run.grammar import percentage
from dbdyno.run.option_parameters import each, parsed
from dbdyno.workloads.registry import default_texts

app = command(
    "compare",
    "dbdyno compare last~1 last                      costs per transaction",
    "dbdyno compare tag:variant=old tag:variant=new  sets of runs",
    "dbdyno compare hot-rows:clients=20,order=as-written \\\n"
    "      hot-rows:clients=20,order=branches-first",
    "dbdyno compare A1,A2,A3 B1,B2,B3 --metric tps --metric wal_bytes --markdown",
    "dbdyno compare last~1 last --report compare.html",
    "dbdyno compare tag:build=main tag:build=mine \\\n"
    "      --fail-if worse:3% --fail-if p99:worse:10%",
)


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
Margin = Annotated[
    float | None, Parameter(converter=parsed(percentage), n_tokens=1, metavar="SHARE")
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
    report: ReportFile = None,
    json: Json = False,
) -> int:
    """Compare two variants by their runs: better, worse, same, or cannot tell.

    The unit of comparison is the run. Runs of one block of a study are pairs, and so are your
    own runs with the same value of the tag pair; all others are compared as two sets. Listed are
    differences of durability, version, build, schema, plans, settings, host and load, and
    findings of one side. Two single runs decide costs per transaction, and changes to more than 4
    times with another plan or other work as the reason; for the rest dbdyno prints the commands
    that would decide it.

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
        Print Markdown, for a merge request.
    report
        Write the comparison as an HTML page to this file.
    """
    refuse_several_forms(f"compare {before} {after}", {"--markdown": markdown, "--json": json})
    refuse_unwritable(report)
    compared = select_runs(before, after)
    gates = _meant(fail_if, compared)
    comparison = comparison_of(compared, _metrics(metric, gates, compared), _margin(margin, gates))
    results = apply_gates(comparison, gates)
    if report is not None:
        write_comparison(report, compared, comparison, results)
    show_comparison(compared, comparison, results, markdown=markdown, as_json=json)
    return Exit.VERDICT_FAILED if is_broken(results) else Exit.OK


def _known(compared: ComparedRuns) -> list[str]:
    """Return the metrics that were measured in some run of either side."""
    runs = [*compared.before.records, *compared.after.records]
    return list(dict.fromkeys(name for run in runs for name in metrics_of(run)))


def _meant(gates: Sequence[Gate], compared: ComparedRuns) -> list[Gate]:
    """Return the gates with full metric IDs."""
    known = _known(compared)
    return [
        Gate(metric=metric_named(one.metric, known), share=one.share) if one.metric else one
        for one in gates
    ]


def _metrics(
    names: Sequence[str], gates: Sequence[Gate], compared: ComparedRuns
) -> list[str] | None:
    """Return the requested metrics, plus those of gates; None for the usual ones."""
    known = _known(compared)
    gated = [one.metric for one in gates if one.metric]
    if not names and not gated:
        return None
    chosen = [metric_named(name, known) for name in names] or [*filter(known.__contains__, USUAL)]
    return list(dict.fromkeys([*chosen, *gated]))


def _margin(requested: float | None, gates: Sequence[Gate]) -> float:
    """Return the margin: "same" must not include a change that a gate forbids."""
    return requested if requested is not None else min((one.share for one in gates), default=MARGIN)


def comparison_of(
    compared: ComparedRuns, metrics: Sequence[str] | None, margin: float = MARGIN
) -> Comparison:
    """Compare; add notes on omitted runs to the doubts, and the command to decide the rest."""
    before, after = compared.before, compared.after
    labels = (before.label, after.label)
    found = compare_metrics(
        before.records,
        after.records,
        metrics,
        labels=labels,
        margin=margin,
        paired=compared.paired,
        changed_plans=changed_plans(before.runs, after.runs),
        unequal=unequal(before.runs, after.runs, labels, default_texts()),
    )
    return replace(
        found,
        doubts=[*compared.notes, *found.doubts],
        decide_with=more_pairs_command(compared, found),
    )


def write_comparison(
    path: Path, compared: ComparedRuns, comparison: Comparison, results: Sequence[GateResult] = ()
) -> None:
    """Write the page, and say where it is."""
    runs = (len(compared.before.runs), len(compared.after.runs))
    write_page(render_comparison_html(comparison, results, runs), path)
    print_report_path(path)


def show_comparison(
    compared: ComparedRuns,
    comparison: Comparison,
    results: Sequence[GateResult] = (),
    *,
    markdown: bool = False,
    as_json: bool = False,
) -> None:
    """Print it in one of its forms."""
    if as_json:
        runs = {
            "before": [run.run_id for run in compared.before.runs],
            "after": [run.run_id for run in compared.after.runs],
        }
        print_json(
            {**asdict(comparison), "runs": runs, "paired": compared.paired, "fail_if": results}
        )
    else:
        text = (
            render_comparison_markdown(comparison, results)
            if markdown
            else render_comparison_text(comparison, results, screen(sys.stdout))
        )
        print_result(text.rstrip())
