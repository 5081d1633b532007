"""The source and the sink as the user `app` of `ostler dev`, by password and over TLS, asked by hand as Spark would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.pipeline.source.guarded_stage import KEY_PASSWORD, PASSWORD, guarded
from tests.pipeline.source.queue_stage import put_all, texts

from ostler.client.api.message import Message
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.browsing import browse, slices
from ostler.pipeline.source.offsets import START, Limit, StreamProgress
from ostler.pipeline.source.options import read_options, write_options
from ostler.pipeline.source.release import Releases, stage
from ostler.pipeline.source.staging import read_pages
from ostler.testing import RunningQueueManager


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningQueueManager, dict[str, str]]]:
    with guarded(tmp_path_factory.mktemp("guarded")) as made:
        yield made


def test_the_user_of_ostler_dev_reads_and_writes(place: tuple[RunningQueueManager, dict[str, str]]) -> None:
    qm, where = place
    put_all(qm, "DEV.QUEUE.1", [f"m{number}" for number in range(10)])
    reading = read_options({**where, "queue": "DEV.QUEUE.1", "numPartitions": "2"})
    found = [read.message.text for part in slices(reading) for read in browse(reading, part)]
    assert sorted(found) == sorted(f"m{number}" for number in range(10))
    progress = StreamProgress(reading)
    try:
        progress.fix_target()
        end = progress.latest(START, Limit())
        read = [each.message.text for each in read_pages(reading, progress.pages(START, end))]
        assert read == [f"m{number}" for number in range(10)]
        assert progress.latest(end, Limit()) == end
    finally:
        progress.staging.close()
    writing = write_options({**where, "queue": "DEV.QUEUE.2"})
    attempt = stage(writing, "job", iter([Message("one"), Message("two")]))
    with Releases(writing) as releases:
        assert releases.release("job", "", 0, [attempt], False)
    assert texts(qm, "DEV.QUEUE.2") == ["one", "two"]


def test_the_user_of_ostler_dev_subscribes_and_publishes(place: tuple[RunningQueueManager, dict[str, str]]) -> None:
    qm, where = place
    qm.mqsc("DEFINE TOPIC(DEV.PRICES) TOPICSTR('prices')")
    qm.mqsc("SET AUTHREC PROFILE('DEV.**') OBJTYPE(TOPIC) PRINCIPAL('app') AUTHADD(RESUME)")
    reading = read_options({**where, "subscription": "mine", "topic": "prices/#", "numPartitions": "2"})
    assert slices(reading)
    writing = write_options({**where, "topic": "prices/hay"})
    with Releases(writing) as releases:
        attempt = stage(writing, "job", iter([Message("one"), Message("two")]))
        assert releases.release("job", "", 0, [attempt], False)
    assert [read.message.text for part in slices(reading) for read in browse(reading, part)] == ["one", "two"]
    progress = StreamProgress(reading)
    try:
        end = progress.latest(START, Limit())
        assert [each.message.text for each in read_pages(reading, progress.pages(START, end))] == ["one", "two"]
    finally:
        progress.staging.close()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "not-the-one-77"}, r"Connecting to QMTEST at \S+ failed. MQRC_NOT_AUTHORIZED \(2035\)"),
        ({"peerName": "CN=SOMEBODY"}, r"Connecting to QMTEST at \S+ failed. MQRC_SSL_PEER_NAME_MISMATCH"),
        ({"keyRepository": "/nowhere"}, r"Connecting to QMTEST at \S+ failed. MQRC_KEY_REPOSITORY_ERROR"),
        (
            {"queue": "", "subscription": "s", "topic": "secret"},
            r"Subscribing as s on QMTEST failed. MQRC_NOT_AUTHORIZED",
        ),
        ({"queue": "SYSTEM.ADMIN.COMMAND.QUEUE"}, r"Opening queue \S+ of QMTEST failed. MQRC_NOT_AUTHORIZED"),
    ],
)
def test_who_may_not_is_told_and_no_secret_is(
    place: tuple[RunningQueueManager, dict[str, str]], changed: dict[str, str], words: str
) -> None:
    _, where = place
    options = read_options({**where, "queue": "DEV.QUEUE.1", **changed})
    with pytest.raises(PipelineError, match=words) as refused:
        slices(options)
    for told in (str(refused.value), repr(refused.value.__cause__), repr(options)):
        assert PASSWORD not in told
        assert KEY_PASSWORD not in told
        assert "not-the-one-77" not in told
