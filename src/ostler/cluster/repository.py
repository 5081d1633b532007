"""The repository of one queue manager in one cluster, full or partial, as a state machine.

Every input has the time as argument, and returns effects (`effects.py`), which the caller carries out in one unit of
work with the removal of the message that was handled. Messages may arrive twice, and in any order between senders.

Full repositories know everything. A partial one knows itself, the full ones, the topics, and what it asked for. It
tells its own records to two full ones, which pass them on to every other full one and to the members that asked. What a
full repository heard from another one it tells members only. `lives.py` has what time alone does.

Rules, which the simulated world checks:

1. A record at one place never becomes older.
2. A record counts if its owner tells it, or a full repository that is known here.
3. A removed record is kept as long as an older one could come from anywhere.
4. A repository is the only one that says what its own queue manager has. What it hears of itself and has not said, it
   reports, and says anew with a higher version, once a day at most: two queue managers with one QMID must not make
   traffic as fast as they can.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from mypy_extensions import mypyc_attr

from ostler.cluster import effects as fx
from ostler.cluster import messages as cm
from ostler.cluster import records as rc
from ostler.cluster.directory import Directory
from ostler.cluster.effects import Effect
from ostler.cluster.messages import ClusterMessage, Told
from ostler.cluster.record_codec import VERSION_MAX, Entry
from ostler.cluster.records import Key, Record

FULL_ONES_TOLD: Final = 2
"""A partial repository tells its records to so many full ones, and asks so many."""
REJOIN_IGNORED_MS: Final = 10_000
"""After RESET CLUSTER the removed queue manager is not heard for this time."""

AGE_TOLERANCE_MS: Final = 60 * 60 * 1000
"""Ages of one record at two places that differ by less are the same."""


class ClusterRefused(Exception):
    """A command that cannot be done; the text gives the reason."""


@mypyc_attr(allow_interpreted_subclasses=True)  # mutations of tests break single rules
class Repository:
    """What one queue manager knows of one cluster."""

    def __init__(self, qmid: str, manager: str, cluster: str, last_version: int = 0, ticked_ms: int = 0) -> None:
        """`last_version` and `ticked_ms` are those of the last KeepMark, of whichever membership."""
        self.qmid: str = qmid
        self.manager: str = manager
        self.cluster: str = cluster
        self.last_version: int = last_version
        self.is_full: bool = False
        self.is_suspended: bool = False
        self.directory: Directory = Directory()
        self.senders: list[str] = []
        """CLUSSDR channels that were defined by hand: the way to the first full repository."""
        self.chosen: list[str] = []
        """Of a partial repository: the full ones that it tells and asks."""
        self.unreachable: list[str] = []
        """Full repositories that were found unreachable, the latest last."""
        self.ignored_until: dict[str, int] = {}
        self.heard_of_self: dict[Key, int] = {}
        """Own records that others have and that were not said here, with their versions."""
        self.now_ms: int = 0
        """The time of the input that is handled."""
        self.ticked_ms: int = ticked_ms
        self.daily_ms: int = 0
        self._effects: list[Effect] = []
        self._outbox: dict[str, dict[Key, Entry]] = {}

    # Membership

    def restore(self, now_ms: int, entries: list[Entry], senders: list[str]) -> list[Effect]:
        """Begin with the entries of the store. Own records go out again, as nobody knows what was sent."""
        self.now_ms = now_ms
        self.senders = list(senders)
        for entry in entries:
            self.directory.put(entry)
            self.last_version = max(self.last_version, entry.record.version if self.is_own(entry.record) else 0)
            if entry.record.kind == rc.MANAGER and not self.is_own(entry.record) and not entry.record.is_removed:
                self._define_channel(entry.record)
        own = [each.record for each in self.directory.owned(self.qmid, rc.MANAGER)]
        self.is_full = any(each.is_full() for each in own)
        self.is_suspended = any(each.is_suspended() for each in own if not each.is_removed)
        if self.is_full:
            self.compare_with_full_ones()
        elif own:
            self.choose_full_ones()
            if not self.chosen:
                self.introduce()
        return self.done()

    def define_sender(self, now_ms: int, channel: str) -> list[Effect]:
        """Note a CLUSSDR that was defined by hand, and present this queue manager over it."""
        self.now_ms = now_ms
        if channel not in self.senders:
            self.senders.append(channel)
        self._introduce_over(channel)
        return self.done()

    def delete_sender(self, channel: str) -> None:
        if channel in self.senders:
            self.senders.remove(channel)

    def define_receiver(
        self, now_ms: int, channel: str, attributes: dict[str, int | str | tuple[str, ...]]
    ) -> list[Effect]:
        """Publish a CLUSRCVR of this queue manager, new or changed. The first one joins the cluster."""
        self.now_ms = now_ms
        is_first = not self.is_joined()
        if is_first:
            self.ticked_ms = now_ms
        full = dict(attributes)
        full[rc.QMTYPE] = rc.FULL_REPOSITORY if self.is_full else rc.NORMAL_MANAGER
        full[rc.SUSPEND] = 1 if self.is_suspended else 0
        self.issue(now_ms, rc.MANAGER, channel, full)
        if is_first and not self.chosen:
            self.introduce()
        return self.done()

    def define(
        self, now_ms: int, kind: int, name: str, attributes: dict[str, int | str | tuple[str, ...]]
    ) -> list[Effect]:
        """Publish a queue or a topic of this queue manager, new or changed."""
        self.now_ms = now_ms
        self.issue(now_ms, kind, name, attributes)
        return self.done()

    def remove(self, now_ms: int, kind: int, name: str) -> list[Effect]:
        """Take an object of this queue manager out of the cluster."""
        self.now_ms = now_ms
        entry = self.directory.get((kind, self.qmid, name))
        if entry is not None and not entry.record.is_removed:
            self.issue(now_ms, kind, name, {}, is_removed=True)
        return self.done()

    def leave(self, now_ms: int) -> list[Effect]:
        """Take everything out of the cluster, and forget it."""
        self.now_ms = now_ms
        if self.is_full:
            self._pass_everything_on()
        for entry in self.directory.owned(self.qmid):
            if entry.record.kind != rc.INTEREST and not entry.record.is_removed:
                self.issue(now_ms, entry.record.kind, entry.record.name, {}, is_removed=True)
        self.flush()
        for key in list(self.directory.entries):
            self.discard(key)
        self.is_full = self.is_suspended = False
        self.chosen = []
        self.heard_of_self.clear()
        return self.done()

    def is_joined(self) -> bool:
        return any(not each.record.is_removed for each in self.directory.owned(self.qmid, rc.MANAGER))

    # Commands

    def suspend(self, now_ms: int, is_suspended: bool) -> list[Effect]:
        """SUSPEND QMGR and RESUME QMGR."""
        self.now_ms = now_ms
        self.is_suspended = is_suspended
        self._reissue_managers(now_ms)
        return self.done()

    def set_full(self, now_ms: int, is_full: bool) -> list[Effect]:
        """ALTER QMGR REPOS: become a full repository, or a partial one. A partial one passes on all it knows first."""
        self.now_ms = now_ms
        if is_full == self.is_full:
            return []
        if is_full:
            self.is_full = True
            self._reissue_managers(now_ms)
            self.flush()
            self.chosen = []
            self.introduce()
            self.compare_with_full_ones()
            return self.done()
        self._pass_everything_on()
        self.flush()
        self._reissue_managers(now_ms, rc.NORMAL_MANAGER)
        self.flush()
        self.is_full = False
        for entry in list(self.directory.entries.values()):
            if entry.record.kind == rc.INTEREST and not self.is_own(entry.record):
                self.discard(entry.record.key())
        self.choose_full_ones()
        self.prune()
        return self.done()

    def refresh(self, now_ms: int, repos: bool) -> list[Effect]:
        """REFRESH CLUSTER. With REPOS(YES) a partial repository forgets the full ones, too. Raises ClusterRefused.

        A full one forgets nothing: it asks all owners to publish anew, so it has no time without answers.
        """
        self.now_ms = now_ms
        if self.is_full:
            if repos:
                raise ClusterRefused("REPOS(YES) is for partial repositories")
            for qmid in self.directory.members():
                self.send(qmid, ClusterMessage(cm.RENEW, self.cluster))
            self.issue_all(now_ms)
            self.flush()
            self.compare_with_full_ones()
            return self.done()
        for entry in list(self.directory.entries.values()):
            record = entry.record
            if self.is_own(record):
                if record.kind == rc.INTEREST:
                    entry.is_answered = False
                    self.store(entry)
            elif repos or not record.is_full():
                self.discard(record.key())
        self.chosen = []
        self.choose_full_ones(is_told=False)
        self.issue_all(now_ms)
        self.flush()
        for qmid in self.chosen:
            self.ask_for_all(self.directory.channel_to(qmid))
        if all(each in self.unreachable for each in self.chosen):
            self.introduce()
        return self.done()

    def force_remove(self, now_ms: int, qmid: str, manager: str, queues: bool) -> list[Effect]:
        """RESET CLUSTER ACTION(FORCEREMOVE), by QMID or by name. Raises ClusterRefused."""
        self.now_ms = now_ms
        if not self.is_full:
            raise ClusterRefused("RESET CLUSTER is for full repositories")
        if not qmid:
            found = sorted(
                {each.record.owner for each in self.directory.managers_named(manager) if not each.record.is_removed}
            )
            if len(found) > 1:
                raise ClusterRefused(f"{len(found)} queue managers have the name {manager}; give the QMID")
            qmid = found[0] if found else ""
        kinds = [each.record.kind for each in self.directory.owned(qmid) if not each.record.is_removed]
        if qmid == self.qmid or not any(each != rc.INTEREST for each in kinds):
            raise ClusterRefused("there is no such other queue manager in the cluster")
        for entry in self.directory.owned(qmid):
            record = entry.record
            if record.is_removed or record.kind == rc.INTEREST or (record.kind != rc.MANAGER and not queues):
                continue
            removed = Record(
                record.kind,
                record.owner,
                record.manager,
                record.name,
                record.version,
                record.follows,
                record.created_ms,
                {},
                True,
                self.qmid,
            )
            self._apply(removed, now_ms, sender=qmid)
        self.ignored_until[qmid] = now_ms + REJOIN_IGNORED_MS
        return self.done()

    # Names

    def ask(self, now_ms: int, name: str) -> tuple[bool, list[Effect]]:
        """Ask for a queue or a queue manager; return True if the answer is known.

        False: the verb waits for `Answered`, for ten seconds at most (MQRC_CLUSTER_RESOLUTION_ERROR).
        """
        self.now_ms = now_ms
        if self.is_full:
            return True, []
        entry = self.directory.get((rc.INTEREST, self.qmid, name))
        if entry is not None:
            if not entry.is_used:
                entry.is_used = True
                self._effects.append(fx.Store(entry.record.key(), entry))
            return entry.is_answered, self.done()
        self.renew_question(now_ms, name)
        return False, self.done()

    # Messages

    def receive(self, now_ms: int, sender: str, message: ClusterMessage, waited_ms: int = 0) -> list[Effect]:
        """Handle a message. `sender` is the QMID of the queue manager at the other end of the channel, not a claim.

        `waited_ms` is the time that the message was on transmission queues: records age there, too.
        """
        self.now_ms = now_ms
        if message.cluster != self.cluster:
            self.report(fx.FORGED, sender, f"a message of the cluster {message.cluster}")
        elif sender == self.qmid:
            self.report(fx.CLONED, sender, "a queue manager with the QMID of this one has sent a message")
        elif self.is_joined():
            self._handle(now_ms, sender, message, waited_ms)
        return self.done()

    def linked(self, now_ms: int, qmid: str) -> list[Effect]:
        """Note that a channel to a queue manager has started. Two full repositories compare what they know."""
        self.now_ms = now_ms
        if qmid in self.unreachable:
            self.unreachable.remove(qmid)
        if self.is_full and self.directory.is_full(qmid):
            self._send_digest(qmid, is_reply=False)
        return self.done()

    def lost(self, now_ms: int, qmid: str) -> list[Effect]:
        """Note that a queue manager cannot be reached. A partial repository takes another full one, if there is one."""
        self.now_ms = now_ms
        if qmid in self.unreachable:
            self.unreachable.remove(qmid)
        self.unreachable.append(qmid)
        self.choose_full_ones()
        return self.done()

    def _handle(self, now_ms: int, sender: str, message: ClusterMessage, waited_ms: int) -> None:
        if message.kind in (cm.PUBLISH, cm.ANSWER):
            self._hear_all(now_ms - max(0, waited_ms), sender, message)
        elif message.kind == cm.ASK:
            if self.is_full:
                self._answer(now_ms, sender, message)
            else:
                self.report(fx.NOT_A_REPOSITORY, sender, "a question, and this is a partial repository")
        elif not self.directory.is_full(sender):
            self.report(fx.FORGED, sender, f"{cm.MESSAGE_NAMES[message.kind]}, and it is no full repository")
        elif message.kind == cm.RENEW:
            self.renew_all()
        elif self.is_full:
            self._compare(sender, message)

    def _hear_all(self, sent_ms: int, sender: str, message: ClusterMessage) -> None:
        """Hear records, those of the sender itself first: they say whether it is a full repository."""
        is_one = any(each.record.owner == sender and each.record.is_full() for each in message.records)
        if not self.is_full and not is_one and not self.directory.is_full(sender):
            self.report(fx.NOT_A_REPOSITORY, sender, "records, and this is a partial repository")
            return
        first = [each for each in message.records if each.record.owner == sender and each.record.kind == rc.MANAGER]
        rest = [each for each in message.records if each.record.owner != sender or each.record.kind != rc.MANAGER]
        for told in first + rest:
            self._hear(sent_ms, sender, told)
        if message.kind != cm.ANSWER or self.is_full or not self.directory.is_full(sender):
            return
        answered: list[str] = []
        for name in message.names:
            entry = self.directory.get((rc.INTEREST, self.qmid, name))
            if entry is not None and not entry.is_answered:
                entry.is_answered = True
                self._effects.append(fx.Store(entry.record.key(), entry))
                answered.append(name)
        if answered:
            self._effects.append(fx.Answered(tuple(answered)))

    def _hear(self, sent_ms: int, sender: str, told: Told) -> None:
        record = told.record
        if record.kind == rc.INTEREST:
            return
        if not self.may_tell(sender, record):
            self.report(fx.FORGED, sender, f"{rc.KIND_NAMES[record.kind]} {record.name} of {record.owner}")
            return
        if self.is_own(record):
            self._hear_of_self(record)
            return
        born_ms = sent_ms - told.age_ms
        if self.now_ms - born_ms >= rc.DISCARDED_MS or self._is_ignored(self.now_ms, record):
            return
        entry = self.directory.get(record.key())
        known = entry.record if entry is not None else None
        verdict = self.judge(known, record)
        if verdict == rc.NEWER:
            is_fork = rc.is_fork(known, record)
            self._apply(record, born_ms, sender)
            if is_fork:
                self.report(fx.CLONED, record.owner, f"{record.name}: a version that follows none that is known")
                self.queue_for(record.owner, record.key())
        elif verdict == rc.SAME and entry is not None:
            if born_ms > entry.born_ms + AGE_TOLERANCE_MS:
                entry.born_ms = born_ms  # the local clock has jumped, and made it look older than it is
                self.store(entry)
        elif verdict == rc.CLONED:
            self.report(fx.CLONED, record.owner, f"{record.name}: one version with two contents")
            self.queue_for(record.owner, record.key())
        elif verdict == rc.OLDER and sender == record.owner:
            self.report(fx.REPEATED, record.owner, f"{record.name}: version {record.version} again")
            self.queue_for(record.owner, record.key())

    def may_tell(self, sender: str, record: Record) -> bool:
        """Return True if a sender may tell a record: its owner, or a full repository that is known here."""
        return (sender == record.owner and not record.remover) or self.directory.is_full(sender)

    def judge(self, known: Record | None, offered: Record) -> int:
        return rc.judge(known, offered)

    def _is_ignored(self, now_ms: int, record: Record) -> bool:
        until = self.ignored_until.get(record.owner)
        if until is None:
            return False
        if now_ms < until and until - now_ms <= REJOIN_IGNORED_MS:
            return not record.is_removed
        del self.ignored_until[record.owner]
        return False

    def _hear_of_self(self, record: Record) -> None:
        """Compare what others have of this queue manager with what it has said."""
        key = record.key()
        entry = self.directory.get(key)
        if entry is None:
            if not record.is_removed:
                self.note_own(key, record.version)
            return
        verdict = rc.judge(entry.record, record)
        if verdict not in (rc.NEWER, rc.CLONED):
            return
        if record.remover:
            self.report(fx.REMOVED_HERE, self.qmid, f"{record.name} was removed by {record.remover}")
        else:
            self.report(fx.CLONED, self.qmid, f"{record.name}: a version that was not published here")
        self.note_own(key, record.version)

    def note_own(self, key: Key, version: int) -> None:
        if version < VERSION_MAX // 2:
            self.heard_of_self[key] = max(version, self.heard_of_self.get(key, 0))

    # Questions and digests

    def _answer(self, now_ms: int, sender: str, message: ClusterMessage) -> None:
        names: list[str] = []
        for told in message.records:
            record = told.record
            if record.owner != sender:
                self.report(fx.FORGED, sender, f"a question of {record.owner}")
                continue
            known = self.directory.get(record.key())
            if known is None or record.version > known.record.version:
                self.store(Entry(record, now_ms))
            names.append(record.name)
        found: dict[Key, Told] = {}
        for qmid in [self.qmid, *self.directory.full_repositories()]:
            self._collect(found, self.directory.owned(qmid, rc.MANAGER))
        for entry in self.directory.topics():
            self._collect(found, [entry, *self.directory.owned(entry.record.owner, rc.MANAGER)])
        if self.directory.direct_topics:
            self._collect(found, self.directory.managers())
        for name in names:
            self._collect(found, self.directory.managers_named(name))
            for entry in self.directory.queues(name):
                self._collect(found, [entry, *self.directory.owned(entry.record.owner, rc.MANAGER)])
        if message.digests:
            # The asker may have chosen a full repository that was removed while nobody could tell it.
            self._collect(found, [each for each in self.directory.managers() if each.record.is_removed])
        if message.digests and message.digests[0] != self.directory.owner_digest(sender):
            for entry in self.directory.owned(sender):
                if entry.record.kind != rc.INTEREST:
                    found[entry.record.key()] = Told(entry.record, self.told_age(entry))
        told_all = list(found.values())
        # The names go with the last part: by then everything has been told.
        while len(told_all) > cm.RECORDS_MAX:
            self.send(sender, ClusterMessage(cm.PUBLISH, self.cluster, tuple(told_all[: cm.RECORDS_MAX])))
            del told_all[: cm.RECORDS_MAX]
        self.send(sender, ClusterMessage(cm.ANSWER, self.cluster, tuple(told_all), tuple(names)))

    def _collect(self, found: dict[Key, Told], entries: list[Entry]) -> None:
        """Add what may answer a question: nothing that has expired. The asker may have what was removed since."""
        for entry in entries:
            age_ms = self.told_age(entry)
            if age_ms < rc.EXPIRED_MS or entry.record.is_removed:
                found[entry.record.key()] = Told(entry.record, age_ms)

    def compare_with_full_ones(self) -> None:
        """Send a digest to every other full repository."""
        for qmid in self.directory.full_repositories():
            if qmid != self.qmid:
                self._send_digest(qmid, is_reply=False)

    def _send_digest(self, qmid: str, is_reply: bool) -> None:
        message = ClusterMessage(cm.DIGEST, self.cluster, (), (), self.directory.digests(), is_reply)
        self.send(qmid, message)

    def _compare(self, sender: str, message: ClusterMessage) -> None:
        """Send the records of all buckets that differ; and the own digest, so that the other side does so."""
        own = self.directory.digests()
        is_different = False
        for number in range(cm.BUCKETS):
            if own[number] != message.digests[number]:
                is_different = True
                for entry in self.directory.bucket(number):
                    self.queue_for(sender, entry.record.key())
        if is_different and not message.is_reply:
            self._send_digest(sender, is_reply=True)

    # Own records

    def issue(
        self,
        now_ms: int,
        kind: int,
        name: str,
        attributes: dict[str, int | str | tuple[str, ...]],
        is_removed: bool = False,
    ) -> None:
        """Make the next version of an own record, and publish it."""
        key = (kind, self.qmid, name)
        known = self.directory.get(key)
        follows = known.record.version if known is not None else 0
        heard = self.heard_of_self.pop(key, 0)
        self.last_version = rc.next_version(now_ms, max(self.last_version, heard))
        self.keep_mark()
        record = Record(kind, self.qmid, self.manager, name, self.last_version, follows, now_ms, attributes, is_removed)
        self._apply(record, now_ms, self.qmid)

    def issue_all(self, now_ms: int) -> None:
        """Publish all own records again."""
        for entry in self.directory.owned(self.qmid):
            if entry.record.kind != rc.INTEREST:
                self.reissue(now_ms, entry)

    def renew_all(self) -> None:
        """Publish all own records, and ask all questions again: a full repository may have forgotten them."""
        self.issue_all(self.now_ms)
        self.flush()
        for qmid in self.chosen:
            self.ask_for_all(self.directory.channel_to(qmid))

    def reissue(self, now_ms: int, entry: Entry) -> None:
        """Publish an own record again, with a new version."""
        record = entry.record
        self.issue(now_ms, record.kind, record.name, record.attributes, record.is_removed)

    def _reissue_managers(self, now_ms: int, qmtype: int = -1) -> None:
        if qmtype < 0:
            qmtype = rc.FULL_REPOSITORY if self.is_full else rc.NORMAL_MANAGER
        for entry in self.directory.owned(self.qmid, rc.MANAGER):
            if not entry.record.is_removed:
                attributes = dict(entry.record.attributes)
                attributes[rc.QMTYPE] = qmtype
                attributes[rc.SUSPEND] = 1 if self.is_suspended else 0
                self.issue(now_ms, rc.MANAGER, entry.record.name, attributes)

    def renew_question(self, now_ms: int, name: str) -> Entry:
        """Ask for a name, for the first time or again."""
        self.last_version = rc.next_version(now_ms, self.last_version)
        self.keep_mark()
        known = self.directory.get((rc.INTEREST, self.qmid, name))
        record = Record(rc.INTEREST, self.qmid, self.manager, name, self.last_version, 0, now_ms, {})
        entry = Entry(record, now_ms)
        entry.is_answered = known is not None and known.is_answered
        entry.is_used = known is None
        self.store(entry)
        channels = [self.directory.channel_to(qmid) for qmid in self.chosen] or self.senders
        for channel in channels:
            self._send_over(channel, ClusterMessage(cm.ASK, self.cluster, (Told(record, 0),)))
        return entry

    # Telling

    def _apply(self, record: Record, born_ms: int, sender: str) -> None:
        """Take a newer record, and tell it to whom it concerns."""
        key = record.key()
        old = self.directory.get(key)
        was_direct = self.directory.direct_topics > 0
        audience: dict[str, None] = {}
        if self.is_full and old is not None:
            self._add_audience(audience, old.record)
        entry = Entry(record, born_ms)
        self.store(entry)
        if record.kind == rc.MANAGER:
            self._manager_changed(record, old.record if old is not None else None)
        if not self.is_full:
            if self.is_own(record):
                for qmid in self.chosen:
                    self.queue_for(qmid, key)
                if not self.chosen:
                    for channel in self.senders:
                        self._send_over(channel, ClusterMessage(cm.PUBLISH, self.cluster, (Told(record, 0),)))
            elif record.kind == rc.MANAGER:
                self.choose_full_ones()
            return
        self._add_audience(audience, record)
        if sender == record.owner:
            for qmid in self.directory.full_repositories():
                audience[qmid] = None
        for qmid in audience:
            if qmid not in (sender, record.owner, self.qmid):
                self.queue_for(qmid, key)
                if record.kind in (rc.QUEUE, rc.TOPIC):
                    for each in self.directory.owned(record.owner, rc.MANAGER):
                        self.queue_for(qmid, each.record.key())
        if self.directory.direct_topics and not was_direct:
            self._tell_everybody_of_everybody()
        if record.is_full() and sender == record.owner and not self.is_own(record):
            for each in self.directory.owned(self.qmid, rc.MANAGER):
                self.queue_for(record.owner, each.record.key())
            self.flush()
            self._send_digest(record.owner, is_reply=False)

    def _manager_changed(self, record: Record, old: Record | None) -> None:
        if self.is_own(record):
            return
        if record.is_removed:
            if old is not None and not old.is_removed:
                self._effects.append(fx.RemoveChannel(record.name, record.owner))
            if not self.directory.channel_to(record.owner):
                for each in self.directory.owned(record.owner, rc.INTEREST):
                    self.discard(each.record.key())
        elif old is None or old.is_removed or old.attributes != record.attributes:
            self._define_channel(record)

    def _define_channel(self, record: Record) -> None:
        self._effects.append(fx.DefineChannel(record.name, record.owner, record.manager, record.attributes))

    def _add_audience(self, audience: dict[str, None], record: Record) -> None:
        """Add the members that a record concerns, by what they asked for."""
        is_for_all = record.kind == rc.TOPIC or record.is_full()
        names: list[str] = []
        if record.kind == rc.QUEUE:
            names = [record.name]
        elif record.kind == rc.MANAGER:
            is_for_all = is_for_all or self.directory.direct_topics > 0
            is_for_all = is_for_all or len(self.directory.owned(record.owner, rc.TOPIC)) > 0
            names = [each.record.name for each in self.directory.owned(record.owner, rc.QUEUE)]
            names.append(record.manager)
        if is_for_all:
            for qmid in self.directory.members():
                audience[qmid] = None
            return
        for name in names:
            for qmid in self.directory.asking(name):
                audience[qmid] = None

    def _tell_everybody_of_everybody(self) -> None:
        for qmid in self.directory.members():
            if qmid != self.qmid:
                for each in self.directory.managers():
                    self.queue_for(qmid, each.record.key())

    def _pass_everything_on(self) -> None:
        for qmid in self.directory.full_repositories():
            if qmid != self.qmid:
                for entry in self.directory.entries.values():
                    if entry.record.kind != rc.INTEREST:
                        self.queue_for(qmid, entry.record.key())

    # Full repositories of a partial one

    def choose_full_ones(self, is_told: bool = True) -> None:
        """Choose the full repositories to tell and to ask. A new one is told and asked everything."""
        if self.is_full:
            return
        full_ones = [each for each in self.directory.full_repositories() if each != self.qmid]
        before = self.chosen
        self.chosen = sorted(full_ones, key=self.preference)[:FULL_ONES_TOLD]
        for qmid in self.chosen:
            if qmid in before:
                continue
            if is_told and self.is_joined():
                for entry in self.directory.owned(self.qmid):
                    if entry.record.kind != rc.INTEREST:
                        self.queue_for(qmid, entry.record.key())
                self.flush()
                self.ask_for_all(self.directory.channel_to(qmid))

    def preference(self, qmid: str) -> tuple[int, bool, bytes]:
        """Order full repositories: reachable ones first, then those chosen so far, and differently at each member."""
        place = self.unreachable.index(qmid) + 1 if qmid in self.unreachable else 0
        spread = blake2b(f"{self.qmid}/{qmid}".encode("utf-8", "replace"), digest_size=8).digest()
        return place, qmid not in self.chosen, spread

    def introduce(self) -> None:
        """Present this queue manager over all CLUSSDRs that were defined by hand."""
        for channel in self.senders:
            self._introduce_over(channel)

    def _introduce_over(self, channel: str) -> None:
        if not self.is_joined():
            return
        own = [each for each in self.directory.owned(self.qmid) if each.record.kind != rc.INTEREST]
        own.sort(key=_managers_first)
        for at in range(0, len(own), cm.RECORDS_MAX):
            told = tuple([Told(each.record, self.told_age(each)) for each in own[at : at + cm.RECORDS_MAX]])
            self._send_over(channel, ClusterMessage(cm.PUBLISH, self.cluster, told))
        self.ask_for_all(channel)

    def ask_for_all(self, channel: str) -> None:
        """Ask for all names of interest; with none of them, for full repositories and topics.

        The digest of own records goes along, so that a full repository that has others of this owner tells them.
        """
        digests = (self.directory.owner_digest(self.qmid),)
        questions = [Told(each.record, 0) for each in self.directory.owned(self.qmid, rc.INTEREST)]
        for at in range(0, max(1, len(questions)), cm.RECORDS_MAX):
            part = tuple(questions[at : at + cm.RECORDS_MAX])
            self._send_over(channel, ClusterMessage(cm.ASK, self.cluster, part, (), digests))

    def prune(self) -> None:
        """Of a partial repository: forget what nobody asked for, if there is a full one to ask again."""
        if self.is_full or not self.chosen:
            return
        asked = {each.record.name for each in self.directory.owned(self.qmid, rc.INTEREST)}
        owners = {self.qmid}
        for entry in self.directory.entries.values():
            record = entry.record
            is_needed = record.kind == rc.TOPIC or (record.kind == rc.QUEUE and record.name in asked)
            if record.kind == rc.MANAGER:
                is_needed = record.is_full() or self.directory.direct_topics > 0 or record.manager in asked
            if is_needed:
                owners.add(record.owner)
        for entry in list(self.directory.entries.values()):
            record = entry.record
            if self.is_own(record) or record.kind == rc.TOPIC:
                continue
            if record.kind == rc.QUEUE and record.name in asked:
                continue
            if record.kind != rc.MANAGER or record.owner not in owners:
                self.discard(record.key())

    # Effects

    def is_own(self, record: Record) -> bool:
        return record.owner == self.qmid

    def told_age(self, entry: Entry) -> int:
        """Return the age to tell with a record. An owner vouches for what it has now."""
        if self.is_own(entry.record) and not entry.record.is_removed:
            return 0
        return entry.age_ms(self.now_ms)

    def keep_mark(self) -> None:
        self._effects.append(fx.KeepMark(self.last_version, self.ticked_ms))

    def report(self, kind: str, qmid: str, text: str) -> None:
        self._effects.append(fx.Report(kind, qmid, text))

    def store(self, entry: Entry) -> None:
        self.directory.put(entry)
        self._effects.append(fx.Store(entry.record.key(), entry))

    def discard(self, key: Key) -> None:
        """Drop an entry here and in the store, with the channel that was made of it."""
        record = self.directory.entries[key].record
        self.directory.drop(key)
        self._effects.append(fx.Discard(key))
        if record.kind == rc.MANAGER and not record.is_removed and not self.is_own(record):
            self._effects.append(fx.RemoveChannel(record.name, record.owner))

    def send(self, qmid: str, message: ClusterMessage) -> None:
        if qmid != self.qmid:
            self._send_over(self.directory.channel_to(qmid), message)

    def _send_over(self, channel: str, message: ClusterMessage) -> None:
        if channel:
            self._effects.append(fx.Send(channel, message))

    def queue_for(self, qmid: str, key: Key) -> None:
        if qmid == self.qmid:
            return
        entry = self.directory.get(key)
        if entry is not None:
            self._outbox.setdefault(qmid, {})[key] = entry

    def flush(self) -> None:
        """Send what is queued, MANAGER records first."""
        outbox = self._outbox
        self._outbox = {}
        for qmid, entries in outbox.items():
            records = sorted(entries.values(), key=_managers_first)
            for at in range(0, len(records), cm.RECORDS_MAX):
                part = [Told(each.record, self.told_age(each)) for each in records[at : at + cm.RECORDS_MAX]]
                self.send(qmid, ClusterMessage(cm.PUBLISH, self.cluster, tuple(part)))

    def done(self) -> list[Effect]:
        self.flush()
        done = self._effects
        self._effects = []
        return done


def _managers_first(entry: Entry) -> int:
    return entry.record.kind
