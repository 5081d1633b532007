"""The keys of an arbiter for one queue manager in memory, with revisions and leases as etcd has them.

The file arbiter keeps them in a file, the simulated one of the tests in memory. Time is an argument: seconds of a clock
that never goes back.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ostler.model.arbiter import ArbiterRefused, ArbiterView, InSyncSet, LeaderKey, Mark, Member


@dataclass
class Lease:
    seconds: float
    ends: float


@dataclass
class Rival:
    """A session that asked for the name of another one's member."""

    session: str
    address: str


@dataclass
class ArbiterKeys:
    """All operations happen at once and whole."""

    revision: int = 0
    leader: LeaderKey | None = None
    last_term: int = 0
    in_sync: InSyncSet | None = None
    members: dict[str, Member] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """The session of each member."""
    marks: dict[str, Mark] = field(default_factory=dict)
    preferred: str = ""
    suspended: set[str] = field(default_factory=set)
    role: str = ""
    lives: dict[int, str] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    sessions: int = 0
    given_up: str = ""
    rivals: dict[str, Rival] = field(default_factory=dict)

    def view(self) -> ArbiterView:
        return ArbiterView(
            leader=self.leader,
            last_term=self.last_term,
            in_sync=self.in_sync,
            members={name: self.members[name] for name in sorted(self.members)},
            marks=dict(self.marks),
            preferred=self.preferred,
            suspended=frozenset(self.suspended),
            role=self.role,
            last_epoch=max(self.lives, default=0),
            given_up=self.given_up,
            rivals={name: rival.address for name, rival in self.rivals.items()},
        )

    # Sessions

    def grant(self, seconds: float, now: float) -> str:
        self.sessions += 1
        session = f"session-{self.sessions}"
        self.leases[session] = Lease(seconds, now + seconds)
        return session

    def renew(self, session: str, now: float) -> float | None:
        lease = self.leases.get(session)
        if lease is None:
            return None
        lease.ends = now + lease.seconds
        return lease.seconds

    def expire(self, now: float) -> None:
        """End the sessions whose time is over."""
        for session in [name for name, lease in self.leases.items() if now >= lease.ends]:
            self.end_session(session)

    def end_session(self, session: str) -> None:
        if self.leases.pop(session, None) is None:
            return
        self._change()
        if self.leader is not None and self.leader.session == session:
            self.leader = None
        for name in [name for name, owner in self.owners.items() if owner == session]:
            del self.owners[name], self.members[name]
        self.rivals = {name: rival for name, rival in self.rivals.items() if rival.session != session}

    def put_member(self, member: Member, session: str) -> Member | None:
        """Store a member; return the one of another session that has its name, and then this one is noted as a rival.

        Raises ArbiterRefused when the session has ended.
        """
        if session not in self.leases:
            raise ArbiterRefused("the session has ended")
        if self.owners.get(member.instance, session) != session:
            rival = Rival(session, member.address)
            if self.rivals.get(member.instance) != rival:
                self._change()
                self.rivals[member.instance] = rival
            return self.members[member.instance]
        self._change()
        self.members[member.instance] = member
        self.owners[member.instance] = session
        if member.instance in self.rivals and self.rivals[member.instance].session == session:
            del self.rivals[member.instance]
        mark = self.marks.get(member.instance)
        if mark is None or (mark.epoch, mark.end_lsn) < (member.epoch, member.end_lsn):
            self.marks[member.instance] = Mark(member.epoch, member.end_lsn)
        return None

    # Agreement

    def leads(self, term: int) -> bool:
        return self.leader is not None and self.leader.term == term

    def found(self, members: tuple[str, ...], copies: int, above_term: int) -> bool:
        if self.in_sync is not None:
            return False
        self.last_term = max(self.last_term, above_term)
        self.revision = max(self.revision, self.last_term)
        self.in_sync = InSyncSet(self._change(), 0, members, copies)
        return True

    def try_lead(self, instance: str, session: str, judged_version: int, judged_term: int) -> int | None:
        if session not in self.leases or self.leader is not None or self.last_term != judged_term:
            return None
        if self.in_sync is None or self.in_sync.version != judged_version:
            return None
        self.last_term = self._change()
        self.leader = LeaderKey(instance, self.last_term, session)
        return self.last_term

    def set_in_sync(self, term: int, expected_version: int, members: tuple[str, ...], copies: int) -> int | None:
        if not self.leads(term) or self.in_sync is None or self.in_sync.version != expected_version:
            return None
        self.in_sync = InSyncSet(self._change(), term, members, copies)
        return self.in_sync.version

    def resign(self, term: int) -> None:
        if self.leads(term):
            self._change()
            self.leader = None

    def add_life(self, term: int, epoch: int, life: str) -> bool:
        if not self.leads(term) or epoch in self.lives:
            return False
        self._change()
        self.lives[epoch] = life
        return True

    def set_preferred(self, instance: str) -> None:
        self._change()
        self.preferred = instance

    def set_suspended(self, instance: str, suspended: bool) -> None:
        self._change()
        if suspended:
            self.suspended.add(instance)
        else:
            self.suspended.discard(instance)

    def set_role(self, expected: str, role: str) -> bool:
        if self.role != expected:
            return False
        self._change()
        self.role = role
        return True

    def abandon(self, expected: str, role: str, given_up: str) -> bool:
        if self.role != expected:
            return False
        self._change()
        self.role = role
        self.given_up = given_up
        self.leader = self.in_sync = None
        self.marks.clear()
        return True

    def _change(self) -> int:
        self.revision += 1
        return self.revision

    # In a file

    def as_document(self) -> dict[str, Any]:
        """Return the keys as JSON can hold them."""
        return {**asdict(self), "suspended": sorted(self.suspended)}

    @staticmethod
    def from_document(found: dict[str, Any]) -> ArbiterKeys:
        """Return the keys of a document. Raises KeyError, TypeError, ValueError for one that is none."""
        leader, in_sync = found["leader"], found["in_sync"]
        return ArbiterKeys(
            revision=int(found["revision"]),
            leader=LeaderKey(**leader) if leader is not None else None,
            last_term=int(found["last_term"]),
            in_sync=InSyncSet(**{**in_sync, "members": tuple(in_sync["members"])}) if in_sync is not None else None,
            members={name: Member(**each) for name, each in found["members"].items()},
            owners=dict(found["owners"]),
            marks={name: Mark(**each) for name, each in found["marks"].items()},
            preferred=str(found["preferred"]),
            suspended=set(found["suspended"]),
            role=str(found["role"]),
            lives={int(epoch): str(life) for epoch, life in found["lives"].items()},
            leases={name: Lease(**each) for name, each in found["leases"].items()},
            sessions=int(found["sessions"]),
            given_up=str(found.get("given_up", "")),  # older releases have none
            rivals={name: Rival(**each) for name, each in found.get("rivals", {}).items()},
        )
