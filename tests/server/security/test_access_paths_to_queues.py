"""Access paths to a queue for a connected user without authority to it: aliases, reports and replies."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import pytest
from tests.world.wire_bench import Peer, dial, get

from ostler.model import constants as mq
from ostler.model.pcf import Header, String, encode
from ostler.model.structures.md import MQMD
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager
from ostler.wire import frames as wire
from ostler.wire.connect_frames import ConnectArguments
from ostler.wire.object_frames import OpenArguments, Put1Arguments, decode_open_reply
from ostler.wire.put_get_frames import HELD, put_payload
from ostler.wire.replies import decode_reply

COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"
SETUP = f"""
DEFINE QLOCAL(DEAD)
ALTER QMGR DEADQ(DEAD)
DEFINE QLOCAL(OPEN)
DEFINE QLOCAL(SECRET)
DEFINE QALIAS(ALIAS) TARGET(SECRET)
DEFINE QLOCAL(XMIT) USAGE(XMITQ)
DEFINE QREMOTE(REMOTE) RNAME(THERE) RQMNAME(FAR) XMITQ(XMIT)
DEFINE QREMOTE(HOME) RNAME('') RQMNAME(WAYSTO)
DEFINE QMODEL(MODEL) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED)
SET AUTHREC OBJTYPE(QMGR) GROUP('nobody') AUTHADD(CONNECT)
SET AUTHREC PROFILE(OPEN) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET,PUT,BROWSE)
SET AUTHREC PROFILE(ALIAS) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT)
SET AUTHREC PROFILE(MODEL) OBJTYPE(QUEUE) GROUP('nobody') AUTHADD(GET,PUT,DSP)
SET AUTHREC PROFILE({COMMANDS}) OBJTYPE(QUEUE) GROUP('nobody') AUTHADD(PUT)
"""
COA = mq.MQRO_COA_WITH_FULL_DATA
COD = mq.MQRO_COD_WITH_FULL_DATA
WAIT_SECONDS = 120.0
EXPIRY = mq.MQRO_EXPIRATION_WITH_FULL_DATA


@pytest.fixture(scope="module")
def running() -> Iterator[RunningQueueManager]:
    with queue_manager("WAYSTO", guarded=True, channel="APP.SVRCONN") as found:
        yield found


@pytest.fixture
def site(running: RunningQueueManager) -> Iterator[RunningQueueManager]:
    with running.isolated(SETUP):
        yield running


@pytest.fixture
def ann(site: RunningQueueManager) -> Peer:
    return let_in(site, "ann")


def let_in(site: RunningQueueManager, user: str) -> Peer:
    made = dial((site.host, site.port))
    assert made.hello(site.channel).completion == 0
    asked = ConnectArguments()
    asked.user = user
    assert made.ask(wire.CONNECT, asked.encode(), 2).completion == mq.MQCC_OK
    return made


def opened(peer: Peer, name: str, options: int, manager: str = "", dynamic: str = "") -> tuple[int, str]:
    """The reason, and the name of the queue."""
    asked = OpenArguments(mq.MQOT_Q, name, options)
    asked.manager_name, asked.dynamic_name = manager, dynamic
    answer = peer.ask(wire.OPEN, asked.encode(), 3)
    if answer.completion != mq.MQCC_OK:
        return answer.reason, ""
    return 0, decode_open_reply(decode_reply(answer.payload).reader).name


def descriptor(report: int, queue: str, manager: str = "", **fields: int | bytes) -> bytes:
    md = MQMD.default(2)
    MQMD.patch(md, "Report", report)
    MQMD.patch(md, "ReplyToQ", queue.encode().ljust(48))
    MQMD.patch(md, "ReplyToQMgr", manager.encode().ljust(48))
    for name, value in fields.items():
        MQMD.patch(md, name, value)
    return bytes(md)


def have_reports(site: RunningQueueManager, ann: Peer, queue: str, manager: str = "") -> None:
    """Put and get messages that ask for every report with all data, signed and unsigned."""
    hobj = ann.open("OPEN", mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    for options in (0, mq.MQPMO_NO_CONTEXT):
        md = descriptor(COA | COD, queue, manager)
        assert ann.ask(wire.PUT, put_payload(hobj, options, 0, md, b"", b"report")).reason == 0
        assert ann.ask(wire.GET, get(hobj)).reason == 0
    for options in (0, mq.MQPMO_NO_CONTEXT):
        md = descriptor(EXPIRY, queue, manager, Expiry=1)
        assert ann.ask(wire.PUT, put_payload(hobj, options, 0, md, b"", b"report")).reason == 0
    while ann.ask(wire.GET, get(hobj, mq.MQGMO_BROWSE_FIRST)).reason == 0:
        ann.answers(1)
    assert ann.ask(wire.CLOSE, struct.pack("<ii", hobj, 0)).reason == 0


@pytest.mark.parametrize(
    ("queue", "manager"),
    [
        ("SECRET", ""),
        ("ALIAS", ""),
        ("SECRET", "HOME"),
        ("REMOTE", "WAYSTO"),
        ("ANY", "XMIT"),
        (COMMANDS, ""),
        ("MODEL", ""),
    ],
)
def test_reports_do_not_go_where_their_user_may_not(
    site: RunningQueueManager, ann: Peer, queue: str, manager: str
) -> None:
    have_reports(site, ann, queue, manager)
    assert [site.depth(name) for name in ("SECRET", "XMIT", COMMANDS)] == [0, 0, 0]
    assert site.depth("DEAD") == 6


def test_reports_go_where_their_user_may(site: RunningQueueManager, ann: Peer) -> None:
    """As at MQOPEN the name counts that was given: the alias, the remote definition; and nothing for unsigned ones."""
    for name in ("ALIAS", "REMOTE"):
        site.mqsc(f"SET AUTHREC PROFILE({name}) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT,PASSID)")
    have_reports(site, ann, "ALIAS")
    assert (site.depth("SECRET"), site.depth("DEAD")) == (3, 3)
    have_reports(site, ann, "REMOTE", "WAYSTO")
    assert (site.depth("XMIT"), site.depth("DEAD")) == (3, 6)
    have_reports(site, ann, "ANY", "XMIT")
    assert (site.depth("XMIT"), site.depth("DEAD")) == (3, 12)


def test_a_right_on_the_transmission_queue_is_none_on_a_remote_definition(site: RunningQueueManager, ann: Peer) -> None:
    site.mqsc("SET AUTHREC PROFILE(XMIT) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT,PASSID)")
    have_reports(site, ann, "REMOTE", "WAYSTO")
    assert (site.depth("XMIT"), site.depth("DEAD")) == (0, 6)
    have_reports(site, ann, "ANY", "XMIT")
    assert (site.depth("XMIT"), site.depth("DEAD")) == (3, 9)


def test_replies_to_commands_do_not_go_where_their_user_may_not(site: RunningQueueManager, ann: Peer) -> None:
    """Or else the command server would put them anywhere."""
    body = encode(Header(mq.MQCFT_COMMAND_XR, mq.MQCMD_INQUIRE_Q), (String(mq.MQCA_Q_NAME, "*"),), 1208)
    hobj = ann.open(COMMANDS, mq.MQOO_OUTPUT)
    for queue, manager in (("SECRET", ""), ("SECRET", "HOME"), ("REMOTE", ""), ("ANY", "XMIT"), ("MODEL", "")):
        md = descriptor(0, queue, manager, MsgType=mq.MQMT_REQUEST, Format=b"MQADMIN ")
        for options in (0, mq.MQPMO_NO_CONTEXT):
            before = [site.depth(name) for name in ("DEAD", "SECRET", "XMIT")]
            assert ann.ask(wire.PUT, put_payload(hobj, options, 0, md, b"", body)).reason == 0
            deadline = time.monotonic() + WAIT_SECONDS
            while [site.depth(name) for name in ("DEAD", "SECRET", "XMIT")] == before:
                served = f"CMDSERV({site.server.commands.status}), {site.depth(COMMANDS)} commands wait"
                assert time.monotonic() < deadline, f"no reply for {queue}@{manager} anywhere: {served}"
                ann.answers(1)
    assert (site.depth("SECRET"), site.depth("XMIT")) == (0, 0)


@pytest.mark.parametrize(
    ("name", "manager"),
    [("SECRET", ""), ("SECRET", "WAYSTO"), ("SECRET", "HOME"), ("REMOTE", ""), ("SECRET", "XMIT"), ("XMIT", "")],
)
def test_no_name_leads_round_the_authority(site: RunningQueueManager, ann: Peer, name: str, manager: str) -> None:
    assert opened(ann, name, mq.MQOO_OUTPUT, manager)[0] == mq.MQRC_NOT_AUTHORIZED
    target = OpenArguments(mq.MQOT_Q, name, 0)
    target.manager_name = manager
    payload = Put1Arguments(target, 0, 0, bytes(MQMD.default(2)), b"", b"x").encode()
    assert ann.ask(wire.PUT1, payload).reason == mq.MQRC_NOT_AUTHORIZED
    assert (site.depth("SECRET"), site.depth("XMIT")) == (0, 0)


def test_a_dynamic_queue_takes_no_place_of_another(site: RunningQueueManager, ann: Peer) -> None:
    for taken in ("SECRET", "ALIAS", "REMOTE", "MODEL", COMMANDS):
        assert opened(ann, "MODEL", mq.MQOO_OUTPUT, dynamic=taken)[0] == mq.MQRC_OBJECT_ALREADY_EXISTS
    reason, name = opened(ann, "MODEL", mq.MQOO_OUTPUT, dynamic="ANN.*")
    assert reason == 0
    bob = let_in(site, "bob")
    for options in (mq.MQOO_OUTPUT, mq.MQOO_BROWSE, mq.MQOO_INPUT_SHARED, mq.MQOO_INQUIRE):
        assert opened(bob, name, options)[0] == mq.MQRC_NOT_AUTHORIZED
    assert opened(bob, "MODEL", mq.MQOO_OUTPUT, dynamic=name)[0] == mq.MQRC_OBJECT_ALREADY_EXISTS


def test_who_makes_a_queue_of_the_same_name_later_shares_it_with_nobody(site: RunningQueueManager, ann: Peer) -> None:
    assert opened(ann, "MODEL", mq.MQOO_OUTPUT, dynamic="MINE") == (0, "MINE")
    site.mqsc("SET AUTHREC PROFILE(MINE) OBJTYPE(QUEUE) PRINCIPAL('eve') AUTHADD(GET)")
    hobj = ann.open("MINE", mq.MQOO_OUTPUT)
    assert ann.ask(wire.CLOSE, struct.pack("<ii", hobj, mq.MQCO_DELETE)).reason == 0
    bob = let_in(site, "bob")
    assert opened(bob, "MODEL", mq.MQOO_OUTPUT, dynamic="MINE") == (0, "MINE")
    for user in ("ann", "eve"):
        assert opened(let_in(site, user), "MINE", mq.MQOO_INPUT_SHARED)[0] == mq.MQRC_NOT_AUTHORIZED


@pytest.mark.parametrize("options", [mq.MQOO_OUTPUT, mq.MQOO_BROWSE, mq.MQOO_OUTPUT | mq.MQOO_BROWSE])
def test_only_who_opened_for_input_takes_messages(site: RunningQueueManager, ann: Peer, options: int) -> None:
    site.put("OPEN", b"stays")
    hobj = ann.open("OPEN", options)
    ways = (0, mq.MQGMO_NO_SYNCPOINT, mq.MQGMO_SYNCPOINT, mq.MQGMO_MSG_UNDER_CURSOR, mq.MQGMO_ACCEPT_TRUNCATED_MSG)
    for number, way in enumerate(ways):
        asked = get(hobj, way)
        assert ann.ask(wire.GET, asked, 100 + number).completion == mq.MQCC_FAILED
        assert ann.ask(wire.GET, get(hobj, way, flags=HELD), 200 + number).completion == mq.MQCC_FAILED
        assert ann.ask(wire.GET_ANY, struct.pack("<ii", 0, 1) + asked, 300 + number).completion == mq.MQCC_FAILED
        assert ann.ask(wire.STREAM, struct.pack("<i", 9) + asked, 400 + number).completion == mq.MQCC_FAILED
    assert site.depth("OPEN") == 1
