"""Ways in that must stay closed: each test is somebody who tries one, over real sockets and frame by frame."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ostler.model import constants as mq
from ostler.model.pcf import Header, Integer, String, encode
from ostler.model.structures.md import MQMD
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager
from ostler.testing.wire_bench import Answer, Peer, dial
from ostler.wire import frames as wire
from ostler.wire.calls import put_payload
from ostler.wire.exchanges import Connect, OpenArguments, decode_connected, decode_opened, decode_reply

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


def peer(site: RunningQueueManager, channel: str = "") -> Peer:
    """A socket whose channel is agreed."""
    made = dial((site.host, site.port))
    assert made.hello(channel or site.channel).completion == 0
    return made


def asking(user: str, password: str = "", application: str = "a test") -> bytes:
    asked = Connect()
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
    parameters = [Integer(mq.MQIACF_ESCAPE_TYPE, mq.MQET_MQSC), String(mq.MQCACF_ESCAPE_TEXT, text)]
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
    assert done.wait(10)
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
    assert decode_connected(decode_reply(answer.payload).reader).user == "nobody"
    for name, options in (("SECRET", mq.MQOO_BROWSE), ("SECRET", mq.MQOO_OUTPUT), (COMMANDS, mq.MQOO_INPUT_SHARED)):
        assert open_reason(caller, name, options) == mq.MQRC_NOT_AUTHORIZED
    assert open_reason(caller, "", mq.MQOO_INQUIRE, kind=mq.MQOT_Q_MGR) == mq.MQRC_NOT_AUTHORIZED
    give_command(site, caller, "DEFINE QLOCAL(MADE)")
    assert not has_queue(site, "MADE")


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
