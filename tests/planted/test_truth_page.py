"""The page of the truth set: rows are replaced one by one, and predictions stand beside costs."""

from collections import Counter
from pathlib import Path

import pytest

from tests.planted import truth_page
from tests.planted.savings import Predicted, measured, pair_of
from tests.planted.truth_page import Made, update_page
from tests.planted.truth_set import truth_set


def record(finding: str, *, load_us: float, cleanup_us: float = 0.0, **evidence: object):
    used = {"client": load_us, "cleanup": cleanup_us, "telemetry": 99.0}
    parts = [{"processes": kind, "us": us} for kind, us in used.items()]
    return {
        "findings": [{"id": finding, "evidence": evidence}],
        "server_processes": parts,
        "server_profile": {"processes": parts},
    }


def test_a_share_of_the_loads_sessions_is_compared_with_what_they_cost():
    shares = {"cpu_share": 0.6, "own_share": 0.4, "most_share": 0.9}
    planted = record("jit_compilation", load_us=100, cleanup_us=7, **shares)
    pair = pair_of(frozenset({"jit_compilation"}), planted, record("own_work", load_us=45))
    assert pair.predicted == Predicted(0.6, 0.4, 0.9)
    assert measured([pair]).value == pytest.approx(0.55)
    other = pair_of(frozenset({"tls_work"}), planted, planted)
    assert other.predicted is None


def test_work_in_the_background_is_a_part_of_all_but_dbdynos_own():
    planted = record("background_work", load_us=60, cleanup_us=40, busiest="cleanup", cpu_us=40.0)
    pair = pair_of(frozenset({"background_work"}), planted, record("own_work", load_us=60))
    assert pair.predicted is not None
    assert pair.predicted.share == pytest.approx(0.4)
    assert measured([pair, pair]).value == pytest.approx(0.4)


def test_rows_of_other_causes_remain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "truth.md"
    before = truth_page.PAGE.read_text(encoding="utf-8")
    page.write_text(before, encoding="utf-8")
    monkeypatch.setattr(truth_page, "PAGE", page)
    causes = truth_set()
    update_page({}, causes)
    assert page.read_text(encoding="utf-8") == before

    (jit,) = (cause for cause in causes if cause.name == "jit")
    shares = {"cpu_share": 0.99, "own_share": 0.87, "most_share": 0.995}
    planted, without = record("jit_compilation", load_us=100, **shares), record("", load_us=1)
    made = Made("15.18 (Debian)", Counter({"jit_compilation": 2}))
    made.pairs += [pair_of(jit.expected, planted, without)] * 2
    update_page({"jit": made}, causes)
    after = page.read_text(encoding="utf-8")
    assert f"| {jit.title} | **jit compilation** 2 | – |" in after
    assert f"| {jit.title} | 99.0 % (87 % to 99.5 %) | 99.0 % |" in after
    assert {line for line in before.splitlines() if "| " in line and jit.title not in line} <= set(
        after.splitlines()
    )
