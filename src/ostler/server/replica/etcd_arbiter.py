"""The arbiter in etcd, over its JSON gateway.

Keys below `/ostler/<group>/<queue manager>/`:

    leader               with the lease of the session; its create revision is the term
    term                 written with each leader key; its modification revision is the last term
    insync               term, members, copies; its modification revision is the version
    founded              the number added to revisions, and the cluster in which the group was founded
    members/<instance>   with the lease of the session
    rivals/<instance>    the address of a second session that asked for that member key, with its lease
    marks/<instance>     the highest epoch and LSN an instance registered, in digits that sort
    lives/<epoch>        create-only
    role, preferred, suspended/<instance>
    given-up             the logs that a person has given up; then there is no insync until the group is founded again

All is done with transactions that compare revisions, so a request that arrives twice or late does no harm.

Traps of etcd that this module knows: the least lease is 2 s; a keep-alive of a lost lease answers 200 without a TTL;
after a restart of etcd a lease has its full time again, so it ends late and never early; a watch dies silently; a
comparison of the value of a missing key is false whatever is asked; a restored snapshot goes back in time, and is told
by its new cluster id.
"""

from __future__ import annotations

import base64
import json
import math
import time
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from ostler.model.arbiter import (
    Arbiter,
    ArbiterRefused,
    ArbiterUnavailable,
    ArbiterView,
    InSyncSet,
    LeaderKey,
    Mark,
    Member,
    NameTaken,
    check_in_sync,
    check_name,
)
from ostler.server.replica.etcd_http import EtcdConnection, EtcdError, EtcdSettings
from ostler.server.replica.etcd_watch import EtcdWatch

LIFE_CHARACTERS_MAX = 65536
_LIVES = "lives/"
_BEHIND_LIVES = "lives0"  # the first key behind all that begin with lives/
_KEYS_MAX = 200
_OLDEST = ((3, 4, 22), (3, 5, 6))
"""The oldest versions that etcd's maintainers advise to run: 3.5.0 to 3.5.5 can lose data when they are killed."""


class EtcdArbiter(Arbiter):
    """One instance's session in etcd."""

    def __init__(self, settings: EtcdSettings, group: str, queue_manager: str) -> None:
        if not group or not queue_manager:
            raise ValueError("an arbiter needs the names of a group and a queue manager")
        self.settings = settings
        # Names of queue managers may have slashes in them.
        self._prefix = f"/ostler/{quote(group, safe='')}/{quote(queue_manager, safe='')}/"
        self._etcd = EtcdConnection(settings)
        self._watch = EtcdWatch(settings, _encode(self._prefix), _encode(self._prefix[:-1] + "0"))
        self._lease = 0
        self._is_rival = False
        self._base = 0
        self._founded_revision = 0

    # Reading

    def read(self) -> ArbiterView:
        before, behind, lives = self._transact(
            [],
            [
                _range(self._prefix, self._prefix + _LIVES),
                _range(self._prefix + _BEHIND_LIVES, self._prefix[:-1] + "0"),
                _range(self._prefix + _LIVES, self._prefix + _BEHIND_LIVES, 1, descending=True),
            ],
            repeatable=True,
        )[1]
        return self._view({**self._pairs(before), **self._pairs(behind)}, self._pairs(lives))

    def _view(self, keys: dict[str, _Pair], lives: dict[str, _Pair]) -> ArbiterView:
        founded, in_sync_key = keys.get("founded"), keys.get("insync")
        is_given_up = in_sync_key is None and "given-up" in keys
        if (founded is None) != (in_sync_key is None) and not is_given_up:
            raise ArbiterUnavailable(f"{self._prefix} in etcd is incomplete: founded and insync belong together")
        self._founded_revision = self._base = 0
        if founded is not None:
            self._take_founding(founded)
        term = keys.get("term")
        leader = keys.get("leader")
        if leader is not None and (term is None or term.modified != leader.created):
            raise ArbiterUnavailable(f"{self._prefix} in etcd is inconsistent: the leader key is not of the last term")
        return ArbiterView(
            leader=self._leader(leader) if leader is not None else None,
            last_term=self._base + (term.modified if term is not None else 0),
            in_sync=self._in_sync(in_sync_key) if in_sync_key is not None else None,
            members=_members({name[8:]: pair for name, pair in keys.items() if name.startswith("members/")}),
            marks=_marks({name[6:]: pair for name, pair in keys.items() if name.startswith("marks/")}),
            preferred=keys["preferred"].text() if "preferred" in keys else "",
            suspended=frozenset(name[10:] for name in keys if name.startswith("suspended/")),
            role=keys["role"].text() if "role" in keys else "",
            last_epoch=max((_number(name[6:], "an epoch") for name in lives), default=0),
            given_up=keys["given-up"].text() if "given-up" in keys else "",
            rivals={name[7:]: pair.text() for name, pair in keys.items() if name.startswith("rivals/")},
        )

    def _take_founding(self, founded: _Pair) -> None:
        value = founded.fields()
        cluster = value.get("cluster")
        if cluster != self._etcd.cluster_id:
            raise ArbiterRefused(
                f"the group was founded in cluster {cluster} of etcd, and this one is {self._etcd.cluster_id}: "
                "a restored copy may have forgotten changes; found the group again"
            )
        self._base = _number(value.get("base"), "the number of the founding")
        self._founded_revision = founded.modified

    def _leader(self, pair: _Pair) -> LeaderKey:
        return LeaderKey(str(pair.fields().get("instance")), self._base + pair.created, _session(pair.lease))

    def _in_sync(self, pair: _Pair) -> InSyncSet:
        value = pair.fields()
        members = value.get("members")
        if not isinstance(members, list) or not all(isinstance(each, str) for each in members):
            raise ArbiterUnavailable("the in-sync set in etcd cannot be read")
        copies, term = _number(value.get("copies"), "copies"), _number(value.get("term"), "a term")
        try:
            check_in_sync(tuple(members), copies)
        except ValueError as error:
            raise ArbiterUnavailable(f"the in-sync set in etcd cannot be used: {error}") from None
        return InSyncSet(self._base + pair.modified, term, tuple(members), copies)

    def life(self, epoch: int) -> str | None:
        answer = self._transact([], [_range(self._life_key(epoch))], repeatable=True)[1][0]
        return next((pair.text() for pair in self._pairs(answer).values()), None)

    # The session

    def session(self) -> str:
        return _session(self._lease) if self._lease else ""

    def register(self, member: Member) -> None:
        check_name(member.instance)
        if not self._lease:
            self._begin_session()
        try:
            self._put_member(member)
        except EtcdError:
            # The lease has ended.
            self._begin_session()
            try:
                self._put_member(member)
            except EtcdError:
                self._lease = 0
                raise ArbiterUnavailable("a lease ended as soon as it was granted") from None

    def _begin_session(self) -> None:
        self._lease = 0
        asked = {"TTL": str(math.ceil(self.settings.lease_seconds))}
        self._lease = _number(self._etcd.call("/v3/lease/grant", asked, repeatable=True).get("ID"), "a lease")

    def _put_member(self, member: Member) -> None:
        mark = f"{member.epoch:020d}.{member.end_lsn:020d}"
        mark_key = f"{self._prefix}marks/{member.instance}"
        value = {
            "address": member.address,
            "epoch": member.epoch,
            "end": member.end_lsn,
            "state": member.state,
            "promised": member.promised_term,
        }
        key = f"{self._prefix}members/{member.instance}"
        put = [_put(key, json.dumps(value), self._lease)]
        if self._is_rival:
            put.append(_delete(self._rival_key(member)))
        is_higher = {"key": _encode(mark_key), "target": "VALUE", "result": "GREATER", "value": _encode(mark)}
        for is_ours in (_held(key, self._lease), _created(key, 0)):
            # Nobody but the holder of the key writes the mark, so it is not lowered between the two.
            for compared, done in (([is_ours, is_higher], put), ([is_ours], [*put, _put(mark_key, mark)])):
                if self._transact(compared, done, repeatable=True)[0]:
                    self._is_rival = False
                    return
        self._find_holder(key, member)

    def _find_holder(self, key: str, member: Member) -> None:
        """Note this session as a rival of the one that holds the key. Raises NameTaken."""
        asked = [_range(key), _put(self._rival_key(member), member.address, self._lease)]
        found = self._pairs(self._transact([], asked, repeatable=True)[1][0])
        self._is_rival = True
        holder = next(iter(found.values()), None)
        if holder is None:
            raise ArbiterUnavailable(f"the name {member.instance} has just become free")
        if holder.lease == self._lease:
            return  # it was stored, and the answer was lost
        address = holder.fields().get("address")
        raise NameTaken(member.instance, str(address))

    def _rival_key(self, member: Member) -> str:
        return f"{self._prefix}rivals/{member.instance}"

    def keep_alive(self) -> float | None:
        if not self._lease:
            return None
        sent = time.monotonic()
        answer = self._etcd.call("/v3/lease/keepalive", {"ID": str(self._lease)}, repeatable=True)
        result = answer.get("result")
        if not isinstance(result, dict) or _number(result.get("ID"), "a lease") != self._lease:
            raise ArbiterUnavailable("the answer to a keep-alive is not of this lease")
        seconds = _number(result.get("TTL", "0"), "the time of a lease")
        if seconds <= 0:
            self._lease = 0
            return None
        return seconds - (time.monotonic() - sent)

    def close(self) -> None:
        self._watch.close()
        lease, self._lease = self._lease, 0
        if lease:
            with suppress(ArbiterUnavailable, EtcdError):  # it ends by itself
                self._etcd.call("/v3/lease/revoke", {"ID": str(lease)}, repeatable=True)
        self._etcd.close()

    def end_session_of(self, leader: LeaderKey) -> None:
        """End the session of a leader whose process is dead: its key and its name are free at once."""
        self._etcd.call("/v3/lease/revoke", {"ID": str(int(leader.session, 16))}, repeatable=True)

    # Agreement

    def found(self, members: tuple[str, ...], copies: int, above_term: int = 0) -> bool:
        check_in_sync(members, copies)
        if not self._etcd.cluster_id:
            self.read()
        key = self._prefix + "founded"
        founding = json.dumps({"base": max(self._base, above_term), "cluster": self._etcd.cluster_id})
        founded = _modified(key, self._founded_revision) if self._founded_revision else _created(key, 0)
        return self._transact(
            [founded, _created(self._prefix + "insync", 0)],
            [_put(key, founding), _put(self._prefix + "insync", _in_sync(0, members, copies))],
        )[0]

    def try_lead(self, instance: str, judged_version: int, judged_term: int) -> int | None:
        check_name(instance)
        if not self._lease or not self._founded_revision:
            return None
        key = self._prefix + "leader"
        compared = [
            _created(key, 0),
            _modified(self._prefix + "founded", self._founded_revision),
            _modified(self._prefix + "insync", max(1, judged_version - self._base)),  # a missing key has revision 0
            _modified(self._prefix + "term", judged_term - self._base),
        ]
        value = json.dumps({"instance": instance})
        done = [_put(key, value, self._lease), _put(self._prefix + "term", value), _range(key)]
        try:
            succeeded, answers = self._transact(compared, done)
        except EtcdError:
            self._lease = 0
            return None
        return self._base + self._only(answers[2]).created if succeeded else None

    def set_in_sync(self, term: int, expected_version: int, members: tuple[str, ...], copies: int) -> int | None:
        check_in_sync(members, copies)
        key = self._prefix + "insync"
        compared = [self._leads(term), _modified(key, expected_version - self._base)]
        succeeded, answers = self._transact(compared, [_put(key, _in_sync(term, members, copies)), _range(key)])
        return self._base + self._only(answers[1]).modified if succeeded else None

    def resign(self, term: int) -> None:
        key = self._prefix + "leader"
        self._transact([self._leads(term)], [_delete(key)], repeatable=True)

    def add_life(self, term: int, epoch: int, life: str) -> bool:
        if len(life) > LIFE_CHARACTERS_MAX:
            raise ValueError(f"the description of a life has at most {LIFE_CHARACTERS_MAX} characters")
        key = self._life_key(epoch)
        return self._transact([self._leads(term), _created(key, 0)], [_put(key, life)])[0]

    # Wishes of administrators

    def set_preferred(self, instance: str) -> None:
        if instance:
            check_name(instance)
        self._put_or_delete(self._prefix + "preferred", instance)

    def set_suspended(self, instance: str, suspended: bool) -> None:
        check_name(instance)
        self._put_or_delete(f"{self._prefix}suspended/{instance}", "yes" if suspended else "")

    def set_role(self, expected: str, role: str) -> bool:
        key = self._prefix + "role"
        done = _put(key, role) if role else _delete(key)
        return self._transact([self._has_role(expected)], [done])[0]

    def _has_role(self, expected: str) -> dict[str, Any]:
        key = self._prefix + "role"
        same = {"key": _encode(key), "target": "VALUE", "result": "EQUAL", "value": _encode(expected)}
        return same if expected else _created(key, 0)

    def abandon(self, expected: str, role: str, given_up: str) -> bool:
        prefix = self._prefix
        done = [_put(prefix + "role", role), _put(prefix + "given-up", given_up)]
        done += [_delete(prefix + "leader"), _delete(prefix + "insync"), _delete(prefix + "marks/", prefix + "marks0")]
        return self._transact([self._has_role(expected)], done)[0]

    def wait_change(self, seconds: float) -> bool:
        return self._watch.wait(seconds, self._etcd.token)

    def wake(self) -> None:
        self._watch.wake()

    def warnings(self) -> list[str]:
        """Return what an administrator should know about this etcd. Raises as the other calls."""
        told = []
        version = str(self._etcd.call("/v3/maintenance/status", {}, repeatable=True).get("version"))
        numbers = tuple(int(each) if each.isdigit() else 0 for each in version.split(".")[:3])
        if any(numbers[:2] == oldest[:2] and numbers < oldest for oldest in _OLDEST) or numbers < _OLDEST[0]:
            told.append(f"etcd {version} has errors that lose data; run 3.4.22 or 3.5.6, or newer")
        members = self._etcd.call("/v3/cluster/member/list", {}, repeatable=True).get("members")
        count = len(members) if isinstance(members, list) else 0
        if count < 3:
            told.append(f"etcd has {count} member(s): on a machine of an instance it fails together with it; run three")
        return told

    # Requests

    def _leads(self, term: int) -> dict[str, Any]:
        """The comparison that the leader key is of this term. A term that was never given compares false."""
        return _created(self._prefix + "leader", max(1, term - self._base))

    def _life_key(self, epoch: int) -> str:
        return f"{self._prefix}{_LIVES}{epoch:020d}"

    def _put_or_delete(self, key: str, value: str) -> None:
        done = _put(key, value) if value else _delete(key)
        self._transact([], [done], repeatable=True)

    def _transact(
        self,
        compared: list[dict[str, Any]],
        success: list[dict[str, Any]],
        failure: list[dict[str, Any]] | None = None,
        repeatable: bool = False,
    ) -> tuple[bool, list[dict[str, Any]]]:
        """Return whether all comparisons held, and the answers to the requests of that case."""
        body = {"compare": compared, "success": success, "failure": failure or []}
        answer = self._etcd.call("/v3/kv/txn", body, repeatable)
        succeeded = answer.get("succeeded", False)
        responses = answer.get("responses", [])
        asked = len(success) if succeeded else len(failure or [])
        if not isinstance(succeeded, bool) or not isinstance(responses, list) or len(responses) != asked:
            raise ArbiterUnavailable("the answer to a transaction has not the form of one")
        if not compared and not succeeded:
            raise ArbiterUnavailable("a transaction without a comparison has failed")
        return succeeded, responses

    def _pairs(self, response: object) -> dict[str, _Pair]:
        """Return the keys of a range without their prefix."""
        found = response.get("response_range") if isinstance(response, dict) else None
        kvs = found.get("kvs", []) if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(kvs, list):
            raise ArbiterUnavailable("the answer to a range has not the form of one")
        if len(kvs) >= _KEYS_MAX:
            raise ArbiterUnavailable(f"{self._prefix} in etcd has more than {_KEYS_MAX} keys")
        pairs = {}
        for each in kvs:
            pair = _Pair(each)
            if not pair.key.startswith(self._prefix):
                raise ArbiterUnavailable("the answer to a range has a key that was not asked for")
            pairs[pair.key[len(self._prefix) :]] = pair
        return pairs

    def _only(self, response: object) -> _Pair:
        pairs = list(self._pairs(response).values())
        if len(pairs) != 1:
            raise ArbiterUnavailable("a key that was just written is not there")
        return pairs[0]


class _Pair:
    """A key with its value and revisions, as etcd sends it."""

    def __init__(self, kv: object) -> None:
        if not isinstance(kv, dict):
            raise ArbiterUnavailable("a key has not the form of one")
        self.key = _decode(kv.get("key"))
        self.value = _decode(kv.get("value", ""))
        self.created = _number(kv.get("create_revision"), "a revision")
        self.modified = _number(kv.get("mod_revision"), "a revision")
        self.lease = _number(kv.get("lease", "0"), "a lease")

    def text(self) -> str:
        return self.value

    def fields(self) -> dict[str, Any]:
        try:
            found = json.loads(self.value)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ArbiterUnavailable(f"the value of {self.key} in etcd cannot be read")
        return found


def _members(pairs: dict[str, _Pair]) -> dict[str, Member]:
    """Return the members. One whose value cannot be read is left out: it does not count."""
    found = {}
    for name, pair in pairs.items():
        try:
            value = pair.fields()
            numbers = [_number(value.get(each), each) for each in ("epoch", "end", "promised")]
        except ArbiterUnavailable:
            continue
        address, state = value.get("address"), value.get("state")
        if isinstance(address, str) and isinstance(state, str):
            found[name] = Member(name, address, numbers[0], numbers[1], state, numbers[2])
    return found


def _marks(pairs: dict[str, _Pair]) -> dict[str, Mark]:
    found = {}
    for name, pair in pairs.items():
        epoch, _, end = pair.value.partition(".")
        found[name] = Mark(_number(epoch, "a mark"), _number(end, "a mark"))
    return found


def _number(value: object, what: str) -> int:
    """Return a number that etcd sends as a string, or we wrote as a number. None is below 0."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ArbiterUnavailable(f"{what} in an answer of etcd is not a number")


def _session(lease: int) -> str:
    return f"{lease:x}"


def _in_sync(term: int, members: tuple[str, ...], copies: int) -> str:
    return json.dumps({"term": term, "members": list(members), "copies": copies})


def _created(key: str, revision: int) -> dict[str, Any]:
    return {"key": _encode(key), "target": "CREATE", "result": "EQUAL", "create_revision": str(revision)}


def _modified(key: str, revision: int) -> dict[str, Any]:
    return {"key": _encode(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}


def _held(key: str, lease: int) -> dict[str, Any]:
    return {"key": _encode(key), "target": "LEASE", "result": "EQUAL", "lease": str(lease)}


def _put(key: str, value: str, lease: int = 0) -> dict[str, Any]:
    put = {"key": _encode(key), "value": _encode(value)}
    if lease:
        put["lease"] = str(lease)
    return {"request_put": put}


def _delete(key: str, end: str = "") -> dict[str, Any]:
    deleted = {"key": _encode(key)}
    if end:
        deleted["range_end"] = _encode(end)
    return {"request_delete_range": deleted}


def _range(key: str, end: str = "", limit: int = _KEYS_MAX, descending: bool = False) -> dict[str, Any]:
    asked = {"key": _encode(key), "limit": str(limit)}
    if end:
        asked["range_end"] = _encode(end)
    if descending:
        asked.update(sort_order="DESCEND", sort_target="KEY")
    return {"request_range": asked}


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(value: object) -> str:
    if not isinstance(value, str):
        raise ArbiterUnavailable("a key or value in an answer of etcd is no text")
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:
        raise ArbiterUnavailable("a key or value in an answer of etcd cannot be decoded") from None
