"""Channel events: filtering by CHLEV and SSLEV, and the contents."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ostler.engine.core import Engine
from ostler.engine.events import channel_events
from ostler.engine.events.channel_events import CHANNEL_QUEUE
from ostler.engine.events.reports import Outgoing
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.journal import Journal
from ostler.model.pcf import Integer, PcfMessage, String, decode
from ostler.testing.simulation.crashing_disk import SimulatedDisk

ENABLED, EXCEPTION, DISABLED = mq.MQEVR_ENABLED, mq.MQEVR_EXCEPTION, mq.MQEVR_DISABLED
OK, BAD = mq.MQRQ_CHANNEL_STOPPED_OK, mq.MQRQ_CHANNEL_STOPPED_ERROR
WHERE = ("TO.QM2", "QM2.XMIT", "10.0.0.2(1414)")


class NoJournal(Journal):
    """A journal that fails on writes: event functions only build messages."""

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        raise AssertionError(kind)

    def end_lsn(self) -> int:
        return 0

    def durable_lsn(self) -> int:
        return 0

    def room_bytes(self) -> int:
        return 1 << 30


def engine_with(channel_event: int = ENABLED, tls_event: int = ENABLED) -> Engine:
    manager = new_definition(ObjectType.QMGR, "QM1", {"CHLEV": channel_event, "SSLEV": tls_event})
    engine = Engine("QM1", SimulatedDisk(), NoJournal(), manager)
    engine.now_ms = 1_700_000_000_000
    return engine


def read(made: list[Outgoing]) -> PcfMessage:
    (outgoing,) = made
    assert outgoing.queue_name == CHANNEL_QUEUE
    message = decode(outgoing.body)
    assert message.header.type == mq.MQCFT_EVENT
    assert message.header.command == mq.MQCMD_CHANNEL_EVENT
    assert message.header.completion == mq.MQCC_WARNING
    assert message.header.control == mq.MQCFC_LAST
    return message


def told(message: PcfMessage) -> list[tuple[int, int | str]]:
    """Return the parameters in order, without the queue manager's name, which comes first."""
    first, *rest = message.parameters
    assert isinstance(first, String)
    assert (first.parameter, first.value) == (mq.MQCA_Q_MGR_NAME, "QM1")
    found: list[tuple[int, int | str]] = []
    for item in rest:
        assert isinstance(item, Integer | String)
        found.append((item.parameter, item.value))
    return found


CHANNEL = (mq.MQCACH_CHANNEL_NAME, "TO.QM2")
ROUTE = [(mq.MQCACH_XMIT_Q_NAME, "QM2.XMIT"), (mq.MQCACH_CONNECTION_NAME, "10.0.0.2(1414)")]
MADE: dict[str, tuple[Callable[[Engine], list[Outgoing]], int]] = {
    "started": (lambda engine: channel_events.on_channel_started(engine, *WHERE), mq.MQRC_CHANNEL_STARTED),
    "ended": (lambda engine: channel_events.on_channel_stopped(engine, OK, *WHERE), mq.MQRC_CHANNEL_STOPPED),
    "failed": (lambda engine: channel_events.on_channel_stopped(engine, BAD, *WHERE), mq.MQRC_CHANNEL_STOPPED),
    "stopped": (
        lambda engine: channel_events.on_channel_stopped_by_user(engine, "TO.QM2"),
        mq.MQRC_CHANNEL_STOPPED_BY_USER,
    ),
    "waits": (lambda engine: channel_events.on_channel_not_activated(engine, *WHERE), mq.MQRC_CHANNEL_NOT_ACTIVATED),
    "goes on": (lambda engine: channel_events.on_channel_activated(engine, *WHERE), mq.MQRC_CHANNEL_ACTIVATED),
    "refused": (
        lambda engine: channel_events.on_channel_not_available(engine, mq.MQRQ_MAX_CHANNELS, "TO.QM1", "10.0.0.2", 100),
        mq.MQRC_CHANNEL_NOT_AVAILABLE,
    ),
    "unconverted": (
        lambda engine: channel_events.on_channel_conversion_error(
            engine, mq.MQRC_FORMAT_ERROR, "TO.QM2", "MYFORMAT", "QM2.XMIT", "10.0.0.2(1414)"
        ),
        mq.MQRC_CHANNEL_CONV_ERROR,
    ),
    "no handshake": (
        lambda engine: channel_events.on_channel_ssl_error(engine, mq.MQRQ_SSL_HANDSHAKE_ERROR, *WHERE, "hello", 7),
        mq.MQRC_CHANNEL_SSL_ERROR,
    ),
    "doubtful": (
        lambda engine: channel_events.on_channel_ssl_warning(engine, mq.MQRQ_SSL_UNKNOWN_REVOCATION, *WHERE),
        mq.MQRC_CHANNEL_SSL_WARNING,
    ),
}
WITHOUT_EXCEPTION = {"started", "ended"}
SECURE = {"no handshake", "doubtful"}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("setting", [ENABLED, EXCEPTION, DISABLED])
def test_what_is_told_of_channels(name: str, setting: int) -> None:
    make, reason = MADE[name]
    made = make(engine_with(setting))
    wanted = name in SECURE or setting == ENABLED or (setting == EXCEPTION and name not in WITHOUT_EXCEPTION)
    assert [decode(each.body).header.reason for each in made] == ([reason] if wanted else [])


@pytest.mark.parametrize("name", MADE)
def test_what_is_told_without_events_about_tls(name: str) -> None:
    assert bool(MADE[name][0](engine_with(ENABLED, DISABLED))) == (name not in SECURE)


def test_a_channel_has_started() -> None:
    message = read(channel_events.on_channel_started(engine_with(), *WHERE))
    assert told(message) == [CHANNEL, *ROUTE]
    receiving = read(channel_events.on_channel_started(engine_with(), "TO.QM1", "", "10.0.0.2"))
    assert told(receiving) == [(mq.MQCACH_CHANNEL_NAME, "TO.QM1"), (mq.MQCACH_CONNECTION_NAME, "10.0.0.2")]


@pytest.mark.parametrize(
    ("qualifier", "parameter"),
    [
        (mq.MQRQ_MAX_CHANNELS, mq.MQIA_MAX_CHANNELS),
        (mq.MQRQ_MAX_ACTIVE_CHANNELS, mq.MQIA_ACTIVE_CHANNELS),
        (mq.MQRQ_SVRCONN_INST_LIMIT, mq.MQIACH_MAX_INSTANCES),
        (mq.MQRQ_CLIENT_INST_LIMIT, mq.MQIACH_MAX_INSTS_PER_CLIENT),
    ],
)
def test_there_is_no_place_for_somebody(qualifier: int, parameter: int) -> None:
    message = read(channel_events.on_channel_not_available(engine_with(), qualifier, "TO.QM1", "10.0.0.2", 7))
    assert told(message) == [
        (mq.MQIACF_REASON_QUALIFIER, qualifier),
        (mq.MQCACH_CHANNEL_NAME, "TO.QM1"),
        (mq.MQCACH_CONNECTION_NAME, "10.0.0.2"),
        (parameter, 7),
    ]


def test_a_channel_has_ended_by_itself() -> None:
    message = read(channel_events.on_channel_stopped(engine_with(), OK, *WHERE, 9545))
    assert told(message) == [
        (mq.MQIACF_REASON_QUALIFIER, OK),
        CHANNEL,
        (mq.MQIACF_ERROR_IDENTIFIER, 0x10009545),
        (mq.MQIACF_AUX_ERROR_DATA_INT_1, 0),
        (mq.MQIACF_AUX_ERROR_DATA_INT_2, 0),
        (mq.MQCACF_AUX_ERROR_DATA_STR_1, ""),
        (mq.MQCACF_AUX_ERROR_DATA_STR_2, ""),
        (mq.MQCACF_AUX_ERROR_DATA_STR_3, ""),
        *ROUTE,
    ]


def test_a_channel_has_failed() -> None:
    made = channel_events.on_channel_stopped(
        engine_with(), mq.MQRQ_CHANNEL_STOPPED_RETRY, *WHERE, 9526, (12, 11), ("TO.QM2", "QM2", "")
    )
    found = dict(told(read(made)))
    assert found[mq.MQIACF_REASON_QUALIFIER] == mq.MQRQ_CHANNEL_STOPPED_RETRY
    assert found[mq.MQIACF_ERROR_IDENTIFIER] == 0x20009526
    assert (found[mq.MQIACF_AUX_ERROR_DATA_INT_1], found[mq.MQIACF_AUX_ERROR_DATA_INT_2]) == (12, 11)
    assert found[mq.MQCACF_AUX_ERROR_DATA_STR_1] == "TO.QM2"
    assert found[mq.MQCACF_AUX_ERROR_DATA_STR_2] == "QM2"


def test_an_error_without_a_message_has_no_number() -> None:
    assert channel_events.error_identifier(0, True) == 0


def test_somebody_stopped_a_channel() -> None:
    message = read(channel_events.on_channel_stopped_by_user(engine_with(), "TO.QM2"))
    assert told(message) == [(mq.MQIACF_REASON_QUALIFIER, mq.MQRQ_CHANNEL_STOPPED_DISABLED), CHANNEL]


def test_a_channel_waits_for_a_place() -> None:
    assert told(read(MADE["waits"][0](engine_with()))) == [CHANNEL, *ROUTE]
    assert told(read(MADE["goes on"][0](engine_with()))) == [CHANNEL, *ROUTE]


def test_a_message_was_not_converted() -> None:
    assert told(read(MADE["unconverted"][0](engine_with()))) == [
        (mq.MQIACF_CONV_REASON_CODE, mq.MQRC_FORMAT_ERROR),
        CHANNEL,
        (mq.MQCACH_FORMAT_NAME, "MYFORMAT"),
        *ROUTE,
    ]


def test_tls_was_not_agreed_on() -> None:
    assert told(read(MADE["no handshake"][0](engine_with()))) == [
        (mq.MQIACF_REASON_QUALIFIER, mq.MQRQ_SSL_HANDSHAKE_ERROR),
        CHANNEL,
        *ROUTE,
        (mq.MQCACH_SSL_HANDSHAKE_STAGE, "hello"),
        (mq.MQIACH_SSL_RETURN_CODE, 7),
    ]
    wrong = mq.MQRQ_SSL_PEER_NAME_ERROR
    peer = channel_events.on_channel_ssl_error(engine_with(), wrong, "TO.QM1", "", "10.0.0.2", peer="CN=other")
    assert told(read(peer)) == [
        (mq.MQIACF_REASON_QUALIFIER, wrong),
        (mq.MQCACH_CHANNEL_NAME, "TO.QM1"),
        (mq.MQCACH_CONNECTION_NAME, "10.0.0.2"),
        (mq.MQCACH_SSL_PEER_NAME, "CN=other"),
    ]
    early = channel_events.on_channel_ssl_error(engine_with(), mq.MQRQ_SSL_CIPHER_SPEC_ERROR, "", "", "")
    assert told(read(early)) == [(mq.MQIACF_REASON_QUALIFIER, mq.MQRQ_SSL_CIPHER_SPEC_ERROR)]
