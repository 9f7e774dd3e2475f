"""What events cost and lost, from runs with known ones."""

import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.metrics import metrics_of
from dbdyno.answers.answering import all_answers
from dbdyno.formatting import NOTHING
from dbdyno.model.record import FailoverRecord
from tests.answers.costed import changed
from tests.answers.made import factor, spec, study
from tests.answers.test_engines import plain

SERVER = factor("server", "postgres", "mariadb")
DURABILITY = factor("durability", "full", "none")
COMMIT_MS = {"postgres": 400.0, "mariadb": 100.0}


def event(**changes):
    known = {
        "event": "kill-server",
        "at_s": 5.0,
        "first_error_ms": 10.0,
        "first_commit_ms": 400.0,
        "level_tps": 1000.0,
        "level_90_ms": 900.0,
        "failed_by_class": {"connection": 8},
        "unknown": 1,
        "acknowledged": 1000,
        "lost": 0,
        "loss_allowed_ms": 0.0,
    }
    return FailoverRecord(**(known | changes))


def usual(trial):
    """Nothing is lost at full durability; the others lose three rows in the first block."""
    at = trial.point
    found = event(first_commit_ms=COMMIT_MS[at["server"]])
    if at["durability"] == "full":
        return found
    is_losing = trial.block == 1
    return replace(
        found,
        loss_allowed_ms=None,
        lost=3 if is_losing else 0,
        lost_ms=120.0 if is_losing else None,
    )


def eventful(of=usual, repeats=5):
    made = study(spec(SERVER, DURABILITY, repeats=repeats), lambda _: 1000.0)
    return changed(made, lambda trial: {"failovers": [of(trial)]})


def answered(trials, **options):
    return all_answers()["failovers"].answer(trials, options)


def test_the_verdict_says_what_was_kept_and_where_commits_came_back_soonest():
    verdict, *claims = answered(eventful()).claims
    assert verdict.is_decided
    assert plain(verdict.sentence) == (
        "None of 20 events lost an acknowledged commit that the settings promise to keep; 2 lost "
        "some that may be lost. The first commit came soonest with server mariadb, durability "
        "full, 100 ms after the event, and latest with server postgres, durability full, 400 ms."
    )
    assert len(claims) == 4
    full, none = claims[:2]
    assert full.effect == pytest.approx(400)
    assert "none of 5000 acknowledged commits lost in 5 events" in plain(full.sentence)
    assert "Up to 45.1 % of such events" in plain(full.doubt)
    assert "3 of 5000 acknowledged commits lost, in 1 of 5 events" in plain(none.sentence)
    assert "at most the last 120 ms, which the settings allow" in plain(none.sentence)


def test_what_comes_soonest_is_not_said_where_runs_scatter_as_much_as_points_differ():
    def scattered(trial):
        found = usual(trial)
        return replace(found, first_commit_ms=found.first_commit_ms * 6**trial.block)

    verdict, *_ = answered(eventful(scattered, repeats=2)).claims
    assert "soonest with" not in plain(verdict.sentence)
    assert "with what it comes soonest is not known" in plain(verdict.sentence)


def test_each_point_has_a_row_of_losses_and_one_of_costs():
    for shown in answered(eventful()).shown:
        assert [row[:2] for row in shown.rows] == [
            ("postgres", "full"),
            ("postgres", "none"),
            ("mariadb", "full"),
            ("mariadb", "none"),
        ]
    lost, cost = (
        dict(zip(shown.columns, map(plain, shown.rows[1]), strict=True))
        for shown in answered(eventful()).shown
    )
    assert lost["event"] == cost["event"] == "kill-server"
    assert cost["first commit, ms"].startswith("400")
    assert (cost["failed"], cost["unknown"]) == ("connection 8", "1 (1 to 1)")
    assert (lost["events"], lost["acknowledged"], lost["lost"]) == ("5", "5 000", "3")
    assert (lost["in events"], lost["at most the last"]) == ("1", "120 ms")
    assert (lost["may be lost"], lost["events that lost more"]) == ("any", "0")


def test_a_broken_promise_counts_although_it_makes_its_run_invalid():
    def broken(trial):
        found = usual(trial)
        is_it = trial.point == {"server": "mariadb", "durability": "full"} and trial.block == 2
        return replace(found, lost=1, lost_ms=5.0) if is_it else found

    made = eventful(broken)
    bad = next(one for one in made.trials if one.record.failovers[0].lost == 1)
    (bad_alone,) = changed(
        replace(made, trials=[bad]), lambda _: {"invalid_reasons": ["it lost 1"], "valid": False}
    ).trials
    sound = [one for one in made.trials if one is not bad]
    verdict, *claims = answered(replace(made, trials=sound, unsound=[bad_alone])).claims
    assert plain(verdict.sentence).startswith(
        "1 of 20 events lost acknowledged commits that the settings promise to keep: with server "
        "mariadb, durability full."
    )
    assert "1 run of the study failed or are not valid" in plain(verdict.doubt)
    assert "more than the settings allow" in plain(claims[2].sentence)


def test_runs_without_a_commit_afterwards_are_named_and_not_left_out():
    def ended(trial):
        return replace(usual(trial), level_90_ms=900.0 if trial.block < 3 else None)

    _, claim, *_ = answered(eventful(ended)).claims
    assert "3 of 5 runs ended before 90 % of the throughput" in plain(claim.doubt)


@pytest.mark.parametrize(
    ("level_tps", "level_90_ms", "words"),
    [
        (1000.0, {1: 900.0}, "90 % of the throughput after 900 ms (no interval);"),
        (1000.0, dict.fromkeys(range(1, 6), 0.0), "never below 90 % of the throughput;"),
        (1000.0, {1: 900.0, 2: 0.0}, "90 % of the throughput after 450 ms on average;"),
        (1000.0, {}, "never 90 % of the throughput;"),
        (None, {}, "90 % of the throughput before not known;"),
    ],
)
def test_a_load_that_never_had_less_has_not_lost_its_level_for_ever(level_tps, level_90_ms, words):
    def known(trial):
        level = level_90_ms.get(trial.block)
        return replace(usual(trial), level_tps=level_tps, level_90_ms=level)

    _, claim, *_ = answered(eventful(known)).claims
    assert words in plain(claim.sentence)


def test_a_metric_is_the_mean_of_a_runs_events_and_missing_if_one_has_it_not():
    (trial, *_) = eventful().trials
    both = [event(first_commit_ms=100.0), event(first_commit_ms=300.0, level_90_ms=None)]
    metrics = metrics_of(replace(trial.record, failovers=both))
    assert metrics["failover_first_commit_ms"].value == 200
    assert metrics["failover_failed"].value == 8
    assert "failover_level_90_ms" not in metrics


def test_an_event_after_which_nothing_could_be_read_has_not_lost_nothing():
    def unread(trial):
        return replace(usual(trial), lost=None, lost_ms=None) if trial.block > 2 else usual(trial)

    made = eventful(unread)
    verdict, full, none, *_ = answered(made).claims
    assert plain(verdict.sentence).startswith("None of 8 events lost an acknowledged commit")
    assert "What 12 further events lost is not known: the data" in plain(verdict.doubt)
    assert "none of 2000 acknowledged commits lost in 2 events" in plain(full.sentence)
    assert "What 3 further events lost is not known" in plain(full.doubt)
    assert "Up to 77.6 % of such events" in plain(full.doubt)
    assert "3 of 2000 acknowledged commits lost, in 1 of 2 events" in plain(none.sentence)
    lost = answered(made).shown[0]
    row = dict(zip(lost.columns, map(plain, lost.rows[0]), strict=True))
    assert (row["events"], row["loss known"], row["acknowledged"]) == ("5", "2", "2 000")


def test_where_nothing_could_be_read_nothing_is_said_of_losses():
    made = eventful(lambda trial: replace(usual(trial), lost=None, lost_ms=None))
    verdict, full, *_ = answered(made).claims
    assert not verdict.is_decided
    assert verdict.effect is None
    assert plain(verdict.sentence).startswith("Whether an event lost commits is not known: the ")
    assert not full.is_decided
    assert "what 5 events lost is not known" in plain(full.sentence)
    assert "Up to" not in full.doubt
    lost = answered(made).shown[0]
    row = dict(zip(lost.columns, map(plain, lost.rows[0]), strict=True))
    unknown = {row[name] for name in ("acknowledged", "lost", "in events", "events that lost more")}
    assert unknown == {NOTHING}


def test_without_events_there_is_nothing_to_say():
    made = study(spec(SERVER, DURABILITY), lambda _: 1000.0)
    assert "no run had an event" in answered(made).missing
