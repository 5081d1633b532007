"""Repositories one by one: joining, questions, lives, commands, and what is refused."""

from __future__ import annotations

import dataclasses

import pytest
from tests.world.cluster.site import Site
from tests.world.cluster.world import DAY, HOUR, ClusterWorld

from ostler.cluster import effects as fx
from ostler.cluster import lives
from ostler.cluster import messages as cm
from ostler.cluster import records as rc
from ostler.cluster.repository import ClusterRefused


@pytest.fixture
def world() -> ClusterWorld:
    """Two full repositories and two partial ones, QM3 and QM4, that have joined."""
    world = ClusterWorld(1, partial=2)
    world.deliver_all()
    return world


def define(world: ClusterWorld, site: Site, name: str = "ORDERS") -> None:
    site.carry_out(site.repository.define(site.now(world.ms), rc.QUEUE, name, {"CLWLRANK": 1}))
    world.deliver_all()


def ask(world: ClusterWorld, site: Site, name: str = "ORDERS") -> bool:
    is_known, effects = site.repository.ask(site.now(world.ms), name)
    site.carry_out(effects)
    world.deliver_all()
    return is_known


def instances(site: Site, name: str = "ORDERS") -> list[str]:
    return sorted(each.record.manager for each in site.repository.directory.queues(name) if not each.record.is_removed)


def pass_days(world: ClusterWorld, days: int, *without: Site) -> None:
    for _ in range(days * 2):
        world.ms += DAY // 2
        for site in world.sites:
            if site not in without:
                world.tick(site)
        world.deliver_all()


def test_full_repositories_know_all_and_partial_ones_what_they_asked_for(world: ClusterWorld) -> None:
    qm1, qm2, qm3, qm4 = world.sites
    define(world, qm3)
    assert instances(qm1) == instances(qm2) == ["QM3"]
    assert instances(qm4) == []
    assert not ask(world, qm4)
    assert qm4.answered == {"ORDERS"}
    assert instances(qm4) == ["QM3"]
    assert "TO.QM3" in qm4.channels
    assert ask(world, qm4), "the second time it is known"
    assert sorted(qm4.repository.directory.members()) == sorted(each.qmid for each in world.sites)


def test_a_queue_made_after_the_question_is_told_at_once(world: ClusterWorld) -> None:
    _, _, qm3, qm4 = world.sites
    ask(world, qm4)
    assert instances(qm4) == []
    define(world, qm3)
    assert instances(qm4) == ["QM3"]
    qm3.carry_out(qm3.repository.remove(qm3.now(world.ms), rc.QUEUE, "ORDERS"))
    world.deliver_all()
    assert instances(qm4) == []


def test_suspension_reaches_those_who_use_the_queue_manager(world: ClusterWorld) -> None:
    _, _, qm3, qm4 = world.sites
    define(world, qm3)
    ask(world, qm4)
    qm3.carry_out(qm3.repository.suspend(qm3.now(world.ms), True))
    world.deliver_all()
    entry = qm4.repository.directory.get((rc.MANAGER, qm3.qmid, "TO.QM3"))
    assert entry is not None
    assert entry.record.is_suspended()
    qm3.carry_out(qm3.repository.suspend(qm3.now(world.ms), False))
    world.deliver_all()
    entry = qm4.repository.directory.get((rc.MANAGER, qm3.qmid, "TO.QM3"))
    assert entry is not None
    assert not entry.record.is_suspended()


def test_topics_are_told_to_everybody_with_all_members(world: ClusterWorld) -> None:
    qm1, _, qm3, qm4 = world.sites
    qm3.carry_out(qm3.repository.define(qm3.now(world.ms), rc.TOPIC, "NEWS", {"TOPICSTR": "news", "CLROUTE": 0}))
    world.deliver_all()
    assert qm4.repository.directory.get((rc.TOPIC, qm3.qmid, "NEWS")) is not None
    assert "TO.QM4" in qm3.channels
    assert "TO.QM3" in qm4.channels
    assert qm1.repository.directory.direct_topics == 1


def test_records_are_published_again_after_27_days(world: ClusterWorld) -> None:
    qm1, _, qm3, _ = world.sites
    define(world, qm3)
    key = (rc.QUEUE, qm3.qmid, "ORDERS")
    before = qm1.repository.directory.entries[key].record.version
    pass_days(world, 26)
    assert qm1.repository.directory.entries[key].record.version == before
    pass_days(world, 2)
    assert qm1.repository.directory.entries[key].record.version > before
    pass_days(world, 100)
    assert instances(qm1) == ["QM3"]


def test_the_life_of_a_record_whose_owner_is_silent(world: ClusterWorld) -> None:
    qm1, _, qm3, qm4 = world.sites
    define(world, qm3)
    qm3.crash()
    pass_days(world, 29, qm3)
    assert not [each for each in qm1.reports if each.kind == fx.NOT_HEARD]
    pass_days(world, 2, qm3)
    assert [each.qmid for each in qm1.reports if each.kind == fx.NOT_HEARD][:1] == [qm3.qmid]
    assert instances(qm1) == ["QM3"], "it is kept"
    ask(world, qm4)
    assert instances(qm4) == [], "and is no answer to a new question"
    pass_days(world, 60, qm3)
    assert instances(qm1) == []
    assert "TO.QM3" not in qm1.repository.directory.members()


def test_a_question_is_renewed_only_if_it_was_used(world: ClusterWorld) -> None:
    _, _, _, qm4 = world.sites
    ask(world, qm4, "ORDERS")
    ask(world, qm4, "AUDIT")
    pass_days(world, 28)
    ask(world, qm4, "AUDIT")
    pass_days(world, 30)
    assert qm4.questions() == ["AUDIT"]


@pytest.mark.parametrize("days", [26, 28, 31, 91])
def test_everybody_agrees_after_a_jump_of_all_clocks(world: ClusterWorld, days: int) -> None:
    _, _, qm3, qm4 = world.sites
    define(world, qm3)
    ask(world, qm4)
    world.ms += days * DAY
    pass_days(world, 3)
    world.check_converged()
    assert instances(qm4) == ["QM3"]


def test_force_remove_and_rejoining_within_and_after_ten_seconds(world: ClusterWorld) -> None:
    qm1, qm2, qm3, _ = world.sites
    define(world, qm3)
    qm1.carry_out(qm1.repository.force_remove(qm1.now(world.ms), "", "QM3", True))
    world.deliver_all()
    for full in (qm1, qm2):
        assert qm3.qmid not in full.repository.directory.members()
        assert instances(full) == []
    world.ms += 5000
    qm3.carry_out(qm3.repository.refresh(qm3.now(world.ms), False))
    message = cm.decode_message(qm3.outgoing["TO.QM1"][0][1])
    qm1.carry_out(qm1.repository.receive(qm1.now(world.ms), qm3.qmid, message))
    assert instances(qm1) == [], "not heard within ten seconds"
    world.ms += 6000
    qm1.carry_out(qm1.repository.receive(qm1.now(world.ms), qm3.qmid, message))
    assert qm3.qmid in qm1.repository.directory.members()
    world.deliver_all()
    world.ms += 2 * HOUR
    world.tick(qm1)
    world.deliver_all()
    world.check_converged()


def test_force_remove_with_queues_no_keeps_the_queues(world: ClusterWorld) -> None:
    qm1, _, qm3, _ = world.sites
    define(world, qm3)
    qm1.carry_out(qm1.repository.force_remove(qm1.now(world.ms), qm3.qmid, "", False))
    assert instances(qm1) == ["QM3"]
    assert qm3.qmid not in qm1.repository.directory.members()


def test_commands_that_are_refused(world: ClusterWorld) -> None:
    qm1, _, qm3, _ = world.sites
    now = qm1.now(world.ms)
    with pytest.raises(ClusterRefused, match="partial"):
        qm1.repository.refresh(now, True)
    with pytest.raises(ClusterRefused, match="full"):
        qm3.repository.force_remove(now, "", "QM4", False)
    with pytest.raises(ClusterRefused, match="no such"):
        qm1.repository.force_remove(now, "", "QM1", False)
    with pytest.raises(ClusterRefused, match="no such"):
        qm1.repository.force_remove(now, "", "NOBODY", False)
    entry = qm1.repository.directory.entries[(rc.MANAGER, qm3.qmid, "TO.QM3")]
    twin = dataclasses.replace(entry.record, owner="QM3_OTHER", name="TO.QM3.B")
    qm1.carry_out(qm1.repository.receive(now, "QM3_OTHER", cm.ClusterMessage(cm.PUBLISH, "DEMO", (cm.Told(twin, 0),))))
    with pytest.raises(ClusterRefused, match="2 queue managers"):
        qm1.repository.force_remove(now, "", "QM3", False)


def test_leaving_and_coming_back(world: ClusterWorld) -> None:
    qm1, qm2, qm3, _ = world.sites
    define(world, qm3)
    qm3.carry_out(qm3.repository.leave(qm3.now(world.ms)))
    world.deliver_all()
    assert instances(qm1) == instances(qm2) == []
    assert qm3.disk == {}
    qm3.offset_ms = -100 * DAY
    world.join(qm3)
    define(world, qm3)
    assert instances(qm1) == ["QM3"], "versions go on, although the clock went back"


def test_forged_and_repeated_records_are_refused_and_reported(world: ClusterWorld) -> None:
    qm1, _, qm3, qm4 = world.sites
    define(world, qm3)
    key = (rc.QUEUE, qm3.qmid, "ORDERS")
    old = qm1.repository.directory.entries[key].record
    forged = dataclasses.replace(old, version=old.version + DAY, attributes={})
    now = qm1.now(world.ms)
    qm1.carry_out(qm1.repository.receive(now, qm4.qmid, cm.ClusterMessage(cm.PUBLISH, "DEMO", (cm.Told(forged, 0),))))
    assert [each.qmid for each in qm1.reports if each.kind == fx.FORGED] == [qm4.qmid]
    world.ms += HOUR
    define(world, qm3)
    qm1.carry_out(qm1.repository.receive(now, qm3.qmid, cm.ClusterMessage(cm.PUBLISH, "DEMO", (cm.Told(old, 0),))))
    assert [each.qmid for each in qm1.reports if each.kind == fx.REPEATED] == [qm3.qmid]
    assert qm1.repository.directory.entries[key].record.version > old.version
    qm1.carry_out(qm1.repository.receive(now, qm3.qmid, cm.ClusterMessage(cm.PUBLISH, "OTHER")))
    qm1.carry_out(qm1.repository.receive(now, qm3.qmid, cm.ClusterMessage(cm.RENEW, "DEMO")))
    assert len([each for each in qm1.reports if each.kind == fx.FORGED]) == 3


def test_a_cloned_qmid_is_noticed_by_full_repositories(world: ClusterWorld) -> None:
    qm1, _, qm3, _ = world.sites
    world.make_clone(qm3)
    world.deliver_all()
    world.ms += HOUR
    define(world, qm3, "AUDIT")
    qm3.carry_out(qm3.repository.suspend(qm3.now(world.ms), False))
    world.deliver_all()
    assert [each.qmid for each in qm1.reports if each.kind == fx.CLONED][:1] == [qm3.qmid]


def test_a_sender_to_a_partial_repository_does_not_join() -> None:
    world = ClusterWorld(1, partial=2)
    world.deliver_all()
    qm4, stranger = world.sites[3], Site(9, "QM9_ID")
    world.sites.append(stranger)
    stranger.senders = {qm4.receiver: qm4.address}
    stranger.repository.senders = [qm4.receiver]
    now = stranger.now(world.ms)
    stranger.carry_out(stranger.repository.define_receiver(now, "TO.QM9", {"CONNAME": stranger.address}))
    world.deliver_all()
    assert {each.kind for each in qm4.reports} == {fx.NOT_A_REPOSITORY}
    assert stranger.repository.directory.full_repositories() == []
    world.ms += 31 * DAY
    stranger.carry_out(lives.tick(stranger.repository, stranger.now(world.ms)))
    assert fx.NO_REPOSITORY in {each.kind for each in stranger.reports}


def test_refresh_forgets_and_asks_again(world: ClusterWorld) -> None:
    _, _, qm3, qm4 = world.sites
    define(world, qm3)
    ask(world, qm4)
    for repos in (False, True):
        qm4.carry_out(qm4.repository.refresh(qm4.now(world.ms), repos))
        assert instances(qm4) == []
        assert not qm4.repository.ask(qm4.now(world.ms), "ORDERS")[0]
        assert bool(qm4.repository.directory.full_repositories()) is not repos
        world.deliver_all()
        assert instances(qm4) == ["QM3"]


def test_a_full_repository_that_becomes_partial_passes_everything_on(world: ClusterWorld) -> None:
    qm1, qm2, qm3, qm4 = world.sites
    define(world, qm3)
    qm4.carry_out(qm4.repository.set_full(qm4.now(world.ms), True))
    world.deliver_all()
    assert instances(qm4) == ["QM3"]
    qm1.carry_out(qm1.repository.set_full(qm1.now(world.ms), False))
    world.deliver_all()
    assert instances(qm1) == []
    assert sorted(qm1.repository.directory.full_repositories()) == sorted([qm2.qmid, qm4.qmid])
    assert qm1.qmid not in qm3.repository.chosen
    assert qm4.qmid in qm3.repository.chosen
    world.check_converged()


def test_restart_from_the_store(world: ClusterWorld) -> None:
    qm1, _, qm3, qm4 = world.sites
    define(world, qm3)
    ask(world, qm4)
    for site in (qm1, qm4):
        before = site.live()
        site.crash()
        site.restart(world.ms)
        assert site.live() == before
    assert ask(world, qm4)
    assert qm1.repository.is_full
