"""An application inside the queue manager's process that publishes once to each of thousands of topics.

Nobody subscribes, so that only a node of the tree remains; with `retain` also the publication, which keeps the node.
Inside, a million topics are made in seconds.
"""

from __future__ import annotations

from typing import Final

from ostler.client.mqi.connect import MQCONNX, MQDISC
from ostler.client.mqi.objects import MQPUT1
from ostler.lab.load.client import LoadFailed
from ostler.model import constants as mq
from ostler.model.reasons import describe
from ostler.model.structures.connecting import MQCNO
from ostler.model.structures.md import MQMD
from ostler.model.structures.od import MQOD
from ostler.model.structures.pmo import MQPMO

MAKE: Final = f"{__name__}:make"
"""The function that the queue manager calls."""
RETAIN: Final = "retain"
GROUPED: Final = 0
"""Instead of a number of levels: topics in groups, so that no node has more than a thousand children."""
GROUP: Final = 1000
_APPLICATION: Final = "ostler-lab"


def topic_name(prefix: str, number: int, levels: int) -> str:
    """Return one of many topics: alone in a branch of this many levels, or one of a group."""
    if levels == GROUPED:
        return f"{prefix}/{number // GROUP}/{number % GROUP}"
    return "/".join([f"{prefix}.{number}", *(str(level) for level in range(2, levels + 1))])


def make(prefix: str, first: str, count: str, levels: str, retain: str = "") -> int:
    """Run in the process of the queue manager: publish to this many topics, from a number on."""
    hconn = _connected()
    try:
        options = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_NEW_MSG_ID | (mq.MQPMO_RETAIN if retain == RETAIN else 0)
        pmo = MQPMO.default(mq.MQPMO_VERSION_1)
        MQPMO.patch(pmo, "Options", options)
        md = MQMD.default(2)
        MQMD.patch(md, "Persistence", 0)
        for number in range(int(first), int(first) + int(count)):
            descriptor = _descriptor(topic_name(prefix, number, int(levels)))
            code, reason = MQPUT1(hconn, descriptor, bytearray(md), bytearray(pmo), b"")
            if code == mq.MQCC_FAILED:
                raise LoadFailed(f"Ostler answered MQPUT1 with {describe(reason).name} ({reason})")
    finally:
        MQDISC(hconn)
    return 0


def _connected() -> int:
    options = MQCNO.default(mq.MQCNO_VERSION_7)
    MQCNO.patch(options, "Options", mq.MQCNO_FASTPATH_BINDING)
    MQCNO.patch(options, "ApplName", _APPLICATION)
    hconn, code, reason = MQCONNX("", options)
    if code == mq.MQCC_FAILED:
        raise LoadFailed(f"Ostler answered MQCONNX with {describe(reason).name} ({reason})")
    return hconn


def _descriptor(topic: str) -> bytearray:
    """Return an object descriptor with its string right behind it."""
    text = topic.encode()
    descriptor = MQOD.default(4)
    MQOD.patch(descriptor, "ObjectType", mq.MQOT_TOPIC)
    MQOD.patch(descriptor, "ObjectStringVSOffset", len(descriptor))
    MQOD.patch(descriptor, "ObjectStringVSLength", len(text))
    return descriptor + text
