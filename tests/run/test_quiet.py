"""The look before a run: it says who is busy, waits only on request, and not for ever."""

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.host.busyness import Busy
from dbdyno.run import quiet
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.quiet import BeforeRun

IDLE = Busy(cores=2, stolen_cores=0.0, programs=[])
BUSY = Busy(cores=2, stolen_cores=0.2, programs=[("burn", 4242, 1.0), ("cc1", 7, 0.4)])


class Clock:
    """A clock that only sleeping advances."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def look(monkeypatch):
    """Look at a host that is found like this, one look after the other, the last for ever."""

    def look_at(*found: Busy, **options) -> list[str]:
        left = list(found)

        class Sample:
            def __init__(self, own) -> None:
                assert own == [17]

            def busy(self) -> Busy:
                return left.pop(0) if len(left) > 1 else left[0]

        monkeypatch.setattr(quiet, "Sample", Sample)
        monkeypatch.setattr(quiet, "time", Clock())
        said: list[str] = []
        BeforeRun(RunOptions(**options), [17], said.append).look()
        return said

    return look_at


def test_on_a_quiet_host_nothing_is_said(look):
    assert look(IDLE) == look(IDLE, when_quiet=True) == []


def test_busy_programs_are_named_and_the_run_goes_on(look):
    assert look(BUSY) == [
        "other programs use 1.40 of 2 CPUs (burn/4242 1.00, cc1/7 0.40) and the hypervisor "
        "withholds 0.20 of 2 CPUs (steal): they will disturb the run, which goes on; --when-quiet "
        "waits for their end"
    ]


def test_where_any_disturbance_is_accepted_nothing_is_said(look):
    assert look(BUSY, disturbance_max=1.0) == []


def test_it_waits_until_the_host_has_been_quiet_for_some_seconds(look):
    said = look(BUSY, BUSY, IDLE, BUSY, IDLE, IDLE, IDLE, IDLE, when_quiet=True)
    assert "waiting for at most 10 minutes" in said[0]
    assert said[1:] == ["the host is quiet: the run begins"]


def test_it_says_that_it_still_waits_and_gives_up(look):
    with pytest.raises(DbdynoError) as refused:
        look(BUSY, when_quiet=True)
    assert (refused.value.code, refused.value.exit_code) == ("not_quiet", 1)
    assert "within 10 minutes: other programs use 1.40 of 2 CPUs" in refused.value.message


def test_the_wait_is_reported_while_it_lasts(look):
    said = look(*[BUSY] * 40, IDLE, when_quiet=True)
    assert [line for line in said if "still waiting" in line]
