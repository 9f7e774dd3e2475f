"""Plan choice: plans that changed during the run, or generic plans more expensive than custom ones.

Looks for: a statement whose plan after the load differs from the one before it, and one whose
generic plan (for any value) the server estimates to be much more expensive than a custom one (for
one value).

Arithmetic: the estimated costs of both plans, generic over custom; and their steps, compared one by
one. Which partition a plan reads depends on the values and does not count as a different step; nor
does the node that combines partitions, which skips those that do not match when execution starts,
although the estimate for any values includes them. A prepared statement is planned with its values
five times; then the server takes the generic plan if it does not cost more than those did on
average.

Source: PostgreSQL manual, PREPARE (notes) and plan_cache_mode.

Wrong when: estimates are wrong, as they are for skewed or correlated columns: the plan with the
higher cost may be the faster one. How long a plan took is measured per statement, not here.
"""

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed, server_facts
from dbdyno.explain.rule import NotFound, Outcome, Rule, at_most, found, severity_of
from dbdyno.explain.statements import (
    Statement,
    plans_of,
    statements_of,
    whole_name,
    working_share,
)
from dbdyno.formatting import significant
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import PlanFacts

COST_RATIO_MIN = 2.0
COST_MIN = 10.0
"""Below this cost a plan is a lookup, whichever it is."""
_APPENDS = frozenset({"Append", "Merge Append"})


def look(case: Case) -> Outcome:
    """A changed plan first: the change happened in the run."""
    needed(server_facts(case).plans or None, "no statement's plan was recorded")
    for judge in (_changed, _expensive_generic):
        for statement in statements_of(case):
            finding = judge(case, statement)
            if finding is not None:
                return finding
    return NotFound("plans stayed as they were, and fit any value")


def _changed(case: Case, statement: Statement) -> Finding | None:
    """A plan after the load that differs from the one before it."""
    if case.before is None or case.after is None:
        return None
    before, after = (plans_of(facts, statement.number) for facts in (case.before, case.after))
    for variant in before.keys() & after.keys():
        highest = max(before[variant].cost, after[variant].cost)
        was, became = _steps(case, before[variant]), _steps(case, after[variant])
        if highest >= COST_MIN and was != became:
            return _change(case, statement, before[variant], after[variant])
    return None


def _steps(case: Case, plan: PlanFacts) -> list[tuple[str, str]]:
    """Operations and tables, regardless of which partition is used."""
    whole = {table.name: whole_name(table) for table in server_facts(case).tables}
    return [
        (kind, whole.get(relation, relation))
        for kind, relation, _ in plan.nodes
        if kind not in _APPENDS
    ]


def _change(case: Case, statement: Statement, before: PlanFacts, after: PlanFacts) -> Finding:
    share = working_share(case, statement.number)
    return found(
        f"The plan of “{statement.text}” changed during the run: from {_plan_text(before)} to "
        f"{_plan_text(after)} ({before.variant} plan).",
        title="Plan change during the run",
        severity=at_most("minor", severity_of(share or 0.0)),
        certainty="likely",
        evidence={"statement": statement.sql, "before": before.text, "after": after.text},
        seen=[
            f"Estimated cost {significant(before.cost)} before, {significant(after.cost)} after."
        ],
        why="Its tables or their statistics changed. The run may have measured both plans, and the "
        "next run measures the new one: prepared statements keep their plan until statistics are "
        "updated.",
        advice=["ANALYZE the tables after loading, and make the warm-up long enough."],
        refute="Run again on the data as it is now: the plan must not change.",
    )


def _plan_text(plan: PlanFacts) -> str:
    return ", ".join(f"{kind} {relation}".strip() for kind, relation, _ in plan.nodes[:3])


def _reads(plan: PlanFacts) -> bool:
    """Not if the example's values match no partition, which says nothing about other values."""
    return any(kind.endswith("Scan") for kind, _, _ in plan.nodes)


def _expensive_generic(case: Case, statement: Statement) -> Finding | None:
    """A generic plan that costs a multiple of the custom one."""
    plans = plans_of(server_facts(case), statement.number)
    generic, custom = plans.get("generic"), plans.get("custom")
    if generic is None or custom is None or generic.cost < COST_MIN:
        return None
    if (
        not _reads(custom)
        or generic.cost < COST_RATIO_MIN * custom.cost
        or _steps(case, generic) == _steps(case, custom)
    ):
        return None
    ratio = generic.cost / max(custom.cost, 0.01)
    mode = server_facts(case).settings.get("plan_cache_mode", "auto")
    return found(
        f"The generic plan of “{statement.text}” has {significant(ratio)} times the estimated cost "
        "of a custom plan.",
        severity="minor" if mode == "force_generic_plan" else "note",
        certainty="hint",
        evidence={"statement": statement.sql, "generic": generic.text, "custom": custom.text},
        seen=[f"Generic: {_plan_text(generic)}. Custom: {_plan_text(custom)}."],
        why="As a prepared statement it is planned again at every execution as long as custom "
        "plans look cheaper; forced to the generic plan, it runs the more expensive one.",
        advice=["Compare -M prepared with -M extended, or set plan_cache_mode for this statement."],
        refute="SET plan_cache_mode = force_custom_plan, then force_generic_plan: the statement's "
        "latency must differ.",
    )


RULE = Rule(
    id="plan_choice",
    title="Plan choice: generic versus custom",
    look=look,
    protocols=frozenset({POSTGRESQL}),
)
