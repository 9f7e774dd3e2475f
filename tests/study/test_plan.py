"""What a plan shows before anything starts, and what it refuses."""

from pathlib import Path

import msgspec
import pytest

from dbdyno.databases.postgresql.server.binaries import embedded_binaries
from dbdyno.errors import DbdynoError
from dbdyno.formatting import roughly
from dbdyno.run.tools import engine_tools
from dbdyno.servers.cluster import draw_blueprint
from dbdyno.study.machine import Machine, read_machine
from dbdyno.study.matrix import points_of
from dbdyno.study.plan import StudyPlan, plan_study, resolve_all, unfit
from dbdyno.study.rates import Rates, rates_from
from tests.study.files import BASE, CLIENTS, HEAD, MINI, read

ROOMY = Machine(
    memory_bytes=64 << 30,
    disk_free_bytes=10**12,
    clients_max=10_000,
    numa_nodes=2,
    cores=8,
)

pytestmark = pytest.mark.usefixtures("home")


def plan(folder: Path, text: str = MINI, **limits) -> StudyPlan:
    machine = msgspec.structs.replace(ROOMY, **limits)
    return plan_study(read(folder, text), engine_tools(), machine, Rates())


def refusal(planned: StudyPlan) -> str:
    error = unfit(planned)
    assert error is not None
    return str(error)


@pytest.mark.usefixtures("default_disturbance")
def test_a_plan_has_every_point_with_its_command_and_time(tmp_path):
    planned = plan(tmp_path)
    assert planned.turns == 8
    assert [point.run_s for point in planned.points] == [1.0] * 4
    assert planned.points[0].command == (
        "dbdyno run select-only --scale 1 --protocol simple --clients 1 --time 1s --warmup 0s"
    )
    assert planned.refusals == []
    assert unfit(planned) is None


def test_each_build_may_need_data_of_its_own(tmp_path):
    build = embedded_binaries()[0].server.parent
    (tmp_path / "link").symlink_to(build)
    builds = '[[factor]]\nname = "server"\nlevels = ["postgres:{0}", "postgres:{1}"]\n'
    one = plan(tmp_path, HEAD + BASE + CLIENTS).needs
    two = plan(tmp_path, HEAD + BASE + builds.format(build, tmp_path / "link")).needs
    assert two.load_s == pytest.approx(2 * one.load_s)
    assert two.data_bytes > one.data_bytes


def test_a_script_from_standard_input_is_refused_since_a_study_may_be_resumed(tmp_path):
    with pytest.raises(DbdynoError, match="cannot come from standard input"):
        plan(tmp_path, HEAD + BASE + 'file = "-"\n' + CLIENTS)


def test_scripts_of_the_file_are_named_without_a_folder_that_is_gone(tmp_path):
    factor = """
[[factor]]
name = "what"
[factor.levels.usual]
[factor.levels.mine]
workload = "select-only@0"
scripts.mine = {text = "select 1;", weight = 2}
"""
    command = plan(tmp_path, HEAD + BASE + factor).points[1].command
    assert "--file mine.sql@2" in command
    assert "/" not in command


def test_a_budget_is_refused_with_the_repeats_that_fit(tmp_path):
    text = MINI.replace("repeats = 2", 'repeats = 100\nbudget = "5m"')
    message = refusal(plan(tmp_path, text))
    assert "its budget is 5 min" in message
    repeats = int(message.split("--repeats ")[1].split()[0])
    fits = text.replace("repeats = 100", f"repeats = {repeats}")
    assert plan(tmp_path, fits).refusals == []
    assert plan(tmp_path, fits.replace(f"= {repeats}", f"= {repeats + 2}")).refusals


def test_a_disk_is_refused_with_the_scale_that_fits(tmp_path):
    text = MINI.replace("scale = 1", "scale = 1000")
    message = refusal(plan(tmp_path, text, disk_free_bytes=10**10))
    scale = int(message.split("scale = ")[1].split()[0])
    assert 200 < scale < 500
    fits = MINI.replace("scale = 1", f"scale = {scale}")
    assert plan(tmp_path, fits, disk_free_bytes=10**10).refusals == []


def test_a_cache_larger_than_the_memory_is_refused(tmp_path):
    text = MINI.replace("scale = 1", 'scale = 1\nset.shared_buffers = "100GB"')
    message = refusal(plan(tmp_path, text, memory_bytes=64 << 30))
    assert "shared_buffers = 100GB needs more than 90% of the 68.7 GB of memory" in message


def test_a_refusal_of_many_points_is_reported_once_with_their_shared_levels(tmp_path):
    text = MINI.replace("set.jit = false", 'set.shared_buffers = "100GB"')
    (one,) = plan(tmp_path, text).refusals
    assert one.message.endswith("of memory: 2 of 4 points, mode named")
    assert one.points == ("clients=1,mode=named", "clients=2,mode=named")
    crowded = HEAD + BASE + CLIENTS.replace("[1, 2]", "[1, 200, 300, 400]")
    (one,) = plan(tmp_path, crowded, clients_max=100).refusals
    assert one.message.endswith("this many clients: 3 of 4 points, clients 200 to 400")
    every = MINI.replace("scale = 1", 'scale = 1\nset.shared_buffers = "100GB"')
    (one,) = plan(tmp_path, every).refusals
    assert one.message.endswith(": all 4 points")


def test_clients_beyond_a_limit_are_refused_with_those_that_fit(tmp_path):
    text = HEAD + BASE + CLIENTS.replace("[1, 2]", "[1, 500]")
    assert "100 clients would fit" in refusal(plan(tmp_path, text, clients_max=100))
    few = text.replace("scale = 1", 'scale = 1\nset.max_connections = "200"')
    message = refusal(plan(tmp_path, few))
    assert "max_connections = 200 allows too few clients: clients=500" in message
    assert "190 clients would fit" in message
    (none,) = plan(tmp_path, few.replace('"200"', '"5"')).refusals
    assert none.hint == "leave max_connections out: dbdyno then chooses it."


@pytest.mark.parametrize("size", ["20000000", "160000000000B", "160.5GB"])
def test_a_cache_is_as_large_as_its_server_reads_it(tmp_path, size):
    """A number without a unit counts PostgreSQL's pages."""
    text = MINI.replace("set.jit = false", f'set.shared_buffers = "{size}"')
    message = refusal(plan(tmp_path, text, memory_bytes=64 << 30))
    assert f"shared_buffers = {size} needs more than 90% of the 68.7 GB of memory" in message


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("set.fsink = true", ("no setting 'fsink'", "did you mean fsync?")),
        ('set.work_mem = "lots"', ("mode=plain", "work_mem")),
        ('server = "postgres:3"', ("mode=plain", "3")),
        ("transactions = 5", ("-t and -T cannot be used together",)),
        ('define.scal = "3"', ("no parameter scal", "did you mean scale?")),
        ('workload = ["select-only", "nowhere.sql"]', ("cannot read the script nowhere.sql",)),
    ],
)
def test_options_that_a_run_would_refuse_are_refused_with_their_point(tmp_path, wrong, expected):
    text = (
        MINI if wrong.startswith("workload") else MINI.replace("scale = 1", f"scale = 1\n{wrong}")
    )
    if wrong.startswith("workload"):
        text = MINI.replace('workload = "select-only"', wrong)
    with pytest.raises(DbdynoError) as caught:
        plan(tmp_path, text)
    message = str(caught.value)
    assert message.startswith("clients=1,mode=plain: ")
    for part in expected:
        assert part in message


@pytest.mark.parametrize("restore", ["each block", "once"])
def test_a_server_that_an_event_replaces_serves_no_other_turn(tmp_path, restore):
    text = HEAD + f'restore = "{restore}"\n' + BASE + 'event = "500ms:kill-server"\n' + CLIENTS
    with pytest.raises(DbdynoError, match=f'kill-server the server.*restore = "{restore}"'):
        plan(tmp_path, text)
    assert plan(tmp_path, text.replace(restore, "each run")).turns == 4
    assert plan(tmp_path, text.replace("kill-server", "cut:100ms")).turns == 4


def test_standbys_need_a_copy_of_the_data_each(tmp_path):
    base = BASE.replace("scale = 1", 'scale = 100\nserver = "postgres,standbys={0}"')
    one, three = (
        plan(tmp_path, HEAD + base.format(standbys) + CLIENTS).needs.data_bytes
        for standbys in (0, 2)
    )
    assert three == 2 * one  # the prepared data, and one or three servers on it


def test_a_server_with_a_standby_is_compared_with_one_like_it_that_has_none(tmp_path):
    factor = """
[[factor]]
name = "server"
[factor.levels.alone]
server = "postgres"
[factor.levels.followed]
server = "postgres,standbys=1"
"""
    points = points_of(read(tmp_path, HEAD + BASE + factor))
    alone, followed = (one.server.spec for one in resolve_all(points, tmp_path, print))
    assert (alone.standbys, followed.standbys) == (0, 1)
    settings = [
        draw_blueprint("private", spec, connections=8, tcp=False).settings
        for spec in (alone, followed)
    ]
    assert settings[0] == settings[1]


def test_two_scripts_may_not_share_a_name(tmp_path):
    factor = """
[[factor]]
name = "what"
[factor.levels.one]
scripts.mine.text = "select 1;"
[factor.levels.two]
scripts.mine.text = "select 2;"
"""
    with pytest.raises(DbdynoError, match="two different scripts are named 'mine'"):
        plan(tmp_path, HEAD + BASE + factor)


def test_this_machine_is_known():
    machine = read_machine()
    assert machine.memory_bytes > 1 << 28
    assert machine.disk_free_bytes > 0
    assert machine.numa_nodes >= 1


def test_rates_are_guesses_until_they_were_measured(tmp_path):
    assert rates_from({}) == Rates()
    assert rates_from({"start_s": 7.0, "other": 1.0, "other_s": 0.0}).start_s == 7.0
    assert rates_from({"other_s": 0.0}).other_s == Rates().other_s


def test_spans_are_formatted():
    spans = [roughly(s) for s in (12, 91, 146, 600, 4 * 3600)]
    assert spans == ["12 s", "91 s", "2.4 min", "10 min", "4 h 00 min"]
