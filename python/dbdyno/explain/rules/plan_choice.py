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

from typing import ClassVar

from dbdyno.explain.needs import needed, server_facts
from dbdyno.explain.rule import Aside, Claim, NotFound, Rule, at_most, severity_of
from dbdyno.explain.statements.statements import (
    Statement,
    in_one_line,
    plans_of,
    statements_of,
    whole_name,
    working_share,
)
from dbdyno.formatting import significant
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run
from dbdyno.model.telemetry import PlanFacts

COST_RATIO_MIN = 2.0
COST_MIN = 10.0
"""Below this cost a plan is a lookup, whichever it is."""
_APPENDS = frozenset({"Append", "Merge Append"})


class PlanChange(Claim, frozen=True, kw_only=True):
    """A statement whose plan after the load differs from the one before it, as texts."""

    statement: str
    before: str
    after: str
    plan_before: Aside[PlanFacts]
    plan_after: Aside[PlanFacts]
    working_share: Aside[float] = 0.0
    """Of client time, at the statement with either plan."""
    title: ClassVar[str] = "Plan change during the run"

    @property
    def severity(self) -> Severity:
        return at_most("minor", severity_of(self.working_share))

    @property
    def summary(self) -> str:
        was, became = self.plan_before, self.plan_after
        return (
            f"The plan of “{in_one_line(self.statement)}” changed during the run: from "
            f"{_plan_text(was)} to {_plan_text(became)} ({was.variant} plan)."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"Estimated cost {significant(self.plan_before.cost)} before, "
            f"{significant(self.plan_after.cost)} after."
        ]

    why: ClassVar[str] = (
        "Its tables or their statistics changed. The run may have measured both plans, and the "
        "next run measures the new one: prepared statements keep their plan until statistics are "
        "updated."
    )
    advice: ClassVar[list[str]] = [
        "ANALYZE the tables after loading, and make the warm-up long enough."
    ]
    refute: ClassVar[str] = "Run again on the data as it is now: the plan must not change."


class ExpensiveGeneric(Claim, frozen=True, kw_only=True):
    """A statement whose generic plan costs a multiple of the custom one, as texts."""

    statement: str
    generic: str
    custom: str
    plan_generic: Aside[PlanFacts]
    plan_custom: Aside[PlanFacts]
    is_forced: Aside[bool] = False
    certainty: ClassVar[Certainty] = "hint"

    @property
    def severity(self) -> Severity:
        return "minor" if self.is_forced else "note"

    @property
    def summary(self) -> str:
        ratio = self.plan_generic.cost / max(self.plan_custom.cost, 0.01)
        return (
            f"The generic plan of “{in_one_line(self.statement)}” has {significant(ratio)} times "
            "the estimated cost of a custom plan."
        )

    @property
    def seen(self) -> list[str]:
        generic, custom = _plan_text(self.plan_generic), _plan_text(self.plan_custom)
        return [f"Generic: {generic}. Custom: {custom}."]

    why: ClassVar[str] = (
        "As a prepared statement it is planned again at every execution as long as custom plans "
        "look cheaper; forced to the generic plan, it runs the more expensive one."
    )
    advice: ClassVar[list[str]] = [
        "Compare -M prepared with -M extended, or set plan_cache_mode for this statement."
    ]
    refute: ClassVar[str] = (
        "SET plan_cache_mode = force_custom_plan, then force_generic_plan: the statement's latency "
        "must differ."
    )


def look(run: Run) -> PlanChange | ExpensiveGeneric | NotFound:
    """A changed plan first: the change happened in the run."""
    needed(server_facts(run).plans or None, "no statement's plan was recorded")
    for judge in (_changed, _expensive_generic):
        for statement in statements_of(run):
            claim = judge(run, statement)
            if claim is not None:
                return claim
    return NotFound("plans stayed as they were, and fit any value")


def _changed(run: Run, statement: Statement) -> PlanChange | ExpensiveGeneric | None:
    """A plan after the load that differs from the one before it."""
    if run.before is None or run.after is None:
        return None
    before, after = (plans_of(facts, statement.number) for facts in (run.before, run.after))
    for variant in before.keys() & after.keys():
        highest = max(before[variant].cost, after[variant].cost)
        was, became = _steps(run, before[variant]), _steps(run, after[variant])
        if highest >= COST_MIN and was != became:
            return PlanChange(
                statement=statement.sql.text,
                before=before[variant].text,
                after=after[variant].text,
                plan_before=before[variant],
                plan_after=after[variant],
                working_share=working_share(run, statement.number) or 0.0,
            )
    return None


def _steps(run: Run, plan: PlanFacts) -> list[tuple[str, str]]:
    """Operations and tables, regardless of which partition is used."""
    whole = {table.name: whole_name(table) for table in server_facts(run).tables}
    return [
        (kind, whole.get(relation, relation))
        for kind, relation, _ in plan.nodes
        if kind not in _APPENDS
    ]


def _plan_text(plan: PlanFacts) -> str:
    return ", ".join(f"{kind} {relation}".strip() for kind, relation, _ in plan.nodes[:3])


def _reads(plan: PlanFacts) -> bool:
    """Not if the example's values match no partition, which says nothing about other values."""
    return any(kind.endswith("Scan") for kind, _, _ in plan.nodes)


def _expensive_generic(run: Run, statement: Statement) -> PlanChange | ExpensiveGeneric | None:
    """A generic plan that costs a multiple of the custom one."""
    plans = plans_of(server_facts(run), statement.number)
    generic, custom = plans.get("generic"), plans.get("custom")
    if generic is None or custom is None or generic.cost < COST_MIN:
        return None
    if (
        not _reads(custom)
        or generic.cost < COST_RATIO_MIN * custom.cost
        or _steps(run, generic) == _steps(run, custom)
    ):
        return None
    mode = server_facts(run).settings.get("plan_cache_mode", "auto")
    return ExpensiveGeneric(
        statement=statement.sql.text,
        generic=generic.text,
        custom=custom.text,
        plan_generic=generic,
        plan_custom=custom,
        is_forced=mode == "force_generic_plan",
    )


RULE = Rule(
    id="plan_choice",
    title="Plan choice: generic versus custom",
    look=look,
    needs=frozenset({"row_estimates"}),
)
