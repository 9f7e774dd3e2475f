"""Commands whose load the nodes of a Ray cluster share, as users start them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli.output import Exit
from tests.fleet.ray import RayCluster
from tests.fleet.test_loading import checksums
from tests.fleet.test_ray import free, known
from tests.fleet.test_runs import sleeping
from tests.run.test_end_to_end import DBDYNO, dbdyno
from tests.study.files import HEAD, written
from tests.support.ended import record_of
from tests.support.patience import eventually, wait_until
from tests.support.program import Program

NAMES = ["ray-1", "ray-2"]
SHORT = ("-T", "500ms", "--warmup", "0", "--telemetry", "off", "--json")
STUDY = """
restore = "once"
[base]
workload = "bulk_insert@0"
workers = "ray:*2"
time = "200ms"
warmup = "0s"
telemetry = "off"
scripts.count.text = "select count(*) from sbtest1;"
[[factor]]
name = "clients"
levels = [2, 3]
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with known(RayCluster(2)) as cluster:
        yield cluster


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "one.sql"
    path.write_text("select pg_sleep(0.005);")
    return path


def names_in(home: Path) -> list[list[str]]:
    """The workers of each run in a home."""
    records = [json.loads(path.read_text()) for path in home.glob("runs/*/run.json")]
    return [[worker["name"] for worker in record["workers"]] for record in records]


def test_each_run_of_a_search_is_shared(cluster, home, postgres_server, script):
    to = ("--target", postgres_server.url, "-c", "4", "--workers", "ray:*2", *SHORT)
    ended = dbdyno("search", script, *to, "--slo", "p50<10s", "--rate-max", "20")
    # On a busy host, whose load generator is late, no rate can be judged.
    assert ended.returncode in (Exit.OK, Exit.VERDICT_FAILED), ended.stderr
    assert json.loads(ended.stdout)["is_over"]
    found = names_in(home)
    assert len(found) > 1
    assert all(names == NAMES for names in found)
    assert free(cluster)


def test_each_run_of_a_study_is_shared(cluster, home, tmp_path):
    ended = dbdyno("study", "run", written(tmp_path, HEAD + STUDY), "--json")
    assert ended.returncode == Exit.OK, ended.stderr
    assert json.loads(ended.stdout)["study"]["turns_done"] == 4
    assert names_in(home) == [NAMES] * 4
    assert free(cluster)


def test_the_data_that_nodes_load_is_that_of_one_host(cluster, new_database, postgres_server):
    alone, together = new_database(postgres_server), new_database(postgres_server)
    for words in ((alone.url,), (together.url, "--workers", "ray:*2")):
        ended = dbdyno("load", "tpcb", "-s", "2", "--seed", "7", "--target", *words)
        assert ended.returncode == Exit.OK, ended.stderr
    assert "over 2 connections" in " ".join(ended.stdout.split())
    assert checksums(together) == checksums(alone)


def test_nothing_of_the_load_outlives_dbdyno(cluster, home, postgres_server, tmp_path):
    """Nor what Ray has reserved for it: the next run has the same nodes."""
    script = tmp_path / "long.sql"
    script.write_text("select pg_sleep(600), 'of the load';")
    to = ("--target", postgres_server.url, "-c", "4", "-T", "60", "--warmup", "0")
    with Program(
        [*DBDYNO, "run", str(script), *to, "--workers", "ray:*2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        eventually(lambda: sleeping(postgres_server), lambda found: len(found) == 4)
        process.kill()
    eventually(lambda: sleeping(postgres_server), lambda found: not found)
    wait_until(lambda: free(cluster), "the end of the agents")
    assert dbdyno("workers", "check", "ray:*2").returncode == Exit.OK


def test_a_cluster_that_is_restarted_ends_the_run_and_has_the_next(
    cluster, home, postgres_server, script
):
    """Nobody is left to continue, since Ray ends all that has used the cluster."""
    to = ("--target", postgres_server.url, "-c", "4", "--workers", "ray:*2", "--json")
    code, messages, record = stopping(cluster, script, *to, "--on-lost", "continue")
    assert code == Exit.FAILED, messages
    assert "worker ray-1 was lost after" in messages
    assert record["status"] == "failed"
    assert record["transactions"]["ok"] > 0
    assert [worker["lost_at_s"] > 0 for worker in record["workers"]] == [True, True]
    cluster.start()
    ended = dbdyno("run", script, *to, "-T", "1", "--warmup", "0")
    assert [worker["name"] for worker in record_of(ended)["workers"]] == NAMES
    assert dbdyno("workers", "check", f"ray://{cluster.client}*2").returncode == Exit.OK


def stopping(cluster: RayCluster, script: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Run, and stop the cluster in the middle; return exit code, messages and record."""
    with Program(
        [*DBDYNO, "run", str(script), *options, "-T", "60", "--warmup", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "TPS" in line:  # of the first interval
                break
        cluster.stop()
        output, messages = process.communicate()
    return process.returncode, messages, json.loads(output)
