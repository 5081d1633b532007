"""The account of a failover finds what is lost, doubled or foreign, and allows what is in doubt."""

from __future__ import annotations

from collections import Counter

import pytest

from ostler.cli.demo import failover_account
from ostler.cli.demo.failover_account import FailoverAccount, Verdict


def test_what_was_acknowledged_is_there_once() -> None:
    account = FailoverAccount()
    for name in ("got", "left", "got in doubt", "lost", "twice", "got and left"):
        account.put(name)
    account.may_be_put("put in doubt")
    account.may_be_put("put in doubt, and never seen")
    account.got("got")
    account.got("twice")
    account.got("twice")
    account.got("got and left")
    account.may_be_got("got in doubt")
    left = Counter(["left", "got and left", "put in doubt", "nobody's"])
    assert account.judge(left) == Verdict(("lost",), ("got and left", "twice"), ("nobody's",))
    assert account.judge(left).sentences == [
        "1 acknowledged messages are lost: lost",
        "2 messages came twice: got and left, twice",
        "1 messages are there that nobody put: nobody's",
    ]
    assert (account.puts, account.gets, account.doubtful) == (6, 4, 3)


def test_kept_promises_need_no_words() -> None:
    account = FailoverAccount()
    account.put("a")
    assert account.judge(Counter(["a"])).sentences == []


def test_the_time_away_is_the_longest_between_two_acknowledgements(monkeypatch: pytest.MonkeyPatch) -> None:
    account = FailoverAccount()
    for moment in (10.0, 12.0, 12.1, 13.0, 13.2):
        monkeypatch.setattr(failover_account.time, "monotonic", lambda moment=moment: moment)
        account.put(str(moment))
    assert account.seconds_away(0.0) == pytest.approx(2.0)
    assert account.seconds_away(12.05) == pytest.approx(0.9)
    assert account.seconds_away(20.0) == 0.0
    assert account.puts_since(12.0) == 3
