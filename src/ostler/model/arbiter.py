"""The arbiter as a port: the small consistent store in which the instances of a queue manager agree on their leader.

It holds one leader key, one in-sync set, a member key for each instance, and the list of lives. etcd is one, a locked
file on one machine is another, tests have a simulated one. `tests/server/replica/arbiters/test_arbiter_contract.py`
runs one suite against all of them.

What a caller may rely on:

- Every operation is atomic, and all operations have one order. `read` returns one moment of all keys.
- A *term* is given once, to one session, and is greater than all terms given before. It is the fencing number.
- A *version* of the in-sync set is never used twice. A change compares the version it was judged by.
- `try_lead` compares that nobody leads, that the in-sync set still has the version the caller judged by, and that no
  term was given since. `set_in_sync` and `add_life` compare that the caller's term still leads.
- A session has a lease. When it is not renewed, the leader key and the member keys of the session vanish together, late
  perhaps, and never before the seconds that the last successful `keep_alive` returned. Everything else stays.
- Safety never follows from a lease. It says when others may try to lead, not that the last leader has stopped.

A lost answer: every operation may raise ArbiterUnavailable, and then it may have happened, may not have happened, or
may still happen later, because the request may be on its way. How a caller finds out:

- `try_lead`: `read`; the caller leads if the leader key has its `session()`. A try that arrives late can only succeed
  while nobody else was given a term, so the caller may accept it whenever it sees it, or resign.
- `set_in_sync`: both sets may be in force. The leader obeys both until it has seen a version greater than the one it
  compared with, which no late request can follow: that of a repeated change, or one that it reads.
- `add_life`: `life` returns what is stored.
- `register`, `resign`, `set_preferred`, `set_suspended`, `close`: they can be repeated.
- `set_role`, `found`, `abandon`: `read` shows it.

ArbiterRefused, a kind of ArbiterUnavailable, means that the arbiter answered and did nothing: wrong password, no right,
no space. Repeating does not help until somebody has put it right.

All calls block, for a time that the implementation limits. They are made on threads of the agent, never on that of the
reactor, and one at a time, but for `wait_change`, `wake` and `close`, which may be called while another call is under
way.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, field
from typing import Final

from mypy_extensions import mypyc_attr

LEASE_SECONDS_MIN: Final = 2.0  # etcd grants no shorter one
LEASE_SECONDS_DEFAULT: Final = 5.0
MEMBERS_MAX: Final = 16
NAME_CHARACTERS_MAX: Final = 48

# The states of a member, as it tells them.
STARTING: Final = "starting"  # reads its log
FOLLOWING: Final = "following"  # applies the log of a leader, or waits for one
CATCHING_UP: Final = "catching up"  # lacks a part of the log
REBUILDING: Final = "rebuilding"  # takes a base; what it has is not usable
STANDING: Final = "standing"  # told its end for an election; acknowledges nothing of older terms
LEADING: Final = "leading"
ENDING: Final = "ending"


class ArbiterUnavailable(Exception):
    """The arbiter gave no usable answer in time. The operation may have happened, or may happen later."""


class ArbiterRefused(ArbiterUnavailable):
    """The arbiter answered that it does not do this. Nothing happened."""


class NameTaken(ArbiterRefused):
    """Another session holds the member key of this instance.

    Either an earlier process of it has died, and its lease ends soon; or two instances have one name, and the key
    stays. `holder` is the address that the other one has registered.
    """

    def __init__(self, instance: str, holder: str) -> None:
        super().__init__(f"another process is registered as instance {instance}, at {holder}")
        self.instance = instance
        self.holder = holder


@dataclass(frozen=True)
class Member:
    """An instance as it describes itself. It may count for an election if `promised_term` says so."""

    instance: str
    address: str
    epoch: int
    """The life of its log, adopted when its log reached the start of that life."""
    end_lsn: int
    """All below is forced on its disk."""
    state: str
    promised_term: int = 0
    """It acknowledges nothing of this term or an older one any more. The promise was forced before it was told."""


@dataclass(frozen=True)
class Mark:
    """The highest (epoch, end LSN) an instance ever registered. Its log must read back that far to count."""

    epoch: int
    end_lsn: int


@dataclass(frozen=True)
class LeaderKey:
    instance: str
    term: int
    session: str
    """The session that holds it: a restarted instance does not hold what its earlier process was given."""


@dataclass(frozen=True)
class InSyncSet:
    """Members that elections count, and how many of them have every acknowledged LSN."""

    version: int
    term: int
    """The term of the leader that wrote it; 0 for the first one."""
    members: tuple[str, ...]
    copies: int


@dataclass(frozen=True)
class ArbiterView:
    """All keys of one queue manager at one moment."""

    leader: LeaderKey | None
    last_term: int
    """The greatest term that was given; before the first `above_term` of `found`."""
    in_sync: InSyncSet | None
    """None: the group was not founded, or the arbiter has lost its memory. Then nobody may lead."""
    members: dict[str, Member]
    marks: dict[str, Mark]
    preferred: str
    """The instance that should lead if it can; empty: none."""
    suspended: frozenset[str]
    role: str
    """The role of the group in disaster recovery; empty: none was set."""
    last_epoch: int
    """The highest epoch that `add_life` stored; 0 before the first."""
    given_up: str = ""
    """The logs that a person has given up, as `abandon` was last told them; empty: none."""
    rivals: dict[str, str] = field(default_factory=dict)
    """Names that a second session asked for, and still lives, with the address that it gave."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Arbiter(metaclass=ABCMeta):
    """The store of one queue manager, seen by one instance. The module says what a caller may rely on."""

    @abstractmethod
    def read(self) -> ArbiterView:
        """Return all keys, as of a moment between the call and the return."""

    @abstractmethod
    def session(self) -> str:
        """Return the name of the session; empty while there is none."""

    @abstractmethod
    def register(self, member: Member) -> None:
        """Store the member key with the session's lease, and raise its mark. Begins a session if there is none.

        The mark is never lowered. Read your own before the first `register` of a process. Raises NameTaken while
        another session has the key: a promise in the name of an instance must be the promise of that instance. The
        holder then sees this session among the `rivals`.
        """

    @abstractmethod
    def keep_alive(self) -> float | None:
        """Renew the session. Return the seconds it lives at least, counted from when the request was sent.

        None: the session has ended and its keys are gone; the next `register` begins another one.
        """

    @abstractmethod
    def found(self, members: tuple[str, ...], copies: int, above_term: int = 0) -> bool:
        """Store the first in-sync set. Return False if there is one. All terms will be greater than `above_term`.

        Only a command does this, where the queue manager is created or where a person has decided whose data counts:
        an arbiter that lost its memory must not be refilled by whoever comes first. Then `above_term` is the highest
        term that any instance has heard of, or their promises would refuse the new leader.
        """

    @abstractmethod
    def try_lead(self, instance: str, judged_version: int, judged_term: int) -> int | None:
        """Take the leader key with the session's lease. Return the term, or None if a comparison failed.

        `judged_version` and `judged_term` are `in_sync.version` and `last_term` of the view that the caller judged by.
        The caller has registered before: without a session the result is None.
        """

    @abstractmethod
    def set_in_sync(self, term: int, expected_version: int, members: tuple[str, ...], copies: int) -> int | None:
        """Replace the in-sync set. Return its version, or None if `term` does not lead or the version is another."""

    @abstractmethod
    def resign(self, term: int) -> None:
        """Remove the leader key at once if it is of this term.

        Whoever knows that its holder has stopped may call it: the holder itself, its supervisor, or the next process
        of the same instance once it has locked the data directory.
        """

    @abstractmethod
    def add_life(self, term: int, epoch: int, life: str) -> bool:
        """Store the description of a life. Return False if `term` does not lead or the epoch has a life."""

    @abstractmethod
    def life(self, epoch: int) -> str | None:
        """Return the stored description of a life."""

    @abstractmethod
    def set_preferred(self, instance: str) -> None:
        """Set the preferred instance; empty: none."""

    @abstractmethod
    def set_suspended(self, instance: str, suspended: bool) -> None:
        """Forbid or allow an instance to lead."""

    @abstractmethod
    def set_role(self, expected: str, role: str) -> bool:
        """Replace the role of the group. Return False if it is not the expected one."""

    @abstractmethod
    def abandon(self, expected: str, role: str, given_up: str) -> bool:
        """Give the data of all instances up, and replace the role of the group. False if the role is not the expected.

        The leader key, the in-sync set and all marks are removed, and `given_up` is stored. So nobody can lead with
        what is there: the group has to be founded again. Only a command does this, where a person has decided that the
        data of another site count. Terms and epochs go on.
        """

    @abstractmethod
    def wait_change(self, seconds: float) -> bool:
        """Wait until something may have changed, at most so long. Return True when something was reported.

        A hint: a change may come without one, so callers read at every heartbeat as well.
        """

    @abstractmethod
    def wake(self) -> None:
        """End the `wait_change` that is under way, or else the next one. It reports nothing then."""

    @abstractmethod
    def close(self) -> None:
        """End the session at once if the arbiter can be reached, and release everything. Never raises."""


def check_name(name: str) -> None:
    """Raise ValueError for a name of an instance that cannot be a key."""
    if not 0 < len(name) <= NAME_CHARACTERS_MAX or not all(each.isalnum() or each in "._-%" for each in name):
        raise ValueError(f"{name!r} is no name of an instance: up to 48 letters, digits, dots, hyphens")
    if not name.isascii():
        raise ValueError(f"{name!r} is no name of an instance: it has letters beyond ASCII")


def check_in_sync(members: tuple[str, ...], copies: int) -> None:
    """Raise ValueError for a set that no arbiter may store."""
    if not members or len(members) > MEMBERS_MAX or len(set(members)) != len(members):
        raise ValueError(f"an in-sync set has 1 to {MEMBERS_MAX} different members, not {members}")
    if not 1 <= copies <= len(members):
        raise ValueError(f"{copies} copies cannot be on {len(members)} instances")
    for each in members:
        check_name(each)
