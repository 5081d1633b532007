"""Releases of a sink without Spark: batches that are cut off, repeated and aborted, against a real queue manager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.source.queue_stage import options, texts

from ostler.client.api.message import Message
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.options import WriteOptions, write_options
from ostler.pipeline.source.release import UNNAMED_SECONDS, Releases, WriteAttempt, query_of, stage
from ostler.testing import RunningQueueManager, queue_manager

STAGING = "SPARK.OUT.Q1"
SINK = "sink"


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


@pytest.fixture(autouse=True)
def queues(qm: RunningQueueManager) -> Iterator[None]:
    with qm.isolated("DEFINE QLOCAL(Q1) MAXDEPTH(100)"):
        yield


@pytest.fixture
def sink(qm: RunningQueueManager) -> WriteOptions:
    """Pages of two messages, units of work of two pages."""
    given = options(qm, queue="Q1", pageMessages="2", unitMessages="8", sinkId=SINK, connectTimeoutSeconds="0")
    return write_options(given)


def staged(sink: WriteOptions, *bodies: str) -> WriteAttempt:
    return stage(sink, SINK, iter([Message(body) for body in bodies]))


def release(sink: WriteOptions, batch: int, *attempts: WriteAttempt, query: str = "") -> bool:
    with Releases(sink) as releases:
        return releases.release(SINK, query, batch, attempts, True)


def cut_off(qm: RunningQueueManager, sink: WriteOptions, batch: int, attempt: WriteAttempt) -> None:
    """Release a batch to a queue that takes only part of it, as a crash between two units of work would."""
    qm.mqsc("ALTER QLOCAL(Q1) MAXDEPTH(5)")
    with pytest.raises(PipelineError, match=r"MQRC_Q_FULL \(2053\)"):
        release(sink, batch, attempt)
    qm.mqsc("ALTER QLOCAL(Q1) MAXDEPTH(100)")


def numbered(first: int, count: int) -> list[str]:
    return [f"m{number}" for number in range(first, first + count)]


def test_nothing_is_seen_before_the_release_and_all_of_it_after(qm: RunningQueueManager, sink: WriteOptions) -> None:
    first, second, empty = staged(sink, *numbered(0, 3)), staged(sink, *numbered(3, 7)), staged(sink)
    assert (first.pages, second.pages, empty.pages) == (2, 4, 0)
    assert qm.depth("Q1") == 0
    assert release(sink, 0, first, second, empty)
    assert texts(qm, "Q1") == numbered(0, 10)
    assert qm.depth(STAGING) == 1, "only the control record stays"


def test_a_batch_done_again_after_its_release_is_not_put_twice(qm: RunningQueueManager, sink: WriteOptions) -> None:
    assert release(sink, 7, staged(sink, "a", "b", "c"))
    assert not release(sink, 7, staged(sink, "a", "b", "c"))
    assert texts(qm, "Q1") == ["a", "b", "c"]
    assert qm.depth(STAGING) == 1
    assert release(sink, 8, staged(sink, "d"))
    assert texts(qm, "Q1") == ["a", "b", "c", "d"]


def test_a_release_cut_off_is_finished_when_the_batch_comes_again(qm: RunningQueueManager, sink: WriteOptions) -> None:
    cut_off(qm, sink, 0, staged(sink, *numbered(0, 10)))
    assert texts(qm, "Q1") == numbered(0, 4)
    assert not release(sink, 0, staged(sink, *numbered(0, 10)))
    assert texts(qm, "Q1") == numbered(0, 10)
    assert qm.depth(STAGING) == 1


def test_a_release_cut_off_is_finished_by_whoever_comes_next(qm: RunningQueueManager, sink: WriteOptions) -> None:
    cut_off(qm, sink, 0, staged(sink, *numbered(0, 10)))
    other = stage(sink, "other", iter([Message("other")]))
    with Releases(sink) as releases:
        assert releases.release("other", "", 0, [other], False)
    assert texts(qm, "Q1") == [*numbered(0, 10), "other"]


def test_an_abort_removes_what_was_staged_but_not_what_is_being_released(
    qm: RunningQueueManager, sink: WriteOptions
) -> None:
    cut_off(qm, sink, 0, staged(sink, *numbered(0, 10)))
    staged(sink, "x", "y")
    with Releases(sink) as releases:
        releases.discard(SINK)
    assert not release(sink, 0)
    assert texts(qm, "Q1") == numbered(0, 10)
    assert qm.depth(STAGING) == 1


def test_only_pages_of_jobs_without_a_name_expire(qm: RunningQueueManager, sink: WriteOptions) -> None:
    unnamed = write_options(options(qm, queue="Q1", connectTimeoutSeconds="0"))
    stage(unnamed, "by chance", iter([Message("a")]))
    staged(sink, "b")
    lives = [message.expiry for message in qm.browse(STAGING)]
    assert lives[0] == pytest.approx(UNNAMED_SECONDS, abs=60)
    assert lives[1] is None


def test_attempts_that_did_not_win_are_removed(qm: RunningQueueManager, sink: WriteOptions) -> None:
    staged(sink, "loser")
    assert release(sink, 0, staged(sink, "winner"))
    assert texts(qm, "Q1") == ["winner"]
    assert qm.depth(STAGING) == 1


def test_a_checkpoint_made_anew_begins_anew(qm: RunningQueueManager, sink: WriteOptions) -> None:
    for batch in range(2):
        assert release(sink, batch, staged(sink, f"old{batch}"), query="first life")
    assert not release(sink, 0, staged(sink, "old0"), query="first life")
    assert release(sink, 0, staged(sink, "new0"), query="second life")
    assert not release(sink, 0, staged(sink, "new0"), query="second life")
    assert texts(qm, "Q1") == ["old0", "old1", "new0"]
    assert release(sink, 1, staged(sink, "unknown"), query="")
    assert release(sink, 0, staged(sink, "lower"), query=""), "a lower number than the last one is a new beginning"


def test_pages_that_somebody_removed_stop_the_release(qm: RunningQueueManager, sink: WriteOptions) -> None:
    attempt = staged(sink, "a")
    qm.mqsc(f"CLEAR QLOCAL({STAGING})")
    with pytest.raises(PipelineError, match="nothing was released"):
        release(sink, 0, attempt)


def test_released_messages_have_their_fields_and_what_the_queue_gives_them(
    qm: RunningQueueManager, sink: WriteOptions
) -> None:
    qm.mqsc("ALTER QLOCAL(Q1) DEFPSIST(YES) DEFPRTY(3)")
    one = Message(b"\x00", message_id=b"i" * 24, properties={"colour": "red"}, expiry=100, priority=8)
    attempt = stage(sink, SINK, iter([one, Message("plain")]))
    release(sink, 0, attempt)
    first, second = qm.browse("Q1")
    assert (first.body, first.message_id, first.properties) == (b"\x00", b"i" * 24, {"colour": "red"})
    assert (first.priority, second.priority, second.persistent, second.text) == (8, 3, True, "plain")
    assert second.message_id
    assert first.expiry is not None


def test_query_is_told_by_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"42-f00"}')
    assert query_of(str(tmp_path)) == query_of(f"file://{tmp_path}") == "42-f00"
    assert query_of("s3://bucket/checkpoint") == ""
