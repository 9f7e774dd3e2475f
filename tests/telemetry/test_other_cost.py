"""The cost of telemetry without session samples, since the start and at the end."""

from dbdyno.telemetry import other_cost
from dbdyno.telemetry.other_cost import OtherCost
from tests.telemetry.clock import Clock

S_NS, MS_NS = 10**9, 10**6


def test_the_mean_since_the_begin_with_the_first_second_once_more(monkeypatch):
    clock, used_ns, read_at_ns = Clock(), [500 * MS_NS], []
    monkeypatch.setattr(other_cost, "time", clock)

    def used() -> int:
        read_at_ns.append(clock.now_ns)
        return used_ns[0]

    cost = OtherCost(used, cores=2)
    cost.begin()  # what was used before does not count
    assert cost.share() == 0
    used_ns[0] += 40 * MS_NS
    clock.now_ns += S_NS // 2
    assert cost.share() == 0
    clock.now_ns += S_NS // 2
    assert cost.share() == 0.04
    used_ns[0] += 20 * MS_NS
    clock.now_ns += S_NS
    assert cost.share() == 0.025
    assert len(read_at_ns) == 3
