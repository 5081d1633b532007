"""MQError crosses processes: pickled, copied, raised in a pool of processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from ostler.client.api.message import Message
from ostler.client.api.property_types import Int16
from ostler.client.link.control import NotRunningError
from ostler.log.errors import LogDamaged
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf_parameters import PcfError
from ostler.server.config.directories import (
    QueueManagerExistsError,
    QueueManagerNotFoundError,
    QueueManagerRunningError,
)
from ostler.server.config.ini_file import ConfigurationError
from ostler.testing.running import MqscError


class Refined(MQError):
    """A subclass that is made in its own way."""

    def __init__(self, order: str) -> None:
        super().__init__(mq.MQRC_Q_FULL, f"no room for {order}", mq.MQCC_WARNING)
        self.order = order


def raise_error() -> None:
    raise MQError(mq.MQRC_NOT_AUTHORIZED, "who are you?", mq.MQCC_WARNING)


def fields(error: MQError) -> tuple[type, int, int, str, str, tuple[object, ...]]:
    return type(error), error.reason, error.completion, error.detail, str(error), error.args


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "error",
    [MQError(mq.MQRC_NO_MSG_AVAILABLE), MQError(mq.MQRC_NOT_AUTHORIZED, "no", mq.MQCC_WARNING), Refined("ponies")],
    ids=["plain", "whole", "subclass"],
)
def test_an_error_survives_pickling(error: MQError, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(error, protocol))
    assert fields(again) == fields(error)
    assert getattr(again, "order", "") == getattr(error, "order", "")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_an_error_can_be_copied(copied: object) -> None:
    assert callable(copied)
    for error in (MQError(mq.MQRC_Q_FULL, "full"), Refined("ponies")):
        error.add_note("seen on Monday")
        again = copied(error)
        assert fields(again) == fields(error)
        assert again.__notes__ == ["seen on Monday"]


def test_an_error_comes_out_of_a_pool_of_processes() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        error = pool.submit(raise_error).exception()
    assert isinstance(error, MQError)
    expected = MQError(mq.MQRC_NOT_AUTHORIZED, "who are you?", mq.MQCC_WARNING)
    assert fields(error) == fields(expected)


@pytest.mark.parametrize(
    "error",
    [
        LogDamaged("log/1", 4096, "a checksum"),
        PcfError(3014, "no structure"),
        QueueManagerNotFoundError("there is none"),
        QueueManagerExistsError("it is there"),
        QueueManagerRunningError("QM1", 0),
        ConfigurationError("qm.ini", 3, "what is this?"),
        NotRunningError("QM1"),
        MqscError("not done"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_errors_of_the_api_survive_pickling(error: Exception) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        for name in ("file", "offset", "what", "reason", "name", "process", "line", "problem"):
            assert getattr(again, name, None) == getattr(error, name, None)


def test_a_message_crosses_processes() -> None:
    made = Message("text", properties={"count": Int16(3)}, message_id=b"id", expiry=5.0)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert again == made
        assert type(again.properties["count"]) is Int16
