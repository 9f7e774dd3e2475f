"""Verifies what a run suggests by a counter-experiment: measures it with and without, in pairs.

It is the advised order of statements; or, without such advice, whether a load generator that
shares a saturated host limits the load: then throughput rises with fewer of its threads, or with
its only thread kept on one CPU.

Each run repeats the command of the explained run, with its seed, on a new private server with the
same major version, settings and workload data, loaded again; nothing else differs. The load is a
closed loop, which shows what an order can achieve. Nothing is verified if dbdyno cannot recreate
the data or the server.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from dbdyno.analysis.doubts import shared_host
from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.errors import DbdynoError
from dbdyno.fleet.ray_cluster import kept_nodes
from dbdyno.formatting import counted
from dbdyno.model.plan import Script
from dbdyno.model.record import Finding
from dbdyno.model.run import Run
from dbdyno.run.job import check
from dbdyno.run.observer import Observer
from dbdyno.run.options.grammar import Role, WeightedName, scalar_text
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.options.words import parse_arguments
from dbdyno.run.plan import client_count
from dbdyno.run.quiet import BeforeRun
from dbdyno.run.runner import end_with, run
from dbdyno.run.target import New, choose_server
from dbdyno.run.tools import Tools
from dbdyno.servers.placement import Cpus
from dbdyno.workloads.registry import all_workloads

ADVICE = "statement_order"
AS_IT_WAS = "as it was"
_WARMUP_NS = 2 * SECOND_NS  # at most as long as the measurement


Subject: TypeAlias = Literal["statement order", "load generator"]


class Verification(Struct, frozen=True, kw_only=True):
    """What was predicted and what was measured; ``pairs`` are TPS before and after the change."""

    of: Subject = "statement order"
    change: str = "as advised"
    predicted: float | None
    """None of the load generator, of which no gain is predicted."""
    measured: Ratio
    pairs: list[tuple[float, float]]
    run_ids: list[str]

    @property
    def generator_limits(self) -> bool:
        """Whether less of the load generator was more throughput."""
        ratio = self.measured
        return self.of == "load generator" and ratio.is_significant and ratio.value > 1


@dataclass(frozen=True)
class Change:
    """What the runs of a pair differ by: the scripts, or options."""

    of: Subject
    name: str
    scripts: Sequence[Script]
    options: RunOptions
    predicted: float | None = None


class Trial(Struct, frozen=True, kw_only=True):
    """How often and how long to measure."""

    pairs: int = 3
    duration_ns: int = 5 * SECOND_NS


@kept_nodes()
def verify(
    recording: Run,
    findings: Sequence[Finding],
    trial: Trial,
    tools: Tools,
    say: Callable[[str], None],
) -> Verification:
    """Measure the load as it was and with the change, alternately."""
    requested = _requested(recording, trial)
    change = _change(recording, findings, requested)
    _refuse_unknown_data(recording)
    _report_different_load(recording, requested, say)
    sides = {
        AS_IT_WAS: Change(change.of, AS_IT_WAS, recording.plan.scripts, requested),
        change.name: change,
    }
    done: list[tuple[Run, Run]] = []
    for number in range(trial.pairs):
        BeforeRun(requested, [], say).look()
        # The sides take turns at going first, so that drift affects both.
        turns = list(sides) if number % 2 == 0 else list(reversed(sides))
        runs = {turn: _measured(recording, sides[turn], tools) for turn in turns}
        was, now = (one.record.server["version"] for one in (recording, runs[AS_IT_WAS]))
        if was != now and not done:  # the nearest installed one of the major version may differ
            say(f"the run's server was version {was}; the trial uses the installed version {now}")
        done.append((runs[AS_IT_WAS], runs[change.name]))
        before, after = map(_tps, done[-1])
        measured = f"{before:,.0f} TPS, {change.name} {after:,.0f} TPS"
        say(f"pair {number + 1} of {trial.pairs}: {measured}")
    pairs = [(_tps(before), _tps(after)) for before, after in done]
    return Verification(
        of=change.of,
        change=change.name,
        predicted=change.predicted,
        measured=paired_ratio(pairs),
        pairs=pairs,
        run_ids=[one.record.run_id for pair in done for one in pair],
    )


def _change(recording: Run, findings: Sequence[Finding], requested: RunOptions) -> Change:
    """Return what to change: as the advice says, or less of a load generator on the same host."""
    scripts = recording.plan.scripts
    advice = next((finding for finding in findings if finding.id == ADVICE), None)
    if advice is not None:
        texts = advice.evidence["scripts"]
        advised = [structs.replace(one, text=texts.get(one.name, one.text)) for one in scripts]
        predicted = advice.evidence["gain_predicted"]
        return Change("statement order", "as advised", advised, requested, predicted)
    if shared_host(recording) is None:
        raise DbdynoError(
            code="nothing_to_verify",
            message="this run has no advice on statement order to verify, and no load generator "
            "that shares a saturated host with the server",
            hint="dbdyno explain without --verify shows what was found.",
        )
    if requested.workers:
        raise DbdynoError(
            "usage",
            "a load of several workers cannot be verified with a smaller load generator: its "
            "threads are theirs",
            "Run it without --workers, then explain --verify that run.",
        )
    if recording.plan.threads > 1:
        threads = recording.plan.threads // 2
        name = f"with {counted(threads, 'engine thread')}"
        return Change("load generator", name, scripts, replace(requested, threads=threads))
    cpu = max(os.sched_getaffinity(0))
    pinned = replace(requested, engine_cpus=Cpus((cpu,)))
    return Change("load generator", f"with the engine on CPU {cpu}", scripts, pinned)


def _refuse_unknown_data(recording: Run) -> None:
    workload = recording.record.workload
    what = ""
    if workload not in all_workloads():
        what = f"the data of {workload}"
    elif recording.record.server["kind"] == "existing":
        what = "the server of this run, with its settings and host"
    if what:
        raise DbdynoError(
            code="unknown_data",
            message=f"dbdyno cannot recreate {what}, so this cannot be tried here",
            hint="Measure both alternately on a copy of your database: dbdyno explain --json "
            "prints scripts in the advised order; -j and --engine-cpus make the load generator "
            "smaller.",
        )


def _report_different_load(recording: Run, trial: RunOptions, say: Callable[[str], None]) -> None:
    _, requested = parse_arguments(recording.record.command)
    if requested.rate_tps is not None or requested.stages is not None:
        say(
            "the run's load followed a rate or stages; the trial is a closed loop of "
            f"{counted(client_count(trial), 'client')}, which measures what each order can do"
        )


def _requested(recording: Run, trial: Trial) -> RunOptions:
    """Return the options of the run, for the duration of the trial, without telemetry.

    Seed, clients and data are those of its plan, even where the command did not specify them.
    """
    _, requested = parse_arguments(recording.record.command)
    plan = recording.plan
    planned = {name: scalar_text(value) for name, value in plan.variables.items()}
    given = dict(requested.define) | (
        {} if requested.scale is None else {"scale": str(requested.scale)}
    )
    # The run's programs, or its major version.
    chosen = choose_server(requested)
    path = chosen.spec.path if isinstance(chosen, New) else None
    which = path or recording.server.version_number // 10_000
    return replace(
        requested,
        server=f"{recording.server.product}:{which}",
        settings=tuple((one.name, one.value) for one in recording.server.chosen),
        durability=None,
        script_files=(),
        define=tuple((planned | given).items()),
        scale=None,
        seed=plan.seed,
        clients=plan.clients,
        threads=plan.threads,
        rate_tps=None,
        arrivals=None,
        stages=None,
        transactions=None,
        duration_ns=trial.duration_ns,
        warmup_ns=min(_WARMUP_NS, trial.duration_ns),
        telemetry="off",
        server_log=None,
        tags=(("verifies", recording.record.run_id),),
    )


@contextmanager
def _files(scripts: Sequence[Script]) -> Iterator[list[WeightedName]]:
    """Write the scripts to files for the duration of the block; several may have the same name."""
    with TemporaryDirectory(prefix="dbdyno-") as folder:
        names = []
        for number, script in enumerate(scripts, start=1):
            path = Path(folder, str(number), f"{Path(script.name).stem}.sql")
            path.parent.mkdir()
            path.write_text(script.text, encoding="utf-8")
            role: Role = "read" if script.is_on_standby else "write"
            names.append(WeightedName(str(path), script.weight, role))
        yield names


def _measured(recording: Run, side: Change, tools: Tools) -> Run:
    """Run once; the workload supplies the data and no transactions of its own."""
    data_alone = WeightedName(recording.record.workload, 0)
    # The look at the host, and the wait for its quiet, is that of the pair: it is told.
    tag = ("order" if side.of == "statement order" else "generator", side.name)
    options = replace(side.options, when_quiet=False, tags=(*side.options.tags, tag))
    with _files(side.scripts) as files:
        observer = Observer()  # shows nothing of the single runs: users wait for the comparison
        job = check([data_alone, *files], options, tools, observer.say)
        found = run(job, tools, observer)
    end_with(found.record)
    return found


def _tps(recording: Run) -> float:
    found = recording.record.throughput_tps
    if recording.record.status != "done" or found is None or not found.value:
        raise DbdynoError(
            code="verify_failed",
            message=f"run {recording.record.run_id} did not complete",
            hint=f"See dbdyno report {recording.record.run_id}.",
        )
    if recording.record.invalid_reasons:
        raise DbdynoError(
            code="verify_failed",
            message=f"run {recording.record.run_id} is invalid: "
            f"{'; '.join(recording.record.invalid_reasons)}",
            hint="Nothing can be compared by it.",
        )
    return found.value
