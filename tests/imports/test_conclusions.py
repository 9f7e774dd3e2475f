"""What an author concluded by hand comes out of the text: where the queue stands, who shields whom.

The clients, the throughput and the latencies of tellers and branches are those that were published;
of the statements beside them, whose latencies were not, the text has what their work takes.
"""

import io
import math
from pathlib import Path

import pytest

from dbdyno.explain.registry import all_rules
from dbdyno.explain.rule import NotFound
from dbdyno.explain.rules.statement_queue import StatementQueue
from dbdyno.formatting import plain
from dbdyno.imports.reading import read_text
from dbdyno.imports.recording import run_of
from dbdyno.imports.several_runs import together
from dbdyno.model.run import Run
from dbdyno.run.tools import engine_tools

TEXTS = Path(__file__).parent / "pgbench_texts"
TELLERS = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;"
BRANCHES = "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;"
BESIDE = {
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;": 0.15,
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 2, 3, 4, now());": 0.12,
}
# Clients, and milliseconds of tellers and of branches, and transactions a second.
PUBLISHED = [
    (1, 0.158, 0.134, 793),
    (4, 0.437, 0.962, 1460),
    (10, 1.88, 2.66, 1517),
    (20, 5.74, 3.87, 1500),
    (100, 63.1, 7.54, 1175),
    (500, 1002, 22.6, 414),
    (800, 2483, 37, 244),
]


def text_of(clients: int, statements: dict[str, float], tps: float) -> str:
    rows = "".join(f"\t{ms:.6f}\t{sql}\n" for sql, ms in statements.items())
    return (
        "transaction type: TPC-B (sort of)\nscaling factor: 1\nquery mode: prepared\n"
        f"number of clients: {clients}\nnumber of threads: 1\nduration: 60 s\n"
        f"number of transactions actually processed: {tps * 60}\n"
        f"tps = {tps:.6f} (including connections establishing)\n"
        f"tps = {tps:.6f} (excluding connections establishing)\n"
        f"statement latencies in milliseconds:\n{rows}"
    )


def runs(text: str) -> list[Run]:
    found = read_text(io.BytesIO(text.encode())).runs
    return [run_of(one, "page.txt", engine_tools().histograms) for one in found]


def queue_of(run: Run) -> StatementQueue | NotFound:
    return all_rules()["statement_queue"].look(run)


@pytest.fixture(scope="module")
def published() -> dict[int, Run]:
    page = "\n\n".join(
        text_of(clients, {**BESIDE, TELLERS: tellers, BRANCHES: branches}, tps)
        for clients, tellers, branches, tps in PUBLISHED
    )
    return {run.record.imported.clients: run for run in runs(page)}


def test_one_client_queues_nowhere(published):
    assert isinstance(queue_of(published[1]), NotFound)


@pytest.mark.parametrize("clients", [4, 10])
def test_few_clients_queue_for_the_branch(published, clients):
    found = queue_of(published[clients])
    assert found.longest.statement.startswith("UPDATE pgbench_branches")
    assert found.behind == []


@pytest.mark.parametrize("clients", [20, 100, 500, 800])
def test_many_clients_queue_for_tellers_which_hold_them_back_from_the_branch(published, clients):
    found = queue_of(published[clients])
    assert found.longest.statement.startswith("UPDATE pgbench_tellers")
    (branches,) = found.behind
    assert branches.statement.startswith("UPDATE pgbench_branches")
    # At most ten transactions get past ten tellers.
    assert branches.clients <= found.rows == 10
    assert found.longest.clients + branches.clients <= clients * 1.01
    assert "holds the crowd back" in found.seen[1]
    assert "no more than 10 get past" in found.seen[1]


def test_the_order_decides_where_the_queue_stands(published):
    (turned,) = runs(text_of(500, {**BESIDE, BRANCHES: 1881, TELLERS: 0.88}, 233))
    found = queue_of(turned)
    assert found.longest.statement.startswith("UPDATE pgbench_branches")
    assert found.behind[0].clients < 1
    as_written = queue_of(published[500])
    assert as_written.longest.statement.startswith("UPDATE pgbench_tellers")


def test_the_text_of_somebody_else_says_the_same():
    (run,) = runs((TEXTS / "10-hot-rows.txt").read_text())
    (finding,) = [one for one in run.record.findings if one.id == "statement_queue"]
    assert finding.severity == "critical"
    assert finding.certainty == "likely"
    assert "UPDATE pgbench_tellers" in finding.summary
    assert "only 9 clients are there" in finding.seen[1]


def progress(rates: list[float], every_s: int = 10) -> str:
    return "".join(
        f"progress: {every_s * (number + 1)}.0 s, {tps:.1f} tps, lat 0.430 ms stddev 0.216\n"
        for number, tps in enumerate(rates)
    )


def test_dips_after_each_checkpoint_are_found_with_their_period_and_depth():
    """Updates by primary key with full_page_writes: every ten minutes a touch of 27 666 TPS."""
    rates = [round(62_000 + 600 * math.sin(number), 1) for number in range(360)]
    for begin in range(60, 360, 60):
        rates[begin : begin + 3] = [27_666, 45_000, 55_000]
    (run,) = runs(progress(rates))
    (found,) = [one for one in run.record.findings if one.id == "regular_dips"]
    assert found.evidence["dips"] == 5
    assert found.evidence["every_s"] == pytest.approx(600, abs=1)
    assert found.evidence["deepest"] == pytest.approx(1 - 27_666 / 62_000, abs=0.01)
    assert found.certainty == "likely"
    assert "dips every 10" in found.summary
    assert (run.record.throughput_tps.min, run.record.throughput_tps.max) == (27_666, max(rates))


@pytest.mark.parametrize("begins", [[], [60, 180], [30, 60, 200, 330]])
def test_few_dips_or_irregular_ones_are_none_of_a_server_at_regular_times(begins):
    rates = [round(62_000 + 600 * math.sin(number), 1) for number in range(360)]
    for begin in begins:
        rates[begin : begin + 3] = [27_666, 45_000, 55_000]
    (run,) = runs(progress(rates))
    assert isinstance(all_rules()["regular_dips"].look(run), NotFound)


def test_the_average_and_the_extremes_of_progress_lines_are_those_of_the_text():
    (run,) = runs((TEXTS / "9.4-progress-and-lag.txt").read_text())
    found = run.record.throughput_tps
    assert (found.value, found.min, found.max) == (51198.113042, 27666.4, 65708.0)


def test_the_runs_of_one_text_say_together_where_the_peak_is():
    page = "\n\n".join(text_of(clients, BESIDE, tps) for clients, _, _, tps in PUBLISHED)
    (found,) = together(read_text(io.BytesIO(page.encode())).runs)
    assert found.tps == {clients: tps for clients, _, _, tps in PUBLISHED}
    assert plain(found.sentence) == (
        "tpcb, 1 to 800 clients: throughput is highest at 10 (1 517 TPS), and 83.9 % lower at 800; "
        "one run of each, so how much of this is chance is not known"
    )


VOLUME = [(100, 669_876), (1_000, 634_041), (10_000, 606_259)]
"""Selects by key on ten million to a billion rows."""


def test_the_runs_of_one_text_say_together_what_more_data_costs():
    page = "\n\n".join(
        text_of(48, BESIDE, tps).replace("scaling factor: 1\n", f"scaling factor: {scale}\n")
        for scale, tps in VOLUME
    )
    (found,) = together(read_text(io.BytesIO(page.encode())).runs)
    assert found.curve.exponent.value == pytest.approx(math.log10(606_259 / 669_876) / 2)
    assert plain(found.sentence).startswith(
        "tpcb, scale 100 to 10000: ten times the data changes throughput by −4.87 %"
    )
    assert found.sentence.endswith(
        "each size was measured once, so noise cannot be told from a bend"
    )


@pytest.mark.parametrize("rates", [[230_853, 244_917, 233_554], [230_853, 244_917]])
def test_what_is_chance_is_no_slope(rates):
    page = "\n\n".join(
        text_of(48, BESIDE, tps).replace("scaling factor: 1\n", f"scaling factor: {scale}\n")
        for scale, tps in zip((100, 1_000, 10_000), rates, strict=False)
    )
    found = [*together(read_text(io.BytesIO(page.encode())).runs)]
    assert all("which includes no change" in one.sentence for one in found)
    assert len(found) == (len(rates) == 3)


def test_of_runs_without_a_told_difference_nothing_is_concluded():
    """Three memory policies, one run each: 1.6 % and 2.2 % apart."""
    text = (TEXTS / "9.2-numa-three-policies.txt").read_bytes()
    (found,) = together(read_text(io.BytesIO(text)).runs)
    assert plain(found.sentence).startswith(
        "Custom query: 3 runs differ in nothing that the text tells, with 36 000 to 37 415 TPS "
        "(3.93 % apart): whether that is a setting, the size of the data or chance cannot be told"
    )


def test_sizes_that_the_text_does_not_tell_have_no_slope():
    """The rows of a script's own table: pgbench prints the scale 1 of each."""
    page = "\n\n".join(text_of(48, BESIDE, tps) for _, tps in VOLUME)
    (found,) = together(read_text(io.BytesIO(page.encode())).runs)
    assert found.tps == [tps for _, tps in VOLUME]
    assert "what more data costs, runs tell whose text has their scale" in found.sentence


@pytest.mark.parametrize("scales", [(1, 2), (1, None)])
def test_two_runs_that_differ_in_something_are_not_alike(scales):
    page = "\n\n".join(
        text_of(48, BESIDE, 500).replace("scaling factor: 1\n", f"scaling factor: {scale}\n")
        for scale in scales
    )
    assert [*together(read_text(io.BytesIO(page.encode())).runs)] == []


def test_the_runs_of_one_text_say_together_what_the_order_costs():
    as_written = text_of(500, {**BESIDE, TELLERS: 1002, BRANCHES: 22.6}, 414)
    turned = text_of(500, {**BESIDE, BRANCHES: 1881, TELLERS: 0.88}, 233)
    own_script = turned.replace("TPC-B (sort of)", "branches-first.sql")
    for page in (as_written + turned, own_script + as_written):
        (found,) = together(read_text(io.BytesIO(page.encode())).runs)
        assert plain(found.sentence) == (
            f"500 clients, the same statements in 2 orders: 414 TPS with “{TELLERS}” before "
            f"“{BRANCHES}”, and 43.7 % lower (233 TPS) the other way round; one run of each, so "
            "how much of this is chance is not known"
        )


def test_orders_at_other_numbers_of_clients_are_not_compared():
    few = text_of(20, {**BESIDE, TELLERS: 5.74, BRANCHES: 3.87}, 1500)
    turned = text_of(500, {**BESIDE, BRANCHES: 1881, TELLERS: 0.88}, 233)
    assert [*together(read_text(io.BytesIO((few + turned).encode())).runs)] == []
