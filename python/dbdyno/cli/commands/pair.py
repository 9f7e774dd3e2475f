"""``dbdyno pair``: the same load before and after a change, in pairs, and what it changed."""

import math
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from dbdyno.analysis.compare.metrics import KNOWN
from dbdyno.cli.app import command
from dbdyno.cli.commands.compare import comparison_of, show_comparison
from dbdyno.cli.commands.run import What
from dbdyno.cli.compared_runs import ComparedRuns, select_runs
from dbdyno.cli.lookup import metric_named
from dbdyno.cli.output import Exit, print_aside, showing_kept_result
from dbdyno.cli.pages import refuse_unwritable
from dbdyno.cli.study_output import time_summary
from dbdyno.cli.study_progress import run_turns
from dbdyno.errors import DbdynoError
from dbdyno.model.comparison import Comparison
from dbdyno.model.study import StudyRecord, StudySpec
from dbdyno.run.options.grammar import percentage
from dbdyno.run.options.parameters import parsed
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import find_study_folder, read_rates, read_study_record
from dbdyno.study.folder import begin_study, reopen_study
from dbdyno.study.hook import side_of
from dbdyno.study.machine import read_machine
from dbdyno.study.pairing import AFTER, BEFORE, SIDE, pair_spec
from dbdyno.study.plan import plan_study, unfit
from dbdyno.study.rates import rates_from
from dbdyno.study.spec import AS_WRITTEN

app = command(
    "pair",
    "dbdyno pair tpcb --target postgresql://db/bench -c 8 -T 20 \\\n"
    "      --before 'psql -c \"drop index if exists by_bid\"' \\\n"
    "      --after 'psql -f create-by_bid.sql -v ON_ERROR_STOP=1'",
    "dbdyno pair app.sql --target postgresql://db/app --precision 5% \\\n"
    "      --before ./old.sh --after ./new.sh --report pair.html",
    "dbdyno pair --resume last             continue after an interruption",
    "dbdyno pair --resume last --pairs 12  continue until there are 12 pairs",
)

PAIRS = 5
PAIRS_OF_PRECISION_MIN = 3
_MORE_MAX = 10
Precision = Annotated[
    float | None, Parameter(converter=parsed(percentage), n_tokens=1, metavar="SHARE")
]
Command = Annotated[str, Parameter(metavar="COMMAND")]


@app.default
def pair(  # noqa: PLR0913 - one for each option
    *what: What,
    before: Command = "",
    after: Command = "",
    pairs: int | None = None,
    precision: Precision = None,
    metric: tuple[str, ...] = (),
    resume: Annotated[str | None, Parameter(metavar="PAIR")] = None,
    options: RunOptions = RunOptions(),
) -> int:
    """Run a load before and after a change, in pairs, and compare.

    In each pair both sides run once, in random order. Before each run its side's command brings
    the server into the side's state; since the order is random, it must work on whatever state
    the other leaves. psql and mariadb find the run's server by themselves (PGHOST and so on,
    MYSQL_HOME); DBDYNO_TARGET, DBDYNO_SIDE and DBDYNO_PAIR name server and run. Without --target
    each run has a new private server, with the data loaded. The result is that of dbdyno compare.

    Parameters
    ----------
    what
        A workload, or script files; @3 after a name gives it the weight 3.
    before
        Shell command before each run of the first side, in quotes.
    after
        Shell command before each run of the second side.
    pairs
        Number of pairs; default 5.
    precision
        Add pairs until the 95 % interval of the ratio is within ±SHARE of it, at most ten times
        as many; the metric is the first of --metric, or throughput.
    metric
        Metric to compare: its id or a part of it, such as tps, p99 or wal_bytes; repeatable.
    resume
        Continue this pair: its name, a part of it, or last.
    """
    refuse_unwritable(options.report)
    wanted = [metric_named(name, KNOWN) for name in metric]
    if pairs is not None and pairs < 1:
        raise DbdynoError("usage", f"--pairs {pairs}: must be at least 1", "")
    if precision is not None and not 0 < precision < 1:
        raise DbdynoError("usage", "--precision must be above 0 and below 100%", "")
    if resume is None:
        record = _begun(pair_spec(what, options, _hooks(before, after), pairs or PAIRS))
    elif what or before or after:
        raise DbdynoError(
            "usage",
            "--resume continues a pair as it began: load and commands cannot be given again",
            "Leave them out, or start a new pair without --resume.",
        )
    else:
        record = _resumed(resume, pairs)
    done = _Pairs(record, wanted)
    if precision is not None:
        done.measure_until(precision)
    return done.show(options)


def _hooks(before: str, after: str) -> dict[str, str]:
    if not before.strip() or not after.strip():
        missing = "--before" if not before.strip() else "--after"
        raise DbdynoError(
            "usage",
            f"{missing} is missing: each side needs the command that brings the server into its "
            "state",
            "The order is random, so one side must undo what the other does; true does nothing.",
        )
    return {BEFORE: before, AFTER: after}


def _begun(spec: StudySpec) -> StudyRecord:
    rates = rates_from(read_rates())
    if error := unfit(plan_study(spec, engine_tools(), read_machine(), rates), smaller=""):
        raise error
    with begin_study(None, spec, AS_WRITTEN) as writer:
        return run_turns(writer)


def _resumed(name: str, pairs: int | None) -> StudyRecord:
    folder = find_study_folder(name)
    record = read_study_record(folder)
    if not record.has_hooks:
        raise DbdynoError(
            "usage",
            f"{record.study_id} is a study, not a pair",
            f"To continue it: dbdyno study resume {record.study_id}",
        )
    with reopen_study(folder, pairs) as writer:
        return run_turns(writer)


@dataclass
class _Pairs:
    """The pairs that were measured, as the study that they are; no ``metrics``: the usual ones."""

    record: StudyRecord
    metrics: list[str]

    @property
    def sides(self) -> list[str]:
        """Both sides, as ``dbdyno compare`` takes them."""
        return [f"{self.record.study_id}:{SIDE}={side}" for side in (BEFORE, AFTER)]

    def compared(self) -> tuple[ComparedRuns, Comparison]:
        """Return the runs of both sides, and their comparison."""
        found = select_runs(*self.sides)
        compared = replace(
            found,
            before=replace(found.before, label=BEFORE),
            after=replace(found.after, label=AFTER),
        )
        return compared, comparison_of(compared, self.metrics or None)

    def reach(self) -> float | None:
        """The larger half of the first metric's interval, as a share of the ratio; or unknown."""
        first = self.compared()[1].metrics[:1]
        if not first or first[0].pairs < PAIRS_OF_PRECISION_MIN or not first[0].low:
            return None
        return math.expm1(math.log(first[0].ratio / first[0].low))

    def measure_until(self, precision: float) -> None:
        """Add pairs, one at a time, until the first metric's interval is narrow enough."""
        most = _MORE_MAX * self.record.spec.repeats
        while (number := self.record.spec.repeats) < most:
            reach = self.reach()
            if reach is not None and reach <= precision:
                return
            shown = "unknown" if reach is None else f"±{reach * 100:.2g}%"
            print_aside(f"{number} pairs: the interval is {shown}, one more pair")
            with reopen_study(find_study_folder(self.record.study_id), number + 1) as writer:
                self.record = run_turns(writer)
        print_aside(f"not within ±{precision * 100:g}% after {most} pairs, which is the most")

    def show(self, options: RunOptions) -> Exit:
        """Show the comparison, and return the exit code."""
        results = self.record.results
        print_aside(time_summary(self.record))
        if results:
            side = side_of(max(results, key=lambda result: result.turn.number).turn)
            print_aside(f"the last command was that of --{side}: the server is as it left it")
        with showing_kept_result(f"The runs are kept: dbdyno compare {' '.join(self.sides)}"):
            compared, comparison = self.compared()
            show_comparison(compared, comparison, report=options.report, as_json=options.json)
        return Exit.OK if all(one.status == "done" for one in results) else Exit.NOT_VALID
