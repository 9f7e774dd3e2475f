"""The CPUs of a host, of which each agent alone sees only what it may use itself."""

import os
import sys

import pytest

from dbdyno.fleet import hosts
from dbdyno.fleet.hosts import Share, cpus_each, full_hosts, processors
from dbdyno.model.frame import Done, Hello
from dbdyno.model.frame.parts import Greeting
from tests.engine.running import plan_for
from tests.fleet.test_fleet import of_kind, shared

SECOND_NS = 1_000_000_000


def share(name="a", allowed=(0, 1), *, cpus=None, threads=1, busy=0.0, boot="b", cgroup="/"):
    """What an agent has, which used so many CPUs for two seconds."""
    cpus = cpus or len(allowed)
    greeting = Greeting(
        build="",
        host="h",
        boot=boot,
        architecture="",
        pid=1,
        cpus=cpus,
        clock_source="tsc",
        open_files_max=1024,
        cpus_allowed=allowed,
        cgroup=cgroup,
    )
    return Share(
        name=name,
        greeting=greeting,
        processors=min(threads, cpus),
        cpu_us=int(busy * 2e6),
        measured_ns=2 * SECOND_NS,
    )


def test_agents_together_have_no_more_than_the_host():
    assert processors([share(threads=2)] * 2) == 2
    assert processors([share(allowed=(0,))] * 4) == 1
    assert processors([share(allowed=(0,)), share(allowed=(1,))]) == 2
    assert processors([share(allowed=(0,))] * 2 + [share(allowed=(1, 2, 3))] * 2) == 3
    assert processors([share(threads=2), share(threads=2, boot="another")]) == 4
    assert processors([share(allowed=(0, 1, 2, 3))]) == 1, "one thread"


def test_of_limited_time_agents_have_no_more_than_their_control_group():
    eight = tuple(range(8))
    assert processors([share(allowed=eight, cpus=2, threads=2)] * 3) == 2
    containers = [share(allowed=eight, cpus=2, threads=2, cgroup=name) for name in "abc"]
    assert processors(containers) == 6


def test_those_that_share_cpus_have_a_part_of_them_each():
    def each(*shares):
        return cpus_each([one.greeting for one in shares])

    assert each(*[share(allowed=(0, 1, 2, 3))] * 2) == [2, 2]
    assert each(*[share(allowed=(0,))] * 4) == [1, 1, 1, 1]
    assert each(share(allowed=(0, 1)), share(allowed=(2, 3)), share(boot="x")) == [2, 2, 2]


def test_agents_that_used_all_of_the_same_cpu_were_the_bottleneck():
    four = [share(name, allowed=(0,), busy=0.235) for name in "abcd"]
    assert list(full_hosts(four)) == [
        "the generator was the bottleneck: agents on h together used 94 % of 1 processor, all that "
        "they can use there (workers a, b, c, d)"
    ]
    # Others on the host have CPUs of their own.
    idle = share("e", allowed=(1, 2, 3), threads=3)
    (reason,) = full_hosts([*four, idle])
    assert reason.endswith("(workers a, b, c, d)")
    # All of the host's, of which each has another part.
    (reason,) = full_hosts(
        [share(name, two, threads=2, busy=1.4) for name, two in (("a", (0, 1)), ("b", (1, 2)))]
    )
    assert "93 % of 3 processors" in reason


def test_agents_that_share_no_cpu_judge_themselves():
    apart = [share("a", (0,), busy=0.95), share("b", (1,), busy=0.95)]
    assert not list(full_hosts(apart))
    assert not list(full_hosts([share("a", busy=0.95), share("b", boot="another", busy=0.95)]))
    containers = [share(name, (0, 1, 2), cpus=1, busy=0.95, cgroup=name) for name in "ab"]
    assert not list(full_hosts(containers))
    assert not list(full_hosts([share("a", busy=0.9), share("b", busy=0.9)])), "one CPU for each"


def test_neither_some_of_the_time_nor_a_short_time_makes_a_bottleneck():
    assert not list(full_hosts([share(name, (0,), busy=0.2) for name in "abcd"]))
    brief = [share(name, (0,), busy=0.5) for name in "ab"]
    brief = [Share(**{**vars(one), "measured_ns": SECOND_NS // 2}) for one in brief]
    assert not list(full_hosts(brief))


@pytest.mark.parametrize("text", ["local*2", "exec:'taskset -c {cpu} {agent}'*2"])
def test_real_agents_of_one_host_are_judged_together(local, log, monkeypatch, text):
    """Whatever little they use is too much here: how much they get, a busy host decides."""
    monkeypatch.setattr(hosts, "BUSY_SHARE_MAX", 0.0)
    allowed = os.sched_getaffinity(0)
    workers = text.format(cpu=min(allowed), agent=f"{sys.executable} -m dbdyno agent")
    cpus = 1 if "taskset" in text else len(allowed)
    threads = 2 * cpus  # each has as many as there are CPUs
    plan = plan_for(local.endpoint(), "select 1;", clients=threads, threads=threads, seconds=1)
    frames, running = shared(workers, plan, log)
    assert of_kind(Hello, frames)[0].processors == cpus
    names = ", ".join(part.name for part in running.workers())
    (done,) = of_kind(Done, frames)
    assert [one for one in done.invalid_reasons if one.endswith(f"(workers {names})")]
