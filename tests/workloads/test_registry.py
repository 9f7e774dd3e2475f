import pytest

from dbdyno.errors import DbdynoError
from dbdyno.workloads.base import Workload
from dbdyno.workloads.registry import all_workloads, find_workload

WORKLOADS = list(all_workloads().values())


def test_the_workloads_are_found() -> None:
    assert {"tpcb", "simple-update", "select-only", "pk"} <= set(all_workloads())


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workload_declares_itself(workload: Workload) -> None:
    assert workload.summary
    for parameter in workload.parameters:
        assert parameter.description
        assert parameter.read(parameter.default) == parameter.default
        assert parameter.range


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_invariants_refer_to_the_workloads_own_measures_and_scripts(workload: Workload) -> None:
    values = workload.complete({})
    scripts = {script.name for script in workload.scripts(values, "postgresql")}
    assert scripts
    for law in (*workload.laws(values), *workload.balances):
        assert set(law.about()) <= set(workload.measures(values))
        assert getattr(law, "script", None) in {None, *scripts}


def test_a_misspelt_workload_names_the_nearest() -> None:
    with pytest.raises(DbdynoError) as caught:
        find_workload("select-onyl")
    assert "select-only" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", 0),
        ("scale", "many"),
        ("scale", 21_475),
        ("fillfactor", 9),
        ("unlogged", "perhaps"),
        ("partition_method", "list"),
    ],
)
def test_a_value_out_of_range_is_refused(name: str, value: int | str) -> None:
    with pytest.raises(DbdynoError) as caught:
        find_workload("tpcb").read({name: value})
    assert caught.value.code == "bad_parameter"


def test_an_unknown_parameter_names_the_nearest() -> None:
    with pytest.raises(DbdynoError) as caught:
        find_workload("tpcb").read({"fillfaktor": 80})
    assert caught.value.hint == "did you mean fillfactor?"


def test_words_are_read() -> None:
    given: dict[str, int | bool | str] = {"scale": "10", "unlogged": "on", "foreign_keys": True}
    assert find_workload("tpcb").read(given) == {
        "scale": 10,
        "unlogged": True,
        "foreign_keys": True,
    }
