"""The GitHub Action and the GitLab template: their steps are run as those systems run them.

The load waits on a real server for as long as a table there says, which the change makes longer.
"""

import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from junitparser import Failure, JUnitXml

ROOT = Path(__file__).parents[2]
GITHUB = yaml.safe_load((ROOT / "integrations/github/action.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "integrations/gitlab/dbdyno.yml").read_text())[".dbdyno"]
SCRIPT = "select pg_sleep((select seconds from pace));\n"
LOAD = "pace.sql -c 1 -T 1s --warmup 0s --target"
FAST = "psql -qc 'update pace set seconds = 0.002'"
SLOW = "psql -qc 'update pace set seconds = 0.1'"
GITHUB_SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


@pytest.fixture
def environment(home, tmp_path):
    """That of a job: this dbdyno is on the path, and its folder is its own."""
    program = tmp_path / "bin" / "dbdyno"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbdyno "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "job"
    folder.mkdir()
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DBDYNO_HOME": str(home),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }


@pytest.fixture
def server(database, environment, tmp_path):
    """A database with the table, and the script beside the job."""
    with closing(database.connect()) as connection:
        connection.execute("create table pace as select 0.002::float8 as seconds")
    (tmp_path / "job" / "pace.sql").write_text(SCRIPT)
    return database


def on_github(folder, environment, **inputs):
    """Run the steps of the action that run commands; return how the job ended."""
    defaults = {name: one.get("default", "") for name, one in GITHUB["inputs"].items()}
    assert inputs.keys() <= defaults.keys()
    given = defaults | {"install": ""} | inputs

    def filled_in(text):
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], text)

    for step in GITHUB["runs"]["steps"]:
        if "run" not in step or step.get("if") == "inputs.install != ''":
            continue
        assert "${{" not in step["run"], "an input could end the command"
        own = {name: filled_in(value) for name, value in step["env"].items()}
        ended = job(folder, environment | own, *GITHUB_SHELL, "-c", step["run"])
        if ended.returncode:
            return ended
    return ended


def on_gitlab(folder, environment, shell, **variables):
    """Run the script of the template, line by line as the runner does; return how it ended."""
    assert variables.keys() <= GITLAB["variables"].keys()
    given = GITLAB["variables"] | {"DBDYNO_INSTALL": ""} | variables
    script = "\n".join([*GITLAB["before_script"], *GITLAB["script"]])
    return job(folder, environment | given, shell, "-e", "-c", script)


def job(folder, environment, *words):
    return subprocess.run(
        words, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def results_of(folder):
    (suite,) = JUnitXml.fromfile(str(folder / "dbdyno-report" / "junit.xml"))
    return {case.name: case.result for case in suite}


def test_the_action_fails_for_what_got_worse_and_shows_it(environment, tmp_path, server):
    folder = tmp_path / "job"
    load = {"load": f"{LOAD} {server.url}", "before": FAST, "after": SLOW, "pairs": "4"}
    conditions = {"fail-if": "tps:worse:50% p95:worse:50%"}
    ended = on_github(folder, environment, **load, **conditions)
    assert ended.returncode == 4, ended
    results = results_of(folder)
    assert results.keys() == {"throughput_tps:worse:50%", "response_p95_ms:worse:50%"}
    (failure,) = results["throughput_tps:worse:50%"]
    assert isinstance(failure, Failure)
    assert "Throughput fell by" in failure.message
    summary = (tmp_path / "summary.md").read_text()
    report = folder / "dbdyno-report"
    assert summary == (report / "compare.md").read_text()
    assert summary.startswith("# side=after against side=before\n")
    assert "--fail-if throughput_tps:worse:50% fails: Throughput" in summary.replace("\\", "")
    assert (report / "compare.html").read_text().lstrip().startswith("<!doctype html>")
    assert list((report / "tables").glob("metrics*.csv"))
    assert '"paired": true' in (report / "pair.json").read_text()


def test_the_template_fails_with_its_condition_and_keeps_its_results(environment, tmp_path, server):
    folder = tmp_path / "job"
    variables = {
        "DBDYNO_LOAD": f"{LOAD} {server.url}",
        "DBDYNO_BEFORE": FAST,
        "DBDYNO_AFTER": SLOW,
        "DBDYNO_PAIRS": "4",
        "DBDYNO_FAIL_IF": "tps:worse:50%",
    }
    ended = on_gitlab(folder, environment, "sh", **variables)
    assert ended.returncode == 4, ended
    assert isinstance(results_of(folder)["throughput_tps:worse:50%"][0], Failure)
    artifacts = GITLAB["artifacts"]
    assert artifacts["when"] == "always"
    for path in [*artifacts["paths"], artifacts["reports"]["junit"]]:
        assert (folder / path.replace("$DBDYNO_FOLDER", "dbdyno-report")).exists()


def test_what_got_better_fails_neither(environment, tmp_path, server):
    folder = tmp_path / "job"
    load = {"load": f"{LOAD} {server.url}", "before": SLOW, "after": FAST, "pairs": "4"}
    ended = on_github(folder, environment, **load)
    assert ended.returncode == 0, ended
    assert results_of(folder)["throughput_tps:worse:5%"] == []
    variables = {
        "DBDYNO_LOAD": load["load"],
        "DBDYNO_BEFORE": SLOW,
        "DBDYNO_AFTER": FAST,
        "DBDYNO_PAIRS": "2",
    }
    ended = on_gitlab(folder, environment, "bash", **variables)
    assert ended.returncode == 0, ended


def stub(folder, name, script):
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_the_action_installs_what_it_builds_or_what_it_is_given(tmp_path):
    """Building takes minutes: that `make dist` writes a wheel is the subject of `make wheel`."""
    action = tmp_path / "copy" / "integrations" / "github"
    action.mkdir(parents=True)
    stub(tmp_path, "make", 'mkdir "$2/$3" && touch "$2/$3/dbdyno-0.1.0-any.whl"')
    stub(tmp_path, "python3", f'echo "$@" > {tmp_path}/words')
    (install,) = [one for one in GITHUB["runs"]["steps"] if one.get("if")][:1]
    known = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(action)}
    built = f"{action}/../../dist/dbdyno-0.1.0-any.whl[embedded]"
    for given, installed in ((GITHUB["inputs"]["install"]["default"], built), ("a.whl", "a.whl")):
        ended = job(tmp_path, known | {"INSTALL": given}, *GITHUB_SHELL, "-c", install["run"])
        assert ended.returncode == 0, ended
        assert (tmp_path / "words").read_text() == f"-m pip install {installed}\n"


def test_a_load_that_does_not_exist_ends_the_job_with_its_first_step(environment, tmp_path):
    given = {"load": "no-such-workload", "before": "true", "after": "true"}
    ended = on_github(tmp_path / "job", environment, **given)
    assert ended.returncode == 1
    assert not (tmp_path / "summary.md").exists()
