"""Delivery by the receiving MCA: puts with all context, forwarding, dead-lettering, discarding and reports."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from tests.world.world import World

from ostler.channel.dead_letter import DEAD_LETTERED, DISCARDED, NOT_DONE
from ostler.channel.delivery import InboundDelivery, dead_letter_unsent, has_header, may_retry
from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.core import STOPPING
from ostler.engine.message.message import MD_BYTES
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.syncpoint import back_out_unit, commit_unit
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.authorities import ALTUSR, PUT, SETALL
from ostler.model.definitions import Definition, new_definition
from ostler.model.guard import Guard
from ostler.model.structures.headers import MQDLH, MQMDE
from ostler.model.structures.md import MQMD
from ostler.testing.simulation.audit import audit_engine

FIELDS: dict[str, Any] = {
    "MsgType": mq.MQMT_DATAGRAM,
    "Encoding": mq.MQENC_NORMAL,
    "CodedCharSetId": 500,
    "Format": mq.MQFMT_STRING,
    "Priority": 4,
    "Persistence": 1,
    "MsgId": b"m" * 24,
    "CorrelId": b"c" * 24,
    "ReplyToQ": b"ANSWERS",
    "ReplyToQMgr": b"ORIGIN",
    "UserIdentifier": b"paul",
    "AccountingToken": b"t" * 32,
    "ApplIdentityData": b"identity",
    "PutApplType": mq.MQAT_JAVA,
    "PutApplName": b"a program far away",
    "PutDate": b"20200102",
    "PutTime": b"03040506",
    "ApplOriginData": b"orig",
}


def descriptor(**changes: Any) -> bytearray:
    md = MQMD.default(1)
    for name, value in {**FIELDS, **changes}.items():
        MQMD.patch(md, name, value)
    return md


def sent(queue: str, data: bytes = b"data", at: str = "", **changes: Any) -> bytes:
    """A message as it lay on the transmission queue of the partner."""
    names = queue.encode().ljust(48) + at.encode().ljust(48)
    return b"XQH \1\0\0\0" + names + bytes(descriptor(**changes)) + data


def extended(queue: str, data: bytes = b"data", at: str = "", **fields: Any) -> bytes:
    """A message of a group: its version 2 fields come in an extension."""
    extension = MQMDE.default()
    described = {"Encoding": mq.MQENC_NORMAL, "CodedCharSetId": 500, "Format": mq.MQFMT_STRING}
    for name, value in {**described, **fields}.items():
        MQMDE.patch(extension, name, value)
    own = {"Format": mq.MQFMT_MD_EXTENSION, "Encoding": mq.MQENC_NATIVE, "CodedCharSetId": 1208}
    return sent(queue, bytes(extension) + data, at, **own)


class Grants(Guard):
    """Says what it was told."""

    def __init__(self) -> None:
        self.granted: dict[tuple[str, str], int] = {}

    def authorities(self, user: str, object_type: int, name: str) -> int:
        return self.granted.get((user, name), 0)

    def is_administrator(self, user: str) -> bool:
        return False

    def on_defined(self, definition: Definition) -> None:
        return None

    def on_deleted(self, definition: Definition) -> None:
        return None


class Place:
    """A queue manager, and the receiving end of a channel in it."""

    def __init__(self, **attributes: Value) -> None:
        self.world = World.create()
        self.engine = self.world.engine
        self.connection = self.world.connect("channel")
        self.world.define_queue("TARGET")
        self.delivery = self.receive(**attributes)

    def receive(self, **attributes: Value) -> InboundDelivery:
        channel = new_definition(ObjectType.CHANNEL, "TO.HERE", {"CHLTYPE": "RCVR", **attributes})
        self.delivery = InboundDelivery(self.engine, self.connection, channel)
        return self.delivery

    def define(self, kind: ObjectType, name: str, **attributes: Value) -> None:
        objects.define(self.engine, new_definition(kind, name, attributes), replace=True)

    def manager(self, **changes: Value) -> None:
        objects.change(self.engine, self.engine.manager.with_changes(changes))

    def use_dead_letter_queue(self, **attributes: Value) -> None:
        self.define(ObjectType.QLOCAL, "DLQ", **attributes)
        self.manager(DEADQ="DLQ")

    def put(self, body: bytes, expiry: int = -1) -> int:
        self.outcome = self.delivery.put(body, expiry, None)
        return int(self.outcome.reason)

    def dead_letter(self, body: bytes, reason: int = mq.MQRC_Q_FULL, expiry: int = -1) -> int:
        return int(self.delivery.dead_letter(body, expiry, reason, None))

    def fields(self, name: str, at: int = 0) -> dict[str, Any]:
        """The descriptor of a message on a queue."""
        md = self.world.messages(name)[at].md
        found: dict[str, Any] = {}
        for field in MQMD.fields:
            value = MQMD.read(md, field.name)
            found[field.name] = value if isinstance(value, int) else value.rstrip(b" ")
        return found

    def depth(self, name: str) -> int:
        return int(self.engine.queues[name].depth)


@pytest.fixture
def place() -> Place:
    return Place()


def padless(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value.rstrip(b" ") if isinstance(value, bytes) else value for name, value in fields.items()}


# -- put


def test_a_message_arrives_as_it_was_put(place: Place) -> None:
    assert place.put(sent("TARGET", b"the data")) == 0
    fields = place.fields("TARGET")
    assert {name: fields[name] for name in FIELDS} == padless(FIELDS)
    assert fields["Version"] == 2
    assert fields["BackoutCount"] == 0
    assert fields["Expiry"] == -1
    assert place.world.bodies("TARGET") == [b"the data"]
    audit_engine(place.engine)


def test_what_is_left_of_its_life_counts(place: Place) -> None:
    assert place.put(sent("TARGET", Expiry=5000), 30) == 0
    assert 0 < place.fields("TARGET")["Expiry"] <= 30
    assert place.put(sent("TARGET", Expiry=5000), -1) == 0
    assert place.fields("TARGET", 1)["Expiry"] == -1


def test_a_message_about_to_expire_still_arrives(place: Place) -> None:
    assert place.put(sent("TARGET", Expiry=5000), 0) == 0
    assert place.depth("TARGET") == 1


def test_the_extension_becomes_part_of_the_descriptor(place: Place) -> None:
    flags = mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
    assert place.put(extended("TARGET", b"last", GroupId=b"g" * 24, MsgSeqNumber=7, MsgFlags=flags)) == 0
    fields = place.fields("TARGET")
    assert (fields["GroupId"], fields["MsgSeqNumber"], fields["MsgFlags"]) == (b"g" * 24, 7, flags)
    assert (fields["Format"], fields["Encoding"], fields["CodedCharSetId"]) == (b"MQSTR", mq.MQENC_NORMAL, 500)
    assert place.world.bodies("TARGET") == [b"last"]


def test_an_extension_that_is_none_is_refused(place: Place) -> None:
    assert place.put(sent("TARGET", b"no extension", Format=mq.MQFMT_MD_EXTENSION)) == mq.MQRC_MDE_ERROR
    assert place.depth("TARGET") == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"XQH ",
        sent("TARGET")[:427],
        b"XQX " + sent("TARGET")[4:],
        b"XQH \2\0\0\0" + sent("TARGET")[8:],
        sent("TARGET")[:104] + b"MX  " + sent("TARGET")[108:],
        sent("TARGET")[:108] + b"\2\0\0\0" + sent("TARGET")[112:],
    ],
)
def test_a_header_that_is_none_is_refused(place: Place, body: bytes) -> None:
    assert not has_header(body)
    assert place.put(body) == mq.MQRC_XQH_ERROR
    assert place.dead_letter(body, mq.MQRC_XQH_ERROR) == mq.MQRC_XQH_ERROR


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("Persistence", 9, mq.MQRC_PERSISTENCE_ERROR),
        ("Priority", -7, mq.MQRC_PRIORITY_ERROR),
        ("MsgType", 0, mq.MQRC_MSG_TYPE_ERROR),
        ("Report", 0x00010000, mq.MQRC_REPORT_OPTIONS_ERROR),
    ],
)
def test_a_descriptor_nobody_can_use_goes_to_the_dead_letter_queue(
    place: Place, field: str, value: int, reason: int
) -> None:
    place.use_dead_letter_queue()
    changes: dict[str, Any] = {field: value}
    body = sent("TARGET", **changes)
    assert place.put(body) == reason
    assert place.dead_letter(body, reason) == 0
    assert MQDLH.read(place.world.bodies("DLQ")[0][:172], "Reason") == reason
    audit_engine(place.engine)


def test_a_warning_is_no_refusal(place: Place) -> None:
    assert place.put(sent("TARGET", Priority=12)) == 0
    assert place.fields("TARGET")["Priority"] == 12


def test_in_a_unit_of_work_it_is_seen_when_that_is_committed(place: Place) -> None:
    unit = place.engine.new_unit_of_work()
    assert place.delivery.put(sent("TARGET", b"1"), -1, unit).reason == 0
    second = place.delivery.put(sent("TARGET", b"2"), -1, unit)
    assert (second.reason, second.after_lsn) == (0, 0)
    assert place.connection.unit_of_work is None
    assert place.world.bodies("TARGET") == []
    place.world.acknowledge(commit_unit(place.engine, unit))
    assert place.world.bodies("TARGET") == [b"1", b"2"]
    other = place.engine.new_unit_of_work()
    assert place.delivery.put(sent("TARGET", b"3"), -1, other).reason == 0
    back_out_unit(place.engine, other)
    assert place.world.bodies("TARGET") == [b"1", b"2"]
    audit_engine(place.engine)


def test_outside_a_unit_it_says_when_it_is_promised(place: Place) -> None:
    assert place.put(sent("TARGET", Persistence=1)) == 0
    assert place.outcome.after_lsn > 0
    assert place.put(sent("TARGET", Persistence=0)) == 0
    assert place.outcome.after_lsn == 0


def test_a_queue_that_answers_later_is_waited_for_all_the_same(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "LATER", DEFPRESP="ASYNC")
    assert place.put(sent("LATER")) == 0
    assert place.outcome.after_lsn > 0


def test_the_unit_of_the_connection_is_left_alone(place: Place) -> None:
    own = place.engine.unit_of_work_of(place.connection)
    assert place.put(sent("TARGET")) == 0
    assert place.connection.unit_of_work is own
    assert not own.entries
    assert place.depth("TARGET") == 1


# -- names


@pytest.mark.parametrize("at", ["", "own"])
def test_this_queue_manager_may_be_named_or_not(place: Place, at: str) -> None:
    assert place.put(sent("TARGET", at=place.engine.name if at else "")) == 0
    assert place.depth("TARGET") == 1


def test_it_goes_on_to_a_third_queue_manager(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "THIRD", USAGE="XMITQ")
    assert place.put(sent("FAR.QUEUE", b"on its way", at="THIRD", Expiry=900), 800) == 0
    message = place.world.messages("THIRD")[0]
    assert has_header(message.body)
    assert message.body[8:104] == b"FAR.QUEUE".ljust(48) + b"THIRD".ljust(48)
    inner = message.body[104:428]
    wanted = descriptor(Expiry=800)
    assert inner == bytes(wanted)
    assert message.body[428:] == b"on its way"
    assert MQMD.read(message.md, "CorrelId") == b"m" * 24
    assert MQMD.read(message.md, "MsgId") != b"m" * 24


def test_a_group_goes_on_with_its_extension(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "THIRD", USAGE="XMITQ")
    body = extended("FAR", at="THIRD", GroupId=b"g" * 24, MsgSeqNumber=2, MsgFlags=mq.MQMF_MSG_IN_GROUP)
    assert place.put(body) == 0
    assert place.world.bodies("THIRD") == [body]


def test_a_queue_manager_alias_leads_on(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "WAY", USAGE="XMITQ")
    place.define(ObjectType.QREMOTE, "NICKNAME", RQMNAME="REAL", XMITQ="WAY")
    assert place.put(sent("FAR.QUEUE", at="NICKNAME")) == 0
    assert place.world.bodies("WAY")[0][8:104] == b"FAR.QUEUE".ljust(48) + b"REAL".ljust(48)


def test_a_queue_manager_alias_may_mean_this_one(place: Place) -> None:
    place.define(ObjectType.QREMOTE, "NICKNAME", RQMNAME=place.engine.name)
    assert place.put(sent("TARGET", at="NICKNAME")) == 0
    assert place.depth("TARGET") == 1


def test_a_remote_definition_here_leads_on(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "WAY", USAGE="XMITQ")
    place.define(ObjectType.QREMOTE, "LINK", RNAME="FAR.QUEUE", RQMNAME="REAL", XMITQ="WAY")
    assert place.put(sent("LINK", at=place.engine.name)) == 0
    assert place.world.bodies("WAY")[0][8:104] == b"FAR.QUEUE".ljust(48) + b"REAL".ljust(48)


def test_an_alias_leads_to_its_target(place: Place) -> None:
    place.define(ObjectType.QALIAS, "ALIAS", TARGET="TARGET")
    assert place.put(sent("ALIAS")) == 0
    assert place.depth("TARGET") == 1


@pytest.mark.parametrize(
    ("queue", "at", "reason"),
    [
        ("NO.SUCH.QUEUE", "", mq.MQRC_UNKNOWN_OBJECT_NAME),
        ("", "", mq.MQRC_UNKNOWN_OBJECT_NAME),
        ("TARGET", "UNHEARD.OF", mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        ("MODEL", "", mq.MQRC_Q_TYPE_ERROR),
        ("\N{BULLET}", "", mq.MQRC_UNKNOWN_OBJECT_NAME),
    ],
)
def test_names_that_lead_nowhere(place: Place, queue: str, at: str, reason: int) -> None:
    place.define(ObjectType.QMODEL, "MODEL", DEFTYPE="PERMDYN")
    count = len(place.engine.queues)
    body = sent("TARGET", at=at)
    assert place.put(body[:8] + queue.encode("utf-8").ljust(48) + body[56:]) == reason
    assert len(place.engine.queues) == count


# -- open queues


def test_a_queue_is_opened_once(place: Place) -> None:
    for _ in range(3):
        assert place.put(sent("TARGET")) == 0
    assert len(place.connection.handles) == 1
    place.delivery.close()
    assert not place.connection.handles
    assert place.put(sent("TARGET")) == 0


def test_queues_stay_open_within_bounds(place: Place) -> None:
    for number in range(100):
        place.define(ObjectType.QLOCAL, f"Q{number}")
    for number in (*range(100), 0, 99):
        assert place.put(sent(f"Q{number}")) == 0
    assert 1 < len(place.connection.handles) <= 64
    assert [place.depth(f"Q{number}") for number in (0, 1, 98, 99)] == [2, 1, 1, 2]


def test_it_makes_do_with_few_handles(place: Place) -> None:
    place.manager(MAXHANDS=2)
    for number in range(5):
        place.define(ObjectType.QLOCAL, f"Q{number}")
    for number in range(5):
        assert place.put(sent(f"Q{number}")) == 0


def test_a_queue_deleted_and_defined_again(place: Place) -> None:
    assert place.put(sent("TARGET")) == 0
    queue = place.engine.queues["TARGET"]
    objects.delete_queue(place.engine, queue)
    assert place.put(sent("TARGET")) == mq.MQRC_UNKNOWN_OBJECT_NAME
    place.define(ObjectType.QLOCAL, "TARGET")
    assert place.put(sent("TARGET")) == 0
    assert place.depth("TARGET") == 1
    assert place.engine.queues["TARGET"] is not queue


def test_a_dynamic_queue_that_comes_back_under_its_name(place: Place) -> None:
    place.define(ObjectType.QMODEL, "MODEL")

    def make() -> tuple[Connection, Any]:
        program = place.world.connect()
        request = OpenRequest(mq.MQOT_Q, "MODEL", mq.MQOO_INPUT_SHARED)
        request.dynamic_name = "ANSWERS"
        return program, open_object(place.engine, program, request)

    program, handle = make()
    assert place.put(sent("ANSWERS", Persistence=0)) == 0
    place.world.close(program, handle)
    make()
    assert place.put(sent("ANSWERS", Persistence=0)) == 0
    assert place.depth("ANSWERS") == 1


def test_an_alias_that_leads_elsewhere_now(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "OTHER")
    place.define(ObjectType.QALIAS, "ALIAS", TARGET="TARGET")
    assert place.put(sent("ALIAS")) == 0
    place.define(ObjectType.QALIAS, "ALIAS", TARGET="OTHER")
    assert place.put(sent("ALIAS")) == 0
    assert (place.depth("TARGET"), place.depth("OTHER")) == (1, 1)


def test_another_default_transmission_queue(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "WAY1", USAGE="XMITQ")
    place.define(ObjectType.QLOCAL, "WAY2", USAGE="XMITQ")
    for way in ("WAY1", "WAY2"):
        place.manager(DEFXMITQ=way)
        assert place.put(sent("FAR", at="FARTHER")) == 0
    assert (place.depth("WAY1"), place.depth("WAY2")) == (1, 1)


# -- whose authority


def guarded(**attributes: Value) -> tuple[Place, Grants]:
    place = Place(**attributes)
    grants = Grants()
    place.engine.guard = grants
    place.connection.is_privileged = False
    place.connection.user = "mca"
    return place, grants


@pytest.mark.parametrize("word", ["DEF", "ONLYMCA"])
def test_the_channels_user_must_be_allowed_to_put_with_context(word: str) -> None:
    place, grants = guarded(PUTAUT=word)
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["mca", "TARGET"] = PUT | SETALL
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["mca", place.engine.name] = SETALL
    assert place.put(sent("TARGET")) == 0


@pytest.mark.parametrize("word", ["CTX", "ALTMCA"])
def test_the_user_of_the_message_must_be_allowed_to_put(word: str) -> None:
    place, grants = guarded(PUTAUT=word)
    grants.granted["mca", place.engine.name] = SETALL | ALTUSR
    grants.granted["mca", "TARGET"] = SETALL
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["paul", "TARGET"] = PUT
    grants.granted["mca", "TARGET"] = 0
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["mca", "TARGET"] = SETALL
    assert place.put(sent("TARGET")) == 0
    assert place.put(sent("TARGET", UserIdentifier=b"mary")) == mq.MQRC_NOT_AUTHORIZED
    assert place.put(sent("TARGET", UserIdentifier=b"")) == mq.MQRC_NOT_AUTHORIZED
    assert place.put(sent("TARGET")) == 0


def test_the_user_of_the_message_needs_the_channels_leave() -> None:
    place, grants = guarded(PUTAUT="CTX")
    grants.granted["paul", "TARGET"] = PUT
    grants.granted["mca", "TARGET"] = SETALL
    grants.granted["mca", place.engine.name] = SETALL
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["mca", place.engine.name] = ALTUSR
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED


def test_the_queue_managers_own_authority() -> None:
    place, grants = guarded(PUTAUT="DEF")
    place.connection.user = ""
    place.connection.is_privileged = True
    assert place.put(sent("TARGET")) == 0
    place.receive(PUTAUT="CTX")
    assert place.put(sent("TARGET")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["paul", "TARGET"] = PUT
    assert place.put(sent("TARGET")) == 0


# -- what cannot be put


@pytest.mark.parametrize(
    ("reason", "again"),
    [
        (mq.MQRC_Q_FULL, True),
        (mq.MQRC_PUT_INHIBITED, True),
        (mq.MQRC_PAGESET_FULL, True),
        (mq.MQRC_Q_SPACE_NOT_AVAILABLE, True),
        (mq.MQRC_UNKNOWN_OBJECT_NAME, False),
        (mq.MQRC_NOT_AUTHORIZED, False),
        (mq.MQRC_MSG_TOO_BIG_FOR_Q, False),
    ],
)
def test_what_is_tried_again(reason: int, again: bool) -> None:
    assert may_retry(reason) is again


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"MAXDEPTH": 0}, mq.MQRC_Q_FULL),
        ({"PUT": "DISABLED"}, mq.MQRC_PUT_INHIBITED),
        ({"MAXMSGL": 3}, mq.MQRC_MSG_TOO_BIG_FOR_Q),
    ],
)
def test_a_refused_message_changes_nothing(place: Place, attributes: dict[str, Value], reason: int) -> None:
    place.define(ObjectType.QLOCAL, "NARROW", **attributes)
    unit = place.engine.new_unit_of_work()
    assert place.delivery.put(sent("NARROW"), -1, unit).reason == reason
    assert not unit.entries
    assert place.depth("NARROW") == 0
    place.define(ObjectType.QLOCAL, "NARROW")
    assert place.delivery.put(sent("NARROW"), -1, unit).reason == 0


def test_the_dead_letter_byte_for_byte(place: Place) -> None:
    place.use_dead_letter_queue()
    assert place.dead_letter(sent("LOST", b"the data", at="HERE"), mq.MQRC_UNKNOWN_OBJECT_NAME) == 0
    assert place.delivery.disposal == DEAD_LETTERED
    fields = place.fields("DLQ")
    own = {"Encoding": mq.MQENC_NATIVE, "CodedCharSetId": 1208, "Format": mq.MQFMT_DEAD_LETTER_HEADER.rstrip()}
    assert {name: fields[name] for name in FIELDS} == {**padless(FIELDS), **own}
    body = place.world.bodies("DLQ")[0]
    expected = {
        "Reason": mq.MQRC_UNKNOWN_OBJECT_NAME,
        "DestQName": b"LOST".ljust(48),
        "DestQMgrName": b"HERE".ljust(48),
        "Encoding": mq.MQENC_NORMAL,
        "CodedCharSetId": 500,
        "Format": mq.MQFMT_STRING,
        "PutApplType": mq.MQAT_QMGR,
        "PutApplName": place.engine.name.encode().ljust(28),
    }
    assert {name: MQDLH.read(body[:172], name) for name in expected} == expected
    assert body[172:] == b"the data"
    assert not place.connection.handles


def test_the_dead_letter_belongs_to_the_unit(place: Place) -> None:
    place.use_dead_letter_queue()
    unit = place.engine.new_unit_of_work()
    assert place.delivery.dead_letter(sent("LOST"), -1, mq.MQRC_UNKNOWN_OBJECT_NAME, unit) == 0
    assert place.world.bodies("DLQ") == []
    commit_unit(place.engine, unit)
    assert len(place.world.bodies("DLQ")) == 1
    assert place.dead_letter(sent("LOST")) == 0
    assert len(place.world.bodies("DLQ")) == 2


def test_a_dead_letter_keeps_its_life(place: Place) -> None:
    place.use_dead_letter_queue()
    assert place.dead_letter(sent("LOST", Expiry=500), expiry=40) == 0
    assert 0 < place.fields("DLQ")["Expiry"] <= 40


def test_a_message_of_a_group_is_dead_lettered_in_it(place: Place) -> None:
    place.use_dead_letter_queue()
    flags = mq.MQMF_MSG_IN_GROUP
    assert place.dead_letter(extended("LOST", GroupId=b"g" * 24, MsgSeqNumber=2, MsgFlags=flags)) == 0
    fields = place.fields("DLQ")
    assert (fields["GroupId"], fields["MsgSeqNumber"], fields["MsgFlags"]) == (b"g" * 24, 2, flags)
    assert place.world.bodies("DLQ")[0][172:] == b"data"


@pytest.mark.parametrize(
    "fields", [{"MsgFlags": 0x7F000000}, {"MsgSeqNumber": 0}, {"Offset": -5}, {"OriginalLength": -9}]
)
def test_an_extension_without_sense_stays_with_the_data(place: Place, fields: dict[str, Any]) -> None:
    place.use_dead_letter_queue()
    given: dict[str, Any] = {"MsgFlags": mq.MQMF_SEGMENT, **fields}
    body = extended("LOST", **given)
    assert place.dead_letter(body) == 0
    dead = place.world.bodies("DLQ")[0]
    assert MQDLH.read(dead[:172], "Format") == mq.MQFMT_MD_EXTENSION
    assert dead[172:] == body[428:]
    audit_engine(place.engine)


def test_without_a_dead_letter_queue_the_channel_cannot_go_on(place: Place) -> None:
    assert place.dead_letter(sent("LOST"), mq.MQRC_UNKNOWN_OBJECT_NAME) == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert place.delivery.disposal == NOT_DONE


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"MAXDEPTH": 0}, mq.MQRC_Q_FULL),
        ({"PUT": "DISABLED"}, mq.MQRC_PUT_INHIBITED),
        ({"MAXMSGL": 175}, mq.MQRC_MSG_TOO_BIG_FOR_Q),
    ],
)
def test_a_dead_letter_queue_that_takes_nothing(place: Place, attributes: dict[str, Value], reason: int) -> None:
    place.use_dead_letter_queue(**attributes)
    answers: dict[str, Any] = {"Report": mq.MQRO_EXCEPTION, "ReplyToQ": b"TARGET", "ReplyToQMgr": b""}
    assert place.dead_letter(sent("LOST", **answers), mq.MQRC_UNKNOWN_OBJECT_NAME) == reason
    # What is not done with is sent again, and reported then.
    assert place.depth("TARGET") == 0
    assert not place.connection.handles


def test_a_dead_letter_queue_that_is_missing(place: Place) -> None:
    place.manager(DEADQ="NO.SUCH.QUEUE")
    assert place.dead_letter(sent("LOST"), mq.MQRC_Q_FULL) == mq.MQRC_UNKNOWN_OBJECT_NAME


def test_a_dead_letter_queue_elsewhere(place: Place) -> None:
    place.define(ObjectType.QLOCAL, "WAY", USAGE="XMITQ")
    place.define(ObjectType.QREMOTE, "DLQ", RNAME="FAR.DLQ", RQMNAME="FAR", XMITQ="WAY")
    place.manager(DEADQ="DLQ")
    assert place.dead_letter(sent("LOST")) == 0
    body = place.world.bodies("WAY")[0]
    assert body[8:104] == b"FAR.DLQ".ljust(48) + b"FAR".ljust(48)
    assert body[428:432] == b"DLH "


def test_a_channel_that_does_not_use_the_dead_letter_queue(place: Place) -> None:
    place.use_dead_letter_queue()
    place.receive(USEDLQ="NO")
    assert place.dead_letter(sent("LOST"), mq.MQRC_Q_FULL) == mq.MQRC_Q_FULL
    assert place.depth("DLQ") == 0


@pytest.mark.parametrize(("speed", "lost"), [("FAST", True), ("NORMAL", False)])
def test_fast_messages_may_be_lost(place: Place, speed: str, lost: bool) -> None:
    place.receive(NPMSPEED=speed)
    assert place.dead_letter(sent("LOST", Persistence=0), mq.MQRC_Q_FULL) == (0 if lost else mq.MQRC_Q_FULL)
    assert place.delivery.disposal == (DISCARDED if lost else NOT_DONE)
    assert place.dead_letter(sent("LOST", Persistence=1), mq.MQRC_Q_FULL) == mq.MQRC_Q_FULL


def test_a_message_may_ask_to_be_discarded(place: Place) -> None:
    place.use_dead_letter_queue()
    assert place.dead_letter(sent("LOST", Report=mq.MQRO_DISCARD_MSG)) == 0
    assert place.delivery.disposal == DISCARDED
    assert place.depth("DLQ") == 0


@pytest.mark.parametrize(
    ("option", "data"),
    [
        (mq.MQRO_EXCEPTION, b""),
        (mq.MQRO_EXCEPTION_WITH_DATA, b"x" * 100),
        (mq.MQRO_EXCEPTION_WITH_FULL_DATA, b"x" * 300),
    ],
)
@pytest.mark.parametrize("discard", [0, mq.MQRO_DISCARD_MSG])
def test_an_exception_is_reported(place: Place, option: int, data: bytes, discard: int) -> None:
    place.use_dead_letter_queue()
    place.define(ObjectType.QLOCAL, "ORIGIN", USAGE="XMITQ")
    unit = place.engine.new_unit_of_work()
    body = sent("LOST", b"x" * 300, Report=option | discard)
    assert place.delivery.dead_letter(body, -1, mq.MQRC_Q_FULL, unit) == 0
    assert place.world.bodies("ORIGIN") == []
    commit_unit(place.engine, unit)
    report = place.world.bodies("ORIGIN")[0]
    assert report[8:104] == b"ANSWERS".ljust(48) + b"ORIGIN".ljust(48)
    embedded = report[104:428]
    assert MQMD.read(embedded, "MsgType") == mq.MQMT_REPORT
    assert MQMD.read(embedded, "Feedback") == mq.MQRC_Q_FULL
    assert MQMD.read(embedded, "CorrelId") == b"m" * 24
    assert report[-len(data) :] == data if data else True
    assert place.depth("DLQ") == (0 if discard else 1)


@pytest.mark.parametrize(
    "reason", [mq.MQRC_Q_MGR_STOPPING, mq.MQRC_BACKED_OUT, mq.MQRC_RESOURCE_PROBLEM, mq.MQRC_SYNCPOINT_LIMIT_REACHED]
)
def test_a_reason_that_is_not_the_messages_ends_the_channel(place: Place, reason: int) -> None:
    place.use_dead_letter_queue()
    place.receive(NPMSPEED="FAST")
    assert place.dead_letter(sent("LOST", Persistence=0, Report=mq.MQRO_DISCARD_MSG), reason) == reason
    assert place.depth("DLQ") == 0


def test_a_queue_manager_that_ends_refuses(place: Place) -> None:
    place.engine.state = STOPPING
    assert place.put(sent("TARGET")) in (mq.MQRC_Q_MGR_STOPPING, mq.MQRC_CONNECTION_STOPPING)


def test_a_unit_that_was_backed_out_takes_no_more(place: Place) -> None:
    place.use_dead_letter_queue()
    unit = place.engine.new_unit_of_work()
    back_out_unit(place.engine, unit)
    unit.backed_out_by_system = True
    assert place.delivery.put(sent("TARGET"), -1, unit).reason == mq.MQRC_BACKED_OUT
    assert place.delivery.dead_letter(sent("TARGET"), -1, mq.MQRC_Q_FULL, unit) == mq.MQRC_BACKED_OUT
    assert place.depth("DLQ") == 0


def test_a_unit_has_its_limit(place: Place) -> None:
    place.use_dead_letter_queue()
    place.manager(MAXUMSGS=1)
    unit = place.engine.new_unit_of_work()
    assert place.delivery.put(sent("TARGET"), -1, unit).reason == 0
    assert place.delivery.put(sent("TARGET"), -1, unit).reason == mq.MQRC_SYNCPOINT_LIMIT_REACHED
    for persistence in (0, 1):
        body = sent("T", Persistence=persistence)
        assert place.delivery.dead_letter(body, -1, mq.MQRC_Q_FULL, unit) == mq.MQRC_SYNCPOINT_LIMIT_REACHED


def test_the_dead_letter_queue_needs_authority_too() -> None:
    place, grants = guarded()
    place.use_dead_letter_queue()
    grants.granted["mca", place.engine.name] = SETALL
    assert place.dead_letter(sent("LOST")) == mq.MQRC_NOT_AUTHORIZED
    grants.granted["mca", "DLQ"] = PUT | SETALL
    assert place.dead_letter(sent("LOST")) == 0


# -- the sending end


def outer(**changes: Any) -> bytes:
    md = MQMD.default(2)
    for name, value in {"Format": mq.MQFMT_XMIT_Q_HEADER, "Persistence": 1, "MsgId": b"o" * 24, **changes}.items():
        MQMD.patch(md, name, value)
    return bytes(md).ljust(MD_BYTES, b"\0")


def test_what_cannot_be_sent_is_dead_lettered_as_what_it_was(place: Place) -> None:
    place.use_dead_letter_queue()
    body = sent("FAR", b"too long", at="THIRD", Expiry=500)
    md = outer(Expiry=60)
    reason = mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL
    assert dead_letter_unsent(place.engine, place.connection, md, body, reason, None) == (0, DEAD_LETTERED)
    fields = place.fields("DLQ")
    assert (fields["MsgId"], fields["UserIdentifier"]) == (b"m" * 24, b"paul")
    assert 0 < fields["Expiry"] <= 60
    dead = place.world.bodies("DLQ")[0]
    assert dead[12:108] == b"FAR".ljust(48) + b"THIRD".ljust(48)
    assert dead[172:] == b"too long"


def test_what_has_no_transmission_header_is_dead_lettered_as_it_is(place: Place) -> None:
    place.use_dead_letter_queue()
    md = outer(Format=mq.MQFMT_STRING)
    unit = place.engine.new_unit_of_work()
    reason = mq.MQFB_XMIT_Q_MSG_ERROR
    done = dead_letter_unsent(place.engine, place.connection, md, b"x", reason, unit, transmission_queue="WAY")
    assert done == (0, DEAD_LETTERED)
    commit_unit(place.engine, unit)
    dead = place.world.bodies("DLQ")[0]
    assert struct.unpack_from("<i", dead, 8)[0] == mq.MQFB_XMIT_Q_MSG_ERROR
    assert dead[12:108] == b"WAY".ljust(48) + place.engine.padded_name
    assert dead[172:] == b"x"
    assert place.fields("DLQ")["MsgId"] == b"o" * 24


def test_the_sending_end_obeys_usedlq(place: Place) -> None:
    place.use_dead_letter_queue()
    attributes: dict[str, Value] = {"CHLTYPE": "SDR", "CONNAME": "far", "XMITQ": "WAY", "USEDLQ": "NO"}
    channel = new_definition(ObjectType.CHANNEL, "TO.FAR", attributes)
    reason = mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL
    done = dead_letter_unsent(place.engine, place.connection, outer(), sent("FAR"), reason, None, channel)
    assert done == (reason, NOT_DONE)
    assert place.depth("DLQ") == 0
