"""Kills and promotions lose what docs/failover.md has as measured; twenty of each are by hand.

``python -m tests.reliability.lost_commits 20 8``.
"""

from tests.reliability.lost_commits import Tally, modes, tally
from tests.support.ended import assert_sound


def test_kills_at_full_durability_lose_nothing_and_several_are_in_one_run(home):
    name, words, action = next(modes())
    found = tally(words, action, 2)
    assert found.row(name).startswith("| PostgreSQL, full | `kill-server` | 2 |")
    assert [(one["lost"], one["loss_allowed_ms"]) for one in found.failovers] == [(0, 0)] * 2
    for reasons in found.invalid_reasons:
        assert_sound(reasons)


def test_a_row_adds_up_what_was_lost():
    def failover(lost: int, lost_ms: float | None) -> dict[str, object]:
        return {"event": "promote:1", "acknowledged": 100, "lost": lost, "lost_ms": lost_ms}

    found = Tally([failover(0, None), failover(3, 40.4), failover(1, 12.0)], [["lost 3"]])
    assert found.row("a") == "| a | `promote:1` | 3 | 300 | 2 | 4 | 40 ms | 1 |"
