"""A search as text: what it claims, and what it does not."""

import pytest
from msgspec.structs import replace

from dbdyno.report.content import Table
from dbdyno.report.pages.search import doubts, search_object, search_page, verdict
from dbdyno.report.render_html import render_html
from dbdyno.report.render_text import render_text
from tests.report import made_up_search


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "p99 < 20 ms is met up to 3 660 transactions per second; at 3 750, 5 runs could"),
        (
            {"limit_ms": 40.0},
            "p99 < 40 ms is met up to 4 330 transactions per second and missed at 4 490.",
        ),
        (
            {"limit_ms": 0.1},
            "p99 < 100 µs is met at no rate tried: even at 78 TPS it",
        ),
        ({"limit_ms": 1e5}, "and a closed loop reached no more than 5 000"),
        ({"rate_max": 1000.0}, "1 000 transactions per second, the highest rate requested"),
        ({"trials_max": 3}, "Interrupted; so far: p99 < 20 ms is met up to 2 500"),
        ({"trials_max": 0}, "Interrupted before a rate was judged."),
    ],
)
def test_the_verdict_states_what_is_known(changes, expected):
    assert expected in verdict(made_up_search.search(**changes)).replace("\u202f", " ")


def text_of(found):
    return " ".join(render_text(search_page(found), is_brief=True).split())


def rows(found):
    (table,) = search_page(found).sections[-1].blocks
    assert isinstance(table, Table)
    return table.rows


def test_the_text_has_the_answer_the_error_and_every_run():
    found = made_up_search.search()
    text = text_of(found)
    assert text.startswith("tpcb on PostgreSQL 18.6, private: p99 < 20 ms (search ")
    assert "Decided by the trials. p99 < 20 ms is met up to 3 660 transactions" in text
    assert "At most 5 % of such searches" in text
    runs = [run.run_id for trial in found.trials for run in trial.runs]
    assert all(run_id in text for run_id in runs)
    assert "use longer trials (-T)" in text


def test_before_the_first_rate_is_judged_only_the_capacity_is_known():
    text = text_of(made_up_search.search(trials_max=0))
    assert text.endswith("clients reached 5 000 transactions per second.")


def test_failures_are_reported_even_if_nothing_else_happened():
    found = made_up_search.search(trials_max=1)
    (trial,) = found.trials
    for ok, failed, expected in ((0, 50, "100\u202f%"), (30, 10, "25\u202f%"), (0, 0, "–")):
        counts = replace(trial.runs[0].transactions, ok=ok, failed=failed)
        runs = [replace(trial.runs[0], transactions=counts)]
        ((*_, share, _, _),) = rows(replace(found, trials=[replace(trial, runs=runs)]))
        assert share == expected


def test_a_program_gets_the_rate_with_its_bounds():
    found = search_object(made_up_search.search())
    assert found["highest_rate_tps"] == {"value": 3660.0, "low": 3660.0, "high": 3750.0}
    rates = [trial["rate_tps"] for trial in found["trials"]]
    assert rates == sorted(rates)
    assert found["trials"][-1]["outcome"] == "open"
    assert len(found["trials"][-1]["runs"]) == 5


def test_the_page_draws_the_curve_with_its_limit():
    page = render_html(search_page(made_up_search.search()))
    assert '<figure id="rate-curve"' in page
    for text in ("p99 &lt; 20", "met up to here", "arrivals per second"):
        assert text in page
    assert "<script" not in page


def test_one_rate_makes_no_curve():
    page = render_html(search_page(made_up_search.search(trials_max=1)))
    assert "A curve needs at least two rates." in page


def with_late_runs(found, trials):
    """The same search, whose load generator was late in all runs at these rates."""
    late = {"valid": False, "invalid_reasons": ["the generator was late"]}
    return replace(
        found,
        trials=[
            replace(one, runs=[replace(run, **late) for run in one.runs], results=[])
            if place in trials
            else one
            for place, one in enumerate(found.trials)
        ],
    )


def test_nothing_is_concluded_from_runs_that_are_not_valid():
    found = made_up_search.search(limit_ms=0.1)
    of_all = with_late_runs(found, range(len(found.trials)))
    assert {trial.outcome for trial in of_all.trials} == {"open"}
    assert "is not known: at no rate was a run valid" in verdict(of_all)
    some = with_late_runs(found, [2, 3])
    assert "met at no rate that could be judged: at 78 TPS" in verdict(with_late_runs(found, [0]))
    text = text_of(some)
    number = sum(len(trial.runs) for trial in found.trials)
    assert f"2 of {number} runs were not valid and were not judged, the first because the" in text
    assert [row[-2] for row in rows(some)].count("not valid") == 2
    above = with_late_runs(made_up_search.search(limit_ms=40.0), [])
    place = above.trials.index(above.not_met)
    assert "at 4\u202f490, no run was valid" in verdict(with_late_runs(above, [place]))


def test_disturbed_runs_are_counted_before_anything_else():
    found = made_up_search.search()
    told = ["disturbed: other programs used 1.00 of 2 CPUs", "coarse: it is"]
    first = found.trials[0]
    disturbed = replace(first, runs=[replace(run, doubts=told) for run in first.runs])
    changed = replace(found, trials=[disturbed, *found.trials[1:]])
    doubt = next(doubts(changed))
    number = 1 + sum(len(trial.runs) for trial in found.trials)
    what = "runs were disturbed: other programs used 1.00 of 2 CPUs."
    assert doubt == f"{len(first.runs)} of {number} {what}"
    assert not any("disturbed" in one for one in doubts(found))
    assert {"doubts": told}.items() <= search_object(changed)["trials"][0]["runs"][0].items()
