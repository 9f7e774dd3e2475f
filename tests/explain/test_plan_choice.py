"""Plans that changed, or that cost more than another."""

from dbdyno.explain.rule import NotFound
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import made_run, table
from tests.explain.rule_outcomes import outcome_of

SELECT = "SELECT * FROM accounts WHERE owner = :owner;"
SCAN, LOOKUP = ("Seq Scan", "accounts", 9.0), ("Index Scan", "accounts", 1.0)


def planned(variant, cost, *nodes):
    return PlanFacts(statement=0, variant=variant, cost=cost, nodes=nodes, text=f"{variant} plan")


def test_a_plan_that_changed_in_the_run():
    run = made_run(SELECT)
    before = ServerFacts(plans=(planned("generic", 900, SCAN),))
    after = ServerFacts(plans=(planned("generic", 8, LOOKUP),))
    found = outcome_of("plan_choice", run.facts(before, after))
    assert found.title == "Plan change during the run"
    assert "from Seq Scan accounts to Index Scan accounts" in found.summary


def test_a_change_between_two_cheap_plans_is_not_reported():
    before = ServerFacts(plans=(planned("generic", 1.6, SCAN),))
    after = ServerFacts(plans=(planned("generic", 8.2, LOOKUP),))
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(before, after)), NotFound)


def test_an_expensive_generic_plan_is_a_note_unless_it_is_forced():
    plans = (planned("generic", 900, SCAN), planned("custom", 9, LOOKUP))
    found = outcome_of("plan_choice", made_run(SELECT).facts(ServerFacts(plans=plans)))
    assert found.severity == "note"
    assert "100 times" in found.summary
    forced = ServerFacts(plans=plans, settings={"plan_cache_mode": "force_generic_plan"})
    assert outcome_of("plan_choice", made_run(SELECT).facts(forced)).severity == "minor"


def test_an_example_in_no_partition_says_nothing_about_the_plan():
    plans = (planned("generic", 900, SCAN), planned("custom", 0.01, ("Result", "", 1.0)))
    outcome = outcome_of("plan_choice", made_run(SELECT).facts(ServerFacts(plans=plans)))
    assert isinstance(outcome, NotFound)


def test_partitions_pruned_at_executor_startup_do_not_add_to_the_cost():
    """For unknown values the estimate counts all eight partitions, but one is read."""
    generic = planned("generic", 64, ("Append", "", 8.0), LOOKUP)
    alike = ServerFacts(plans=(generic, planned("custom", 8, LOOKUP)))
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(alike)), NotFound)
    all_read = planned("generic", 64, ("Append", "", 8.0), LOOKUP, LOOKUP)
    costlier = ServerFacts(plans=(all_read, planned("custom", 8, LOOKUP)))
    assert outcome_of("plan_choice", made_run(SELECT).facts(costlier)).severity == "note"


def test_a_plan_for_a_value_in_another_partition_is_no_other_plan():
    parts = tuple(table(f"accounts_{number}", partition_of="accounts") for number in (1, 2))
    reads = [planned("custom", 64, ("Seq Scan", part.name, 9.0)) for part in parts]
    before, after = (ServerFacts(tables=parts, plans=(plan,)) for plan in reads)
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(before, after)), NotFound)


def test_plans_that_agree_are_not_reported():
    plans = (planned("generic", 9, LOOKUP), planned("custom", 8, LOOKUP))
    same = ServerFacts(plans=plans)
    assert isinstance(outcome_of("plan_choice", made_run(SELECT).facts(same, same)), NotFound)
