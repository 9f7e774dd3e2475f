"""``dbdyno explain``: why a run's results are what they are, computed again from its folder."""

import sys
from typing import Annotated

import msgspec
from cyclopts import Parameter

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import RunName
from dbdyno.cli.output import Exit, print_aside, print_json, print_result, screen
from dbdyno.errors import DbdynoError
from dbdyno.explain.explain import Explanation, explain as explained, with_claim
from dbdyno.explain.explanation_text import explanation_lines
from dbdyno.explain.rules import cpu_generator
from dbdyno.formatting import THIN_SPACE, counted, seconds, tps
from dbdyno.layout import laid_out
from dbdyno.run.options.grammar import span_ns
from dbdyno.run.options.parameters import parsed
from dbdyno.run.tools import engine_tools
from dbdyno.run.verify import Trial, Verification, verify as verify_advice
from dbdyno.store.run import open_run

app = command(
    "explain",
    "dbdyno explain                    what limited the last run",
    "dbdyno explain --all              with every detail of every finding",
    "dbdyno explain 20261120-2142 --json",
    "dbdyno explain last --verify      measure what it advises",
)

TRIAL = Trial()
LIMITS_MIN = 0.03
"""A rise of throughput that is worth a host for the load generator."""
Span = Annotated[int, Parameter(converter=parsed(span_ns), metavar="TIME")]


@app.default
def explain(  # noqa: PLR0913 - how much, and what to measure
    run: RunName = "last",
    /,
    *,
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
    verify: bool = False,
    pairs: int = TRIAL.pairs,
    time: Span = TRIAL.duration_ns,
    json: Json = False,
) -> int:
    """Explain what limited a run, with the evidence.

    What remains unexplained is shown, too. The rules are evaluated again each time, also for
    running and interrupted runs.

    Parameters
    ----------
    run
        The run's name, a unique part of it, a path, or last.
    every
        Print notes in full, and why each cause matters and when its rule may be wrong.
    verify
        Measure the advised statement order against the original one, or whether a load
        generator that shares the host limits the load, in alternating runs on private servers
        like the run's. Needs a run of a workload on a server that dbdyno started.
    pairs
        Number of pairs of runs; default 3.
    time
        Duration of each run; default 5s.
    """
    if pairs < 1 or not time:
        flag = "--time" if pairs > 0 else "--pairs"
        raise DbdynoError("usage", f"{flag} must be above 0", "See dbdyno explain --help.")
    trial = Trial(pairs=pairs, duration_ns=time)
    tools = engine_tools()
    recording = open_run(run).load(tools.histograms)
    explanation = explained(recording)
    verified = (
        verify_advice(recording, explanation.findings, trial, tools, print_aside)
        if verify
        else None
    )
    if verified:
        explanation = with_verdict(explanation, verified)
    if json:
        result = {"run_id": recording.record.run_id, **msgspec.structs.asdict(explanation)}
        print_json(result | ({"verification": verified} if verified else {}))
    else:
        verification = ["", *verification_lines(verified, trial)] if verified else []
        full = f"dbdyno explain {recording.record.run_id} --all"
        hint = ["", f"Why each matters, and when it is wrong: {full}"]
        hint = [] if every or not explanation.findings else hint
        lines = [*explanation_lines(explanation, every=every), *hint, *verification]
        print_result(laid_out(lines, screen(sys.stdout)))
    return Exit.OK


def with_verdict(explanation: Explanation, found: Verification) -> Explanation:
    """Return the explanation with a finding if the load generator was measured to be a limit."""
    low, high = found.measured.low, found.measured.high
    if not found.generator_limits or low is None or high is None:
        return explanation
    claim = cpu_generator.GeneratorLimits(
        share=1 - 1 / found.measured.value,
        change=found.change,
        throughput_ratio=found.measured.value,
        throughput_ratio_low=low,
        throughput_ratio_high=high,
    )
    return with_claim(explanation, cpu_generator.RULE, claim)


def verification_lines(found: Verification, trial: Trial) -> list[str]:
    """Return the pairs, the ratio with its interval, and what that says about the prediction."""
    ratio = found.measured
    runs = f"{counted(len(found.pairs), 'pair')} of {seconds(trial.duration_ns / 1e9)}"
    interval = f" ({runs}; one pair has no interval)"
    if ratio.low is not None and ratio.high is not None:
        interval = f", {ratio.low:.3g} to {ratio.high:.3g} at 95 % ({runs})"
    of_order = found.of == "statement order"
    heading = "The advised statement order against the original one:"
    predicted = [] if found.predicted is None else [f"{found.predicted:.3g} times at most"]
    change = "advised" if of_order else found.change
    lines = [
        heading if of_order else "The load, and with less of the load generator:",
        *(f"  {tps(before)} TPS, {change} {tps(after)} TPS" for before, after in found.pairs),
        f"  measured: {ratio.value:.3g} times{interval}",
        *(f"  predicted: {text}" for text in predicted),
        f"  {_judgement(found)}",
    ]
    return [line.replace(THIN_SPACE, " ") for line in lines]


def _judgement(found: Verification) -> str:
    ratio = found.measured
    if found.of == "load generator":
        limits = found.generator_limits
        if limits or (ratio.high is not None and ratio.high < 1 + LIMITS_MIN):
            does, there_is = ("limits", "more") if limits else ("does not limit", "no more")
            return f"The load generator {does} this load: with less of it, there is {there_is}."
        return "These runs cannot tell whether the load generator limits this load; more pairs may."
    if not ratio.is_significant:
        return "These runs cannot tell the two orders apart; more pairs may."
    if ratio.value < 1:
        return "The advice is refuted: the advised order is slower."
    assert ratio.low is not None
    assert found.predicted is not None
    if ratio.low > found.predicted:
        return "The advised order is faster, by more than predicted."
    return "The advised order is faster, as predicted."
