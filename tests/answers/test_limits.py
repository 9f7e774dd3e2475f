"""What limited each point: the findings of its runs, the most severe first."""

from msgspec.structs import replace

from dbdyno.answers.answering import answered, verdict
from dbdyno.answers.kinds import limits
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import Finding
from tests.answers import made

CONVOY, CPU, WAL = "Row-lock convoy", "CPU-bound", "WAL"
SPEC = made.spec(made.factor("clients", 4, 64), made.factor("order", "as-written"), repeats=2)


def finding(title, severity, share=None, share_of="client time"):
    return Finding(
        id=title.lower(),
        title=title,
        severity=severity,
        summary="",
        evidence={},
        share=share,
        share_of=share_of,
    )


def study(findings_of, unexplained=0.04):
    """``findings_of`` maps the number of clients and the block to a run's findings."""
    trials = made.study(SPEC, lambda _levels: 1000.0)
    for trial in trials.trials:
        trial.record = replace(
            trial.record,
            findings=findings_of(trial.point["clients"], trial.block),
            unexplained=unexplained,
        )
    return trials


def rows(trials, **options):
    (table,) = limits.answer(trials, options).shown
    return [[cell.replace(THIN_SPACE, " ") for cell in row] for row in table.rows]


def test_each_point_has_its_most_severe_causes_and_the_unexplained_rest():
    def findings(clients, _block):
        if clients == "4":
            return [finding(CPU, "note", 0.8), finding(WAL, "minor", 0.07)]
        return [finding(WAL, "minor", 0.1), finding(CPU, "major", 0.2), finding(CONVOY, "critical")]

    assert rows(study(findings)) == [
        ["4", "WAL (7 % of client time)", "CPU-bound (80 % of client time, a note)", "4 %"],
        ["64", "Row-lock convoy", "CPU-bound (20 % of client time)", "4 %"],
    ]


def test_a_cause_that_only_some_runs_show_is_shown_with_their_number():
    def findings(_clients, block):
        return [finding(CPU, "major", 0.2), *([finding(CONVOY, "major", 0.5)] * (block == 1))]

    assert rows(study(findings))[0][1:3] == [
        "CPU-bound (20 % of client time)",
        "Row-lock convoy (50 % of client time, 1 of 2 runs)",
    ]


def test_shares_are_means_over_the_runs_that_show_the_cause():
    shares = {1: 0.3, 2: 0.5}
    found = rows(study(lambda _clients, block: [finding(CONVOY, "major", shares[block])]))
    assert found[0][1] == "Row-lock convoy (40 % of client time)"


def test_small_notes_are_left_out():
    found = rows(study(lambda *_: [finding(CPU, "note", 0.02), finding(WAL, "note")]))
    assert found[0][1:3] == ["none above severity note", "–"]


def test_levels_select_runs():
    assert [row[0] for row in rows(study(lambda *_: []), at={"clients": "64"})] == [
        "none above severity note"
    ]


def test_runs_without_telemetry_were_not_explained_and_the_verdict_does_not_say_so():
    trials = study(lambda *_: [], unexplained=None)
    assert limits.answer(trials, {}).missing == "the runs were not explained: telemetry was off"
    assert "compares nothing" in verdict(answered(trials)).sentence
