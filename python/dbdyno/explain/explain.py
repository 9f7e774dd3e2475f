"""The explanation of a run: the outcome of every rule, with the findings put in order.

Each rule decides how severe its cause is. This module merges findings of the same cause, and
computes the client time that no finding accounts for.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec
from msgspec import Struct

from dbdyno.analysis.costs.costs import costs
from dbdyno.analysis.processor.profile import server_processes, server_profile
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Budget, known_budget
from dbdyno.explain.directness import uncovered
from dbdyno.explain.needs import LackingError
from dbdyno.explain.registry import all_rules, page_of
from dbdyno.explain.resources.failing import did_nothing
from dbdyno.explain.rule import SEVERITIES, Claim, CouldNotLook, NotFound, Rule, TimeKind
from dbdyno.model.record import Certainty, Finding, RunRecord, UnevaluatedRule
from dbdyno.model.run import Run, UnreadableTableError, once

Outcome: TypeAlias = Finding | NotFound | CouldNotLook

_CERTAINTIES: tuple[Certainty, ...] = ("hint", "likely", "sure")
# Clients that had nothing to do, or had to wait by plan, need no explanation.
_REQUESTED: tuple[TimeKind, ...] = ("idle", "pause")
_DIGITS = 9
"""Of shares: what subtraction leaves behind is not left over."""
NOTHING_MEASURED = "nothing was measured"
NOTHING_DONE = (
    "nearly every transaction failed: what limits such a load says nothing about one that succeeds"
)


class Explanation(Struct, frozen=True):
    """Findings, the most important first; the rules that could not look; the unexplained rest.

    ``unexplained`` is the share of client time that no finding accounts for, None if it is not
    known where that time went; ``unexplained_as`` are its parts by kind of time. Where the CPU time
    of the server's processes was not read, ``active`` is time on a CPU or waiting for one.
    """

    findings: list[Finding]
    not_looked: list[UnevaluatedRule]
    unexplained: float | None
    unexplained_as: dict[str, float] = {}


@once
def explain(run: Run) -> Explanation:
    """Run every rule that applies to this database.

    A rule that fails is a defect of dbdyno, and does not affect the others.
    """
    rules = {name: rule for name, rule in all_rules().items() if rule.is_for(run.database)}
    outcomes = {name: _guarded(rule, run) for name, rule in rules.items()}
    findings = [found for found in outcomes.values() if isinstance(found, Finding)]
    shown = sorted(uncovered(findings), key=_weight, reverse=True)
    not_looked = [
        UnevaluatedRule(id=name, title=rules[name].title, reason=found.reason)
        for name, found in outcomes.items()
        if isinstance(found, CouldNotLook)
    ]
    try:
        budget = known_budget(run)
    except Exception:  # the rules that need it say why
        budget = None
    whole = unexplained(findings, rules, budget)
    left = left_over(findings, rules, budget) if budget else {}
    return Explanation(
        findings=shown,
        not_looked=not_looked,
        unexplained=whole,
        unexplained_as=_by_name(budget, left, whole or 0.0) if budget else {},
    )


def with_claim(explanation: Explanation, rule: Rule, claim: Claim) -> Explanation:
    """The explanation with what an experiment showed, in place of what the rule had found."""
    others = [found for found in explanation.findings if found.id != rule.id]
    findings = sorted([_in_words(rule, claim), *others], key=_weight, reverse=True)
    return msgspec.structs.replace(explanation, findings=findings)


@once
def explained_record(run: Run) -> RunRecord:
    """The record; the run is explained here if it was interrupted and never finished."""
    known = full_record(run)
    if known.findings or known.not_looked or not len(run.samples):
        return known
    explanation = explain(run)
    return msgspec.structs.replace(
        known,
        costs=known.costs or costs(run),
        server_processes=known.server_processes or server_processes(run),
        server_profile=known.server_profile or server_profile(run),
        findings=explanation.findings,
        not_looked=explanation.not_looked,
        unexplained=explanation.unexplained,
        unexplained_as=explanation.unexplained_as,
    )


def outcome(rule: Rule, run: Run) -> Outcome:
    """The rule's outcome, its claim in words; if something was not recorded, *could not look*.

    If the run ended before anything was measured no rule is run: each would report the same in its
    own words. If the load did no work, rules about what limits it are not run.
    """
    told = run.record.imported
    if told and not rule.reads_texts:
        return CouldNotLook(f"{told.tool} measured the run, and its text has none of it")
    if not told and not full_record(run).duration_s:
        return CouldNotLook(NOTHING_MEASURED)
    if did_nothing(run) and not rule.explains_failures:
        return CouldNotLook(NOTHING_DONE)
    try:
        found = rule.look(run)
    except (LackingError, UnreadableTableError) as lacking:
        return CouldNotLook(str(lacking))
    return _in_words(rule, found) if isinstance(found, Claim) else found


def _in_words(rule: Rule, claim: Claim) -> Finding:
    return Finding(
        id=rule.id,
        title=claim.title or rule.title,
        severity=claim.severity,
        summary=claim.summary,
        evidence=claim.evidence,
        seen=claim.seen,
        why=claim.why,
        share=claim.share,
        share_of=claim.share_of,
        certainty=claim.certainty,
        advice=claim.advice,
        gain=claim.gain,
        refute=claim.refute,
        wrong_when=claim.wrong_when or page_of(rule).wrong_when,
    )


def _guarded(rule: Rule, run: Run) -> Outcome:
    try:
        return outcome(rule, run)
    except Exception as error:
        return CouldNotLook(f"internal error in this rule: {type(error).__name__}: {error}")


def _weight(finding: Finding) -> tuple[int, float, int]:
    """Sort key: severity, then share, then certainty."""
    return (
        SEVERITIES.index(finding.severity),
        finding.share or 0.0,
        _CERTAINTIES.index(finding.certainty),
    )


def unexplained(
    findings: Iterable[Finding], rules: Mapping[str, Rule], budget: Budget | None
) -> float | None:
    """The share of client time that no finding accounts for; None if it is not known.

    Samples may show somewhat more time than there was.
    """
    if budget is None:
        return None
    too_much = max(-budget.not_seen / budget.total, 0.0)
    left = sum(left_over(findings, rules, budget).values())
    return min(max(round(left - too_much, _DIGITS), 0.0), 1.0)


def left_over(
    findings: Iterable[Finding], rules: Mapping[str, Rule], budget: Budget
) -> dict[TimeKind, float]:
    """The shares of client time that no finding accounts for, by kind.

    Each finding takes its share from the kinds of time that its rule accounts for, the rules with
    the fewest kinds first, and no client-second is taken twice. Time that the clients were to
    wait is excluded.
    """
    left: dict[TimeKind, float] = {part.kind: budget.share(part.kind) for part in budget.parts}
    left["not_seen"] = max(budget.not_seen / budget.total, 0.0)
    shares = [
        (rules[found.id].accounts_for, found.share)
        for found in findings
        if found.share is not None and found.share_of == "client time"
    ]
    for kinds, share in sorted(shares, key=lambda one: len(one[0])):
        untaken = share
        for kind in sorted(kinds & left.keys()):
            part = min(left[kind], untaken)
            left[kind] -= part
            untaken -= part
    return {
        kind: share
        for kind, share in left.items()
        if round(share, _DIGITS) and kind not in _REQUESTED
    }


def _by_name(budget: Budget, left: Mapping[TimeKind, float], whole: float) -> dict[str, float]:
    """The parts of the whole, the largest first; time on a CPU only if that is known."""
    scale = min(whole / sum(left.values()), 1.0) if left else 0.0
    names: dict[TimeKind, str] = {} if budget.knows_cpu_queue else {"cpu": "active"}
    return {
        names.get(kind, kind): share * scale
        for kind, share in sorted(left.items(), key=lambda one: one[1], reverse=True)
    }
