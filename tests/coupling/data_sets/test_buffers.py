"""The account of buffers: what is saved, who waits, the figures of DISPLAY USAGE."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.coupling.data_sets.buffers import EMPTY, BufferAccount


def test_buffers_are_saved_until_others_need_them() -> None:
    account = BufferAccount(2)
    first, second = account.take(), account.take()
    assert account.take() == EMPTY
    account.give_back(first, 10)
    account.give_back(second, 11)
    assert (account.in_use, account.saved(), account.empty()) == (0, 2, 0)
    assert account.take() == first, "the one that was not used longest"
    assert account.take_saved(10) == EMPTY
    assert account.take_saved(11) == second


def test_the_lowest_number_of_free_buffers_counts_those_who_wait() -> None:
    account = BufferAccount(4)
    taken = [account.take() for _ in range(4)]
    for _ in range(3):
        account.begin_wait()
    assert account.figures.lowest_free == -3, "DSBUFS should be 3 more"
    assert account.figures.wait_percent() == 75
    for number in taken:
        account.give_back(number, -1)
    figures = account.take_figures()
    assert (figures.requests, figures.waits) == (4, 3)


@given(st.lists(st.tuples(st.sampled_from("tsgr"), st.integers(0, 12)), max_size=80))
def test_no_buffer_has_two_users(steps: list[tuple[str, int]]) -> None:
    account = BufferAccount(3)
    used: list[int] = []
    for step, value in steps:
        if step == "r":
            account.resize(value % 6 + 1)
        elif step == "g" and used:
            account.give_back(used.pop(value % len(used)), value - 1)
        elif step in "ts":
            number = int(account.take() if step == "t" else account.take_saved(value))
            if number != EMPTY:
                assert number not in used
                used.append(number)
            elif step == "t":
                assert len(used) >= account.total
        assert account.in_use == len(used)
        held = int(account.in_use + account.saved() + account.empty())
        assert held == max(int(account.total), len(used) + int(account.saved() + account.empty()))
