"""Access paths that must stay closed: each test is a peer that tries one, over real sockets and frame by frame."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from tests.free_ports import free_port
from tests.world.wire_bench import Answer, Patience, Peer, dial, get, numbers, put

from ostler.model import constants as mq
from ostler.model.pcf import Header, Integer, String, encode
from ostler.model.structures.md import MQMD
from ostler.server.admin.authority_actions import authority_actions
from ostler.server.admin.control_actions import control_actions
from ostler.server.daemon import Daemon
from ostler.server.security.password_store import edit_passwords
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.connect_frames import ConnectArguments, decode_connect_reply
from ostler.wire.object_frames import InquireArguments, OpenArguments, Put1Arguments
from ostler.wire.put_get_frames import HELD, put_payload
from ostler.wire.replies import decode_reply

COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"
PASSWORD = "a right password"
# Everybody may connect and put commands; what they may command is another question.
OPEN_TO_ALL = f"""
SET AUTHREC OBJTYPE(QMGR) GROUP('nobody') AUTHADD(CONNECT)
SET AUTHREC PROFILE({COMMANDS}) OBJTYPE(QUEUE) GROUP('nobody') AUTHADD(PUT)
DEFINE QLOCAL(SECRET)
DEFINE QLOCAL(OPEN)
DEFINE QMODEL(MODEL) DEFTYPE(TEMPDYN)
"""


@pytest.fixture(scope="module")
def running() -> Iterator[RunningQueueManager]:
    with queue_manager("WAYSIN", guarded=True, channel="APP.SVRCONN") as found:
        found.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) FAILDLAY(0)")
        found.mqsc("REFRESH SECURITY TYPE(CONNAUTH)")
        found.add_user("ann", PASSWORD)
        found.add_user("boss", PASSWORD, "mqm")
        yield found


@pytest.fixture
def site(running: RunningQueueManager) -> Iterator[RunningQueueManager]:
    with running.isolated(OPEN_TO_ALL):
        yield running
    running.mqsc("REFRESH SECURITY TYPE(CONNAUTH)")


def peer(site: RunningQueueManager, channel: str = "", source: str = "") -> Peer:
    """A socket whose channel is agreed."""
    made = dial((site.host, site.port), source)
    assert made.hello(channel or site.channel).completion == 0
    return made


def asking(user: str, password: str = "", application: str = "a test") -> bytes:
    asked = ConnectArguments()
    asked.user, asked.password, asked.application = user, password, application
    return asked.encode()


def connect(peer: Peer, user: str, password: str = "", conversation: int = 1, application: str = "a test") -> Answer:
    return peer.ask(wire.CONNECT, asking(user, password, application), 2, conversation)


def let_in(site: RunningQueueManager, user: str, password: str = "") -> Peer:
    made = peer(site)
    assert connect(made, user, password).completion == mq.MQCC_OK
    return made


def open_reason(peer: Peer, name: str, options: int, conversation: int = 1, alternate: str = "", kind: int = 1) -> int:
    asked = OpenArguments(kind, name, options)
    asked.alternate_user = alternate
    return peer.ask(wire.OPEN, asked.encode(), 3, conversation).reason


def command(text: str) -> bytes:
    """An MQSC command as PCF carries it."""
    parameters = (Integer(mq.MQIACF_ESCAPE_TYPE, mq.MQET_MQSC), String(mq.MQCACF_ESCAPE_TEXT, text))
    return encode(Header(mq.MQCFT_COMMAND_XR, mq.MQCMD_ESCAPE), parameters, 1208)


def give_command(site: RunningQueueManager, peer: Peer, text: str, options: int = 0, **fields: bytes) -> None:
    """Put a command on the command queue and wait until it was taken."""
    context = {mq.MQPMO_SET_ALL_CONTEXT: mq.MQOO_SET_ALL_CONTEXT}.get(options, 0)
    hobj = peer.open(COMMANDS, mq.MQOO_OUTPUT | context)
    md = MQMD.default(2)
    MQMD.patch(md, "Format", b"MQADMIN ")
    for name, value in fields.items():
        MQMD.patch(md, name, value)
    assert peer.ask(wire.PUT, put_payload(hobj, options, 0, bytes(md), b"", command(text))).reason == 0
    # One command is done after the other: when one for sure is done, so is the one before.
    assert site.server.commands.status == "RUNNING"
    done = threading.Event()
    site.server.reactor.post(done.set)
    assert done.wait(60)
    while site.depth(COMMANDS):
        peer.answers(1)
    with site.connect() as connection:
        connection.put(COMMANDS, command("PING QMGR"), format="MQADMIN")
    while site.depth(COMMANDS):
        peer.answers(1)


def has_queue(site: RunningQueueManager, name: str) -> bool:
    return name in site.manager.engine.queues


# -- names -------------------------------------------------------------------------------------------------------------


def test_who_says_no_name_may_do_what_everybody_may_and_no_more(site: RunningQueueManager) -> None:
    caller = peer(site)
    answer = connect(caller, "")
    assert decode_connect_reply(decode_reply(answer.payload).reader).user == "nobody"
    for name, options in (("SECRET", mq.MQOO_BROWSE), ("SECRET", mq.MQOO_OUTPUT), (COMMANDS, mq.MQOO_INPUT_SHARED)):
        assert open_reason(caller, name, options) == mq.MQRC_NOT_AUTHORIZED
    assert open_reason(caller, "", mq.MQOO_INQUIRE, kind=mq.MQOT_Q_MGR) == mq.MQRC_NOT_AUTHORIZED
    give_command(site, caller, "DEFINE QLOCAL(MADE)")
    assert not has_queue(site, "MADE")


def test_who_says_no_name_is_not_the_administrator_called_nobody(site: RunningQueueManager) -> None:
    """In a container the queue manager may well belong to the system's user of that name."""
    site.mqsc("ALTER QMGR CONNAUTH('')\nREFRESH SECURITY TYPE(CONNAUTH)")
    site.mqsc(f"SET CHLAUTH({site.channel}) TYPE(BLOCKUSER) USERLIST('*MQADMIN') ACTION(REPLACE) WARN(YES)")
    site.add_user("nobody", PASSWORD, "mqm")
    try:
        assert connect(peer(site), "").reason == mq.MQRC_NOT_AUTHORIZED
    finally:
        with edit_passwords(site.manager.directory) as passwords:
            passwords.delete_user("nobody")
        site.manager.users.forget()
    assert connect(peer(site), "").completion == mq.MQCC_OK


@pytest.mark.parametrize("user", ["mqm ", " mqm", "mqm\0x", "mqm\n", "   ", "\0", "m\u200bqm", "\x7f", "\u00a0mqm"])
def test_names_that_would_look_like_others_are_refused(site: RunningQueueManager, user: str) -> None:
    answer = connect(peer(site), user)
    assert (answer.completion, answer.reason) == (mq.MQCC_FAILED, mq.MQRC_NOT_AUTHORIZED)


@pytest.mark.parametrize("user", ["MQM", "Mqm", "ROOT", "Root", "\u043cqm", "m\u0071\u0307m", "mqm@host", "mqm;", "*"])
def test_names_that_are_nearly_an_administrators_are_nobody_special(site: RunningQueueManager, user: str) -> None:
    caller = let_in(site, user)
    assert open_reason(caller, "SECRET", mq.MQOO_BROWSE) == mq.MQRC_NOT_AUTHORIZED
    give_command(site, caller, "DEFINE QLOCAL(MADE)")
    assert not has_queue(site, "MADE")


@pytest.mark.parametrize("user", ["mqm         x", "administrator", "x" * 1024, "\U0001f600" * 100])
def test_a_long_name_gives_no_commands_in_the_name_of_its_beginning(site: RunningQueueManager, user: str) -> None:
    site.add_user("administrato", PASSWORD, "mqm")
    caller = let_in(site, user)
    give_command(site, caller, "DEFINE QLOCAL(MADE)")
    assert not has_queue(site, "MADE")


@pytest.mark.parametrize("application", ["", "\0", "a\nb", "\U0001f600" * 200, "x" * 1024])
def test_any_name_of_an_application_will_do(site: RunningQueueManager, application: str) -> None:
    site.mqsc("ALTER QMGR AUTHOREV(ENABLED) CHLEV(ENABLED) ACCTMQI(ON)")
    for user in ("boss", "mqm ", "ann"):
        connect(peer(site), user, application=application)
        connect(peer(site), user, "wrong", application=application)
    assert connect(peer(site), "ann", PASSWORD, application=application).completion == mq.MQCC_OK


def test_a_name_too_long_for_the_protocol_ends_the_link(site: RunningQueueManager) -> None:
    caller = peer(site)
    caller.send(wire.frame(wire.CONNECT, 1, 2, asking("x" * 100_000)))
    while not caller.closed:
        caller.answers(1)
    assert let_in(site, "ann")


# -- while a password is checked ---------------------------------------------------------------------------------------


@contextmanager
def checks_stand_still(site: RunningQueueManager) -> Iterator[None]:
    """Nobody finds out about a password meanwhile, nor about a user."""
    connect(peer(site), "ann", "wrong")  # so that there are threads
    pool = site.server.admission.lookups.pool
    assert pool is not None
    site.manager.users.forget()
    begun, go_on = threading.Semaphore(0), threading.Event()

    def stand_still() -> None:
        begun.release()
        go_on.wait(60)

    for _ in range(2):
        pool.submit(stand_still)
    begun.acquire()
    begun.acquire()
    try:
        yield
    finally:
        go_on.set()


def settle(site: RunningQueueManager) -> None:
    """What was said is heard."""
    for _ in range(3):
        heard = threading.Event()
        site.server.reactor.post(heard.set)
        assert heard.wait(60)


def users(site: RunningQueueManager) -> list[str]:
    """Of the connections that came over sockets."""
    return [each.user for each in list(site.manager.engine.connections.values()) if each.owner is not None]


def closed(peer: Peer) -> bool:
    for _ in range(6_000):
        if peer.closed:
            return True
        peer.answers(1)
    return False


def test_a_second_connect_during_the_check_ends_the_link(site: RunningQueueManager) -> None:
    with checks_stand_still(site):
        caller = peer(site)
        caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", PASSWORD)))
        caller.send(wire.frame(wire.CONNECT, 1, 3, asking("boss", PASSWORD)))
        assert closed(caller)
    settle(site)
    assert users(site) == []


def test_nothing_is_done_before_the_answer(site: RunningQueueManager) -> None:
    with checks_stand_still(site):
        caller = peer(site)
        caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", PASSWORD)))
        assert open_reason(caller, "OPEN", mq.MQOO_OUTPUT) == mq.MQRC_HCONN_ERROR
        caller.send(wire.frame(wire.PUT, 1, 0, put_payload(2, 0, 0, bytes(MQMD.default(2)), b"", b"early")))
    assert caller.answer(2).completion == mq.MQCC_OK
    assert site.depth("OPEN") == 0


def test_who_hangs_up_during_the_check_leaves_nothing(site: RunningQueueManager) -> None:
    with checks_stand_still(site):
        for _ in range(20):
            caller = peer(site)
            caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", PASSWORD)))
            caller.sock.close()
        settle(site)
    let_in(site, "ann", PASSWORD).close()
    settle(site)
    assert users(site) == []
    assert site.server.reactor.links == {}


def test_a_channel_that_is_stopped_during_the_check_stays_closed(site: RunningQueueManager) -> None:
    site.mqsc("DEFINE CHANNEL(STOPPED.SVRCONN) CHLTYPE(SVRCONN)")
    caller = peer(site, "STOPPED.SVRCONN")
    assert connect(caller, "ann", conversation=5).completion == mq.MQCC_OK
    with checks_stand_still(site):
        caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", PASSWORD)))
        settle(site)
        site.mqsc("STOP CHANNEL(STOPPED.SVRCONN) MODE(QUIESCE) STATUS(INACTIVE)")
        settle(site)
    assert caller.answer(2).reason == mq.MQRC_CHANNEL_NOT_AVAILABLE


def test_a_password_that_nobody_looked_at_is_not_taken_for_a_right_one(site: RunningQueueManager) -> None:
    """It came while none were checked, and is answered when they are."""
    authinfo = "ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT"
    site.mqsc(f"{authinfo}(NONE)\nREFRESH SECURITY TYPE(CONNAUTH)")
    caller = peer(site)
    with checks_stand_still(site):
        caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", "wrong")))
        settle(site)
        site.mqsc(f"{authinfo}(REQUIRED)\nREFRESH SECURITY TYPE(CONNAUTH)")
    assert caller.answer(2).reason == mq.MQRC_NOT_AUTHORIZED


def test_rules_that_are_made_during_the_check_count(site: RunningQueueManager) -> None:
    caller = peer(site)
    with checks_stand_still(site):
        caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", PASSWORD)))
        settle(site)
        site.mqsc(f"SET CHLAUTH({site.channel}) TYPE(BLOCKUSER) USERLIST('ann')")
    assert caller.answer(2).reason == mq.MQRC_NOT_AUTHORIZED


def test_a_thousand_guesses_leave_room_for_others(site: RunningQueueManager) -> None:
    callers = []
    with checks_stand_still(site):
        for number in range(130):
            caller = peer(site)
            callers.append(caller)
            asks = [wire.frame(wire.CONNECT, each, 2, asking("ann", f"guess {number}")) for each in range(1, 9)]
            caller.send(*asks)
        settle(site)
        refused = [answer.reason for answer in callers[-1].answers(20)]
        assert refused == [mq.MQRC_RESOURCE_PROBLEM] * 8
        other = peer(site, source="127.0.0.2")
        other.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", PASSWORD)))
        settle(site)
        for caller in callers:
            caller.sock.close()
        settle(site)
    # Nobody computes hashes for those who are gone.
    assert other.answer(2).completion == mq.MQCC_OK


def test_more_conversations_than_agreed_are_not_checked_either(site: RunningQueueManager) -> None:
    caller = peer(site)
    with checks_stand_still(site):
        caller.send(*[wire.frame(wire.CONNECT, each, 2, asking("ann", PASSWORD)) for each in range(1, 12)])
        assert closed(caller)
    settle(site)
    assert users(site) == []


def test_a_wrong_password_is_answered_late_and_once(site: RunningQueueManager) -> None:
    site.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) FAILDLAY(60)")
    site.mqsc("REFRESH SECURITY TYPE(CONNAUTH)")
    caller = peer(site)
    caller.send(wire.frame(wire.CONNECT, 1, 2, asking("ann", "wrong")))
    assert connect(caller, "ann", PASSWORD, conversation=2).completion == mq.MQCC_OK
    assert caller.answers(20) == []
    # The place of the one that waits is taken: guessing again and again on it does not help.
    caller.send(wire.frame(wire.CONNECT, 1, 3, asking("ann", PASSWORD)))
    assert closed(caller)


def test_who_connects_nothing_keeps_nobody_out(site: RunningQueueManager) -> None:
    """Not for long, even on a channel that allows few instances."""
    reactor = site.server.reactor
    site.mqsc("DEFINE CHANNEL(FEW.SVRCONN) CHLTYPE(SVRCONN) MAXINST(3)")
    guest = let_in(site, "ann")
    strangers = [peer(site, "FEW.SVRCONN") for _ in range(3)]
    late = dial((site.host, site.port))
    assert late.hello("FEW.SVRCONN").reason == mq.MQRC_CHANNEL_NOT_AVAILABLE
    assert strangers[0].answers() == []
    reactor.ahead_ms += 61_000
    reactor.wake()
    assert all(closed(each) for each in strangers)
    assert connect(peer(site, "FEW.SVRCONN"), "ann").completion == mq.MQCC_OK
    assert guest.open(COMMANDS, mq.MQOO_OUTPUT)  # whoever is connected stays


# -- addresses and names of hosts --------------------------------------------------------------------------------------


def test_a_rule_for_an_ipv4_address_counts_on_a_socket_for_ipv6(site: RunningQueueManager) -> None:
    port = free_port()
    site.mqsc(f"DEFINE LISTENER(EVERYWHERE) TRPTYPE(TCP) IPADDR('*') PORT({port})")
    site.server.start_listener("EVERYWHERE")
    caller = dial((site.host, port))
    assert caller.hello(site.channel).completion == 0
    assert connect(caller, "ann").completion == mq.MQCC_OK
    assert [each.connection_name for each in site.server.channel_status()] == ["127.0.0.1"]
    site.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('127.0.0.*') USERSRC(NOACCESS)")
    assert connect(caller, "ann", conversation=2).reason == mq.MQRC_NOT_AUTHORIZED
    site.mqsc("SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('127.0.0.1')")
    assert closed(dial((site.host, port)))


@pytest.mark.parametrize("has_it", [True, False])
def test_a_host_is_called_what_the_owner_of_the_name_says(
    site: RunningQueueManager, monkeypatch: pytest.MonkeyPatch, has_it: bool
) -> None:
    """Whoever has an address may give it any name, such as that of a host that is welcome."""
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1" if has_it else "192.0.2.1", 0))]
    monkeypatch.setattr(socket, "getnameinfo", lambda address, flags: ("welcome.example", "0"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **options: answer)
    monkeypatch.setattr(site.server.admission.lookups, "names", {})
    site.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)")
    site.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('welcome.example') USERSRC(CHANNEL)")
    assert connect(peer(site), "ann").reason == (mq.MQRC_NONE if has_it else mq.MQRC_NOT_AUTHORIZED)


# -- several users on one socket ---------------------------------------------------------------------------------------


@pytest.fixture
def shared(site: RunningQueueManager) -> Peer:
    """One socket: an administrator is conversation 1, ann 2, and somebody without a password 3."""
    site.mqsc(f"SET CHLAUTH({site.channel}) TYPE(BLOCKUSER) USERLIST('nobody')")
    site.mqsc("SET AUTHREC PROFILE(OPEN) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET,PUT,BROWSE,INQ,DSP)")
    made = peer(site)
    assert connect(made, "boss", PASSWORD, conversation=1).completion == mq.MQCC_OK
    assert connect(made, "ann", PASSWORD, conversation=2).completion == mq.MQCC_OK
    assert connect(made, "zoe", conversation=3).completion == mq.MQCC_OK
    return made


def test_every_conversation_is_looked_at(site: RunningQueueManager, shared: Peer) -> None:
    assert users(site) == ["boss", "ann", "zoe"]
    for user, password in (("", ""), ("boss", ""), ("boss", "wrong"), ("mqm", ""), ("ann", "wrong"), ("nobody", "")):
        assert connect(shared, user, password, conversation=4).reason == mq.MQRC_NOT_AUTHORIZED


def test_handles_belong_to_their_conversation(site: RunningQueueManager, shared: Peer) -> None:
    site.put("SECRET", b"for the boss")
    hobj = shared.open("SECRET", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE, conversation=1)
    for conversation in (2, 3):
        for type, payload in (
            (wire.GET, get(hobj)),
            (wire.PUT, put(hobj, b"mine")),
            (wire.CLOSE, numbers(hobj, 0)),
            (wire.INQUIRE, InquireArguments(hobj, [mq.MQIA_CURRENT_Q_DEPTH], [], b"").encode()),
        ):
            assert shared.ask(type, payload, 9, conversation).reason == mq.MQRC_HOBJ_ERROR
        assert open_reason(shared, "SECRET", mq.MQOO_BROWSE, conversation) == mq.MQRC_NOT_AUTHORIZED
    assert shared.ask(wire.GET, get(hobj), 9, 1).body == b"for the boss"


def test_a_held_message_is_settled_by_nobody_else(site: RunningQueueManager, shared: Peer) -> None:
    site.put("SECRET", b"for the boss")
    hobj = shared.open("SECRET", mq.MQOO_INPUT_SHARED, conversation=1)
    assert shared.ask(wire.GET, get(hobj, flags=HELD), 9, 1).body == b"for the boss"
    assert shared.ask(wire.SETTLE, numbers(9, 1), 10, 2).completion == mq.MQCC_OK  # it has none of that number
    assert shared.ask(wire.SETTLE, numbers(9, 0), 10, 1).completion == mq.MQCC_OK
    assert site.depth("SECRET") == 1


def test_messages_say_whose_conversation_they_came_by(site: RunningQueueManager, shared: Peer) -> None:
    site.mqsc("SET AUTHREC PROFILE(OPEN) OBJTYPE(QUEUE) PRINCIPAL('zoe') AUTHADD(PUT)")
    for conversation in (1, 2, 3):
        hobj = shared.open("OPEN", mq.MQOO_OUTPUT, conversation)
        assert shared.ask(wire.PUT, put(hobj, b"x"), 9, conversation).reason == 0
    assert [message.user for message in site.browse("OPEN")] == ["boss", "ann", "zoe"]


@pytest.mark.parametrize(
    "option",
    [
        mq.MQPMO_SET_ALL_CONTEXT,
        mq.MQPMO_SET_IDENTITY_CONTEXT,
        mq.MQPMO_PASS_ALL_CONTEXT,
        mq.MQPMO_PASS_IDENTITY_CONTEXT,
    ],
)
def test_nobody_signs_with_another_name(site: RunningQueueManager, shared: Peer, option: int) -> None:
    md = MQMD.default(2)
    MQMD.patch(md, "UserIdentifier", b"mqm".ljust(12))
    hobj = shared.open("OPEN", mq.MQOO_OUTPUT, 2)
    assert shared.ask(wire.PUT, put_payload(hobj, option, 0, bytes(md), b"", b"x"), 9, 2).completion == mq.MQCC_FAILED
    assert open_reason(shared, "OPEN", mq.MQOO_OUTPUT | option, 2) == mq.MQRC_NOT_AUTHORIZED
    asked = Put1Arguments(OpenArguments(mq.MQOT_Q, "OPEN", 0), option, 0, bytes(md), b"", b"x").encode()
    assert shared.ask(wire.PUT1, asked, 9, 2).reason == mq.MQRC_NOT_AUTHORIZED
    # Without an option the name in the descriptor counts for nothing.
    assert shared.ask(wire.PUT, put_payload(hobj, 0, 0, bytes(md), b"", b"x"), 9, 2).reason == 0
    assert [message.user for message in site.browse("OPEN")] == ["ann"]


def test_who_may_sign_as_others_on_the_queue_alone_may_not(site: RunningQueueManager, shared: Peer) -> None:
    """It takes the authority on the queue manager, too: or else commands could be given in any name."""
    site.mqsc(f"SET AUTHREC PROFILE({COMMANDS}) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT,SETALL,SETID)")
    options = mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT
    assert open_reason(shared, COMMANDS, options, 2) == mq.MQRC_NOT_AUTHORIZED
    site.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(CONNECT,SETALL)")
    assert open_reason(shared, COMMANDS, options, 2) == 0


@pytest.mark.parametrize("alternate", ["boss", "mqm", "ann", "", "   ", "root"])
def test_another_user_is_not_to_be_had_for_the_asking(site: RunningQueueManager, shared: Peer, alternate: str) -> None:
    options = mq.MQOO_OUTPUT | mq.MQOO_ALTERNATE_USER_AUTHORITY
    for name in ("OPEN", "SECRET"):
        assert open_reason(shared, name, options, 2, alternate) == mq.MQRC_NOT_AUTHORIZED
    # Nor without saying so.
    assert open_reason(shared, "SECRET", mq.MQOO_OUTPUT, 2, alternate) == mq.MQRC_NOT_AUTHORIZED
    asked = OpenArguments(mq.MQOT_Q, "SECRET", 0)
    asked.alternate_user = alternate
    for option in (0, mq.MQPMO_ALTERNATE_USER_AUTHORITY):
        payload = Put1Arguments(asked, option, 0, bytes(MQMD.default(2)), b"", b"x").encode()
        assert shared.ask(wire.PUT1, payload, 9, 2).reason == mq.MQRC_NOT_AUTHORIZED


def test_commands_without_a_name_are_nobodys(site: RunningQueueManager, shared: Peer) -> None:
    give_command(site, shared, "DEFINE QLOCAL(MADE)", mq.MQPMO_NO_CONTEXT)  # put by the administrator
    assert not has_queue(site, "MADE")
    give_command(site, shared, "DEFINE QLOCAL(MADE)")
    assert has_queue(site, "MADE")


def test_an_administrator_who_is_one_no_more(site: RunningQueueManager, shared: Peer) -> None:
    """Its connection is still there, and when security is refreshed it may do no more than others."""
    site.add_user("boss", PASSWORD)
    try:
        assert open_reason(shared, "SECRET", mq.MQOO_BROWSE, 2) == mq.MQRC_NOT_AUTHORIZED
        site.mqsc("REFRESH SECURITY TYPE(AUTHSERV)")
        assert open_reason(shared, "SECRET", mq.MQOO_BROWSE, 1) == mq.MQRC_NOT_AUTHORIZED
        give_command(site, shared, "DEFINE QLOCAL(MADE)")
        assert not has_queue(site, "MADE")
    finally:
        site.add_user("boss", PASSWORD, "mqm")


# -- commands over the queue manager's own socket ----------------------------------------------------------------------


def test_no_commands_come_over_a_channel(site: RunningQueueManager, shared: Peer) -> None:
    for conversation in (0, 1, 7):
        payload = json.dumps({"action": "mqsc", "text": "DEFINE QLOCAL(MADE)"}).encode()
        assert shared.ask(wire.COMMAND, payload, 9, conversation).reason == mq.MQRC_NOT_AUTHORIZED
    assert not has_queue(site, "MADE")


def local_peer_of(site: RunningQueueManager, uid: int) -> Peer:
    """A socket that another user of this machine has connected, as if the modes of the files let it."""
    directory = site.manager.directory.path / "run"
    here, there = socket.socketpair()
    opened = os.open(directory, os.O_PATH)
    os.chmod(directory, 0o711)
    os.chmod(directory / "local.sock", 0o666)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.connect(f"/proc/self/fd/{opened}/local.sock")
            socket.send_fds(there, [b"x"], [made.fileno()])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.chmod(directory, 0o700)
    os.chmod(directory / "local.sock", 0o600)
    os.close(opened)
    there.close()
    _, descriptors, _, _ = socket.recv_fds(here, 1, 1)
    here.close()
    found = socket.socket(fileno=descriptors[0])
    found.setblocking(False)
    return Peer(Patience(found), found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_other_users_of_the_machine_give_no_commands(site: RunningQueueManager) -> None:
    actions = site.server.actions
    actions.update(control_actions(site.manager, cast("Daemon", None)))
    actions.update(authority_actions(site.server.context_for))
    caller = local_peer_of(site, 65534)
    assert caller.hello().completion == 0
    wishes: dict[str, dict[str, object]] = {
        "mqsc": {"text": "DEFINE QLOCAL(MADE)"},
        "end": {"mode": "immediate"},
        "run_trusted": {"target": "os:abort"},
        "set_authority": {"objtype": "QMGR", "users": ["nobody"], "add": ["ALL"]},
        "entity_authority": {"objtype": "QMGR", "entity": "boss"},
        "replication": {"request": "resolve"},
    }
    assert {*wishes, "status", "definitions", "record_image", "recover_object", "authority_records"} == {*actions}
    for action in actions:
        payload = json.dumps({"action": action, "is_owner": True, "user": "root", **wishes.get(action, {})}).encode()
        for conversation in (0, 1):
            answer = caller.ask(wire.COMMAND, payload, 9, conversation)
            assert (action, answer.reason) == (action, mq.MQRC_NOT_AUTHORIZED)
    assert not has_queue(site, "MADE")
    # Nor as somebody else: a name without a password counts for nothing here.
    assert connect(caller, "root").completion == mq.MQCC_OK
    assert users(site) == ["nobody"]
    assert open_reason(caller, "SECRET", mq.MQOO_BROWSE) == mq.MQRC_NOT_AUTHORIZED
    assert connect(caller, "boss", "wrong", conversation=2).reason == mq.MQRC_NOT_AUTHORIZED
    # A long command, in segments, is for owners only: others cannot fill the memory with it.
    caller.send(segments.segment(wire.COMMAND, 0, 9, True, b"{"))
    assert closed(caller)


def test_files_are_for_their_owner_alone(site: RunningQueueManager) -> None:
    found = [site.manager.directory.path]
    for root, directories, files in os.walk(site.manager.directory.path):
        found += [site.manager.directory.path / root / name for name in (*directories, *files)]
    assert len(found) > 10
    assert [path for path in found if path.lstat().st_mode & 0o077] == []
