"""Places against places."""

import random

from gistread.evaluation.model import covered_share, merge_places, pages_with

PAGES = ((0, 10), (10, 20), (20, 30))


def test_pages_that_contain_a_place_are_found() -> None:
    assert pages_with([(3, 4)], PAGES) == {1}
    assert pages_with([(9, 11)], PAGES) == {1, 2}
    assert pages_with([(10, 20)], PAGES) == {2}, "a page ends before its end"
    assert pages_with([(25, 99), (0, 1)], PAGES) == {1, 3}
    assert pages_with([(40, 50)], PAGES) == set(), "of a memory that is not complete"
    assert pages_with([], PAGES) == pages_with([(1, 2)], ()) == set()


def test_coverage_is_the_share_that_was_seen() -> None:
    assert covered_share([(0, 10)], [(5, 20)]) == 0.5
    assert covered_share([(0, 10), (5, 10)], [(0, 3), (2, 5), (8, 9)]) == 0.6, "what overlaps counts once"
    assert covered_share([(0, 4), (10, 14)], [(0, 99)]) == 1
    assert covered_share([(0, 4)], []) == covered_share([], [(0, 4)]) == 0


def test_coverage_equals_that_of_character_sets() -> None:
    chance = random.Random(1)
    for _ in range(200):
        gold, seen = ([(s := chance.randrange(40), s + chance.randrange(1, 9)) for _ in range(n)] for n in (3, 6))
        wanted, there = ({n for a, b in places for n in range(a, b)} for places in (gold, seen))
        assert abs(covered_share(gold, seen) - len(wanted & there) / len(wanted)) < 1e-9


def test_places_are_joined_over_a_gap() -> None:
    assert merge_places([(7, 9), (0, 3), (3, 5), (4, 4)]) == ((0, 5), (7, 9))
    assert merge_places([(7, 9), (0, 5)], gap=2) == ((0, 9),)
