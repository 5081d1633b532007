"""What authorities let a connection do: MQOPEN, MQPUT1, MQCLOSE and reports, as the engine asks its guard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import allow_any_principal

SETUP = """
DEFINE QLOCAL(BASE)
DEFINE QALIAS(ALIAS) TARGET(BASE)
DEFINE QLOCAL(XMIT) USAGE(XMITQ)
DEFINE QREMOTE(REMOTE) RNAME(THERE) RQMNAME(FAR) XMITQ(XMIT)
DEFINE QMODEL(MODEL) DEFTYPE(TEMPDYN)
DEFINE QMODEL(PERMANENT) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED)
DEFINE PROCESS(PROC) APPLICID(x)
"""


class Site:
    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager

    def mqsc(self, text: str) -> None:
        for answer in run_script(ManagerCommandContext(self.manager), text, echo=False):
            if isinstance(answer, ScriptCounts):
                assert answer.exit_code == 0

    def user(self, name: str) -> Connection:
        connection = self.manager.connect(name, "test")
        connection.is_privileged = False
        return connection

    def open(
        self, connection: Connection, name: str, options: int, manager: str = "", alternate: str = "", kind: int = 1
    ) -> Handle:
        request = OpenRequest(kind, name, options)
        request.manager_name = manager
        request.alternate_user = alternate
        request.dynamic_name = "DYN.*"
        with self.manager.lock:
            return open_object(self.manager.engine, connection, request)

    def refuses(
        self, connection: Connection, name: str, options: int, manager: str = "", alternate: str = "", kind: int = 1
    ) -> str:
        with pytest.raises(MQError) as caught:
            self.open(connection, name, options, manager, alternate, kind)
        assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
        return caught.value.detail

    def grant(self, profile: str, words: str, user: str = "ann", kind: str = "QUEUE") -> None:
        self.mqsc(f"SET AUTHREC PROFILE('{profile}') OBJTYPE({kind}) PRINCIPAL('{user}') AUTHADD({words})")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    manager = QueueManager(allow_any_principal(create_queue_manager(tmp_path, "AUTHS", LogSection(file_pages=64))))
    manager.start()
    made = Site(manager)
    made.mqsc(SETUP)
    yield made
    made.manager.end("immediate")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (mq.MQOO_INPUT_SHARED, "GET"),
        (mq.MQOO_INPUT_EXCLUSIVE, "GET"),
        (mq.MQOO_INPUT_AS_Q_DEF, "GET"),
        (mq.MQOO_BROWSE, "BROWSE"),
        (mq.MQOO_OUTPUT, "PUT"),
        (mq.MQOO_INQUIRE, "INQ"),
        (mq.MQOO_SET, "SET"),
    ],
)
def test_each_option_needs_its_authority(site: Site, options: int, word: str) -> None:
    ann = site.user("ann")
    assert word in site.refuses(ann, "BASE", options)
    every = {"GET", "BROWSE", "PUT", "INQ", "SET"}
    site.grant("BASE", ",".join(every - {word}))
    assert word in site.refuses(ann, "BASE", options)
    site.grant("BASE", word)
    site.open(ann, "BASE", options)


def test_several_options_need_all_of_them(site: Site) -> None:
    ann = site.user("ann")
    site.grant("BASE", "PUT")
    assert "GET" in site.refuses(ann, "BASE", mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED)


def test_an_alias_is_checked_by_its_own_name(site: Site) -> None:
    ann = site.user("ann")
    site.grant("ALIAS", "PUT")
    site.open(ann, "ALIAS", mq.MQOO_OUTPUT)
    site.refuses(ann, "BASE", mq.MQOO_OUTPUT)


def test_a_remote_definition_by_its_name_and_a_named_manager_by_the_transmission_queue(site: Site) -> None:
    ann = site.user("ann")
    site.grant("REMOTE", "PUT")
    site.open(ann, "REMOTE", mq.MQOO_OUTPUT)
    site.mqsc("DEFINE QLOCAL(FAR) USAGE(XMITQ)")
    site.grant("T*", "PUT")
    assert "FAR" in site.refuses(ann, "THERE", mq.MQOO_OUTPUT, "FAR")
    site.grant("FAR", "PUT")
    site.open(ann, "THERE", mq.MQOO_OUTPUT, "FAR")


def test_setting_context_needs_authority_on_the_queue_manager_too(site: Site) -> None:
    ann = site.user("ann")
    options = mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT
    site.grant("BASE", "PUT,SETALL")
    assert "queue manager" in site.refuses(ann, "BASE", options)
    site.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(SETALL)")
    site.open(ann, "BASE", options)
    site.refuses(ann, "BASE", mq.MQOO_OUTPUT | mq.MQOO_PASS_ALL_CONTEXT)
    site.grant("BASE", "PASSALL")
    site.open(ann, "BASE", mq.MQOO_OUTPUT | mq.MQOO_PASS_ALL_CONTEXT)


def test_another_users_authority(site: Site) -> None:
    ann = site.user("ann")
    options = mq.MQOO_OUTPUT | mq.MQOO_ALTERNATE_USER_AUTHORITY
    site.grant("BASE", "PUT", "bob")
    assert "ALTUSR" in site.refuses(ann, "BASE", options, alternate="bob")
    site.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(ALTUSR)")
    site.open(ann, "BASE", options, alternate="bob")
    site.refuses(ann, "BASE", options, alternate="carl")
    site.refuses(ann, "BASE", options, alternate="")
    # Who may do everything may still want to be checked as somebody else.
    owner = site.manager.connect("whoever", "test")
    site.open(owner, "BASE", mq.MQOO_OUTPUT)
    site.refuses(owner, "BASE", options, alternate="carl")


def test_who_makes_a_dynamic_queue_may_use_it(site: Site) -> None:
    ann, bob = site.user("ann"), site.user("bob")
    assert "DSP" in site.refuses(ann, "MODEL", mq.MQOO_INPUT_SHARED)
    site.grant("MODEL", "DSP,GET")
    made = site.open(ann, "MODEL", mq.MQOO_INPUT_SHARED)
    site.open(ann, made.name, mq.MQOO_OUTPUT | mq.MQOO_INQUIRE)
    site.refuses(bob, made.name, mq.MQOO_OUTPUT)
    with site.manager.lock:
        close_object(site.manager.engine, ann, made, 0)
    assert made.name not in site.manager.engine.dynamic_owners


def test_a_permanent_dynamic_queue_stays_its_makers(site: Site) -> None:
    ann = site.user("ann")
    site.grant("PERMANENT", "DSP,GET,PUT")
    made = site.open(ann, "PERMANENT", mq.MQOO_INPUT_SHARED)
    directory = site.manager.directory
    site.manager.end("immediate")
    site.manager = QueueManager(directory)
    site.manager.start()
    again, bob = site.user("ann"), site.user("bob")
    site.refuses(bob, made.name, mq.MQOO_INPUT_SHARED)
    handle = site.open(again, made.name, mq.MQOO_INPUT_SHARED)
    site.grant(made.name, "GET", "bob")
    others = site.open(bob, made.name, mq.MQOO_INPUT_SHARED)
    with site.manager.lock, pytest.raises(MQError) as caught:
        close_object(site.manager.engine, bob, others, mq.MQCO_DELETE)
    assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
    with site.manager.lock:
        close_object(site.manager.engine, again, handle, mq.MQCO_DELETE)
        assert not [key for key in site.manager.engine.of_type(ObjectType.AUTHREC) if made.name in key]


def test_the_queue_manager_and_processes(site: Site) -> None:
    ann = site.user("ann")
    site.refuses(ann, "", mq.MQOO_INQUIRE, kind=mq.MQOT_Q_MGR)
    site.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(INQ)")
    site.open(ann, "", mq.MQOO_INQUIRE, kind=mq.MQOT_Q_MGR)
    site.refuses(ann, "PROC", mq.MQOO_INQUIRE, kind=mq.MQOT_PROCESS)
    site.grant("PROC", "INQ", kind="PROCESS")
    site.open(ann, "PROC", mq.MQOO_INQUIRE, kind=mq.MQOT_PROCESS)


def test_groups_and_profiles(site: Site) -> None:
    ann = site.user("ann")
    site.mqsc("SET AUTHREC PROFILE('B*') OBJTYPE(QUEUE) GROUP('nobody') AUTHADD(PUT)")
    site.open(ann, "BASE", mq.MQOO_OUTPUT)
    site.refuses(ann, "XMIT", mq.MQOO_OUTPUT)


def test_what_is_taken_away_counts_from_the_next_open(site: Site) -> None:
    ann = site.user("ann")
    site.grant("BASE", "PUT")
    site.open(ann, "BASE", mq.MQOO_OUTPUT)
    site.mqsc("SET AUTHREC PROFILE(BASE) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHRMV(PUT)")
    site.refuses(ann, "BASE", mq.MQOO_OUTPUT)
