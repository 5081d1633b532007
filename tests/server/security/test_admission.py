"""Who is let in: passwords, channel rules, blocked users and authorities, over real sockets."""

from __future__ import annotations

import getpass
import time
from collections.abc import Iterator

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.security.users import Users
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager


@pytest.fixture(scope="module")
def running() -> Iterator[RunningQueueManager]:
    with queue_manager("GUARDED", guarded=True, channel="APP.SVRCONN") as found:
        yield found


@pytest.fixture
def guarded(running: RunningQueueManager) -> Iterator[RunningQueueManager]:
    """A queue manager as crtmqm makes it, with a channel and a listener, and three users with passwords."""
    with running.isolated("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) FAILDLAY(0)"):
        running.add_user("ann", "ann's secret")
        running.add_user("boss", "boss's secret", "mqm")
        refresh(running)
        yield running
    refresh(running)


def refresh(qm: RunningQueueManager) -> None:
    qm.mqsc("REFRESH SECURITY TYPE(CONNAUTH)")


def connect(qm: RunningQueueManager, user: str | None = None, password: str | None = None) -> Connection:
    return ostler.connect(
        qm.name, qm.connection_name, channel=qm.channel, user=user, password=password, reconnect=False
    )


def refused(qm: RunningQueueManager, user: str | None = None, password: str | None = None) -> str:
    """Try to connect in vain; what the error log says of it."""
    before = len(qm.manager.notices)
    qm.server.notes.forget()  # the same is said again only after a while
    with pytest.raises(MQError) as caught:
        connect(qm, user, password)
    assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
    # The peer learns nothing of why.
    assert "error log" in caught.value.detail
    return "\n".join(qm.manager.notices[before:])


def user_of(qm: RunningQueueManager) -> str:
    """The user of the youngest connection."""
    connections = qm.manager.engine.connections
    return connections[max(connections)].user


def allow(qm: RunningQueueManager, user: str) -> None:
    qm.mqsc(f"SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('{user}') AUTHADD(CONNECT,INQ)")


def test_nobody_gets_in_who_was_given_nothing(guarded: RunningQueueManager) -> None:
    assert "has no CONNECT authority" in refused(guarded, "ann", "ann's secret")
    allow(guarded, "ann")
    connect(guarded, "ann", "ann's secret").close()


def test_administrators_are_blocked_on_channels(guarded: RunningQueueManager) -> None:
    assert "AMQ9776E" in refused(guarded, "boss", "boss's secret")
    guarded.mqsc(f"SET CHLAUTH('{guarded.channel}') TYPE(BLOCKUSER) USERLIST('nobody')")
    connect(guarded, "boss", "boss's secret").close()


def test_administrators_need_a_password(guarded: RunningQueueManager) -> None:
    guarded.mqsc(f"SET CHLAUTH('{guarded.channel}') TYPE(BLOCKUSER) USERLIST('nobody')")
    assert "AMQ5540E" in refused(guarded, getpass.getuser())
    assert "AMQ5540E" in refused(guarded, "mqm")


def test_a_wrong_password_and_an_unknown_user_look_the_same(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    told: list[str] = []
    for user in ("ann", "who"):
        with pytest.raises(MQError) as caught:
            connect(guarded, user, "wrong")
        told.append(caught.value.detail)
    assert told[0] == told[1]


def test_passwords_are_not_written_down(guarded: RunningQueueManager) -> None:
    assert "not-so-secret" not in refused(guarded, "ann", "not-so-secret")


def test_the_answer_to_a_wrong_password_is_held_back(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) FAILDLAY(1)")
    refresh(guarded)
    began = time.monotonic()
    refused(guarded, "ann", "wrong")
    assert time.monotonic() - began >= 1.0


def test_required_means_everybody(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    connect(guarded, "ann").close()
    guarded.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(REQUIRED)")
    connect(guarded, "ann").close()  # until it is refreshed
    refresh(guarded)
    assert "AMQ5540E" in refused(guarded, "ann")
    connect(guarded, "ann", "ann's secret").close()


def test_no_check_leaves_a_wrong_password_alone(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(NONE)")
    refresh(guarded)
    connect(guarded, "ann", "wrong").close()


def test_connauth_that_names_nothing_lets_nobody_in(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("ALTER QMGR CONNAUTH(NOT.THERE)")
    refresh(guarded)
    assert "CONNAUTH(NOT.THERE)" in refused(guarded, "ann", "ann's secret")


def test_ldap_is_refused_with_a_reason(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc(
        "DEFINE AUTHINFO(LDAP) AUTHTYPE(IDPWLDAP) CONNAME('localhost(389)') SHORTUSR('uid') BASEDNU('o=a')\n"
        "ALTER QMGR CONNAUTH(LDAP)"
    )
    refresh(guarded)
    assert "LDAP" in refused(guarded, "ann", "ann's secret")


def test_addresses_are_refused_and_mapped(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)")
    assert "AMQ9777E" in refused(guarded, "ann", "ann's secret")
    guarded.mqsc(f"SET CHLAUTH('{guarded.channel}') TYPE(ADDRESSMAP) ADDRESS('127.0.0.*') USERSRC(MAP) MCAUSER('ann')")
    with connect(guarded, "somebody"):
        assert user_of(guarded) == "ann"


def test_a_rule_that_warns_lets_in(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) WARN(YES)")
    before = len(guarded.manager.notices)
    connect(guarded, "ann").close()
    assert "but for WARN(YES)" in "\n".join(guarded.manager.notices[before:])


def test_an_address_is_turned_away_at_the_door(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('127.0.0.1')")
    with pytest.raises(MQError) as caught:
        connect(guarded, "ann")
    assert caught.value.reason in (
        mq.MQRC_HOST_NOT_AVAILABLE,
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_CHANNEL_NOT_AVAILABLE,
    )


def test_rules_can_be_switched_off(guarded: RunningQueueManager) -> None:
    assert "AMQ9776E" in refused(guarded, "boss", "boss's secret")
    guarded.mqsc("ALTER QMGR CHLAUTH(DISABLED)")
    with connect(guarded, "boss", "boss's secret"):
        assert user_of(guarded) == "boss"


def test_a_channels_user_counts_and_an_authenticated_one_more(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    allow(guarded, "chl")
    guarded.mqsc(f"ALTER CHANNEL({guarded.channel}) CHLTYPE(SVRCONN) MCAUSER('chl')")
    with connect(guarded, "whoever"):
        assert user_of(guarded) == "chl"
    with connect(guarded, "ann", "ann's secret"):
        assert user_of(guarded) == "ann"


def test_a_user_is_mapped_by_name(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc(f"SET CHLAUTH('{guarded.channel}') TYPE(USERMAP) CLNTUSER('visitor') USERSRC(MAP) MCAUSER('ann')")
    with connect(guarded, "visitor"):
        assert user_of(guarded) == "ann"


def test_a_rule_may_ask_for_a_password(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc(f"SET CHLAUTH('{guarded.channel}') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL) CHCKCLNT(REQUIRED)")
    assert "AMQ5540E" in refused(guarded, "ann")
    connect(guarded, "ann", "ann's secret").close()


def test_a_thousand_wrong_passwords_keep_nobody_out(guarded: RunningQueueManager) -> None:
    """Those who guess wait for one another, and others do not wait for them."""
    allow(guarded, "ann")
    connect(guarded, "ann", "ann's secret").close()
    import threading

    guesses = [threading.Thread(target=_guess, args=(guarded, number)) for number in range(20)]
    for guess in guesses:
        guess.start()
    connect(guarded, "ann").close()
    for guess in guesses:
        guess.join()


def _guess(qm: RunningQueueManager, number: int) -> None:
    with pytest.raises(MQError):
        connect(qm, "ann", f"guess {number}")


def test_who_owns_the_queue_manager_comes_in_locally(guarded: RunningQueueManager) -> None:
    with ostler.connect(guarded.name, data=guarded.data, binding="local"):
        assert user_of(guarded) == getpass.getuser()


def test_a_local_password_is_checked_when_it_is_given(guarded: RunningQueueManager) -> None:
    with pytest.raises(MQError) as caught:
        ostler.connect(guarded.name, data=guarded.data, binding="local", user="ann", password="wrong")
    assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
    allow(guarded, "ann")
    with ostler.connect(guarded.name, data=guarded.data, binding="local", user="ann", password="ann's secret"):
        assert user_of(guarded) == "ann"


def test_owners_are_administrators(guarded: RunningQueueManager) -> None:
    users: Users = guarded.manager.users
    assert users.is_administrator(getpass.getuser())
    assert users.is_administrator("boss")
    assert not users.is_administrator("ann")


def test_programs_need_no_more_than_they_do(guarded: RunningQueueManager) -> None:
    allow(guarded, "ann")
    guarded.mqsc("DEFINE QLOCAL(Q)\nSET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT,GET)")
    with connect(guarded, "ann") as connection, connection.open("Q") as queue:
        queue.put("hello")
        message = queue.get()
        assert message is not None
        assert message.text == "hello"
        with pytest.raises(MQError) as caught:
            queue.depth  # noqa: B018
        assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
    guarded.mqsc("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(INQ)")
    with connect(guarded, "ann") as connection, connection.open("Q") as queue:
        assert queue.depth == 0
