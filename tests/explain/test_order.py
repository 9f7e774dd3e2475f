"""Statement order: what must stay, which order is best, and what it gains."""

from itertools import permutations

import numpy as np
import pytest
from inline_snapshot import snapshot
from msgspec import structs

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.explain.statements.order import advise, bound, coldest_first
from dbdyno.explain.statements.script_text import commands, script_of
from dbdyno.explain.statements.transactions import (
    TimedScript,
    UnknownRowsError,
    UnorderableError,
    stays_before,
    transaction,
)
from dbdyno.workloads.registry import find_workload
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.explain.tpcb import BRANCHES, END, FACTS, TELLERS, behind, waiting
from tests.support.recordings import MadeRun, changed

RULE = "statement_order"
ROWS = {"pgbench_accounts": 100_000.0, "pgbench_tellers": 10.0, "pgbench_branches": 1.0}
TPCB = find_workload("tpcb").scripts(find_workload("tpcb").complete({}), "postgresql")[0].text
MILLISECOND = 1e-3


def tables_in_order(script):
    """The tables that a script writes, in its order, without their prefix."""
    writes = [one.text.split() for one in commands(script) if one.verb in ("update", "insert")]
    return [(it[1] if it[0].lower() == "update" else it[2]).split("_")[1] for it in writes]


def branches_first():
    """As in the study: the update of the only branch comes before all other statements."""
    found = commands(TPCB)
    at_branches = next(one for one in found if "branches" in one.text and one.is_sql)
    rest = [one for one in found if one is not at_branches]
    begin = next(place for place, one in enumerate(rest) if one.verb == "begin")
    return script_of([*rest[: begin + 1], at_branches, *rest[begin + 1 :]])


def timed(text=TPCB, name="tpcb", share=1.0, seconds=None):
    seconds = seconds or [MILLISECOND] * sum(one.is_sql for one in commands(text))
    return TimedScript(
        name=name, share=share, text=text, seconds=seconds, round_trip_s=min(seconds)
    )


def test_a_script_is_its_commands():
    script = (
        "-- a; comment\n\\set a 1\nSELECT ';' AS \"x;y\", $$;$$ /* ; */, E'\\';' \\gset p_\nend;"
    )
    found = commands(script)
    assert [one.verb for one in found] == ["\\set", "select", "end"]
    assert found[1].keeps_answer
    assert found[0].assigned == {"a"}
    assert commands(script_of(found)) == found


def test_statements_are_split_as_in_the_engine():
    for name in ("tpcb", "simple-update", "select-only", "pk"):
        workload = find_workload(name)
        for script in workload.scripts(workload.complete({}), "postgresql"):
            texts = [one.text for one in commands(script.text) if one.is_sql]
            assert texts
            assert all(text.rstrip().endswith(";") for text in texts)


def test_variables_are_not_casts():
    (found,) = commands("SELECT :a::text, b::int FROM t WHERE c = :c;")
    assert found.used == {"a", "c"}


def test_tpcb_takes_the_branch_last():
    advice = advise([timed()], ROWS)
    assert tables_in_order(advice.scripts["tpcb"]) == [
        "accounts",
        "history",
        "tellers",
        "branches",
    ]
    assert advice.before.table == advice.after.table == "pgbench_branches"
    # Before: the history and the commit; after: the commit alone.
    assert advice.before.hold_s == pytest.approx(2 * MILLISECOND)
    assert advice.after.hold_s == pytest.approx(MILLISECOND)
    assert advice.after.tps == pytest.approx(1000)


def test_branches_first_is_bound_at_a_fifth_of_it():
    advice = advise([timed(branches_first())], ROWS)
    assert tables_in_order(advice.scripts["tpcb"])[-1] == "branches"
    assert advice.after.tps / advice.before.tps == pytest.approx(5)


def test_a_bound_lies_between_what_clients_cannot_see_of_a_hold():
    """Before the hold its statement, of 1 ms; at its end a round trip, which is as long here."""
    before = advise([timed()], ROWS).before
    assert before.tps == pytest.approx(1 / (2 * MILLISECOND))
    assert before.range_tps == pytest.approx((1 / (3 * MILLISECOND), 1 / MILLISECOND))


def test_the_best_order_stays_as_it_is():
    best = advise([timed()], ROWS).scripts["tpcb"]
    again = advise([timed(best)], ROWS)
    assert again.changed == []
    assert again.after == again.before


@pytest.mark.parametrize("seed", range(20))
def test_no_permitted_order_has_a_higher_bound(seed):
    """Compared with all permutations of made-up transactions: four updates and two reads."""
    chance = np.random.default_rng(seed)
    rows = {f"t{number}": float(chance.integers(1, 12)) for number in range(4)}
    lines = [f"UPDATE {table} SET a = 1 WHERE id = :id;" for table in rows]
    lines += [f"SELECT a FROM {table};" for table in chance.choice(list(rows), 2)]
    chance.shuffle(lines)
    seconds = chance.uniform(1e-4, 1e-2, len(lines) + 2).tolist()
    script = timed("\n".join(["BEGIN;", *lines, "END;"]), seconds=seconds)
    one = transaction(script, rows)
    found = bound([one], [coldest_first(one.steps, one.end_s)])
    places = range(len(one.steps))
    kept = [(i, j) for j in places for i in range(j) if stays_before(one.steps[i], one.steps[j])]
    permitted = [
        order
        for order in permutations(places)
        if all(order.index(i) < order.index(j) for i, j in kept)
    ]
    assert len(permitted) > 1
    best = max(bound([one], [order]).tps for order in permitted)
    assert found.tps == pytest.approx(best)


@pytest.mark.parametrize(
    ("lines", "stays"),
    [
        (["UPDATE a SET x = 1 WHERE i = 1;", "SELECT x FROM a;"], True),
        (["SELECT x FROM a;", "UPDATE a SET x = 1 WHERE i = 1;"], True),
        (["SELECT x FROM a;", "SELECT y FROM a;"], False),
        (["UPDATE a SET x = 1 WHERE i = 1;", "UPDATE b SET x = 1 WHERE i = 1;"], False),
        (["SELECT x FROM a \\gset", "UPDATE b SET x = :x WHERE i = 1;"], True),
        (["\\set v 1", "UPDATE b SET x = :v WHERE i = 1;"], True),
        (["UPDATE b SET x = :v WHERE i = 1;", "\\set v 1"], True),
        (["SELECT f(1);", "UPDATE b SET x = 1 WHERE i = 1;"], True),
        (["INSERT INTO a VALUES (nextval('s'));", "INSERT INTO b VALUES (1);"], True),
    ],
)
def test_dependent_statements_stay_in_order(lines, stays):
    one = transaction(timed("\n".join(["BEGIN;", *lines, "END;"])), {"a": 9.0, "b": 9.0})
    assert stays_before(*one.steps) is stays


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET a = 1 WHERE id = 1;",
        "BEGIN; UPDATE t SET a = 1 WHERE id = 1;",
        "BEGIN;\n\\if 1\nUPDATE t SET a = 1 WHERE id = 1;\n\\endif\nEND;",
        "BEGIN;\n\\sleep 1 ms\nUPDATE t SET a = 1 WHERE id = 1;\nEND;",
    ],
)
def test_a_script_that_is_no_straight_line_is_left_alone(text):
    with pytest.raises(UnorderableError):
        transaction(timed(text), {"t": 1.0})


def test_without_the_rows_of_a_table_nothing_is_reported():
    with pytest.raises(UnknownRowsError, match="pgbench_tellers"):
        advise([timed()], {**ROWS, "pgbench_tellers": 0})


@pytest.mark.parametrize(
    ("read", "locks"),
    [
        ("for update", "pgbench_branches"),
        ("for no key update", "pgbench_branches"),
        ("for share", ""),
        ("for key share", ""),
        ("limit 1 for update skip locked", ""),
    ],
)
def test_a_read_locks_a_row_against_others_of_its_kind_or_does_not(read, locks):
    text = f"begin;\nselect 1 from pgbench_branches where bid = :b {read};\ncommit;"
    (step,) = transaction(timed(text), ROWS).steps
    assert step.locks == locks


def test_scripts_that_would_lock_in_opposite_order_are_reported():
    """The second script must write hot before it reads it for mild, so hot cannot come last."""
    first = (
        "BEGIN;\nUPDATE hot SET a = 1 WHERE id = :id;\nUPDATE mild SET a = 1 WHERE id = :id;\nEND;"
    )
    second = (
        "BEGIN;\nUPDATE hot SET a = 1 WHERE id = :id;\n"
        "UPDATE mild SET a = (SELECT a FROM hot) WHERE id = :id;\nEND;"
    )
    rows = {"hot": 1.0, "mild": 5.0}
    advice = advise([timed(first, "first", 0.5), timed(second, "second", 0.5)], rows)
    assert advice.crossing == ("first", "second", "mild", "hot")
    assert advise([timed(first, "first"), timed(first, "second")], rows).crossing is None


def queued(script, *, in_queue=12, facts=FACTS, tps=900, at_the_head=None):
    """Sixteen clients, most waiting for the branch; each statement takes 0.1 ms, the end 0.3 ms."""
    run = MadeRun(tps, clients=16, seconds=20, scripts={"tpcb": script})
    texts = [one.text for one in commands(script) if one.is_sql]
    for number, sql in enumerate(texts):
        run.statement(sql)
        run.latency(number, 0.3 if number == END else 0.1, count=tps)
    at_branches = next(number for number, sql in enumerate(texts) if "branches" in sql)
    relation = BRANCHES if at_branches == BRANCHES else TELLERS
    for number in range(1, 41):
        run.look(
            number * 0.5,
            [waiting(at_branches, in_queue), waiting(END, 16 - in_queue, "", "")],
            [at_the_head or behind(relation, in_queue)] if in_queue else [],
        )
    return run.facts(before=facts) if facts else run


def test_the_finding_names_the_table_and_gives_the_order():
    finding = outcome_of(RULE, queued(TPCB))
    assert text_of(finding) == snapshot("""\
major: Statement order: pgbench_branches is locked too early
Rows of pgbench_branches are locked earlier than necessary: each is held for 400
µs; in the best statement order for 300 µs.
The row limits throughput to 2 500 TPS (2 500 to 3 333); in the best order the
limit is 3 333 TPS (3 333 to 5 000), by pgbench_branches.
""")
    assert finding.advice == [
        "Run tpcb in this order: BEGIN, UPDATE pgbench_accounts, SELECT pgbench_accounts, "
        "INSERT pgbench_history, UPDATE pgbench_tellers, UPDATE pgbench_branches, END."
    ]
    # The history's 0.1 ms and the commit's 0.3 ms come after the branch; then only the commit.
    assert finding.evidence["gain_predicted"] == pytest.approx(4 / 3)
    assert tables_in_order(finding.evidence["scripts"]["tpcb"])[-1] == "branches"


def test_a_script_that_never_commits_has_no_part_in_it():
    """Its weight is 0, and its statements could not be reordered either."""
    recording = queued(TPCB).loaded()
    never = {"name": "never", "weight": 0, "text": "UPDATE elsewhere SET a = 1 WHERE id = :id;"}
    scripts = [*recording.as_recorded.plan["scripts"], never]
    record = full_record(recording)
    idle = structs.replace(record.scripts[0], name="never", weight=0, ok=0)
    record = structs.replace(record, scripts=[*record.scripts, idle])
    finding = outcome_of(RULE, changed(recording, plan={"scripts": scripts}, record=record))
    assert finding.evidence["gain_predicted"] == pytest.approx(4 / 3)
    assert list(finding.evidence["scripts"]) == ["tpcb"]


def test_nothing_is_found_without_waits_or_a_better_order():
    assert isinstance(outcome_of(RULE, queued(TPCB, in_queue=0)), NotFound)
    best = advise([timed()], ROWS).scripts["tpcb"]
    assert isinstance(outcome_of(RULE, queued(best)), NotFound)


def test_a_row_released_before_clients_get_the_reply_sets_no_bound():
    """Held for as long as clients observe, the row would let 2 500 a second through."""
    finding = outcome_of(RULE, queued(TPCB, tps=5000))
    assert (finding.severity, finding.certainty) == ("minor", "hint")
    assert "bounds the rate" not in " ".join(finding.seen)
    assert "factor" not in finding.gain


def test_no_order_is_advised_where_few_of_many_rows_are_hot():
    tables = [structs.replace(one, rows=100_000.0) for one in FACTS.tables]
    outcome = outcome_of(RULE, queued(TPCB, facts=structs.replace(FACTS, tables=tuple(tables))))
    reason = "some rows of pgbench_branches are hot; how many is not known"
    assert outcome == CouldNotLook(reason)


def test_an_order_does_not_help_behind_a_foreign_session():
    foreign = behind(BRANCHES, 12, who="foreign", blocker=-1, root=-1, state="idle in transaction")
    assert isinstance(outcome_of(RULE, queued(TPCB, at_the_head=foreign)), NotFound)


def test_an_order_does_not_help_where_all_wait_for_deadlocks():
    """A deadlock is pending nearly all the time: its waiters then do not wait for the hot row."""
    given = {
        "settings": FACTS.settings | {"deadlock_timeout": "1000"},
        "details": {"units": {"deadlock_timeout": "ms"}},
    }
    run = queued(TPCB, facts=structs.replace(FACTS, **given))
    assert isinstance(
        outcome_of(RULE, run.counters("pg_stat_database", {"deadlocks": 6})), NotFound
    )


def test_it_could_not_look_without_facts_or_samples():
    assert isinstance(outcome_of(RULE, queued(TPCB, facts=None)), CouldNotLook)
    assert isinstance(outcome_of(RULE, MadeRun().statement("SELECT 1;")), CouldNotLook)
