"""``dbdyno workers`` shows and checks the agents of ``--workers``."""

import json
import subprocess
import sys

from dbdyno.cli.output import Exit


def workers(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dbdyno", "workers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_list_starts_nothing():
    ended = workers("list", "ssh:nowhere.invalid,exec:'false {n}'")
    assert ended.returncode == Exit.OK
    assert "-- nowhere.invalid dbdyno agent" in ended.stdout
    assert "false 2" in ended.stdout
    found = json.loads(workers("list", "ssh:h*2", "--json").stdout)["workers"]
    assert [worker["name"] for worker in found] == ["h", "h-2"]


def test_all_workers_are_one_word():
    ended = workers("check", "local", "local")
    assert ended.returncode == Exit.NOTHING_RUN
    assert "the argument takes one value, and there are 2" in ended.stderr


def test_the_check_names_what_is_wrong_and_what_is_right():
    ended = workers("check", "local,exec:'echo down >&2; false'")
    assert ended.returncode == Exit.VERDICT_FAILED
    assert "local-1" in ended.stdout
    assert "worker exec-2 is no agent of dbdyno" in " ".join(ended.stdout.split())
    assert "1 of 2 workers can share a load" in ended.stderr


def test_the_check_of_agents_that_can_share_a_load():
    ended = workers("check", "local*2", "--json")
    assert ended.returncode == Exit.OK
    for worker in json.loads(ended.stdout)["workers"]:
        assert worker["problem"] == ""
        assert abs(worker["clock_offset_us"]) <= worker["clock_bound_us"]
