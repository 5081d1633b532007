"""Structures with variable strings behind them, for tests of the raw verbs on topics."""

from __future__ import annotations

import struct
from typing import Any

from ostler import mqi
from ostler.model import constants as mqc
from ostler.model.structures.catalogue import LAYOUTS
from ostler.model.structures.layout import CHARV_CCSID, CHARV_LENGTH

OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
MANAGED = mqc.MQSO_CREATE | mqc.MQSO_MANAGED | mqc.MQSO_FAIL_IF_QUIESCING
_VARIABLE = ("ObjectString", "SubName", "SubUserData", "SelectionString")


def made(name: str, version: int = 0, **fields: Any) -> bytearray:
    """A structure; variable strings stand behind it, `ResObjectString` is the size of a buffer for one."""
    layout = LAYOUTS[name]
    structure = layout.default(version)
    for field, value in fields.items():
        if field in _VARIABLE:
            data = value.encode() if isinstance(value, str) else value
            at = layout.offset(field)
            struct.pack_into("<Qiiii", structure, at, 0, len(structure), 0, len(data), 1208)
            structure += data
        elif field == "ResObjectString":
            struct.pack_into("<Qiiii", structure, layout.offset(field), 0, len(structure), value, 0, 1208)
            structure += bytes(value)
        else:
            layout.patch(structure, field, value)
    return structure


def resolved(name: str, structure: bytearray) -> tuple[bytes, int]:
    """What came back in ResObjectString: the text in its buffer, and the length that was told."""
    layout = LAYOUTS[name]
    at = layout.offset("ResObjectString")
    _, offset, size, length, _ = struct.unpack_from("<Qiiii", structure, at)
    return bytes(structure[offset : offset + min(size, length)]), length


def field(name: str, structure: bytearray, what: str) -> Any:
    found = LAYOUTS[name].read(structure, what)
    return found.rstrip(b" \0") if isinstance(found, bytes) else found


def cut_string(structure: bytearray, name: str, what: str, length: int, ccsid: int = 1208) -> None:
    """Tell another length of a variable string."""
    at = LAYOUTS[name].offset(what)
    struct.pack_into("<i", structure, at + CHARV_LENGTH, length)
    struct.pack_into("<i", structure, at + CHARV_CCSID, ccsid)


class Publisher:
    """Raw verbs of one connection on topics."""

    def __init__(self, hconn: int) -> None:
        self.hconn = hconn

    def open(self, topic: str, name: str = "", options: int = mqc.MQOO_OUTPUT) -> int:
        od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectName=name, ObjectString=topic)
        hobj, cc, rc = mqi.MQOPEN(self.hconn, od, options)
        assert (cc, rc) == OK
        return hobj

    def put(self, hobj: int, data: bytes, options: int = 0, persistence: int = 0, **pmo: int) -> int:
        md = made("MQMD", Persistence=persistence)
        return mqi.MQPUT(self.hconn, hobj, md, made("MQPMO", Options=options | _outside(options), **pmo), data)[1]

    def put1(self, topic: str, data: bytes, options: int = 0, persistence: int = 0, **pmo: int) -> int:
        od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectString=topic)
        md = made("MQMD", Persistence=persistence)
        return mqi.MQPUT1(self.hconn, od, md, made("MQPMO", Options=options | _outside(options), **pmo), data)[1]

    def subscribe(self, topic: str, options: int = MANAGED, hobj: int = 0, **sd: Any) -> tuple[int, int]:
        """The handles of the destination and of the subscription."""
        descriptor = made("MQSD", Options=options, ObjectString=topic, **sd)
        hobj, hsub, cc, rc = mqi.MQSUB(self.hconn, descriptor, hobj)
        assert (cc, rc) == OK
        return hobj, hsub

    def refused(self, topic: str = "", options: int = MANAGED, hobj: int = 0, **sd: Any) -> int:
        """The reason why a subscription is not made."""
        descriptor = made("MQSD", Options=options, ObjectString=topic, **sd)
        _, hsub, cc, rc = mqi.MQSUB(self.hconn, descriptor, hobj)
        assert (hsub, cc) == (mqc.MQHO_UNUSABLE_HOBJ, mqc.MQCC_FAILED)
        return rc

    def get(self, hobj: int, options: int = mqc.MQGMO_NO_SYNCPOINT, wait: int = 0) -> tuple[bytes, int]:
        gmo = made("MQGMO", Options=options, WaitInterval=wait)
        data, _, _, rc = mqi.MQGET(self.hconn, hobj, made("MQMD"), gmo, 100000)
        return data, rc

    def all(self, hobj: int) -> list[bytes]:
        """All messages that are there, without the properties that stand before the data."""
        found: list[bytes] = []
        while True:
            data, rc = self.get(hobj, mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_NO_PROPERTIES)
            if rc:
                assert rc == mqc.MQRC_NO_MSG_AVAILABLE
                return found
            found.append(data)

    def close(self, handle: int, options: int = 0) -> int:
        return mqi.MQCLOSE(self.hconn, handle, options)[2]

    def request(self, hsub: int, action: int = mqc.MQSR_ACTION_PUBLICATION) -> tuple[int, int]:
        """How many retained publications were sent, and the reason."""
        sro = made("MQSRO")
        _, rc = mqi.MQSUBRQ(self.hconn, hsub, action, sro)
        return field("MQSRO", sro, "NumPubs"), rc

    def leave(self) -> None:
        mqi.MQDISC(self.hconn)


def _outside(options: int) -> int:
    return 0 if options & mqc.MQPMO_SYNCPOINT else mqc.MQPMO_NO_SYNCPOINT
