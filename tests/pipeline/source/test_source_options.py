"""Options, columns and pages of the data source: no queue manager, no Spark session."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.client.aio.async_queue import put_parts
from ostler.client.api.get_options import to_message
from ostler.client.api.message import Message
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.client.session.session import StoredMessage
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.browsing import ranges
from ostler.pipeline.source.options import read_options, write_options
from ostler.pipeline.source.pages import collected, encode_page, head_of, stored_messages

HERE = {"host": "mq.example", "queue": "ORDERS"}


def test_names_are_read_in_any_case_and_have_usual_values() -> None:
    options = read_options({"HOST": "mq.example", "Port": "1415", "queueMANAGER": "QM1", "queue": "ORDERS"})
    assert options.connect.connection_name == "mq.example(1415)"
    assert (options.connect.queue_manager, options.queues) == ("QM1", ("ORDERS",))
    assert options.staging.queue == "SPARK.IN.ORDERS"
    assert write_options(HERE).staging.queue == "SPARK.OUT.ORDERS"
    assert read_options(HERE).connect.connection_name == "mq.example(1414)"


def test_tls_and_users_reach_the_connection_and_passwords_are_not_shown() -> None:
    more = {"cipherSpec": "ANY_TLS12_OR_HIGHER", "keyRepository": "/keys", "user": "app", "password": "geheim"}
    connect = read_options({**HERE, **more}).connect
    assert connect.tls == TlsSettings(cipher_spec="ANY_TLS12_OR_HIGHER", key_repository="/keys")
    assert (connect.user, connect.password) == ("app", "geheim")
    assert "geheim" not in repr(read_options({**HERE, **more}))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"queue": ""}, "Which queue"),
        ({"queue": "A,A"}, "named twice"),
        ({"queue": "X" * 49}, "MQ names have up to 48"),
        ({"queue": "X" * 48}, "Give option stagingQueue a shorter one"),
        ({"host": ""}, "Where is the queue manager"),
        ({"connectionName": "a(1414)"}, "not both"),
        ({"port": "65536"}, "port is '65536'; it is a number from 1 to 65535"),
        ({"numPartitions": "many"}, "numPartitions is 'many'; it is a number"),
        ({"binding": "embedded"}, "'client', over the network, or 'local'"),
        ({"binding": "local"}, "leave host and the like out"),
        ({"keyRepository": "/keys"}, "need cipherSpec"),
        ({"startingPosition": "latest"}, "a queue has only 'earliest'"),
        ({"deleteAt": "never"}, "'trigger' or 'commit'"),
        ({"failOnDataLoss": "perhaps"}, "it is true or false"),
        ({"topic": "news"}, "topic needs option subscription, the name of a durable subscription"),
        ({"wildcards": "characters"}, "wildcards needs option subscription"),
        ({"subscription": "a, a"}, "A subscription is named twice"),
        ({"subscription": "a, b"}, "There are 2 subscriptions and 1 in option queue. Give a queue for each"),
        ({"subscription": "a, b", "topic": "t,,"}, "There are 2 subscriptions and 3 in option topic"),
        ({"subscription": "a", "selector": "x = 1"}, "selector counts when a subscription is made. Give option topic"),
        ({"subscription": "a", "startingPosition": "latest"}, "startingPosition counts when a subscription is made"),
        ({"subscription": "a", "startingPosition": "now"}, "for a subscription it is 'earliest' or 'latest'"),
        ({"subscription": "a", "topic": "t", "wildcards": "some"}, r"'levels', for # and \+, or 'characters'"),
        ({"subscription": "a", "topic": "t" * 10241}, "MQRC_TOPIC_STRING_ERROR"),
        ({"retain": "true"}, "There is no option 'retain' to read with"),
        ({"sinkId": "s"}, "There is no option 'sinkid' to read with"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(changed: dict[str, str], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        read_options({**HERE, **changed})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"topic": "news"}, "Messages go to queue 'ORDERS' or are published to topic 'news'; give one of them"),
        ({"retain": "true"}, "retain is for publications"),
        ({"queue": "", "topic": "$SYS/MQ/x"}, "MQRC_ADMIN_TOPIC_STRING_ERROR"),
        ({"queue": ""}, "Which queue"),
        ({"subscription": "s"}, "There is no option 'subscription' to write with"),
    ],
)
def test_what_cannot_be_written_to_is_refused_with_words(changed: dict[str, str], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        write_options({**HERE, **changed})


def test_subscriptions_have_their_topics_and_staging_queues_names_that_a_queue_can_have() -> None:
    here = {"host": "mq.example"}
    one = read_options({**here, "subscription": "my prices", "topic": "a,b/#"})
    assert [(each.name, each.topic) for each in one.subscriptions] == [("my prices", "a,b/#")]
    two = read_options({**here, "subscription": "a, b", "topic": "t/1 , t/2", "startingPosition": "latest"})
    assert [(each.name, each.topic, each.is_new_only) for each in two.subscriptions] == [
        ("a", "t/1", True),
        ("b", "t/2", True),
    ]
    names = [one.staging.queue, two.staging.queue, write_options({**here, "topic": "t/1"}).staging.queue]
    assert names == ["SPARK.SUB.my_prices.6057bbb6", "SPARK.SUB.a", "SPARK.PUB.t/1"]
    long = [write_options({**here, "topic": "t" * 50 + end}).staging.queue for end in "ab"]
    assert long[0] != long[1]
    assert all(len(name) == 48 for name in long)


bodies = st.lists(st.one_of(st.binary(max_size=40), st.text(max_size=20)), max_size=20)


@given(bodies, st.integers(1, 5), st.integers(400, 1000))
def test_pages_hold_all_messages_in_order_and_keep_to_their_limits(
    given_bodies: list[bytes | str], count_max: int, bytes_max: int
) -> None:
    stored = []
    for number, each in enumerate(given_bodies):
        md, block, body = put_parts(Message(each, correlation_id=bytes([number]) * 24, properties={"n": number}))
        stored.append(StoredMessage(md, body, block, b"", 0))
    pages = [encode_page(b"epoch123", 7, "Q1", lot) for lot in collected(iter(stored), count_max, bytes_max)]
    assert [each for page in pages for each in stored_messages(page)] == stored
    read = [to_message(each, {}) for page in pages for each in stored_messages(page)]
    found = [(each.data, each.properties["n"]) for each in read]
    assert found == [(Message(each).data, number) for number, each in enumerate(given_bodies)]
    for page in pages:
        head = head_of(page)
        assert 1 <= head.messages <= count_max
        assert head.messages == 1 or len(page) <= bytes_max + 100
        assert (head.epoch, head.number, head.queue) == (b"epoch123", 7, "Q1")


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(PipelineError, match="no page"):
        head_of(b"something else")


@given(st.lists(st.binary(min_size=1, max_size=3)), st.integers(2, 6))
def test_every_message_id_is_in_exactly_one_range(ids: list[bytes], wanted: int) -> None:
    parts = ranges("Q1", ids, wanted)
    assert len(parts) <= wanted
    for each in [*ids, b"", b"\xff" * 24]:
        assert sum(part.has(each) for part in parts) == 1
