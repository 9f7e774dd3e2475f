"""The lock picture, the split of statements, and the section about telemetry."""

import dataclasses

import msgspec
import numpy as np
import pytest

from dbdyno.analysis.waits.lock_queue import lock_queue
from dbdyno.explain.statements.sql import Sql
from dbdyno.report.charts.lock_queue import picture
from tests.report.pages import section_of


@pytest.fixture(scope="module")
def shown(ordinary):
    return picture(lock_queue(ordinary), ordinary)


def test_statements_stand_in_the_order_of_the_script_and_the_root_is_known(shown):
    assert [(node.label, node.is_root) for node in shown.nodes] == [
        ("UPDATE pgbench_tellers", False),
        ("UPDATE pgbench_branches", False),
        ("END", True),
    ]


def test_arcs_lead_from_those_who_wait_the_longest_wait_first(shown):
    ends = [(arc.waiter, arc.blocker) for arc in shown.arcs]
    assert set(ends) == {(0, 1), (1, 2), (1, 1)}
    waited = [arc.client_seconds for arc in shown.arcs]
    assert waited == sorted(waited, reverse=True)
    assert sum(node.waiting for node in shown.nodes) == pytest.approx(5, rel=0.01)


def shielded(queue, factor):
    """The queue with its waits at branches made rarer, for example because tellers shield them."""
    edges = [
        msgspec.structs.replace(
            edge,
            client_seconds=edge.client_seconds * factor,
            waiters_mean=edge.waiters_mean * factor,
        )
        if edge.relation == "pgbench_branches"
        else edge
        for edge in queue.edges
    ]
    return msgspec.structs.replace(queue, edges=edges)


def test_behind_a_long_queue_the_few_that_wait_are_not_said_to_wait_for_nothing(ordinary):
    nodes = picture(shielded(lock_queue(ordinary), 0.001), ordinary).nodes
    assert [(node.label, node.is_root) for node in nodes] == [
        ("UPDATE pgbench_tellers", False),
        ("UPDATE pgbench_branches", False),
    ]
    assert 0 < nodes[-1].waiting < 0.01


def test_a_sample_that_came_late_makes_no_root_wait(ordinary):
    queue = lock_queue(ordinary)
    times = [
        msgspec.structs.replace(time, lock_ms=0.01 * time.mean_ms) for time in queue.statements
    ]
    rare = msgspec.structs.replace(shielded(queue, 0.001), statements=times)
    assert picture(rare, ordinary).nodes[-1].is_root


def test_the_figure_describes_who_waits_for_whom_also_in_words(ordinary):
    text = section_of(ordinary, "locks")
    assert text.count("<svg") == 3
    assert "UPDATE pgbench_tellers waits for UPDATE pgbench_branches: " in text
    assert "On average 5 sessions waited for a lock" in text
    assert "<title>UPDATE pgbench_tellers SET tbalance" in text


def test_a_run_without_lock_waits_has_no_picture(ordinary):
    nothing = {name: column[:0] for name, column in ordinary.columns["blocking"].items()}
    quiet = dataclasses.replace(ordinary, columns={**ordinary.columns, "blocking": nothing})
    assert section_of(quiet, "locks") == ""


def test_foreign_sessions_are_nodes_too(ordinary):
    blocking = dict(ordinary.columns["blocking"])
    at_the_end = blocking["blocker"] == 6
    blocking["blocker_who"] = np.where(at_the_end, "foreign", blocking["blocker_who"])
    blocking["blocker"] = np.where(at_the_end, -1, blocking["blocker"])
    recording = dataclasses.replace(ordinary, columns={**ordinary.columns, "blocking": blocking})
    nodes = picture(lock_queue(recording), recording).nodes
    assert nodes[-1].label == "another session"
    assert nodes[-1].is_root


@pytest.mark.parametrize(
    ("sql", "label"),
    [
        ("update only t set a = 1 where id = :id;", "UPDATE t"),
        ("SELECT a FROM s.t JOIN u USING (id)", "SELECT s.t"),
        ("insert into public.t values (1)", "INSERT t"),
        ("END;", "END"),
        ("", ""),
    ],
)
def test_a_statement_is_called_by_its_verb_and_table(sql, label):
    assert Sql(sql).in_short == label


def test_statements_are_split_where_a_sample_shows_them(ordinary, unwatched):
    text = section_of(ordinary, "statements")
    assert "waiting for a lock" in text
    assert "too short to be sampled" in text
    assert 'class="bar locked"' in text
    assert "Lock wait" in text
    assert "Lock wait" not in section_of(unwatched, "statements")


def test_what_watched_and_what_it_could_not_read(ordinary, unwatched):
    text = section_of(ordinary, "telemetry")
    assert "0.333\u202f% of a core" in text
    assert "PostgreSQL 15 has no such view" in text
    assert section_of(unwatched, "telemetry") == ""
