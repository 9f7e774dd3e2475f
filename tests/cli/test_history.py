"""``dbdyno history`` on made-up runs: series, changes, and how it reports them."""

import json

import msgspec
import numpy as np
import pytest

from dbdyno.cli import main
from dbdyno.model.plan import Arrivals, ClosedArrivals, Lua, OpenArrivals, Retry, Think
from tests.cli import made_up_runs as made_up
from tests.report.explained import FUNCTIONS
from tests.store import synthetic
from tests.support.profiles import profile

SERVER = {"kind": "private", "product": "postgres", "version": "18.1", "promise": "full"}
pytestmark = pytest.mark.usefixtures("home", "own_signals")


def upgraded_after(first, number=24, noise=0.02, seed=3):
    """Runs of which those from ``first`` on use a newer server that writes more WAL.

    They also set an option to its default, which is no change.
    """
    luck = np.exp(np.random.default_rng(seed).normal(0, noise, number)).tolist()
    ids = []
    for place in range(number):
        new = place >= first
        server = SERVER | {"version": "18.2" if new else "18.1"}
        tps, wal = (800.0, 2600.0) if new else (1000.0, 2000.0)
        command = ["tpcb", *(["--define", "unlogged=off"] if new else [])]
        ids.append(
            made_up.run(tps=tps * luck[place], wal_bytes=wal, server=server, command=command)
        )
    return ids


def found(capsys, *arguments):
    assert main(["history", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["series"]


def test_a_change_is_reported_with_its_run_the_changed_cost_and_the_differences(capsys):
    ids = upgraded_after(15)
    (series,) = found(capsys, "tpcb", "--metric", "tps")
    assert [run["run_id"] for run in series["runs"]] == ids
    (metric,) = series["metrics"]
    (change,) = metric["changes"]
    assert change["run_id"] == ids[15]
    assert change["ratio"] == pytest.approx(0.8, rel=0.03)
    assert [cost["id"] for cost in change["moved"]] == ["wal_bytes"]
    assert change["moved"][0]["ratio"] == pytest.approx(1.3, rel=0.01)
    assert change["differs"] == [
        "Different server: the version is postgres 18.1 in the run before, postgres 18.2 in this "
        "one"
    ]


def test_people_read_when_and_by_how_much(capsys):
    ids = upgraded_after(15)
    assert main(["history"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Runs over time (history) When did results of comparable runs change")
    assert "tpcb on PostgreSQL, private: 8 clients, prepared ----" in out
    assert "---- 24 runs, 2026-11-01" in out
    assert "Throughput. " in out
    assert "worse: 996 TPS to 804 TPS" in out
    assert f"from run {ids[15]} on" in out
    assert "Costs per transaction: WAL +30 %" in out


def test_the_function_of_the_server_that_changed_is_named_in_every_form(capsys):
    chance = np.random.default_rng(5)
    for slower_us in [0.0] * 8 + [2.0] * 8:
        us = FUNCTIONS | {("memory", "palloc"): 2.0 + slower_us}
        luck = np.exp(chance.normal(0, 0.01, len(us) + 1)).tolist()
        noisy = {name: value * of for (name, value), of in zip(us.items(), luck, strict=False)}
        made_up.run(tps=(800 if slower_us else 1000) * luck[-1], server_profile=profile(noisy))
    (series,) = found(capsys, "--metric", "tps")
    (change,) = series["metrics"][0]["changes"]
    (function,) = change["server_functions"]
    assert function["function"] == "palloc"
    assert function["difference_us"] == pytest.approx(2.0, abs=0.1)
    for form in ("text", "markdown", "html"):
        assert main(["history", "--metric", "tps", "--format", form]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "Server CPU per transaction: memory allocation +" in out
        assert "palloc +" in out


def test_a_value_that_the_latest_run_does_not_have_is_not_called_its(capsys):
    for _ in range(8):
        made_up.run()
    made_up.run(costs=[])
    assert main(["history"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "TPS in the latest run, " in out
    assert "in the latest run that has it, " in out


def test_a_change_in_the_latest_run_alone_shows_beside_earlier_ones(capsys):
    """It is not a level yet, and a line that no level has changed would be false."""
    ids = upgraded_after(3, number=4)
    assert main(["history"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "in the 3 before it, perhaps a change of level" in out
    assert f"from run {ids[3]} on: too few runs to be sure" in out
    assert "the version is postgres 18.1 in the run before, postgres 18.2 in this one" in out


def test_runs_whose_tag_returns_are_variants_and_others_are_the_course_of_time(capsys):
    for number in range(4):
        made_up.run(tps=48.0 + number, tags={"index": "none", "commit": str(number)})
        made_up.run(tps=2800.0 + number, tags={"index": "extra", "commit": str(number)})
    first, second = found(capsys, "--metric", "tps")
    assert {first["variant"], second["variant"]} == {"index=none", "index=extra"}
    assert [len(series["runs"]) for series in (first, second)] == [4, 4]


def test_a_level_history_has_no_change(capsys):
    upgraded_after(99)
    (series,) = found(capsys)
    assert [metric["changes"] for metric in series["metrics"]] == [[]] * len(series["metrics"])


def test_kinds_are_separate_and_those_with_few_runs_are_reported(capsys):
    more_clients = msgspec.structs.replace(synthetic.plan(), clients=64)
    for _ in range(5):
        made_up.run(server=SERVER)
    for _ in range(3):
        made_up.run(server=SERVER, plan=more_clients)
    assert main(["history", "--json"]) == 0
    captured = capsys.readouterr()
    (series,) = json.loads(captured.out)["series"]
    assert series["load"] == "8 clients"
    assert (
        "too few for a history (3 runs, 4 needed): tpcb on PostgreSQL, private: 64" in captured.err
    )


@pytest.mark.parametrize(
    ("options", "load"),
    [
        (
            {"arrivals": Arrivals(closed=ClosedArrivals(think=Think(mean_ns=50_000_000)))},
            "8 clients, closed, thinking for 0.05 s (constant)",
        ),
        ({"arrivals": Arrivals(open=OpenArrivals(law="constant"))}, "8 clients, open, constant"),
        ({"latency_limit_ns": 20_000_000}, "8 clients, latency limit 0.02 s"),
        ({"retry": Retry(tries_max=10)}, "8 clients, tries 10"),
    ],
)
def test_how_transactions_come_and_are_given_up_makes_a_kind(capsys, options, load):
    other = msgspec.structs.replace(synthetic.plan(), **options)
    for plan in (synthetic.plan(), other):
        for _ in range(4):
            made_up.run(server=SERVER, plan=plan)
    assert [series["load"] for series in found(capsys)] == ["8 clients", load]


def test_another_shape_of_the_data_is_another_kind(capsys):
    """No variable of the plan has the number of tables, and a new number is no change of level."""
    for tables in (4, 8):
        for _ in range(4):
            command = ["oltp_read_only", "--define", f"tables={tables}", "--clients", "8"]
            made_up.run(server=SERVER, workload="oltp_read_only", command=command)
    assert [series["data"] for series in found(capsys)] == ["tables 4", "tables 8"]


def test_an_explicit_default_equals_an_omitted_option(capsys):
    for options in ([], ["--define", "tables=1"], ["--define", "auto_inc=on"], []):
        command = ["oltp_read_only", *options, "--clients", "8"]
        made_up.run(server=SERVER, workload="oltp_read_only", command=command)
    (series,) = found(capsys)
    assert (len(series["runs"]), series["data"]) == (4, "")


SYSBENCH = Lua(path="mine.lua", modules={"common": """
sysbench.cmdline.options = {
   table_size = {"Rows of " .. "each table", 10000}, engine = {'Which', "innodb"},
   ["skip_trx"] = {"No transactions", false}, unset = {"Nothing"},
}"""})  # fmt: skip


def by_script(**arguments):
    lua = msgspec.structs.replace(SYSBENCH, arguments={"threads": "8", **arguments})
    plan = msgspec.structs.replace(synthetic.plan(), lua=lua, variables={})
    return made_up.run(server=SERVER, workload="mine", plan=plan, command=["mine.lua"])


def test_the_options_of_a_sysbench_script_distinguish_kinds(capsys):
    for rows in ("10", "20"):
        for _ in range(4):
            by_script(table_size=rows, rand_type="zipfian")
    kinds = [series["data"] for series in found(capsys)]
    assert kinds == ["rand_type zipfian, table_size 10", "rand_type zipfian, table_size 20"]


def test_default_options_of_a_sysbench_script_distinguish_no_kinds(capsys):
    """Nor do options that a run sets elsewhere, or that change nothing measured."""
    by_script()
    by_script(table_size="1e4", engine="innodb", skip_trx="off", rand_type="special")
    by_script(time="20", rand_seed="7", percentile="99", report_interval="1")
    by_script(skip_trx="false")
    (series,) = found(capsys)
    assert (len(series["runs"]), series["data"]) == (4, "")
    for _ in range(4):
        by_script(skip_trx="")
    assert [series["data"] for series in found(capsys)] == ["", "skip_trx"]


def test_runs_that_were_made_to_differ_or_are_not_valid_are_no_part_of_it(capsys):
    kept = [made_up.run(server=SERVER) for _ in range(4)]
    made_up.run(server=SERVER, valid=False)
    made_up.run(server=SERVER, status="interrupted")
    made_up.run(server=SERVER, tags={"study": "s", "point": "clients=4", "block": "1"})
    made_up.run(server=SERVER, tags={"search": "s"})
    (series,) = found(capsys)
    assert [run["run_id"] for run in series["runs"]] == kept


def test_a_database_of_ones_own_is_a_place_of_its_own(capsys):
    for host in ("one", "two"):
        for _ in range(4):
            made_up.run(server={"kind": "existing"}, target=f"postgresql://u@{host}:5432/db")
    assert len(found(capsys)) == 2
    for written in ("postgresql://two/db", "postgresql://u:secret@two", "host=two port=5432"):
        (series,) = found(capsys, "--target", written)
        assert series["place"] == "postgresql://u@two:5432/db"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("pk",), "There are runs of tpcb on PostgreSQL, private."),
        (("--target", "postgresql://elsewhere/db"), "no valid run matches"),
        (("--metric", "speed"), "no metric 'speed'"),
        (("--report", "no/such/folder/page.html"), "cannot write no/such/folder/page.html"),
    ],
)
def test_bad_input_names_what_is_wrong_with_exit_code_1(capsys, arguments, expected):
    for _ in range(4):
        made_up.run(server=SERVER)
    assert main(["history", *arguments]) == 1
    assert expected in capsys.readouterr().err


def test_without_runs_the_hint_names_the_command_that_makes_one(capsys):
    assert main(["history"]) == 1
    assert "Start one: dbdyno run tpcb" in capsys.readouterr().err


def test_the_page_agrees_with_the_text(capsys, tmp_path):
    ids = upgraded_after(15)
    page = tmp_path / "history.html"
    assert main(["history", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert f"from run {ids[15]} on" in text
    assert "Different server: the version is postgres 18.1" in text
    assert text.count("<figure") == 4  # throughput, p95, p99, WAL
    assert "<script" not in text
