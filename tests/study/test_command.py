"""``dbdyno study`` as users run it, on a real server."""

import json
import shutil
import warnings

import pytest
from junitparser import JUnitXml

from dbdyno.cli import main, study_progress
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import plain
from dbdyno.store.errors import LeftOut
from dbdyno.store.listing import remove_run, runs_folder
from dbdyno.store.studies import find_study_folder, list_studies
from dbdyno.store.summary import list_runs
from dbdyno.study.file import find_study
from dbdyno.study.folder import begin_study
from dbdyno.study.spec import AS_WRITTEN, read_study
from tests.cli import made_up_runs as made_up
from tests.cli.test_damaged_folders import LINKED, NOT_DATA, damage
from tests.study.files import CLIENTS, HEAD, MINI, written
from tests.study.test_execute import BASE, Broken
from tests.support.engine import Interrupted, tools

CONTRAST = '[[contrast]]\nfactor = "clients"\nbefore = "1"\nafter = "2"\n'
STUDY = HEAD + 'restore = "once"\n' + BASE + CLIENTS + CONTRAST
pytestmark = pytest.mark.usefixtures("home", "own_signals")


def lead_astray(monkeypatch, engine) -> None:
    monkeypatch.setattr(study_progress, "engine_tools", lambda: tools(engine))


def answer(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["study", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_study_is_run_shown_and_found_again(tmp_path, capsys):
    path = written(tmp_path, STUDY)
    page = tmp_path / "page.html"
    code, out, err = answer(capsys, "run", str(path), "--json", "--report", str(page))
    result = json.loads(out)
    assert code == 0
    assert result.keys() >= {"study", "verdict", "doubt", "points", "comparisons", "answers"}
    assert result["study"]["turns_done"] == 4
    assert len(result["points"]) == 2
    assert len(result["comparisons"]) == 1
    assert "2 points × 2 repeats" in err
    assert "4/4  block 2" in err
    assert "other " in err.splitlines()[-2]
    assert "Is more more?" in page.read_text()

    assert answer(capsys, "verdict")[1].splitlines()[0] == capitalized(plain(result["verdict"]))
    (compared,) = result["comparisons"]
    open_ones = [one for one in compared["metrics"] if one["repeats"]]
    in_text = answer(capsys, "report", "last", "--text")[1]
    assert bool(open_ones) == bool(compared["decide_with"]) == ("open question" in in_text)
    for first in open_ones[:1]:
        title, _, command = in_text.rpartition("open question (")[2].partition(":\n  ")
        assert title.startswith(first["title"])
        repeats = first["pairs"] + first["repeats"]["more"]
        assert command == f"dbdyno study resume {result['study']['study_id']} --repeats {repeats}\n"
    assert json.loads(answer(capsys, "verdict", "mini", "--json")[1])["doubt"] == result["doubt"]
    junit = tmp_path / "study.xml"
    assert answer(capsys, "verdict", "mini", "--junit", str(junit))[0] == 0
    (suite,) = JUnitXml.fromfile(str(junit))
    assert suite.name == result["study"]["study_id"]
    assert suite.tests == 4 + len(result["answers"])
    assert suite.failures == 0
    assert suite.time > 0
    assert "Is more more?" in answer(capsys, "report", "last", "--text")[1]
    written_to = answer(capsys, "report", result["study"]["study_id"])[1].strip()
    assert written_to.endswith(f"{result['study']['study_id']}/report.html")
    listed = json.loads(answer(capsys, "list", "--json")[1])
    assert [run["status"] for run in listed["runs"]] == ["done"]
    assert "hot-rows" in listed["studies"]
    assert "4 of 4" in answer(capsys, "list")[1]


def test_an_interrupted_study_ends_with_130_and_is_gone_on_with(tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as for_once:
        lead_astray(for_once, Interrupted)
        code, _, err = answer(capsys, "run", str(written(tmp_path, STUDY)))
    assert code == 130
    (begun,) = list_studies()
    assert f"Continue: dbdyno study resume {begun.study_id}\n" in err
    assert "4 of 4 turns have not been run (yet)" in plain(answer(capsys, "verdict")[1])
    code, out, err = answer(capsys, "resume")
    assert code == 0
    assert "4 of 4 runs count" in out
    code, _, err = answer(capsys, "resume")
    assert code == 1
    assert "is complete: all 4 turns have been run" in err


def test_a_study_is_removed_with_its_runs_and_nothing_else(tmp_path, capsys):
    answer(capsys, "run", str(written(tmp_path, STUDY)), "--repeats", "1")
    other = made_up.run()
    code, out, err = answer(capsys, "rm", "last", "nosuch")
    assert (code, out) == (1, "")
    assert "No study that was run is named 'nosuch'" in err
    copy = shutil.copytree(find_study_folder("last"), tmp_path / "project")
    assert "is not the folder of its study" in answer(capsys, "rm", str(copy))[2]
    assert copy.exists()
    code, out, _ = answer(capsys, "rm", "mini", "last")
    assert code == 0
    assert out.count("removed ") == 1
    assert "and its 2 runs" in out
    assert [run.run_id for run in list_runs()] == [other]
    assert json.loads(answer(capsys, "list", "--json")[1])["runs"] == []


def test_removed_runs_of_a_study_are_reported(tmp_path, capsys):
    answer(capsys, "run", str(written(tmp_path, STUDY)), "--repeats", "1")
    second, first = (run.run_id for run in list_runs())
    remove_run(second)
    assert f"1 run of this study has been removed: {second}\n" in answer(capsys, "verdict")[2]
    remove_run(first)
    assert "2 runs of this study have been removed: " in answer(capsys, "verdict")[2]


def test_a_study_with_a_damaged_run_counts_the_others_and_names_the_file(tmp_path, capsys):
    """Each file of one of its runs in turn, cut and as a link to elsewhere."""
    answer(capsys, "run", str(written(tmp_path, STUDY)), "--repeats", "1")
    folder = runs_folder() / list_runs()[0].run_id
    whole = shutil.copytree(folder, tmp_path / "whole")
    for name in sorted(path.name for path in whole.iterdir() if path.name not in NOT_DATA):
        for how in ("cut", LINKED):
            damage(folder / name, how, (whole / name).read_bytes())
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", LeftOut)
                code, out, err = answer(capsys, "report", "last", "--text")
                assert answer(capsys, "report", "last")[0] == 0, (name, how)
            said = err + "".join(str(one.message) for one in caught)
            assert (code, "Is more more?" in out) == (0, True), (name, how, said)
            assert name != "run.json" or name in said, (name, how, said)
            (folder / name).unlink()
            shutil.copy(whole / name, folder / name)


def test_a_study_that_goes_on_is_not_removed(tmp_path, capsys):
    path = written(tmp_path, STUDY)
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN):
        code, _, err = answer(capsys, "rm", "last")
    assert code == 1
    assert "is still running" in err
    assert answer(capsys, "rm", "last")[0] == 0


def test_a_study_goes_on_to_more_repeats(tmp_path, capsys):
    answer(capsys, "run", str(written(tmp_path, STUDY)), "--repeats", "1")
    code, out, err = answer(capsys, "resume", "--repeats", "2")
    assert code == 0
    assert "2 points × 2 repeats, 2 turns done before" in err
    assert "4 of 4 runs count" in out
    assert "Evaluated before, with 1 repeat:" in out
    code, _, err = answer(capsys, "resume", "--repeats", "1")
    assert code == 1
    assert "already has 2" in err


def test_the_file_of_a_study_can_be_copied_and_run(tmp_path, capsys):
    copy = tmp_path / "copy.toml"
    copy.write_text(answer(capsys, "show", "hot-rows", "--toml")[1])
    assert copy.read_text() == find_study("hot-rows").read_text()
    assert answer(capsys, "plan", str(copy), "--size", "tiny", "--json")[0] == 0


def test_a_turn_that_does_not_count_sets_the_exit_code(tmp_path, capsys, monkeypatch):
    lead_astray(monkeypatch, Broken)
    code, out, err = answer(capsys, "run", str(written(tmp_path, STUDY)), "--repeats", "1")
    assert code == 3
    assert "failed: ZeroDivisionError: a slip" in err
    assert "1 of 2 turns do not count" in err
    assert "a slip" in out


@pytest.mark.usefixtures("default_disturbance")
def test_a_plan_lists_every_point_and_starts_nothing(tmp_path, capsys):
    code, out, _ = answer(capsys, "plan", str(written(tmp_path)))
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "dbdyno run select-only --scale 1 --time 1s --warmup 0s" in lines
    assert "2 named 1 s --set jit=off --protocol prepared --clients 2" in lines
    assert "4 points × 2 repeats = 8 turns" in out
    assert (
        json.loads(answer(capsys, "plan", str(tmp_path / "mini.toml"), "--json")[1])["turns"] == 8
    )
    assert json.loads(answer(capsys, "list", "--json")[1])["runs"] == []


def test_a_study_that_does_not_fit_names_the_size_that_would(tmp_path, capsys):
    text = MINI.replace("repeats = 2", 'budget = "1m"\nrepeats = 1')
    path = written(tmp_path, text + '[sizes.small]\ntime = "1h"\n')
    code, out, err = answer(capsys, "plan", str(path))
    assert code == 1
    assert "does not fit: it takes about" in out
    assert err == "error: it does not fit, as shown above\nhint: --size tiny would fit.\n"
    code, out, _ = answer(capsys, "plan", str(path), "--json")
    assert code == 1
    result = json.loads(out)
    assert result["refusals"][0]["message"] == result["error"]["message"]
    assert answer(capsys, "run", str(path))[0] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("plan hot-row", "did you mean hot-rows? A file of your own ends in .toml."),
        ("plan zzz", "there are: data-volume, engines, "),
        ("plan no/such.toml", "cannot read the study no/such.toml"),
        ("run hot-rows --repeats 0", "must be at least 1"),
        ("run hot-rows --size huge", "--size"),
        ("run hot-rows --dry-run", "dbdyno study plan NAME"),
        ("run hot-rows --report /nowhere/x.html", "folder /nowhere does not exist"),
        ("resume --report /nowhere/x.html", "folder /nowhere does not exist"),
        ("resume nothing", "There are no studies in "),
        ("resume last", "Start one: dbdyno study run NAME; dbdyno study list shows"),
        ("verdict", "There are no studies in "),
    ],
)
def test_bad_input_is_explained_with_exit_code_1(capsys, arguments, expected):
    code, out, err = answer(capsys, *arguments.split())
    assert code == 1
    assert expected in err
    assert out == ""


def test_show_names_the_varied_factors(tmp_path, capsys):
    out = answer(capsys, "show", str(written(tmp_path, MINI + CONTRAST)))[1]
    assert "varied: query mode: plain, named" in out
    assert "compared: clients, 1 against 2" in out
    assert "answered: Peak, knee, and how many" in answer(capsys, "show", "hot-rows")[1]
    assert (
        json.loads(answer(capsys, "show", str(tmp_path / "mini.toml"), "--json")[1])["repeats"] == 2
    )
