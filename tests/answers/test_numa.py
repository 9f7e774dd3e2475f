"""The verdict on memory policies: none on one node; on two, only significant differences."""

import pytest

from dbdyno.answers.kinds import numa_policy, table
from dbdyno.formatting import THIN_SPACE
from tests.answers import made
from tests.answers.costed import changed
from tests.support.recordings import MadeRun

OPTIONS = {"factor": "numa", "reference": "default", "published": [0.016, 0.022]}
POLICIES = ("default", "interleave", "localalloc")
TEN_SECONDS = 10


def run_on(nodes):
    """A run whose server has 1 GiB on the first node and 2 GiB on each other."""

    def made_run(levels):
        run = MadeRun(1000, seconds=TEN_SECONDS)
        memory = {str(node): 2**30 * (1 + bool(node)) for node in range(nodes)}
        return _Placed(run, nodes, levels["numa"], memory)

    return made_run


class _Placed:
    """A run on a host with this many nodes and with the memory policy that was found."""

    def __init__(self, run, nodes, policy, memory):
        self.run, self.nodes = run, nodes
        self.placement = {
            "verified": [f"found {policy}"] if policy != "default" else [],
            "memory_by_node_bytes": {"begin": {}, "end": memory},
        }

    def loaded(self):
        return self.run.loaded(
            host={"cpu": {"cores_online": 2, "numa_nodes": self.nodes}},
            server={"placement": self.placement},
        )


def study(nodes, *, noise=0.003, repeats=8, **tps):
    spec = made.spec(
        made.factor("numa", *POLICIES, title="NUMA policy"),
        repeats=repeats,
    )
    return made.study(
        spec, lambda levels: tps.get(levels["numa"], 1000.0), noise=noise, run_of=run_on(nodes)
    )


def plain(text):
    return text.replace(THIN_SPACE, " ")


def test_on_one_node_no_effect_is_claimed_however_large_the_difference():
    verdict, *rest = numa_policy.answer(study(1, localalloc=1300.0), OPTIONS).claims
    assert not verdict.is_decided
    assert verdict.sentence.startswith(
        "This host has one NUMA node, so no policy can have an effect and none is claimed"
    )
    assert "in throughput, of localalloc against default (95 %: " in plain(verdict.sentence)
    assert "1 of 2 comparisons would have been reported as a difference" in verdict.doubt
    assert not any("better" in claim.sentence or "worse" in claim.sentence for claim in rest)


def test_on_two_nodes_a_significant_policy_is_the_verdict():
    verdict, *_ = numa_policy.answer(study(2, localalloc=1100.0), OPTIONS).claims
    assert verdict.is_decided
    assert verdict.sentence.startswith(
        "The policy localalloc is better than default: Throughput rose by"
    )
    assert verdict.effect == pytest.approx(1.1, rel=0.01)


def test_policies_that_both_gain_are_reported_without_ranking_them():
    """They were compared only with the default."""
    verdict, *_ = numa_policy.answer(study(2, localalloc=1100.0, interleave=1095.0), OPTIONS).claims
    assert "is better than default, and so is interleave: " in verdict.sentence


def test_on_two_nodes_noise_is_no_verdict():
    verdict, *_ = numa_policy.answer(study(2, noise=0.2), OPTIONS).claims
    assert not verdict.is_decided
    assert verdict.sentence.startswith("No policy is shown to be better than default")


@pytest.mark.parametrize(("noise", "is_decided"), [(0.1, False), (0.001, True)])
def test_whether_the_published_differences_could_be_detected(noise, is_decided):
    *_, detectable = numa_policy.answer(study(2, noise=noise), OPTIONS).claims
    assert detectable.is_decided is is_decided
    verb = "could" if is_decided else "could not"
    assert f"they {verb} detect the published differences of 1.6 % and 2.2 %, from one" in plain(
        detectable.sentence
    )


def test_both_tables_of_the_study_show_the_same_latency():
    trials = changed(study(1, noise=0.5), lambda trial: {"service_ms": trial.record.response_ms})
    of_policies, *_ = numa_policy.answer(trials, OPTIONS).shown
    (of_points,) = table.answer(trials, {"metrics": ["response_mean_ms"]}).shown
    for one, other in zip(of_policies.rows, of_points.rows, strict=True):
        number, unit = plain(one[4]).split(" ")
        assert (float(number), unit) == (pytest.approx(float(other[2]), rel=0.01), "ms")


def test_every_run_is_drawn_by_block():
    _, rates, latencies = numa_policy.answer(study(1), OPTIONS).shown
    assert {tuple(line.x) for line in rates.series} == {tuple(range(1, len(rates.series[0].x) + 1))}
    assert [line.label for line in rates.series] == [line.label for line in latencies.series]
    assert plain(rates.summary).startswith("default from 996 to 1 002 TPS; interleave")


def test_the_table_shows_where_the_memory_lay_and_what_was_found_after_start():
    table, *_ = numa_policy.answer(study(2), OPTIONS).shown
    assert table.columns[-2:] == ("memory on node 0", "memory on node 1")
    assert [plain(cell) for cell in table.rows[1][5:]] == ["found interleave", "1 GiB", "2 GiB"]
    assert table.rows[0][5] == "no policy requested"
