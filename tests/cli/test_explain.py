"""``dbdyno explain`` on stored runs, and on one that was interrupted."""

import json
import re

import pytest

from dbdyno.cli import main
from dbdyno.store.writer import RunWriter
from tests.explain.make_golden import EXPLANATION, GOLDEN
from tests.store import synthetic

pytestmark = pytest.mark.usefixtures("home", "own_signals")


def test_a_kept_run_is_explained_in_words(capsys):
    folder = GOLDEN / "missing-index"
    assert main(["explain", str(folder), "--all"]) == 0
    in_full = capsys.readouterr().out
    assert in_full == (folder / EXPLANATION).read_text(encoding="utf-8")
    assert main(["explain", str(folder)]) == 0
    in_short = capsys.readouterr().out
    assert "why it matters" in in_full
    assert "why it matters" not in in_short
    assert in_short.splitlines()[-1].endswith(" --all")


@pytest.mark.parametrize(
    ("given", "expected"),
    [(("--pairs", "0"), "--pairs must be above 0"), (("--time", "0"), "--time must be above 0")],
)
def test_a_trial_of_nothing_is_refused(capsys, given, expected):
    assert main(["explain", str(GOLDEN / "throttled"), "--verify", *given]) == 1
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("form", ["--text", "--json"])
def test_the_report_of_a_run_that_did_not_end_has_the_numbers_so_far(capsys, form):
    shape = synthetic.Shape(seconds=12, warmup=2, tps=200, done=False)
    with RunWriter(synthetic.record(), synthetic.plan()) as writer:
        for frame in synthetic.packed(shape):
            writer.append_frame(frame)
    assert main(["report", form]) == 0
    out = capsys.readouterr().out
    if form == "--json":
        assert json.loads(out)["throughput_tps"]["value"] == pytest.approx(200, rel=0.2)
        assert json.loads(out)["status"] == "interrupted"
    else:
        assert re.search(r"throughput +\d+ TPS", out)


def test_a_program_gets_one_object(capsys):
    assert main(["explain", str(GOLDEN / "throttled"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result.keys() == {
        "run_id", "findings", "not_looked", "unexplained", "unexplained_as",
    }  # fmt: skip
    assert result["findings"][0]["id"] == "cpu_throttled"
    assert 0 <= result["unexplained"] <= 1


@pytest.mark.parametrize("lasts", [True, False], ids=["running", "interrupted"])
def test_a_run_that_is_not_over_is_explained_as_far_as_it_went(capsys, lasts):
    shape = synthetic.Shape(seconds=12, warmup=2, tps=200, done=False)
    with RunWriter(synthetic.record(), synthetic.plan()) as writer:
        for frame in synthetic.packed(shape):
            writer.append_frame(frame)
        if lasts:
            assert main(["explain"]) == 0
    if not lasts:
        assert main(["explain"]) == 0
    result = capsys.readouterr().out
    assert "the run was measured without telemetry (" in result
    assert "Unexplained: not known" in result
