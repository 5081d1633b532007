"""Pedigrees: where two copies of a log differ."""

from __future__ import annotations

from random import Random

import pytest

from ostler.replica.pedigree import Life, Pedigree, RelationKind


def life(epoch: int, start_lsn: int, instance: str = "A", term: int = 0) -> Life:
    return Life(epoch, start_lsn, instance, term or epoch * 10, 0)


FIRST, SECOND, THIRD = life(1, 0), life(2, 500, "B"), life(3, 600, "C")
OTHER_SECOND = life(2, 400, "C")


@pytest.mark.parametrize(
    ("mine", "theirs", "kind", "lsn"),
    [
        (Pedigree([FIRST], 300), Pedigree([FIRST], 300), RelationKind.SAME, 300),
        (Pedigree([FIRST], 200), Pedigree([FIRST], 300), RelationKind.PREFIX, 200),
        (Pedigree([FIRST, SECOND], 700), Pedigree([FIRST, SECOND], 900), RelationKind.PREFIX, 700),
        (Pedigree([FIRST], 500), Pedigree([FIRST, SECOND], 900), RelationKind.PREFIX, 500),
        (Pedigree([FIRST], 620), Pedigree([FIRST, SECOND], 900), RelationKind.FORK, 500),
        (Pedigree([FIRST, SECOND], 900), Pedigree([FIRST, SECOND, THIRD], 700), RelationKind.FORK, 600),
        (Pedigree([FIRST, SECOND], 900), Pedigree([FIRST, OTHER_SECOND], 900), RelationKind.FORK, 400),
        (Pedigree([FIRST], 900), Pedigree([SECOND], 900), RelationKind.FORK, 0),
        (Pedigree([], 0), Pedigree([FIRST], 900), RelationKind.PREFIX, 0),
    ],
    ids=["same", "behind", "behind in a later life", "before a life", "tail", "tail of a later life", "two leaders",
         "nothing in common", "empty"],
)  # fmt: skip
def test_the_relation_of_two_copies(mine: Pedigree, theirs: Pedigree, kind: RelationKind, lsn: int) -> None:
    assert mine.relation(theirs) == (kind, lsn)
    opposite = {RelationKind.PREFIX: RelationKind.EXTENDS}
    assert theirs.relation(mine) == (opposite.get(kind, kind), lsn)


def test_lives_that_only_one_list_still_has_are_not_compared() -> None:
    """A frame has the newest lives only."""
    whole = Pedigree([FIRST, SECOND, THIRD], 900)
    assert Pedigree([SECOND, THIRD], 800).relation(whole) == (RelationKind.PREFIX, 800)


def test_the_same_epoch_and_place_of_another_leader_is_another_life() -> None:
    """Two leaders without an arbiter may choose the same number at the same place."""
    mine, theirs = Pedigree([FIRST, life(2, 500, "B")], 900), Pedigree([FIRST, life(2, 500, "C")], 900)
    assert mine.relation(theirs) == (RelationKind.FORK, 500)


def test_a_later_life_is_ahead_of_a_longer_log() -> None:
    assert Pedigree([FIRST, SECOND], 510).is_ahead_of(Pedigree([FIRST], 900))
    assert Pedigree([FIRST], 900).is_ahead_of(Pedigree([FIRST], 800))
    assert not Pedigree([FIRST], 900).is_ahead_of(Pedigree([FIRST], 900))


def test_the_life_of_an_lsn() -> None:
    pedigree = Pedigree([FIRST, SECOND, THIRD], 900)
    assert [pedigree.life_at(lsn) for lsn in (0, 499, 500, 600, 899)] == [FIRST, FIRST, SECOND, THIRD, THIRD]
    assert pedigree.lives_from(500) == [SECOND, THIRD]
    assert pedigree.lives_from(501) == [THIRD]


@pytest.mark.parametrize("seed", range(200))
def test_relations_agree_with_the_bytes(seed: int) -> None:
    """Two histories are written byte by byte, each byte naming the life that wrote it; their common part is counted."""
    random = Random(seed)
    lives: list[Life] = [FIRST]
    written = ["1A"] * random.randrange(1, 30)
    copies: list[tuple[list[Life], list[str]]] = []
    for _ in range(2):
        mine, bytes_ = list(lives), list(written)
        for _ in range(random.randrange(4)):
            bytes_ = bytes_[: random.randrange(max(mine[-1].start_lsn, 1), len(bytes_) + 1)]
            leader = random.choice("ABC")
            mine.append(life(mine[-1].epoch + 1, len(bytes_), leader))
            bytes_ += [f"{mine[-1].epoch}{leader}"] * random.randrange(1, 9)
        copies.append((mine, bytes_))
    (one, first), (other, second) = copies
    relation = Pedigree(one, len(first)).relation(Pedigree(other, len(second)))
    common = 0
    while common < min(len(first), len(second)) and first[common] == second[common]:
        common += 1
    # Lives are told apart by where they began, too, so the pedigree may know of a fork before the bytes show it.
    assert relation.lsn <= common
    assert first[: relation.lsn] == second[: relation.lsn]
    if relation.kind is RelationKind.SAME:
        assert first == second
    elif relation.kind is RelationKind.PREFIX:
        assert second[: len(first)] == first
