"""The messages of CMDSCOPE: what is written is read, and what a release does not know is refused."""

from __future__ import annotations

import pytest

from ostler.server.admin.group_command_queue import (
    AnswerHead,
    CommandHead,
    MalformedCommand,
    decode_answer,
    decode_command,
    encode_body,
    member_id,
)


def test_a_command_is_read_as_it_was_written() -> None:
    head = CommandHead("QM1", "mqsc", "00" * 24)
    assert decode_command(encode_body(head, b"PING QMGR\nsecond line")) == (head, b"PING QMGR\nsecond line")


def test_an_answer_is_read_as_it_was_written() -> None:
    head = AnswerHead("QM2", 819, is_cut=True, is_last=False, is_done=True)
    assert decode_answer(encode_body(head, b"\0\1\n")) == (head, b"\0\1\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "does not begin with a line of JSON"),
        (b"{}", "does not begin with a line of JSON"),
        (b"[]\n", "does not begin with a line of JSON"),
        (b"\xff\n", "does not begin with a line of JSON"),
        (b'{"version": 2}\n', "has version 2; this release reads version 1"),
        (b'{"version": 1, "sender": "QM1"}\n', "has no 'kind'"),
    ],
)
def test_other_messages_are_no_commands(body: bytes, said: str) -> None:
    with pytest.raises(MalformedCommand, match=said):
        decode_command(body)
    with pytest.raises(MalformedCommand):
        decode_answer(body)


def test_each_member_has_an_identifier_of_its_own() -> None:
    assert len({member_id(number) for number in range(1, 100)}) == 99
    assert len(member_id(0x7FFFFFFF)) == 24
