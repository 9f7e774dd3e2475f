"""Factors multiplied out, and the order in which points run."""

from collections import Counter

import pytest

from dbdyno.study.matrix import pairs_of, points_of, turns_of
from dbdyno.study.resolved_point import resolve
from tests.study.files import MINI, read

CONTRAST = '[[contrast]]\nfactor = "mode"\nbefore = "plain"\nafter = "named"\n'
EXCLUDE = '[[exclude]]\nclients = 1\nmode = "plain"\n'


def test_points_are_all_choices_in_the_order_of_the_file(tmp_path):
    assert [point.key for point in points_of(read(tmp_path))] == [
        "clients=1,mode=plain",
        "clients=1,mode=named",
        "clients=2,mode=plain",
        "clients=2,mode=named",
    ]


@pytest.mark.usefixtures("default_disturbance")
def test_a_point_is_a_command_line(tmp_path):
    point = resolve(points_of(read(tmp_path))[-1], tmp_path, print)
    assert point.command(tmp_path) == (
        "dbdyno run select-only --scale 1 --set jit=off --protocol prepared --clients 2 "
        "--time 1s --warmup 0s"
    )


def test_excluded_points_are_not_there_and_leave_their_pairs_alone(tmp_path):
    spec = read(tmp_path, MINI + CONTRAST + EXCLUDE)
    points = points_of(spec)
    assert len(points) == 3
    ((before, after),) = pairs_of(spec.contrasts[0], points)
    assert (before.key, after.key) == ("clients=2,mode=plain", "clients=2,mode=named")


def test_every_block_has_every_point_once_and_one_seed(tmp_path):
    points = points_of(read(tmp_path))
    turns = turns_of(points, repeats=20, seed=0)
    assert [turn.number for turn in turns] == list(range(1, 81))
    for block in range(1, 21):
        of_block = [turn for turn in turns if turn.block == block]
        assert Counter(turn.point for turn in of_block) == Counter(p.key for p in points)
        assert len({turn.seed for turn in of_block}) == 1
    assert len({turn.seed for turn in turns}) == 20


def test_the_order_is_the_seeds_and_differs_between_blocks(tmp_path):
    points = points_of(read(tmp_path))
    turns = turns_of(points, repeats=20, seed=0)
    assert turns == turns_of(points, repeats=20, seed=0)
    assert turns != turns_of(points, repeats=20, seed=1)
    orders = {tuple(t.point for t in turns if t.block == block) for block in range(1, 21)}
    assert len(orders) > 10


def test_each_place_in_a_block_is_everybodys(tmp_path):
    """A point that always came first would always have the machine at its coolest."""
    points = points_of(read(tmp_path))
    turns = turns_of(points, repeats=200, seed=3)
    first = Counter(turn.point for turn in turns if (turn.number - 1) % len(points) == 0)
    assert all(30 < first[point.key] < 75 for point in points)
