"""Message context: default, set and passed on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ostler.model import constants as mq

INPUT = mq.MQOO_INPUT_SHARED
OUTPUT = mq.MQOO_OUTPUT
SAVE = INPUT | mq.MQOO_SAVE_ALL_CONTEXT
IDENTITY = ("UserIdentifier", "AccountingToken", "ApplIdentityData")
ORIGIN = ("PutApplType", "PutApplName", "PutDate", "PutTime", "ApplOriginData")
FOREIGN: dict[str, Any] = {
    "UserIdentifier": "stranger",
    "AccountingToken": b"token".ljust(32, b"\0"),
    "ApplIdentityData": "identity data",
    "PutApplType": mq.MQAT_CICS,
    "PutApplName": "THEIR.PROGRAM",
    "PutDate": "19991231",
    "PutTime": "23595999",
    "ApplOriginData": "orig",
}


def context(md: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: md[field] for field in fields}


def foreign(fields: tuple[str, ...]) -> dict[str, Any]:
    values = {field: FOREIGN[field] for field in fields}
    return {field: each.encode() if isinstance(each, str) else trimmed(each) for field, each in values.items()}


def trimmed(value: Any) -> Any:
    return value.rstrip(b"\0") if isinstance(value, bytes) else value


def test_by_default_it_is_that_of_the_program_and_of_now(site: Any) -> None:
    program = site.program("alice", "/usr/local/bin/payroll")
    name = site.local()
    before = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    answer = program.put1(name, **FOREIGN)
    after = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    for md in (answer.md, program.browse(name)[0].md):
        assert md["UserIdentifier"] == b"alice"
        assert md["ApplIdentityData"] == b""
        assert md["PutApplType"] == mq.MQAT_UNIX
        assert md["PutApplName"] == b"/usr/local/bin/payroll"
        assert before <= (md["PutDate"] + md["PutTime"][:6]).decode() <= after
        assert md["PutTime"][6:].isdigit()
        assert md["ApplOriginData"] == b""


def test_no_context(site: Any, program: Any) -> None:
    name = site.local()
    program.put1(name, options=mq.MQPMO_NO_CONTEXT, **FOREIGN)
    md = program.browse(name)[0].md
    assert context(md, IDENTITY) == dict.fromkeys(IDENTITY, b"")
    assert context(md, ORIGIN) == {**dict.fromkeys(ORIGIN, b""), "PutApplType": mq.MQAT_NO_CONTEXT}


def test_set_all(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, OUTPUT | mq.MQOO_SET_ALL_CONTEXT)
    assert program.put(queue, b"", mq.MQPMO_SET_ALL_CONTEXT, **FOREIGN).reason == 0
    md = program.browse(name)[0].md
    assert context(md, IDENTITY + ORIGIN) == foreign(IDENTITY + ORIGIN)


def test_set_identity(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, OUTPUT | mq.MQOO_SET_IDENTITY_CONTEXT)
    assert program.put(queue, b"", mq.MQPMO_SET_IDENTITY_CONTEXT, **FOREIGN).reason == 0
    md = program.browse(name)[0].md
    assert context(md, IDENTITY) == foreign(IDENTITY)
    assert (md["PutApplType"], md["PutApplName"]) == (mq.MQAT_UNIX, b"behaviour")


def stranger_message(site: Any, program: Any) -> tuple[int, int]:
    """A handle that has got a message of somebody else's, and one to put with."""
    source = site.local()
    program.put(program.open(source, OUTPUT | mq.MQOO_SET_ALL_CONTEXT), b"", mq.MQPMO_SET_ALL_CONTEXT, **FOREIGN)
    saved = program.open(source, SAVE | mq.MQOO_BROWSE)
    target = program.open(site.local(), OUTPUT | INPUT | mq.MQOO_PASS_ALL_CONTEXT)
    return int(saved), int(target)


def test_pass_all(site: Any, program: Any) -> None:
    saved, target = stranger_message(site, program)
    assert program.get(saved).reason == 0
    assert program.put(target, b"", mq.MQPMO_PASS_ALL_CONTEXT, saved).reason == 0
    assert context(program.get(target).md, IDENTITY + ORIGIN) == foreign(IDENTITY + ORIGIN)


def test_pass_identity(site: Any, program: Any) -> None:
    saved, target = stranger_message(site, program)
    assert program.get(saved).reason == 0
    assert program.put(target, b"", mq.MQPMO_PASS_IDENTITY_CONTEXT, saved).reason == 0
    md = program.get(target).md
    assert context(md, IDENTITY) == foreign(IDENTITY)
    assert (md["PutApplType"], md["PutApplName"]) == (mq.MQAT_UNIX, b"behaviour")


def test_context_is_passed_from_the_last_message_got(site: Any, program: Any) -> None:
    saved, target = stranger_message(site, program)
    assert program.get(saved).reason == 0
    other = site.program("bob")
    other.put1(program.handle(saved).name)
    program.get(saved)
    program.put(target, b"", mq.MQPMO_PASS_ALL_CONTEXT, saved)
    assert program.get(target).md["UserIdentifier"] == b"bob"


@pytest.mark.parametrize("options", [mq.MQPMO_PASS_ALL_CONTEXT, mq.MQPMO_PASS_IDENTITY_CONTEXT])
def test_there_must_be_context_to_pass(site: Any, program: Any, options: int) -> None:
    saved, target = stranger_message(site, program)
    plain = program.open(program.handle(saved).name, INPUT | mq.MQOO_BROWSE)
    assert program.put(target, b"", options).reason == mq.MQRC_CONTEXT_HANDLE_ERROR
    assert program.put(target, b"", options, 999).reason == mq.MQRC_CONTEXT_HANDLE_ERROR
    assert program.put(target, b"", options, saved).reason == mq.MQRC_CONTEXT_NOT_AVAILABLE
    program.get(plain, mq.MQGMO_BROWSE_FIRST)
    assert program.put(target, b"", options, plain).reason == mq.MQRC_CONTEXT_HANDLE_ERROR
    assert program.get(saved, mq.MQGMO_BROWSE_FIRST).reason == 0
    assert program.put(target, b"", options, saved).reason == mq.MQRC_CONTEXT_NOT_AVAILABLE
    assert program.get(saved).reason == 0
    assert program.put(target, b"", options, saved).reason == 0
    program.put1(program.handle(saved).name)
    assert program.get(saved, mq.MQGMO_BROWSE_FIRST).reason == 0
    assert program.put(target, b"", options, saved).reason == mq.MQRC_CONTEXT_NOT_AVAILABLE
    assert site.depth(program.handle(target).name) == 1


OPEN_AND_PUT = {
    "pass identity": (mq.MQOO_PASS_IDENTITY_CONTEXT, mq.MQPMO_PASS_IDENTITY_CONTEXT, mq.MQRC_NOT_OPEN_FOR_PASS_IDENT),
    "pass all": (mq.MQOO_PASS_ALL_CONTEXT, mq.MQPMO_PASS_ALL_CONTEXT, mq.MQRC_NOT_OPEN_FOR_PASS_ALL),
    "set identity": (mq.MQOO_SET_IDENTITY_CONTEXT, mq.MQPMO_SET_IDENTITY_CONTEXT, mq.MQRC_NOT_OPEN_FOR_SET_IDENT),
    "set all": (mq.MQOO_SET_ALL_CONTEXT, mq.MQPMO_SET_ALL_CONTEXT, mq.MQRC_NOT_OPEN_FOR_SET_ALL),
}
IMPLIED = {
    "pass identity": {"pass identity"},
    "pass all": {"pass identity", "pass all"},
    "set identity": {"pass identity", "set identity"},
    "set all": {"pass identity", "pass all", "set identity", "set all"},
}


@pytest.mark.parametrize("put", OPEN_AND_PUT)
@pytest.mark.parametrize("opened", [*OPEN_AND_PUT, "nothing"])
def test_the_queue_must_be_open_for_it(site: Any, program: Any, opened: str, put: str) -> None:
    saved, _ = stranger_message(site, program)
    program.get(saved)
    with_options = OPEN_AND_PUT[opened][0] if opened != "nothing" else 0
    target = program.open(site.local(), OUTPUT | with_options)
    _, options, reason = OPEN_AND_PUT[put]
    is_allowed = opened != "nothing" and put in IMPLIED[opened]
    assert program.put(target, b"", options, saved).reason == (0 if is_allowed else reason)


@pytest.mark.parametrize("options", [mq.MQPMO_SET_ALL_CONTEXT, mq.MQPMO_SET_IDENTITY_CONTEXT])
def test_put1_opens_for_what_it_needs(site: Any, program: Any, options: int) -> None:
    name = site.local()
    assert program.put1(name, options=options, **FOREIGN).reason == 0
    assert context(program.browse(name)[0].md, IDENTITY) == foreign(IDENTITY)
