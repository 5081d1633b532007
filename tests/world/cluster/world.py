"""A simulated cluster: two full repositories and five partial ones under troubles, from one seed.

Messages wait on transmission queues, as in a queue manager: they are delayed, arrive in any order between senders and
sometimes twice, and wait while a link is cut or an end is down. Clocks jump by months, alone or together.

After `settle` the world is whole and quiet, and `check_converged` compares everybody with what owners have defined.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.world.cluster.site import CLUSTER, Site

from ostler.cluster import effects as fx
from ostler.cluster import lives
from ostler.cluster import records as rc
from ostler.cluster.messages import PUBLISH, ClusterMessage, Told, decode_message
from ostler.cluster.repository import Repository

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
QUEUES = ["ORDERS", "PAYMENTS", "AUDIT", "RETURNS"]
TOPICS = ["NEWS", "PRICES"]


class ClusterWorld:
    def __init__(self, seed: int, make: Callable[..., Repository] = Repository, partial: int = 5) -> None:
        self.random = random.Random(seed)
        self.ms = 0
        self.make = make
        self.notes: list[str] = []
        self.counts: dict[str, int] = {}
        self.cuts: set[tuple[int, int]] = set()
        self.sites: list[Site] = []
        self.clone: Site | None = None
        self.to_refresh: set[int] = set()
        """Members that were removed by RESET CLUSTER, or cloned, and have to be refreshed."""
        self.force_removed: set[str] = set()
        """Of those that are gone for good."""
        self.are_full_ones_lost = False
        for number in range(1, 3 + partial):
            self.sites.append(Site(number, f"QM{number}_2026-11-18_10.00.{number:02}", make))
        for site in self.sites:
            self.join(site, is_full=site.number <= 2)

    # Members

    def note(self, text: str) -> None:
        self.notes.append(f"{self.ms / DAY:9.3f} {text}")
        word = text.split(" ")[0]
        self.counts[word] = self.counts.get(word, 0) + 1

    def join(self, site: Site, is_full: bool = False) -> None:
        full_ones = [each for each in self.sites if each is not site and not each.is_gone and each.number <= 2]
        if any(each.repository.is_full for each in self.sites):
            full_ones = [
                each for each in self.sites if each is not site and each.repository.is_full and not each.is_gone
            ]
        site.senders = {self.random.choice(full_ones).receiver: ""} if full_ones else {}
        if is_full:
            site.senders = {each.receiver: "" for each in full_ones}
        for channel in site.senders:
            site.senders[channel] = next(each.address for each in self.sites if each.receiver == channel)
        now = site.now(self.ms)
        site.repository.senders = list(site.senders)
        if is_full:
            site.carry_out(site.repository.set_full(now, True))
        site.carry_out(site.repository.define_receiver(now, site.receiver, {"CONNAME": site.address}))

    def members(self) -> list[Site]:
        return [each for each in self.sites if not each.is_gone and each.repository.is_joined()]

    def up(self) -> list[Site]:
        return [each for each in self.members() if each.is_up]

    def full_ones(self) -> list[Site]:
        return [each for each in self.members() if each.repository.is_full]

    # Messages

    def waiting(self) -> list[tuple[Site, str, Site]]:
        """The transmission queues whose messages can go now."""
        ends = [*self.sites, self.clone] if self.clone is not None else self.sites
        found = []
        for site in ends:
            if not site.is_up or site.is_gone:
                continue
            for channel, queue in site.outgoing.items():
                target = next((each for each in ends if each.address == site.address_of(channel)), None)
                if not queue or target is None or not target.is_up or target.is_gone:
                    continue
                if (min(site.number, target.number), max(site.number, target.number)) not in self.cuts:
                    found.append((site, channel, target))
        return found

    def deliver(self, site: Site, channel: str, target: Site, is_twice: bool = False) -> None:
        put_ms, data = site.outgoing[channel][0]
        if not is_twice:
            site.outgoing[channel].popleft()
        waited_ms = max(0, site.now(self.ms) - put_ms)
        message = decode_message(data)
        target.carry_out(target.repository.receive(target.now(self.ms), site.qmid, message, waited_ms))

    def deliver_all(self) -> None:
        for _ in range(20_000):
            waiting = self.waiting()
            if not waiting:
                return
            self.deliver(*self.random.choice(waiting))
        raise AssertionError("messages without end")

    # Steps

    def run(self, steps: int) -> None:
        for _ in range(steps):
            chance = self.random.random()
            if chance < 0.62:
                waiting = self.waiting()
                if waiting:
                    self.deliver(*self.random.choice(waiting), is_twice=self.random.random() < 0.03)
            elif chance < 0.70:
                self.ms += self.random.choice([1, 1000, MINUTE, HOUR, 5 * HOUR])
                self.tick(self.random.choice(self.sites))
            else:
                self.trouble()

    def trouble(self) -> None:
        acts: list[tuple[int, Callable[[Site], None]]] = [
            (20, self.define),
            (6, self.remove),
            (16, self.ask),
            (5, self.suspend),
            (8, self.cut),
            (6, self.heal),
            (6, self.crash),
            (10, self.restart),
            (4, self.leave_or_rejoin),
            (6, self.refresh),
            (3, self.force_remove),
            (3, self.promote_or_demote),
            (2, self.jump_everywhere),
            (3, self.jump_one),
            (1, self.lose_full_ones),
            (2, self.make_clone),
            (2, self.forge),
        ]
        act = self.random.choices([each for _, each in acts], [weight for weight, _ in acts])[0]
        candidates = self.sites if act in (self.restart, self.leave_or_rejoin) else self.up()
        if candidates:
            act(self.random.choice(candidates))

    def tick(self, site: Site) -> None:
        if site.is_up and not site.is_gone:
            site.carry_out(lives.tick(site.repository, site.now(self.ms)))

    def define(self, site: Site) -> None:
        if self.random.random() < 0.15:
            name, route = self.random.choice(TOPICS), self.random.choice([0, 0, 1])
            site.carry_out(site.repository.define(site.now(self.ms), rc.TOPIC, name, {"CLROUTE": route}))
        else:
            name = self.random.choice(QUEUES)
            attributes: dict[str, int | str | tuple[str, ...]] = {"CLWLRANK": self.random.randrange(10)}
            site.carry_out(site.repository.define(site.now(self.ms), rc.QUEUE, name, attributes))
        self.note(f"define {name} at {site.name}")

    def remove(self, site: Site) -> None:
        own = [key for key in site.own_live() if key[0] in (rc.QUEUE, rc.TOPIC)]
        if own:
            key = self.random.choice(own)
            site.carry_out(site.repository.remove(site.now(self.ms), key[0], key[2]))
            self.note(f"remove {key[2]} at {site.name}")

    def ask(self, site: Site) -> None:
        name = self.random.choice([*QUEUES, "QM3"])
        is_known, effects = site.repository.ask(site.now(self.ms), name)
        site.carry_out(effects)
        self.note(f"ask {name} at {site.name}: {is_known}")

    def suspend(self, site: Site) -> None:
        site.carry_out(site.repository.suspend(site.now(self.ms), self.random.random() < 0.5))
        self.note(f"suspend {site.name}")

    def cut(self, site: Site) -> None:
        other = self.random.choice(self.sites)
        if other is not site:
            self.cuts.add((min(site.number, other.number), max(site.number, other.number)))
            self.note(f"cut {site.name} {other.name}")

    def heal(self, site: Site) -> None:
        self.cuts = {pair for pair in self.cuts if site.number not in pair}
        for other in self.up():
            if other.repository.is_full and site.repository.is_full and other is not site:
                site.carry_out(site.repository.linked(site.now(self.ms), other.qmid))

    def crash(self, site: Site) -> None:
        site.crash()
        self.note(f"crash {site.name}")

    def restart(self, site: Site) -> None:
        if not site.is_up and not site.is_gone:
            site.restart(self.ms)
            self.note(f"restart {site.name}")

    def leave_or_rejoin(self, site: Site) -> None:
        if site.is_gone or not site.is_up:
            return
        if not site.repository.is_joined():
            self.join(site)
            self.note(f"rejoin {site.name}")
        elif not site.repository.is_full and self.clone is None:
            site.carry_out(site.repository.leave(site.now(self.ms)))
            self.to_refresh.discard(site.number)
            self.note(f"leave {site.name}")

    def refresh(self, site: Site) -> None:
        repos = self.random.random() < 0.5 and not site.repository.is_full
        site.carry_out(site.repository.refresh(site.now(self.ms), repos))
        self.note(f"refresh {site.name} REPOS({repos})")

    def force_remove(self, site: Site) -> None:
        victims = [each for each in self.members() if each is not site and not each.repository.is_full]
        if site.repository.is_full and victims:
            victim = self.random.choice(victims)
            if site.repository.directory.channel_to(victim.qmid):
                by_name = self.random.random() < 0.5
                named = ("", victim.name) if by_name else (victim.qmid, "")
                site.carry_out(site.repository.force_remove(site.now(self.ms), *named, self.random.random() < 0.5))
                self.to_refresh.add(victim.number)
                self.note(f"force_remove {victim.name} at {site.name}")

    def promote_or_demote(self, site: Site) -> None:
        others = [each for each in self.full_ones() if each is not site]
        if site.repository.is_full:
            if len(others) < 2:
                return
            site.carry_out(site.repository.set_full(site.now(self.ms), False))
            # The administrator of a partial repository has a CLUSSDR to a full one.
            self.lead_to(site, self.random.choice(others))
            self.note(f"demote {site.name}")
        elif len(others) < 3 and site.number not in self.to_refresh:
            for other in others:  # full repositories are linked both ways
                self.lead_to(site, other)
            site.carry_out(site.repository.set_full(site.now(self.ms), True))
            for other in others:
                if other.is_up:
                    self.lead_to(other, site)
            self.note(f"promote {site.name}")

    def lead_to(self, site: Site, other: Site) -> None:
        """Define a CLUSSDR by hand."""
        site.senders[other.receiver] = other.address
        site.carry_out(site.repository.define_sender(site.now(self.ms), other.receiver))

    def jump_everywhere(self, _: Site) -> None:
        days = self.random.choice([26, 28, 31, 61, 91, 100])
        self.ms += days * DAY
        self.note(f"jump of all by {days} days")

    def jump_one(self, site: Site) -> None:
        days = self.random.choice([-100, -31, -5, 5, 26, 31, 61, 91])
        site.offset_ms = max(-300 * DAY, site.offset_ms + days * DAY)
        self.note(f"jump_one {site.name} by {days} days")

    def lose_full_ones(self, _: Site) -> None:
        """All full repositories are gone for good. A partial one becomes full, and all others are led to it."""
        partial = [each for each in self.up() if not each.repository.is_full and each.number not in self.to_refresh]
        if self.are_full_ones_lost or not partial or self.clone is not None:
            return
        self.are_full_ones_lost = True
        for site in self.full_ones():
            site.is_gone = True
        heir = self.random.choice(partial)
        heir.senders = {}
        heir.repository.senders = []
        heir.carry_out(heir.repository.set_full(heir.now(self.ms), True))
        self.note(f"lose_full_ones; the heir is {heir.name}")
        for site in self.members():
            if site is not heir:
                if not site.is_up:
                    site.restart(self.ms)
                self.lead_to(site, heir)
                for gone in self.sites:
                    if gone.is_gone:
                        site.carry_out(site.repository.lost(site.now(self.ms), gone.qmid))
        for site in self.sites:
            if site.is_gone and heir.repository.directory.channel_to(site.qmid):
                heir.carry_out(heir.repository.force_remove(heir.now(self.ms), site.qmid, "", True))
                self.force_removed.add(site.qmid)

    def make_clone(self, site: Site) -> None:
        """A copy of a partial repository starts elsewhere."""
        if self.clone is not None or site.repository.is_full or site.number in self.to_refresh:
            return
        clone = Site(site.number, site.qmid, self.make)
        clone.address = "clone(1414)"
        clone.is_watched = False
        clone.disk = dict(site.disk)
        clone.mark = site.mark
        clone.senders = dict(site.senders)
        clone.offset_ms = site.offset_ms
        clone.restart(self.ms)
        now = clone.now(self.ms)
        clone.carry_out(clone.repository.define_receiver(now, clone.receiver, {"CONNAME": clone.address}))
        clone.carry_out(clone.repository.define(now, rc.QUEUE, "CLONED", {}))
        self.clone = clone
        self.to_refresh.add(site.number)
        self.note(f"make_clone of {site.name}")

    def forge(self, site: Site) -> None:
        """A member tells a full repository a record of another one."""
        victims = [each for each in self.members() if each is not site and not each.repository.is_full]
        targets = [each for each in self.full_ones() if each is not site and each.is_up]
        if site.repository.is_full or not victims or not targets:
            return
        victim, target = self.random.choice(victims), self.random.choice(targets)
        if target.repository.directory.is_full(site.qmid):
            return
        version = victim.now(self.ms) + DAY
        forged = rc.Record(rc.QUEUE, victim.qmid, victim.name, "FORGED", version, 0, version, {})
        before = len([each for each in target.reports if each.kind == fx.FORGED])
        message = ClusterMessage(PUBLISH, CLUSTER, (Told(forged, 0),))
        target.carry_out(target.repository.receive(target.now(self.ms), site.qmid, message))
        assert len([each for each in target.reports if each.kind == fx.FORGED]) == before + 1, "nobody was told"
        assert target.repository.directory.get(forged.key()) is None, "a forged record counts"
        self.note(f"forge at {target.name}")

    # The end

    def settle(self) -> None:
        """Make the world whole, let administrators do what reports ask them for, and let four days pass."""
        self.cuts.clear()
        for site in self.sites:
            if not site.is_gone and not site.is_up:
                site.restart(self.ms)
        for site in self.members():
            for gone in self.sites:
                if gone.is_gone:
                    site.carry_out(site.repository.lost(site.now(self.ms), gone.qmid))
        self.deliver_all()
        if self.clone is not None:
            # The original is heard again when its clock has passed the versions of the clone.
            original = self.sites[self.clone.number - 1]
            behind_ms = self.clone.mark[0] - original.now(self.ms)
            original.offset_ms += max(0, behind_ms + MINUTE)
            self.clone = None
        for site in self.members():
            # Whoever was led to a queue manager that is no full repository now is led to one.
            targets = [each for each in self.full_ones() if each is not site]
            if targets and not any(each.receiver in site.senders for each in targets):
                self.lead_to(site, targets[0])
            for target in targets:
                if site.repository.is_full and target.receiver not in site.senders:
                    self.lead_to(site, target)
        self.deliver_all()
        self.ms += 2 * HOUR
        for site in self.sites:
            self.tick(site)
        self.deliver_all()
        for number in sorted(self.to_refresh):
            site = self.sites[number - 1]
            if not site.is_gone and site.repository.is_joined():
                site.carry_out(site.repository.refresh(site.now(self.ms), False))
        self.to_refresh.clear()
        self.deliver_all()
        # One full repository may have had a later version than the one that was removed. The command is repeated.
        for site in self.full_ones():
            for qmid in sorted(self.force_removed):
                if site.live({qmid}):
                    site.carry_out(site.repository.force_remove(site.now(self.ms), qmid, "", True))
            self.deliver_all()
        for _ in range(8):
            self.ms += 13 * HOUR
            for site in self.sites:
                self.tick(site)
                self.deliver_all()

    def check_converged(self) -> None:
        members = {each.qmid: each for each in self.members()}
        truth = {key: record for each in members.values() for key, record in each.own_live().items()}
        full_ones = self.full_ones()
        assert full_ones, "there is no full repository"
        for site in full_ones:
            live = site.live()
            ghosts = [key for key in live if key[1] in self.force_removed]
            assert not ghosts, f"{site.name} has what was removed: {ghosts[:3]}"
            found = {key: record for key, record in live.items() if key[1] in members}
            same(found, truth, f"{site.name} against the owners")
            same(live, full_ones[0].live(), f"{site.name} against {full_ones[0].name}")
        for site in members.values():
            self.check_member(site, truth)

    def check_forgotten(self) -> None:
        """After 90 days nobody has a record of one that has left or is gone, however its last words were lost."""
        for _ in range(5):
            self.ms += 20 * DAY
            for site in self.sites:
                self.tick(site)
                self.deliver_all()
        self.check_converged()
        members = {each.qmid for each in self.members()}
        for site in self.full_ones():
            ghosts = [key for key, record in site.live().items() if key[1] not in members and not record.is_full()]
            assert not ghosts, f"{site.name} knows one who is not there: {ghosts[:3]}"

    def check_member(self, site: Site, truth: dict[rc.Key, rc.Record]) -> None:
        live = site.live()
        gone = {each.qmid for each in self.sites if each.is_gone}
        questions = site.questions()
        wanted = {
            key: record
            for key, record in truth.items()
            if record.kind == rc.TOPIC
            or (record.kind == rc.QUEUE and record.name in questions)
            or record.is_full()
            or key[1] == site.qmid
        }
        owners = {key[1] for key in wanted}
        is_direct = any(record.is_direct_topic() for record in truth.values())
        for key, record in truth.items():
            if record.kind == rc.MANAGER and (key[1] in owners or is_direct or record.manager in questions):
                wanted[key] = record
        if not site.repository.is_full:
            live = {key: record for key, record in live.items() if key in wanted or key not in truth}
            live = {key: record for key, record in live.items() if key[1] not in gone}
            same(live, wanted, f"{site.name} against what it asked for")
            for name in questions:
                entry = site.repository.directory.get((rc.INTEREST, site.qmid, name))
                assert entry is not None
                assert entry.is_answered, f"{site.name} has no answer for {name}"
        for key, record in wanted.items():
            if record.kind == rc.MANAGER and key[1] != site.qmid:
                assert site.channels.get(record.name) == record.attributes["CONNAME"], f"{site.name}: {record.name}"

    def reports(self, kind: str) -> list[fx.Report]:
        ends = [*self.sites, self.clone] if self.clone is not None else self.sites
        return [report for site in ends for report in site.reports if report.kind == kind]


def differences(one: dict[rc.Key, rc.Record], two: dict[rc.Key, rc.Record]) -> list[str]:
    return [
        f"{rc.KIND_NAMES[key[0]]} {key[2]} of {key[1]}: {one.get(key)} {two.get(key)}"
        for key in sorted(one.keys() | two.keys())
        if one.get(key) != two.get(key)
    ]


def same(one: dict[rc.Key, rc.Record], two: dict[rc.Key, rc.Record], what: str) -> None:
    found = differences(one, two)
    assert not found, f"{what}: " + "; ".join(found[:3])


__all__ = ["CLUSTER", "DAY", "HOUR", "ClusterWorld"]
