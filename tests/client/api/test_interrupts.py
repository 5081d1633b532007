"""Signals that come just before a wait begins, and so do not interrupt it."""

from __future__ import annotations

import _thread
import signal
import threading
from typing import Any

import pytest
from tests.client.remote_site import eventually

from ostler.model import constants as mqc


class Interrupt(Exception):
    """What a signal handler of the test raises."""


@pytest.mark.parametrize("wait", [-1, 1_000_000])
def test_a_get_that_waits_within_the_process(app: Any, wait: int) -> None:
    name = app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED)

    def interrupt(*_: object) -> None:
        raise Interrupt

    def wait_and_interrupt() -> None:
        eventually(lambda: app.manager.engine.queues[name].waiting.count > 0)
        _thread.interrupt_main(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    helper = threading.Thread(target=wait_and_interrupt)
    helper.start()
    try:
        with pytest.raises(Interrupt):
            app.get(hobj, Options=mqc.MQGMO_WAIT, WaitInterval=wait)
    finally:
        helper.join()
        signal.signal(signal.SIGUSR1, before)
    app.put(name, b"for the next get")
    assert app.get(hobj) == (b"for the next get", 0)


def test_a_wait_longer_than_a_look_up_takes_its_time(app: Any) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED)
    assert app.get(hobj, Options=mqc.MQGMO_WAIT, WaitInterval=1200) == (b"", mqc.MQRC_NO_MSG_AVAILABLE)
