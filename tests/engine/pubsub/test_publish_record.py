"""The log record of a publication: every copy is decoded as it was encoded, whatever copies share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.world.topic_world import TopicWorld

from ostler.engine.message.message import MD_BYTES
from ostler.engine.pubsub.publish_record import Copy, copy_descriptor, publication_head, read_publication
from ostler.engine.recovery.records import commit_head, read_number, read_removed

IDENTIFIERS = st.binary(min_size=24, max_size=24)
IDENTITIES = st.sampled_from([b"a" * 76, b"b" * 76, bytes(76)])
BLOCKS = st.sampled_from([b"", b"\x01one", b"\x02two"])
COPIES = st.lists(st.tuples(st.integers(0, 9), IDENTIFIERS, IDENTIFIERS, IDENTITIES, BLOCKS, st.integers(0, 1 << 40)))


@given(st.binary(min_size=MD_BYTES, max_size=MD_BYTES), BLOCKS, st.binary(max_size=50), COPIES, st.integers(0, 1 << 40))
def test_copies_come_back(
    md: bytes,
    block: bytes,
    body: bytes,
    given_copies: list[tuple[int, bytes, bytes, bytes, bytes, int]],
    unit: int,
) -> None:
    world = TopicWorld.create()
    queue = world.define_queue("Q")
    copies = []
    for priority, message_id, correlation_id, identity, properties, seq in given_copies:
        copy = Copy(queue, copy_descriptor(md, priority, message_id, correlation_id, identity), properties)
        copy.seq, copy.flags, copy.expiry_ms = seq, seq // 2, seq // 3
        copies.append(copy)
    payload = publication_head(unit, md, block, copies) + md + block + body
    found = read_publication(payload)
    assert [
        (each.unit_of_work, each.queue_id, each.seq, each.flags, each.expiry_ms, each.md, each.properties, each.body)
        for each in found
    ] == [
        (unit, queue.queue_id, copy.seq, copy.flags, copy.expiry_ms, copy.md, copy.properties, body) for copy in copies
    ]


@given(st.integers(0, 1 << 60), st.lists(st.tuples(st.integers(0, 1 << 60), st.integers(0, 1 << 60))))
def test_commits_name_what_they_remove(unit: int, removed: list[tuple[int, int]]) -> None:
    payload = commit_head(unit, removed)
    assert (read_number(payload), read_removed(payload)) == (unit, removed)
