"""Offsets and staging without Spark: what Spark would ask, asked by hand, against a real queue manager."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.pipeline.source.queue_stage import options, put_all, texts

from ostler.client.api.message import Message
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.browsing import browse, slices
from ostler.pipeline.source.offsets import START, Limit, Offset, StreamProgress, share_out
from ostler.pipeline.source.options import read_options
from ostler.pipeline.source.pages import PageHead, read_page_id
from ostler.pipeline.source.staging import CONTROL_ID, read_pages
from ostler.testing import RunningQueueManager, queue_manager

STAGING = "SPARK.IN.Q1"
ALL = Limit(everything=True)


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


@pytest.fixture(autouse=True)
def queues(qm: RunningQueueManager) -> Iterator[None]:
    with qm.isolated("DEFINE QLOCAL(Q1)\nDEFINE QLOCAL(Q2)"):
        yield


class Life:
    """One life of a query's driver."""

    def __init__(self, qm: RunningQueueManager, **more: str) -> None:
        self.options = read_options(options(qm, **{"queue": "Q1", "connectTimeoutSeconds": "0", **more}))
        self.progress = StreamProgress(self.options)

    def __enter__(self) -> Life:
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.staging.close()

    def latest(self, start: Offset, limit: Limit = ALL) -> Offset:
        return self.progress.latest(start, limit)

    def rows(self, start: Offset, end: Offset) -> list[str]:
        reads = read_pages(self.options, self.progress.pages(start, end))
        return [read.message.text for read in reads]


def numbered(count: int, first: int = 0) -> list[str]:
    return [f"m{number}" for number in range(first, first + count)]


def test_a_batch_can_be_read_again_until_the_next_one_is_asked_for(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(5))
    with Life(qm, pageMessages="2") as life:
        end = life.latest(START)
        assert life.rows(START, end) == life.rows(START, end) == numbered(5)
        assert qm.depth("Q1") == 0
        assert qm.depth(STAGING) == 3 + 1
        assert life.latest(end) == end
        assert qm.depth(STAGING) == 1, "only the control record stays"


def test_messages_are_staged_as_they_were_stored(qm: RunningQueueManager) -> None:
    sent = qm.put(
        "Q1",
        Message("Grüße", message_id=b"i" * 24, persistent=False, priority=3, expiry=500, properties={"n": 5, "t": "x"}),
    )
    with Life(qm) as life:
        end = life.latest(START)
        (read,) = read_pages(life.options, life.progress.pages(START, end))
    got = read.message
    assert (got.body, got.message_id, got.persistent, got.priority) == ("Grüße", b"i" * 24, False, 3)
    assert (got.properties, got.put_time, got.user) == ({"n": 5, "t": "x"}, sent.put_time, sent.user)
    assert got.expiry is not None
    assert read.queue == "Q1"


def test_what_is_committed_late_or_backed_out_comes_in_a_later_batch(qm: RunningQueueManager) -> None:
    with qm.connect() as late, late.open("Q1", "rw") as queue, Life(qm) as life:
        put_all(qm, "Q1", ["taken"])
        queue.get(syncpoint=True)
        queue.put("late", syncpoint=True)
        put_all(qm, "Q1", ["early"])
        first = life.latest(START)
        assert life.rows(START, first) == ["early"]
        late.back_out()
        second = life.latest(first)
        assert life.rows(first, second) == ["taken"]
        queue.put("late", syncpoint=True)
        put_all(qm, "Q1", ["between"])
        third = life.latest(second)
        assert life.rows(second, third) == ["between"]
        late.commit()
        fourth = life.latest(third)
        assert life.rows(third, fourth) == ["late"]


def test_a_crash_before_spark_wrote_the_offset_loses_nothing_and_doubles_nothing(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(4))
    with Life(qm, pageMessages="1") as life:
        life.latest(START, Limit(messages=2))
    with Life(qm, pageMessages="1") as life:
        end = life.latest(START, Limit(messages=3))
        assert life.rows(START, end) == numbered(3)
        later = life.latest(end)
        assert life.rows(end, later) == ["m3"]


def test_a_crash_in_the_first_batch_reads_the_same_again(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(3))
    with Life(qm) as life:
        end = life.latest(START)
    put_all(qm, "Q1", numbered(2, 3))
    with Life(qm) as life:
        assert life.rows(START, end) == numbered(3)
        later = life.latest(end)
        assert life.rows(end, later) == numbered(2, 3)


def test_a_queue_manager_that_is_restarted_still_has_what_was_staged() -> None:
    with queue_manager("QMOTHER", mqsc="DEFINE QLOCAL(Q1)") as other:
        put_all(other, "Q1", numbered(3), persistent=False)
        with Life(other) as life:
            end = life.latest(START)
            other.end("preemptive")
            with pytest.raises(PipelineError, match=r"MQRC_CONNECTION_\w+ \(\d+\)|MQRC_Q_MGR_\w+ \(\d+\)"):
                life.latest(end)
        other.start()
        with Life(other) as life:
            assert life.rows(START, end) == numbered(3)


def test_limits_cut_batches_and_are_not_passed(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["x" * 100] * 10)
    with Life(qm, maxMessagesPerTrigger="4", maxBytesPerTrigger="350") as life:
        end = life.latest(START, Limit(messages=4))
        assert len(life.rows(START, end)) == 4
        sizes = []
        while (after := life.latest(end, Limit(messages=4, body_bytes=350))) != end:
            sizes.append(len(life.rows(end, after)))
            end = after
        assert sizes == [3, 3]


def test_available_now_ends_with_what_was_there_and_removes_it(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(5))
    with Life(qm, maxMessagesPerTrigger="2") as life:
        life.progress.fix_target()
        put_all(qm, "Q1", ["later"])
        start, batches = START, []
        while (end := life.latest(start, Limit(messages=2))) != start:
            batches.append(life.rows(start, end))
            start = end
        assert batches == [["m0", "m1"], ["m2", "m3"], ["m4"]]
    assert texts(qm, "Q1") == ["later"]
    assert qm.depth(STAGING) == 1


def test_numbers_grow_over_lives_that_emptied_the_staging_queue(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["a"])
    with Life(qm) as life:
        first = life.latest(START)
        life.latest(first)
    put_all(qm, "Q1", ["b"])
    with Life(qm) as life:
        life.progress.fix_target()
        second = life.latest(first)
        assert second["page"] > first["page"]
        assert life.rows(first, second) == ["b"]


def test_a_new_checkpoint_begins_with_what_the_old_one_left(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["a", "b"])
    with Life(qm) as life:
        life.latest(START)
    with Life(qm) as life:
        assert life.rows(START, life.latest(START)) == ["a", "b"]


def test_commit_alone_deletes_when_asked_so(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["a"])
    with Life(qm, deleteAt="commit") as life:
        end = life.latest(START)
        assert life.latest(end) == end
        assert life.rows(START, end) == ["a"]
        life.progress.commit(end)
    assert qm.depth(STAGING) == 1


def test_two_queries_cannot_share_a_staging_queue(qm: RunningQueueManager) -> None:
    with Life(qm), pytest.raises(PipelineError, match=r"Another query uses .* MQRC_OBJECT_IN_USE \(2042\)"):
        Life(qm)


def test_pages_that_somebody_removed_are_missed(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["a"])
    with Life(qm) as life:
        end = life.latest(START)
    qm.mqsc(f"CLEAR QLOCAL({STAGING})")
    with Life(qm) as life, pytest.raises(PipelineError, match=r"not on staging queue SPARK\.IN\.Q1 any more"):
        life.rows(START, end)
    put_all(qm, "Q1", ["new"])
    with Life(qm) as life:
        fresh = life.latest(START)
        assert fresh["page"] == end["page"], "a staging queue made anew counts from the beginning"
        with pytest.raises(PipelineError, match="not on staging queue"):
            life.rows(START, end)
        life.latest(fresh)
    with Life(qm, failOnDataLoss="false") as life:
        assert life.rows(START, end) == []
        put_all(qm, "Q1", ["b"])
        later = life.latest(end)
        assert life.rows(end, later) == ["b"], "a staging queue made anew is read from its beginning"


def test_a_single_page_that_somebody_removed_is_missed(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["a", "b", "c"])
    with Life(qm, pageMessages="1") as life:
        end = life.latest(START)
    with qm.connect() as connection, connection.open(STAGING, "r") as queue:
        epoch = bytes.fromhex(end["epoch"])
        assert queue.get(message_id=read_page_id(epoch, 2)) is not None
    with Life(qm) as life, pytest.raises(PipelineError, match=r"any more: 2\. Somebody"):
        life.rows(START, end)
    with Life(qm, failOnDataLoss="false") as life:
        assert life.rows(START, end) == ["a", "c"]


def test_a_queue_manager_restored_from_a_backup_does_not_fall_behind_the_checkpoint(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", ["a"])
    with Life(qm) as life:
        first = life.latest(START)
        life.latest(first)
    (old,) = qm.browse(STAGING)
    put_all(qm, "Q1", ["b"])
    with Life(qm) as life:
        second = life.latest(first)
        life.latest(second)
    with qm.connect() as connection, connection.open(STAGING, "rw") as queue:
        queue.get(message_id=CONTROL_ID)
        queue.put(old)
    put_all(qm, "Q1", ["c"])
    with Life(qm) as life:
        third = life.latest(second)
        assert life.rows(second, third) == ["c"]


def test_several_queues_share_the_limit_and_stay_apart(qm: RunningQueueManager) -> None:
    put_all(qm, "Q1", numbered(10))
    put_all(qm, "Q2", ["other"])
    with Life(qm, queue="Q1,Q2", pageMessages="2") as life:
        end = life.latest(START, Limit(messages=6))
        pages = life.progress.pages(START, end)
        assert sorted(life.rows(START, end)) == ["m0", "m1", "m2", "other"]
        assert {len({page.queue for page in group}) for group in share_out(pages, 2)} == {1}


def test_a_message_too_big_to_be_staged_stays_where_it_is(qm: RunningQueueManager) -> None:
    qm.put("Q1", b"x" * 4_194_304)
    with Life(qm) as life, pytest.raises(PipelineError, match=r"MQRC_MSG_TOO_BIG_\w+ \(\d+\).* MAXMSGL"):
        life.latest(START)
    assert qm.depth("Q1") == 1


def test_staging_queue_that_cannot_be_made_is_told_with_its_definition(qm: RunningQueueManager) -> None:
    with pytest.raises(PipelineError, match=r"Have it defined: DEFINE QLOCAL\(SPARK.IN.Q1\)"):
        Life(qm, stagingModelQueue="NO.MODEL")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"queueManager": "OTHER"}, r"Connecting to OTHER at .* failed. MQRC_Q_MGR_NAME_ERROR \(2058\)"),
        ({"channel": "NO.SUCH"}, r"Connecting to QMTEST at .* failed. MQRC_\w+ \(\d+\).*NO.SUCH"),
        ({"selector": "colour ="}, r"Opening queue Q1 of QMTEST failed. MQRC_SELECT\w+ \(\d+\)"),
        ({"queue": "NO.SUCH"}, r"Opening queue NO.SUCH of QMTEST failed. MQRC_UNKNOWN_OBJECT_NAME \(2085\)"),
    ],
)
def test_what_cannot_be_reached_is_told_with_its_reason(
    qm: RunningQueueManager, changed: dict[str, str], words: str
) -> None:
    with pytest.raises(PipelineError, match=words):
        slices(read_options({**options(qm), "queue": "Q1", **changed}))


def test_an_empty_queue_has_no_messages_and_one_slice(qm: RunningQueueManager) -> None:
    wanted = read_options(options(qm, queue="Q1", numPartitions="3"))
    (part,) = slices(wanted)
    assert list(browse(wanted, part)) == []


def test_pages_are_shared_out_evenly() -> None:
    pages = [PageHead(b"e" * 8, number, 10, 1000, "Q1") for number in range(1, 9)]
    groups = share_out(pages, 4)
    assert [len(group) for group in groups] == [2, 2, 2, 2]
    assert [page for group in groups for page in group] == pages
    assert share_out([], 4) == []
