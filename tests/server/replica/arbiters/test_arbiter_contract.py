"""The contract of `ostler.model.arbiter`, against etcd, the file arbiter and the simulated one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from tests.server.replica.etcd_server import EtcdServer
from tests.world.replica.simulated_arbiter import ArbiterStore, SimulatedArbiter

from ostler.model.arbiter import FOLLOWING, STANDING, Arbiter, ArbiterView, InSyncSet, Mark, Member, NameTaken
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdSettings
from ostler.server.replica.file_arbiter import FileArbiter

LONG_SECONDS = 60.0
SHORT_SECONDS = 3.0
WAIT_SECONDS_MAX = 60.0
_groups = count(1)


class Site:
    """An arbiter's store, and connections of instances to it."""

    def __init__(self) -> None:
        self._made: list[Arbiter] = []

    def arbiter(self, lease_seconds: float = LONG_SECONDS) -> Arbiter:
        made = self.connect(lease_seconds)
        self._made.append(made)
        return made

    def connect(self, lease_seconds: float) -> Arbiter:
        raise NotImplementedError

    def pass_time(self) -> None:
        """Let a little time go by."""
        time.sleep(0.05)

    def close(self) -> None:
        for each in self._made:
            each.close()


class EtcdSite(Site):
    def __init__(self, server: EtcdServer) -> None:
        super().__init__()
        self._endpoint = server.endpoint
        self._group = f"group{next(_groups)}"

    def connect(self, lease_seconds: float) -> Arbiter:
        settings = EtcdSettings((self._endpoint,), lease_seconds, timeout_seconds=lease_seconds / 2)
        return EtcdArbiter(settings, self._group, "QM1")


class FileSite(Site):
    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def connect(self, lease_seconds: float) -> Arbiter:
        return FileArbiter(self._directory, lease_seconds, timeout_seconds=10.0)


class SimulatedSite(Site):
    def __init__(self) -> None:
        super().__init__()
        self.store = ArbiterStore()

    def connect(self, lease_seconds: float) -> Arbiter:
        return SimulatedArbiter(self.store, lease_seconds)

    def pass_time(self) -> None:
        self.store.advance(0.05)


@pytest.fixture(params=["etcd", "file", "simulated"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    made: Site
    if request.param == "etcd":
        made = EtcdSite(request.getfixturevalue("shared_etcd"))
    elif request.param == "file":
        made = FileSite(tmp_path / "arbiter")
    else:
        made = SimulatedSite()
    yield made
    made.close()


def member(name: str, epoch: int = 1, end: int = 100, promised: int = 0) -> Member:
    return Member(name, f"{name}.example(4444)", epoch, end, FOLLOWING, promised)


def joined(site: Site, name: str, lease_seconds: float = LONG_SECONDS) -> Arbiter:
    arbiter = site.arbiter(lease_seconds)
    arbiter.register(member(name))
    return arbiter


def lead(arbiter: Arbiter, name: str) -> int | None:
    view = arbiter.read()
    assert view.in_sync is not None
    return arbiter.try_lead(name, view.in_sync.version, view.last_term)


def led(site: Site, lease_seconds: float = LONG_SECONDS) -> tuple[Arbiter, int]:
    """A founded group of a and b, led by a."""
    arbiter = joined(site, "a", lease_seconds)
    arbiter.found(("a", "b"), 2)
    term = lead(arbiter, "a")
    assert term is not None
    return arbiter, term


def version_of(arbiter: Arbiter) -> int:
    in_sync = arbiter.read().in_sync
    assert in_sync is not None
    return in_sync.version


def test_nothing_is_there_and_nobody_may_lead_before_the_group_is_founded(site: Site) -> None:
    arbiter = joined(site, "a")
    assert arbiter.read() == ArbiterView(None, 0, None, {"a": member("a")}, {"a": Mark(1, 100)}, "", frozenset(), "", 0)
    assert arbiter.try_lead("a", 0, 0) is None


def test_a_group_is_founded_once(site: Site) -> None:
    one, other = site.arbiter(), site.arbiter()
    assert one.found(("a",), 1)
    assert not other.found(("b",), 1)
    in_sync = other.read().in_sync
    assert in_sync is not None
    assert (in_sync.term, in_sync.members, in_sync.copies) == (0, ("a",), 1)
    assert in_sync.version > 0


def test_terms_of_a_group_founded_again_are_greater_than_those_it_had(site: Site) -> None:
    arbiter = joined(site, "a")
    assert arbiter.found(("a",), 1, above_term=1_000_000)
    assert arbiter.read().last_term == 1_000_000
    term = lead(arbiter, "a")
    assert term is not None
    assert term > 1_000_000
    version = version_of(arbiter)
    assert version > 1_000_000
    assert arbiter.set_in_sync(term, version, ("a", "b"), 2) is not None
    arbiter.resign(term)
    assert arbiter.read().last_term == term


def test_a_term_goes_to_one_session_and_later_ones_are_greater(site: Site) -> None:
    one, term = led(site)
    other = joined(site, "b")
    view = other.read()
    assert view.leader is not None
    assert (view.leader.instance, view.leader.term, view.leader.session) == ("a", term, one.session())
    assert other.session() not in ("", one.session())
    assert view.last_term == term
    assert lead(other, "b") is None
    assert lead(one, "a") is None  # not even the leader, while it has the key
    one.resign(term)
    assert other.read().leader is None
    assert other.read().last_term == term
    later = lead(other, "b")
    assert later is not None
    assert later > term


def test_who_judged_by_an_older_view_does_not_lead(site: Site) -> None:
    one, term = led(site)
    other = joined(site, "b")
    old = other.read()
    assert old.in_sync is not None
    version = one.set_in_sync(term, old.in_sync.version, ("a",), 1)
    assert version is not None
    one.resign(term)
    assert other.try_lead("b", old.in_sync.version, term) is None  # the set has changed
    assert other.try_lead("b", version, 0) is None  # a term was given
    # A leader that came and went without a change of the set.
    later = lead(one, "a")
    assert later is not None
    one.resign(later)
    assert other.try_lead("b", version, term) is None
    assert other.try_lead("b", version, later) is not None


def test_without_a_session_nobody_leads(site: Site) -> None:
    arbiter = site.arbiter()
    arbiter.found(("a",), 1)
    assert arbiter.session() == ""
    assert lead(arbiter, "a") is None
    assert arbiter.keep_alive() is None


def test_only_the_leader_changes_the_set_and_only_from_the_version_it_knows(site: Site) -> None:
    one, term = led(site)
    version = version_of(one)
    assert one.set_in_sync(term + 1, version, ("a",), 1) is None
    assert one.set_in_sync(term, version + 1, ("a",), 1) is None
    assert one.set_in_sync(0, version, ("a",), 1) is None
    assert version_of(one) == version
    changed = one.set_in_sync(term, version, ("a",), 1)
    assert changed is not None
    assert changed > version
    assert one.read().in_sync == InSyncSet(changed, term, ("a",), 1)
    assert one.set_in_sync(term, version, ("a", "b"), 2) is None  # a request that comes twice
    one.resign(term)
    assert one.set_in_sync(term, changed, ("a", "b"), 2) is None


def test_a_version_is_not_used_again_when_the_set_is_as_before(site: Site) -> None:
    one, term = led(site)
    versions = [version_of(one)]
    for members, copies in ((("a",), 1), (("a", "b"), 2), (("a", "b"), 2)):
        changed = one.set_in_sync(term, versions[-1], members, copies)
        assert changed is not None
        versions.append(changed)
    assert versions == sorted(set(versions))


def test_resigning_removes_the_key_of_that_term_only_and_anybody_may(site: Site) -> None:
    one, term = led(site)
    other = joined(site, "b")
    other.resign(term + 1)
    other.resign(0)
    assert other.read().leader is not None
    other.resign(term)
    assert one.read().leader is None
    assert set(one.read().members) == {"a", "b"}  # the sessions go on
    other.resign(term)


def test_the_mark_of_a_member_is_never_lowered(site: Site) -> None:
    arbiter = joined(site, "a")
    for epoch, end, highest in (
        (1, 99, (1, 100)),
        (2, 5, (2, 5)),
        (1, 999, (2, 5)),
        (2, 30_000_000_000, (2, 30_000_000_000)),
    ):
        arbiter.register(member("a", epoch, end, promised=7))
        view = arbiter.read()
        assert view.members["a"] == member("a", epoch, end, promised=7)
        assert view.marks == {"a": Mark(*highest)}


def test_a_name_belongs_to_one_session_and_both_hear_of_the_other(site: Site) -> None:
    one = joined(site, "a", SHORT_SECONDS)
    other = site.arbiter()
    for _ in range(2):
        with pytest.raises(NameTaken, match=r"registered as instance a, at a\.example\(4444\)") as refused:
            other.register(Member("a", "elsewhere(4444)", 9, 999, STANDING, 7))
        assert refused.value.holder == "a.example(4444)"
    view = one.read()
    assert view.members == {"a": member("a")}
    assert view.marks == {"a": Mark(1, 100)}
    assert view.rivals == {"a": "elsewhere(4444)"}
    one.register(member("a", 1, 200))
    assert one.read().members == {"a": member("a", 1, 200)}
    # The name is free when the lease of its holder is over.
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while other.read().members:
        assert other.keep_alive() is not None
        assert time.monotonic() < deadline, "the member does not vanish"
        site.pass_time()
    other.register(Member("a", "elsewhere(4444)", 9, 999, STANDING, 7))
    view = other.read()
    assert view.members["a"].address == "elsewhere(4444)"
    assert view.rivals == {}


def test_a_rival_that_ends_is_none_any_more(site: Site) -> None:
    one = joined(site, "a")
    other = site.arbiter()
    with pytest.raises(NameTaken):
        other.register(member("a"))
    assert one.read().rivals == {"a": "a.example(4444)"}
    other.close()
    assert one.read().rivals == {}


def test_keys_of_a_session_vanish_together_and_the_rest_stays(site: Site) -> None:
    one, term = led(site, SHORT_SECONDS)
    other = joined(site, "b")
    other.set_preferred("b")
    before = other.read()
    session = one.session()
    sent = time.monotonic()
    left = one.keep_alive()
    assert left is not None
    wait_for_vanishing(site, other)  # one sends no keep-alive any more
    assert isinstance(site, SimulatedSite) or time.monotonic() - sent >= left
    view = other.read()
    assert view.leader is None
    assert set(view.members) == {"b"}
    assert (view.last_term, view.in_sync, view.marks, view.preferred) == (term, before.in_sync, before.marks, "b")
    assert one.keep_alive() is None
    assert one.session() == ""
    one.register(member("a"))
    assert one.session() not in ("", session)
    assert set(one.read().members) == {"a", "b"}


def wait_for_vanishing(site: Site, other: Arbiter) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while other.read().leader is not None:
        assert other.keep_alive() is not None
        assert time.monotonic() < deadline, "the leader key does not vanish"
        site.pass_time()


def test_a_kept_session_outlives_its_lease_and_never_promises_more_than_it_has(site: Site) -> None:
    arbiter, term = led(site, SHORT_SECONDS)
    began = time.monotonic()
    for _ in range(70):
        left = arbiter.keep_alive()
        assert left is not None
        assert left <= SHORT_SECONDS
        site.pass_time()
    assert isinstance(site, SimulatedSite) or time.monotonic() - began > SHORT_SECONDS
    view = arbiter.read()
    assert view.leader is not None
    assert view.leader.term == term


def test_a_closed_session_vanishes_at_once(site: Site) -> None:
    one, _ = led(site)
    other = joined(site, "b")
    one.close()
    one.close()
    view = other.read()
    assert view.leader is None
    assert set(view.members) == {"b"}


def test_a_life_is_stored_once_and_by_the_leader_only(site: Site) -> None:
    one, term = led(site)
    assert one.read().last_epoch == 0
    assert one.life(1) is None
    assert one.add_life(term, 1, '{"start": 0}')
    assert not one.add_life(term, 1, "another")
    assert not one.add_life(term + 1, 2, "of nobody")
    assert one.add_life(term, 12, "zwölf")
    assert (one.life(1), one.life(2), one.life(12)) == ('{"start": 0}', None, "zwölf")
    assert one.read().last_epoch == 12
    one.resign(term)
    assert not one.add_life(term, 13, "late")


def test_wishes_of_administrators(site: Site) -> None:
    arbiter = site.arbiter()
    arbiter.set_preferred("b")
    arbiter.set_suspended("a", True)
    arbiter.set_suspended("c", True)
    arbiter.set_suspended("a", True)
    assert arbiter.set_role("", "Live")
    assert not arbiter.set_role("", "Recovery")
    view = arbiter.read()
    assert (view.preferred, view.suspended, view.role) == ("b", frozenset("ac"), "Live")
    arbiter.set_preferred("")
    arbiter.set_suspended("a", False)
    arbiter.set_suspended("x", False)
    assert arbiter.set_role("Live", "Recovery")
    view = arbiter.read()
    assert (view.preferred, view.suspended, view.role) == ("", frozenset("c"), "Recovery")
    assert arbiter.set_role("Recovery", "")
    assert arbiter.read().role == ""


def test_data_that_were_given_up_elect_nobody_and_the_group_is_founded_again(site: Site) -> None:
    arbiter, term = led(site)
    arbiter.register(member("a", 7, 900))
    other = joined(site, "b")
    arbiter.set_role("", "Live")
    assert arbiter.add_life(term, 7, "seven")
    assert not other.abandon("Recovery", "Recovery", "not so"), "the role is another one"
    assert other.abandon("Live", "Recovery", "logs behind 500")
    view = arbiter.read()
    assert (view.leader, view.in_sync, view.marks) == (None, None, {})
    assert (view.role, view.given_up, view.last_term, view.last_epoch) == ("Recovery", "logs behind 500", term, 7)
    assert set(view.members) == {"a", "b"}
    assert arbiter.set_in_sync(term, 1, ("a",), 1) is None, "a leader that does not know it yet changes something"
    assert not arbiter.add_life(term, 8, "eight")
    assert arbiter.try_lead("a", 0, term) is None
    # Terms go on, whatever the founder has heard of.
    arbiter.register(member("a", 1, 10))
    assert arbiter.found(("a",), 1, term + 50)
    assert not arbiter.found(("b",), 1)
    again = lead(arbiter, "a")
    assert again is not None
    assert again > term + 50
    view = other.read()
    assert (view.marks["a"], view.given_up) == (Mark(1, 10), "logs behind 500")


def test_terms_go_on_when_the_founder_has_heard_of_none(site: Site) -> None:
    arbiter, term = led(site)
    assert arbiter.abandon("", "Recovery", "all")
    assert arbiter.found(("a",), 1)
    again = lead(arbiter, "a")
    assert again is not None
    assert again > term


def test_what_cannot_be_a_key_or_a_set_is_refused_here(site: Site) -> None:
    arbiter = site.arbiter()
    for name in ("", "a/b", "x" * 49, "zwölf", "a b"):
        with pytest.raises(ValueError, match="instance"):
            arbiter.register(member(name))
    for members, copies in (((), 1), (("a", "a"), 1), (("a",), 2), (("a",), 0), (tuple(map(str, range(17))), 2)):
        with pytest.raises(ValueError, match=r"copies|in-sync set"):
            arbiter.found(members, copies)
    assert arbiter.read().in_sync is None


def test_a_change_by_another_is_a_hint(site: Site) -> None:
    one, term = led(site)
    other = joined(site, "b")
    other.read()
    other.wait_change(0.5)  # a first wait may report what came before
    one.read()
    other.read()
    assert not other.wait_change(0.3)
    one.resign(term)
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not other.wait_change(1.0):
        assert time.monotonic() < deadline, "no hint came"


def test_a_wait_can_be_ended_before_and_while_it_lasts(site: Site) -> None:
    arbiter = joined(site, "a")
    arbiter.read()
    arbiter.wait_change(0.5)  # a first wait may report what came before
    arbiter.read()
    arbiter.wake()
    began = time.monotonic()
    assert not arbiter.wait_change(10 * WAIT_SECONDS_MAX)
    waiting = threading.Thread(target=arbiter.wait_change, args=(10 * WAIT_SECONDS_MAX,))
    waiting.start()
    arbiter.wake()
    waiting.join(WAIT_SECONDS_MAX)
    assert not waiting.is_alive()
    assert time.monotonic() - began < WAIT_SECONDS_MAX
    if not isinstance(site, SimulatedSite):  # which never waits
        began = time.monotonic()
        assert not arbiter.wait_change(0.3)
        assert time.monotonic() - began >= 0.3, "it was woken twice"


def test_of_many_who_try_one_leads_and_of_many_changes_one_happens(site: Site) -> None:
    founder, term = led(site)
    founder.resign(term)
    rivals = [founder, *(joined(site, name) for name in "bcd")]
    terms: list[int] = [term]
    for _ in range(5):
        given = together(site, rivals, lambda i: lead(rivals[i], "abcd"[i]))
        assert len(given) == 1
        terms += given
        changed = together(site, rivals, partial(change_set, rivals, terms[-1], version_of(founder)))
        assert len(changed) == 1
        assert version_of(founder) == changed[0]
        founder.resign(terms[-1])
    assert terms == sorted(set(terms))


def change_set(rivals: list[Arbiter], term: int, version: int, i: int) -> int | None:
    sets: list[tuple[str, ...]] = [("a",), ("a", "b"), ("a", "c"), ("a", "d")]
    return rivals[i].set_in_sync(term, version, sets[i], 1)


def together(site: Site, rivals: list[Arbiter], attempt: Callable[[int], int | None]) -> list[int]:
    """Let all try at the same moment, and return what those got who got something."""
    start = threading.Barrier(len(rivals))
    results: list[int] = []
    failures: list[BaseException] = []

    def run(i: int) -> None:
        try:
            start.wait(WAIT_SECONDS_MAX)
            result = attempt(i)
            if result is not None:
                results.append(result)
        except BaseException as failure:
            failures.append(failure)

    if isinstance(site, SimulatedSite):  # a world of one thread
        return [result for result in map(attempt, range(len(rivals))) if result is not None]
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(rivals))]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_SECONDS_MAX)
    assert failures == []
    return results
