"""PROPCTL and the get options for properties, through MQPUT and MQGET."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mq
from ostler.model.structures.catalogue import LAYOUTS

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
ALL_FIVE = ["ALL", "NONE", "FORCE", "COMPAT", "V6COMPAT"]


def new_handle(program: Any) -> int:
    hmsg, code, _ = mqi.MQCRTMH(program.hconn, LAYOUTS["MQCMHO"].default())
    assert code == 0
    return int(hmsg)


def put_with(program: Any, queue: int, body: bytes, **properties: bytes) -> None:
    """MQPUT of a message with properties set on a handle."""
    hmsg = new_handle(program)
    for name, value in properties.items():
        assert mqi.MQSETMP(program.hconn, hmsg, None, name.replace("__", "."), None, mq.MQTYPE_STRING, value) == (0, 0)
    pmo = LAYOUTS["MQPMO"].default(3)
    LAYOUTS["MQPMO"].patch(pmo, "Options", mq.MQPMO_NO_SYNCPOINT)
    LAYOUTS["MQPMO"].patch(pmo, "OriginalMsgHandle", hmsg)
    md = LAYOUTS["MQMD"].default()
    LAYOUTS["MQMD"].patch(md, "Format", mq.MQFMT_STRING)
    assert mqi.MQPUT(program.hconn, queue, md, pmo, body) == (0, 0)


def get_with(program: Any, queue: int, hmsg: int, options: int = 0) -> tuple[bytes, Any, int]:
    gmo = LAYOUTS["MQGMO"].default(4)
    LAYOUTS["MQGMO"].patch(gmo, "Options", mq.MQGMO_NO_SYNCPOINT | options)
    LAYOUTS["MQGMO"].patch(gmo, "MsgHandle", hmsg)
    md = LAYOUTS["MQMD"].default()
    body, _, _, reason = mqi.MQGET(program.hconn, queue, md, gmo, 10000)
    return body, LAYOUTS["MQMD"].read_bytes(md, "Format").rstrip(), reason


def property_of(program: Any, hmsg: int, name: str) -> bytes | None:
    answer = mqi.MQINQMP(
        program.hconn, hmsg, LAYOUTS["MQIMPO"].default(), name, LAYOUTS["MQPD"].default(), mq.MQTYPE_AS_SET, 100
    )
    if answer[-1] == mq.MQRC_PROPERTY_NOT_AVAILABLE:
        return None
    assert answer[-1] == 0
    value = answer[1]
    assert isinstance(value, bytes)
    return value


@pytest.mark.parametrize(
    ("control", "header"),
    [("ALL", True), ("NONE", False), ("FORCE", True), ("COMPAT", True), ("V6COMPAT", False)],
)
def test_without_a_handle(site: Any, program: Any, control: str, header: bool) -> None:
    queue = program.open(site.local(PROPCTL=control), BOTH)
    put_with(program, queue, b"data", usr__colour=b"blue")
    body, format, reason = get_with(program, queue, 0)
    assert reason == 0
    assert body.endswith(b"data")
    assert (format == b"MQHRF2") == header == body.startswith(b"RFH ") == (b"<colour>blue</colour>" in body)
    assert header or (body, format) == (b"data", b"MQSTR")


@pytest.mark.parametrize("control", ALL_FIVE)
def test_with_a_handle(site: Any, program: Any, control: str) -> None:
    queue = program.open(site.local(PROPCTL=control), BOTH)
    put_with(program, queue, b"data", colour=b"blue")
    hmsg = new_handle(program)
    body, format, reason = get_with(program, queue, hmsg)
    assert reason == 0
    in_handle = control != "FORCE"
    assert property_of(program, hmsg, "colour") == (b"blue" if in_handle else None)
    assert (body, format) == (b"data", b"MQSTR") if in_handle else body.startswith(b"RFH ")


@pytest.mark.parametrize("control", ALL_FIVE)
def test_options_come_before_the_queue(site: Any, program: Any, control: str) -> None:
    queue = program.open(site.local(PROPCTL=control), BOTH)
    for _ in range(3):
        put_with(program, queue, b"data", colour=b"blue")
    hmsg = new_handle(program)
    assert get_with(program, queue, 0, mq.MQGMO_NO_PROPERTIES)[0] == b"data"
    assert get_with(program, queue, 0, mq.MQGMO_PROPERTIES_FORCE_MQRFH2)[1] == b"MQHRF2"
    assert get_with(program, queue, hmsg, mq.MQGMO_PROPERTIES_IN_HANDLE)[0] == b"data"
    assert property_of(program, hmsg, "colour") == b"blue"


def test_properties_in_a_handle_need_one(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    put_with(program, queue, b"data", colour=b"blue")
    for hmsg in (0, 10**9):
        assert get_with(program, queue, hmsg, mq.MQGMO_PROPERTIES_IN_HANDLE)[2] == mq.MQRC_HMSG_ERROR
    two = mq.MQGMO_NO_PROPERTIES | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    assert get_with(program, queue, 0, two)[2] == mq.MQRC_OPTIONS_ERROR
    assert site.depth(program.handle(queue).name) == 1


def test_the_alias_has_its_own_propctl(site: Any, program: Any) -> None:
    base = site.local(PROPCTL="NONE")
    queue = program.open(base, BOTH)
    put_with(program, queue, b"data", colour=b"blue")
    through = program.open(site.alias(base, PROPCTL="FORCE"), mq.MQOO_INPUT_SHARED)
    assert get_with(program, through, 0)[1] == b"MQHRF2"


def test_propctl_can_change_while_the_message_waits(site: Any, program: Any) -> None:
    name = site.local(PROPCTL="FORCE")
    queue = program.open(name, BOTH)
    put_with(program, queue, b"data", colour=b"blue")
    site.alter(name, PROPCTL="NONE")
    assert get_with(program, queue, 0)[0] == b"data"


def test_properties_survive_a_restart_and_are_selected_by(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local(DEFPSIST="YES")
    queue = program.open(name, BOTH)
    for colour in (b"blue", b"red", b"blue"):
        put_with(program, queue, b"in " + colour, colour=colour)
    own_site.crash()
    program = own_site.program()
    red = program.open(name, mq.MQOO_INPUT_SHARED, selector="colour = 'red'")
    hmsg = new_handle(program)
    assert get_with(program, red, hmsg)[0] == b"in red"
    assert property_of(program, hmsg, "colour") == b"red"
    assert get_with(program, red, hmsg)[2] == mq.MQRC_NO_MSG_AVAILABLE
    assert own_site.depth(name) == 2


def test_an_rfh2_that_was_put_is_properties_too(site: Any, program: Any) -> None:
    queue = program.open(site.local(PROPCTL="NONE"), BOTH)
    folder = b"<usr><colour>green</colour></usr>"
    folder = folder.ljust((len(folder) + 3) // 4 * 4)
    header = b"RFH " + struct.pack(
        "<iiii8siii", 2, 36 + 4 + len(folder), mq.MQENC_NATIVE, 1208, mq.MQFMT_STRING, 0, 1208, len(folder)
    )
    program.put(queue, header + folder + b"data", Format=mq.MQFMT_RF_HEADER_2)
    hmsg = new_handle(program)
    body, format, _ = get_with(program, queue, hmsg)
    assert (body, format) == (b"data", b"MQSTR")
    assert property_of(program, hmsg, "colour") == b"green"
