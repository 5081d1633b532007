"""The verdict on numbered messages: lost, doubled, in doubt, and the time without service."""

from __future__ import annotations

from collections import Counter

from ostler.lab.families.replication.history import Gap, History, longest_gap, tenths

A, B, C = (1, 1), (1, 2), (2, 1)


def test_what_was_acknowledged_and_nobody_got_is_lost() -> None:
    history = History(put={A, B}, got=Counter([A]))
    assert history.lost == {B}
    assert history.doubled == set()


def test_what_is_in_doubt_is_neither_lost_nor_doubled() -> None:
    assert History(put={A}, got_in_doubt={A}).lost == set(), "a commit whose answer was lost may have happened"
    assert History(put_in_doubt={A}).lost == set(), "a put whose answer was lost need not have happened"
    again = History(put={A}, got_in_doubt={A}, got=Counter([A]))
    assert (again.lost, again.doubled) == (set(), set()), "the first commit did not happen"


def test_what_was_got_twice_is_doubled() -> None:
    assert History(put={A}, got=Counter([A, A])).doubled == {A}


def test_clients_are_put_together() -> None:
    history = History(put={A}, got=Counter([A]))
    history.add(History(put={B}, got=Counter([A]), put_in_doubt={C}))
    assert (history.lost, history.doubled, history.unknown) == ({B}, {A}, set())


def test_what_nobody_put_is_told() -> None:
    assert History(got=Counter([A])).unknown == {A}
    assert History(got=Counter([A]), put_in_doubt={A}).unknown == set()


def test_the_longest_time_without_an_acknowledgement() -> None:
    assert longest_gap([5, 10, 40, 45], 0, 50) == Gap(10, 40)
    assert longest_gap([45, 5, 40, 10], 0, 50) == Gap(10, 40), "in whichever order clients tell them"
    assert longest_gap([10, 20], 0, 100) == Gap(20, 100), "until the end counts"
    assert longest_gap([], 3, 9) == Gap(3, 9)
    assert longest_gap([1, 200], 10, 20) == Gap(10, 20), "what was before or behind does not count"
    assert Gap(0, 1_500_000_000).seconds == 1.5


def test_acknowledgements_of_each_tenth_of_a_second() -> None:
    tenth = 100_000_000
    assert tenths([tenth, tenth + 5, 3 * tenth - 1, 0, 99 * tenth], tenth, 4 * tenth) == [2, 1, 0]
    assert tenths([], 0, 2 * tenth + 1) == [0, 0, 0], "the last one is shorter"
