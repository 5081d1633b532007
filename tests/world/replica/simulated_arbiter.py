"""An arbiter in memory with a clock of the test, which loses requests and answers, delays them, and has outages.

`ArbiterStore` is the truth that all instances share. `SimulatedArbiter` is what one instance sees of it. What happens
to its next calls is told beforehand:

    arbiter.lose_next_request()     the call raises, nothing happened
    arbiter.lose_next_answer()      the call raises, but it happened
    arbiter.delay_next_request()    the call raises; it happens when the test calls `deliver_delayed`
    arbiter.is_cut = True           no call of this instance comes through
    store.is_down = True            no call of anybody comes through

Nothing here is by chance: a seeded world decides which of them happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from ostler.model.arbiter import (
    LEASE_SECONDS_DEFAULT,
    Arbiter,
    ArbiterRefused,
    ArbiterUnavailable,
    ArbiterView,
    Member,
    NameTaken,
    check_in_sync,
    check_name,
)
from ostler.server.replica.arbiter_keys import ArbiterKeys

T = TypeVar("T")

LOSE_REQUEST = "lose the request"
LOSE_ANSWER = "lose the answer"
DELAY = "delay the request"


class ArbiterStore(ArbiterKeys):
    """The keys of one queue manager, shared by all its instances, with a clock of the test."""

    def __init__(self, now_seconds: float = 0.0) -> None:
        super().__init__()
        self.now_seconds = now_seconds
        self.is_down = False
        self.expires_late_seconds = 0.0
        """Leases end so much after they should."""

    def advance(self, seconds: float) -> None:
        """Let time pass, and end the leases that are over. A store that is down ends none."""
        self.now_seconds += seconds
        if not self.is_down:
            self.expire(self.now_seconds - self.expires_late_seconds)

    def restart(self) -> None:
        """Come back after an outage: every lease has its full time again, as in etcd."""
        self.is_down = False
        for lease in self.leases.values():
            lease.ends = self.now_seconds + lease.seconds

    def lose_memory(self) -> None:
        """Lose everything, as an etcd does whose disk was replaced. Revisions begin again."""
        for name, value in vars(ArbiterStore(self.now_seconds)).items():
            setattr(self, name, value)


class SimulatedArbiter(Arbiter):
    """One instance's connection to the store."""

    def __init__(self, store: ArbiterStore, lease_seconds: float = LEASE_SECONDS_DEFAULT) -> None:
        self.store = store
        self.lease_seconds = lease_seconds
        self.is_cut = False
        self.calls = 0
        self._session = ""
        self._faults: deque[str] = deque()
        self._delayed: deque[Callable[[], object]] = deque()
        self._seen_revision = -1

    # Faults

    def lose_next_request(self) -> None:
        self._faults.append(LOSE_REQUEST)

    def lose_next_answer(self) -> None:
        self._faults.append(LOSE_ANSWER)

    def delay_next_request(self) -> None:
        self._faults.append(DELAY)

    def deliver_delayed(self) -> int:
        """Let all delayed requests happen now, in their order. Return how many there were."""
        count = len(self._delayed)
        while self._delayed:
            self._delayed.popleft()()
        return count

    def forget(self) -> None:
        """Lose what a killed process loses: it does not know its session any more, and its lease runs on."""
        self._session = ""
        self._faults.clear()

    # The port

    def session(self) -> str:
        return self._session

    def read(self) -> ArbiterView:
        view = self._call(self.store.view)
        self._seen_revision = self.store.revision
        return view

    def register(self, member: Member) -> None:
        check_name(member.instance)
        if not self._session:
            self._begin_session()
        session = self._session
        try:
            holder = self._call(lambda: self.store.put_member(member, session))
        except ArbiterRefused:
            session = self._begin_session()
            holder = self._call(lambda: self.store.put_member(member, session))
        if holder is not None:
            raise NameTaken(member.instance, holder.address)

    def _begin_session(self) -> str:
        self._session = ""
        self._session = self._call(lambda: self.store.grant(self.lease_seconds, self.store.now_seconds))
        return self._session

    def keep_alive(self) -> float | None:
        session = self._session
        if not session:
            return None
        seconds = self._call(lambda: self.store.renew(session, self.store.now_seconds))
        if seconds is None:
            self._session = ""
        return seconds

    def found(self, members: tuple[str, ...], copies: int, above_term: int = 0) -> bool:
        check_in_sync(members, copies)
        return self._call(lambda: self.store.found(members, copies, above_term))

    def try_lead(self, instance: str, judged_version: int, judged_term: int) -> int | None:
        check_name(instance)
        session = self._session
        return self._call(lambda: self.store.try_lead(instance, session, judged_version, judged_term))

    def set_in_sync(self, term: int, expected_version: int, members: tuple[str, ...], copies: int) -> int | None:
        check_in_sync(members, copies)
        return self._call(lambda: self.store.set_in_sync(term, expected_version, members, copies))

    def resign(self, term: int) -> None:
        self._call(lambda: self.store.resign(term))

    def add_life(self, term: int, epoch: int, life: str) -> bool:
        return self._call(lambda: self.store.add_life(term, epoch, life))

    def life(self, epoch: int) -> str | None:
        return self._call(lambda: self.store.lives.get(epoch))

    def set_preferred(self, instance: str) -> None:
        if instance:
            check_name(instance)
        self._call(lambda: self.store.set_preferred(instance))

    def set_suspended(self, instance: str, suspended: bool) -> None:
        check_name(instance)
        self._call(lambda: self.store.set_suspended(instance, suspended))

    def set_role(self, expected: str, role: str) -> bool:
        return self._call(lambda: self.store.set_role(expected, role))

    def abandon(self, expected: str, role: str, given_up: str) -> bool:
        return self._call(lambda: self.store.abandon(expected, role, given_up))

    def wait_change(self, seconds: float) -> bool:
        """Never waits: the world decides when time passes. True if something changed since the last `read`."""
        return not self.is_cut and not self.store.is_down and self.store.revision != self._seen_revision

    def wake(self) -> None:
        return  # nobody waits

    def close(self) -> None:
        session, self._session = self._session, ""
        if session and not self.is_cut and not self.store.is_down:
            self.store.end_session(session)

    def _call(self, happen: Callable[[], T]) -> T:
        self.calls += 1
        if self.is_cut or self.store.is_down:
            raise ArbiterUnavailable("the arbiter does not answer")
        fault = self._faults.popleft() if self._faults else ""
        if fault == LOSE_REQUEST:
            raise ArbiterUnavailable("the request was lost")
        if fault == DELAY:
            self._delayed.append(happen)
            raise ArbiterUnavailable("the request is on its way")
        result = happen()
        if fault == LOSE_ANSWER:
            raise ArbiterUnavailable("the answer was lost")
        return result
