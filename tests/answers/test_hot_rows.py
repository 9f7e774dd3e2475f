"""The answers of ``hot-rows`` for made-up queues at known places."""

import pytest

from dbdyno.answers.kinds import queue, statement_order, statement_split
from dbdyno.answers.orders import orders_of
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import ScriptRecord
from tests.answers import made
from tests.explain import tpcb
from tests.support.recordings import MadeRun

STATEMENTS = {"tellers": "pgbench_tellers", "branches": "pgbench_branches"}
OPTIONS = {"over": "clients", "statements": STATEMENTS}
TIMES_MS = {1: (0.1, 0.1), 4: (0.4, 0.9), 20: (6.0, 4.0), 100: (60.0, 7.0)}
"""Latencies of tellers and branches by number of clients: they cross between 4 and 20."""
TPS = {1: 800, 4: 1400, 20: 1500, 100: 1200}

SCRIPT = """
\\set aid random(1, 100000)
begin;
update pgbench_accounts set abalance = abalance + 1 where aid = :aid;
select abalance from pgbench_accounts where aid = :aid;
{rest}
end;
"""
TELLERS = "update pgbench_tellers set tbalance = tbalance + 1 where tid = :tid;"
BRANCHES = "update pgbench_branches set bbalance = bbalance + 1 where bid = :bid;"
HISTORY = "insert into pgbench_history (tid) values (:tid);"
ORDERS = {
    "as-written": (TELLERS, BRANCHES, HISTORY),
    "branches-last": (HISTORY, TELLERS, BRANCHES),
    "branches-first": (BRANCHES, TELLERS, HISTORY),
}


def plain(text):
    return text.replace(THIN_SPACE, " ")


def crowd(levels):
    """A run in which nine tenths of client time at the two statements are lock waits."""
    clients = int(levels["clients"])
    tellers_ms, branches_ms = TIMES_MS[clients]
    run = MadeRun(TPS[clients], clients=clients, seconds=tpcb.SECONDS)
    for number, sql in enumerate(tpcb.SQL):
        run.statement(sql)
        times = {tpcb.TELLERS: tellers_ms, tpcb.BRANCHES: branches_ms, tpcb.END: 0.3}
        run.latency(number, times.get(number, 0.05), count=TPS[clients])
    waits = [tpcb.waiting(tpcb.END, 1, "", "")]
    behind = []
    if clients > 1:
        at = {tpcb.TELLERS: clients // 2, tpcb.BRANCHES: min(clients // 2, 9)}
        waits += [tpcb.waiting(one, 9 * many) for one, many in at.items()]
        waits += [tpcb.waiting(one, many, "", "") for one, many in at.items()]
        behind = [tpcb.behind(one, 9 * many) for one, many in at.items()]
    for number in range(1, 2 * tpcb.SECONDS + 1):
        run.look(number * 0.5, waits, behind)
    return run.facts(before=tpcb.FACTS)


def study(*levels, run_of=crowd, **more):
    spec = made.spec(made.factor("clients", *levels), repeats=3)
    return made.study(spec, lambda at: TPS[int(at["clients"])], run_of=run_of, **more)


def test_the_verdict_names_the_statement_that_comes_first_and_what_its_rows_let_past():
    verdict, *_ = statement_split.answer(study(1, 4, 20, 100), OPTIONS).claims
    assert verdict.is_decided
    assert plain(verdict.sentence).startswith(
        "Because tellers come first: with 100 clients their 10 rows let at most 10 through to "
        "branches and hold back the rest, so the update of tellers takes 60 ms (90 % of it "
        "waiting for a lock) and that of branches 7 ms"
    )
    assert "With 4 clients branches are the slower (900 µs against 400 µs)" in plain(
        verdict.sentence
    )


def test_the_crossing_lies_where_straight_lines_on_logarithms_meet():
    verdict, *_ = statement_split.answer(study(1, 4, 20, 100), OPTIONS).claims
    # ln(4/9) at 4 and ln(6/4) at 20: 4 · 5^(0.811 / 1.216)
    assert verdict.effect == pytest.approx(11.7, rel=0.01)


def test_no_crossing_is_made_up_where_the_runs_show_none():
    verdict, *_ = statement_split.answer(study(1, 4), OPTIONS).claims
    assert "cross" not in verdict.sentence
    assert "do not show a crossing in every block" in verdict.doubt
    assert "Because" not in verdict.sentence


def test_the_table_begins_with_the_columns_of_the_published_one():
    table = statement_split.answer(study(1, 4, 20, 100), OPTIONS).shown[0]
    assert table.columns[:4] == ("clients", "tellers ms", "branches ms", "TPS")
    assert table.rows[-1][:3] == ("100", "60", "7")
    assert [plain(cell) for cell in table.rows[-1][4:6]] == ["54 ms", "6 ms"]


def test_the_parts_of_a_transaction_add_up_to_its_length():
    *_, parts = statement_split.answer(study(4, 20), OPTIONS).shown
    bar = parts.bars[0]
    tellers, branches, *_ = bar.parts
    assert tellers == pytest.approx(0.36)
    assert branches == pytest.approx(0.81)
    assert sum(bar.parts) == pytest.approx(0.4 + 0.9 + 0.3)  # those seen in a session sample


def test_what_is_without_lock_waits_is_not_called_without_waits():
    curve = statement_split.answer(study(1, 4, 20, 100), OPTIONS).shown[1]
    assert [series.label for series in curve.series][2:] == [
        "tellers without lock waits",
        "branches without lock waits",
    ]
    assert "waits for other internal locks of the server are part of the rest" in curve.summary


def test_a_part_is_not_above_its_whole_where_samples_show_it_in_some_runs_only():
    """The runs whose samples miss a statement are the ones in which it is fast."""
    made_runs = iter(range(100))

    def sampled_in_part(levels):
        if next(made_runs) % 3 == 0:
            return crowd(levels)
        run = MadeRun(1000, clients=int(levels["clients"]), seconds=tpcb.SECONDS)
        for number, sql in enumerate(tpcb.SQL):
            run.statement(sql)
            run.latency(number, 0.05, count=1000)
        return run.facts(before=tpcb.FACTS)

    curve = statement_split.answer(study(4, 20, run_of=sampled_in_part), OPTIONS).shown[1]
    for whole, part in zip(curve.series[:2], curve.series[2:], strict=True):
        assert part.x
        whole_ms = dict(zip(whole.x, whole.y, strict=True))
        assert all(ms < whole_ms[at] for at, ms in zip(part.x, part.y, strict=True))


def test_without_samples_the_statements_are_timed_but_not_split():
    def unwatched(levels):
        run = MadeRun(1000, clients=int(levels["clients"]), seconds=5)
        for number, sql in enumerate(tpcb.SQL):
            run.statement(sql)
            run.latency(number, 1.0)
        return run

    found = statement_split.answer(study(1, 4, run_of=unwatched), OPTIONS)
    assert found.shown[0].rows[0][4:] == ("–",) * 4
    assert len(found.claims) == 1


def test_levels_whose_statements_were_not_timed_are_left_out_and_named():
    def timed_but_the_crowd(levels):
        return MadeRun(1000, seconds=5) if levels["clients"] == "100" else crowd(levels)

    found = statement_split.answer(study(100, 4, 20, run_of=timed_but_the_crowd), OPTIONS)
    verdict = found.claims[0]
    assert "with 20 clients" in verdict.sentence
    assert "runs with 100 clients are left out: no run timed both statements" in verdict.doubt
    assert [row[0] for row in found.shown[0].rows] == ["4", "20"]


def test_the_queue_is_drawn_for_the_fewest_that_can_queue_and_the_most():
    found = queue.answer(study(1, 4, 20, 100), {"over": "clients"})
    assert [one.title for one in found.shown] == [
        "The queue with 4 clients",
        "The queue with 100 clients",
    ]
    few, many = found.claims
    assert "nothing before it holds clients back" in few.sentence
    assert "the 10 rows of pgbench_tellers shield the 1 row of pgbench_branches" in many.sentence
    assert "measured: 1 184 in the run shown)" in plain(many.sentence)
    assert many.evidence["shield"] == "pgbench_tellers"


def test_runs_whose_queue_was_not_sampled_decide_nothing_about_it():
    def unsampled(levels):
        clients = int(levels["clients"])
        run = MadeRun(TPS[clients], clients=clients, seconds=tpcb.SECONDS)
        return run.facts(before=tpcb.FACTS)

    (claim,) = queue.answer(study(100, run_of=unsampled), {"over": "clients"}).claims
    assert claim.sentence == "With 100 clients it is not known what clients wait for"
    assert not claim.is_decided
    assert claim.doubt


def ordered(levels):
    """TPC-B with its statements in one of the orders."""
    text = SCRIPT.format(rest="\n".join(ORDERS[levels["order"]]))
    run = MadeRun(1000, clients=100, seconds=tpcb.SECONDS, scripts={levels["order"]: text})
    statements = [line for line in text.splitlines() if line and not line.startswith("\\")]
    for number, sql in enumerate(statements):
        run.statement(sql)
        run.latency(number, 0.3 if sql == "end;" else 0.1, count=1000)
    for number in range(1, 2 * tpcb.SECONDS + 1):
        run.look(number * 0.5, [tpcb.waiting(0, 1, "", "")])
    return run.facts(before=tpcb.FACTS)


def orders_study(**tps):
    factor = made.factor("order", *ORDERS)
    spec = made.spec(made.factor("clients", 100), factor, repeats=3)
    return made.study(
        spec, lambda at: tps[at["order"].replace("-", "_")], run_of=ordered, scripts=[SCRIPT_DONE]
    )


SCRIPT_DONE = ScriptRecord(
    name="tpcb", weight=1, ok=20_000, failed=0, skipped=0, response_ms=None, service_ms=None
)
MEASURED_AS_PREDICTED = {"as_written": 1000.0, "branches_last": 1250.0, "branches_first": 500.0}
ORDER_OPTIONS = {"factor": "order", "reference": "as-written", "over": "clients"}


def test_every_valid_order_is_considered_and_the_hottest_row_comes_last():
    orders = orders_of(orders_study(**MEASURED_AS_PREDICTED).trials[0])
    assert len(orders.predictions) == 60  # 5!, less the half with the select before its update
    best = orders.predictions[0]
    assert orders.text_of(best.order).endswith("UPDATE pgbench_branches")
    # The row is held only until the end of the commit, 0.3 ms.
    assert best.bound.tps == pytest.approx(1 / 0.0003, rel=0.01)


def test_the_order_is_predicted_and_measured_and_both_are_compared():
    found = statement_order.answer(orders_study(**MEASURED_AS_PREDICTED), ORDER_OPTIONS)
    best, predicted, agreement = found.claims
    assert best.is_decided
    assert best.sentence.startswith("With 100 clients the order branches-last had the highest")
    assert best.effect == pytest.approx(1.25, rel=0.05)
    assert "of 60 valid orders none is better than branches-last" in predicted.sentence
    assert predicted.effect == pytest.approx((0.1 + 0.3) / 0.3, rel=0.01)
    assert agreement.is_decided
    assert "rank as predicted" in agreement.sentence


def test_means_in_the_predicted_order_without_significance_prove_nothing():
    near = {"as_written": 1000.0, "branches_last": 1001.0, "branches_first": 999.0}
    *_, agreement = statement_order.answer(orders_study(**near), ORDER_OPTIONS).claims
    assert not agreement.is_decided
    assert "do not distinguish branches-last and branches-first from the order" in agreement.doubt


def test_a_measurement_that_contradicts_the_prediction_says_so():
    contradicting = {**MEASURED_AS_PREDICTED, "branches_last": 800.0}
    best, _, agreement = statement_order.answer(orders_study(**contradicting), ORDER_OPTIONS).claims
    assert "the order as-written had the highest mean throughput" in best.sentence
    assert not agreement.is_decided
    assert "do not rank as predicted" in agreement.sentence


def test_a_bound_that_a_measurement_exceeds_is_reported_as_invalid():
    """In branches-first, the row would be held for 0.5 ms by the times of the order as written."""
    exceeding = {"as_written": 3000.0, "branches_last": 3300.0, "branches_first": 2800.0}
    *_, agreement = statement_order.answer(orders_study(**exceeding), ORDER_OPTIONS).claims
    assert "rank as predicted" in agreement.sentence
    doubt = plain(agreement.doubt)
    assert doubt.startswith("Only the ranks are comparable: in branches-first (2 8")
    assert "TPS, predicted at most 2 000) rows are held for less time than" in doubt
    assert "branches-last" not in agreement.doubt


def test_ranks_are_among_all_valid_orders():
    (table,) = statement_order.answer(orders_study(**MEASURED_AS_PREDICTED), ORDER_OPTIONS).shown
    ranks = {row[0]: int(row[5]) for row in table.rows}
    assert ranks["branches-last"] == 1
    assert ranks["branches-last"] < ranks["as-written"] < ranks["branches-first"]
