"""A load is split in proportion, from its first client on."""

from hypothesis import given, strategies

from dbdyno.fleet.shares import apportioned, dealt

COUNTS = strategies.lists(strategies.integers(0, 40), min_size=1, max_size=9).filter(any)


def test_the_largest_remainders_get_what_is_left():
    assert apportioned(7, [1, 1]) in ([4, 3], [3, 4])
    assert apportioned(10, [1, 2, 3]) == [2, 3, 5]
    assert apportioned(0, [1, 1]) == [0, 0]


@given(strategies.integers(0, 500), COUNTS)
def test_shares_are_complete_and_within_one_of_their_quota(total, weights):
    shares = apportioned(total, weights)
    assert sum(shares) == total
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - total * weight / sum(weights)) < 1


def test_the_first_numbers_are_spread():
    assert dealt([2, 2]) == [[0, 2], [1, 3]]
    assert dealt([1, 3]) in ([[1], [0, 2, 3]], [[2], [0, 1, 3]])


@given(COUNTS)
def test_every_number_is_dealt_once_and_each_beginning_in_proportion(counts):
    hands, total = dealt(counts), sum(counts)
    assert sorted(number for hand in hands for number in hand) == list(range(total))
    assert [len(hand) for hand in hands] == counts
    for count, hand in zip(counts, hands, strict=True):
        for number in range(total):
            have = sum(its <= number for its in hand)
            assert abs(have - (number + 1) * count / total) < 1
