"""Queue managers for tests, without pytest's help."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from tests.free_ports import free_port

import ostler
import ostler.testing
from ostler.client.api.queue import Queue
from ostler.model import constants as mq
from ostler.testing import MqscError, RunningQueueManager, queue_manager
from ostler.testing.running import LISTENER


def is_listening(qm: RunningQueueManager) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((qm.host, qm.port)) == 0


def test_it_is_there_for_the_time_of_a_block() -> None:
    with queue_manager() as qm:
        data = qm.data
        assert data.is_dir()
        assert is_listening(qm)
        assert qm.connection_name == f"127.0.0.1({qm.port})"
        assert qm.mqserver == f"DEV.APP.SVRCONN/TCP/127.0.0.1({qm.port})"
        assert qm.environment == {"MQSERVER": qm.mqserver, "OSTLER_DATA": str(data)}
    assert not data.exists()
    assert not is_listening(qm)


def test_it_has_what_it_is_told_to_have(tmp_path: Path) -> None:
    with queue_manager("MINE", mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)", data=tmp_path, channel="MY.CH") as qm:
        assert qm.name == "MINE"
        assert qm.mqserver.startswith("MY.CH/TCP/")
        assert [qm.depth("A"), qm.depth("B")] == [0, 0]
        assert any("SVRCONN" in line for line in qm.mqsc("DISPLAY CHANNEL(MY.CH)"))
    assert (tmp_path / "qmgrs" / "MINE").is_dir(), "a directory that was given stays"


def test_several_at_once() -> None:
    with queue_manager("ONE") as one, queue_manager("TWO") as two:
        assert one.port != two.port
        assert one.data != two.data


def test_messages_go_in_and_out() -> None:
    with queue_manager(mqsc="DEFINE QLOCAL(Q)") as qm:
        qm.put("Q", "one", properties={"n": 1})
        qm.put("Q", b"two", priority=9)
        assert qm.depth("Q") == 2
        assert [message.data for message in qm.browse("Q")] == [b"two", b"one"]
        first, second = qm.get("Q"), qm.get("Q", wait=5)
        assert first is not None
        assert second is not None
        assert (first.data, second.text, second.properties) == (b"two", "one", {"n": 1})
        assert qm.get("Q") is None


def test_commands_that_fail_say_why() -> None:
    with queue_manager() as qm, pytest.raises(MqscError, match=r"(?s)DEFINE QLOCAL\(A\) NONSENSE\(1\).*AMQ"):
        qm.mqsc("DEFINE QLOCAL(A) NONSENSE(1)")


def test_it_comes_back_at_the_same_address() -> None:
    with queue_manager(mqsc="DEFINE QLOCAL(Q)") as qm:
        port = qm.port
        qm.put("Q", "kept", persistent=True)
        qm.end()
        assert not is_listening(qm)
        qm.start()
        assert (qm.port, is_listening(qm)) == (port, True)
        assert [message.text for message in qm.browse("Q")] == ["kept"]


def test_a_block_leaves_no_trace() -> None:
    with queue_manager(mqsc="DEFINE QLOCAL(Q)") as qm:
        port = qm.port
        with qm.isolated("DEFINE QLOCAL(OWN)\nALTER QLOCAL(Q) DESCR('x')\nDEFINE CHANNEL(C) CHLTYPE(SVRCONN)"):
            qm.put("OWN", "1")
            qm.put("Q", "2")
        assert qm.depth("Q") == 0
        with pytest.raises(ostler.MQError):
            qm.depth("OWN")
        assert (qm.port, is_listening(qm)) == (port, True)


def test_listeners_of_a_block_listen_no_more() -> None:
    port = free_port()
    with queue_manager() as qm:
        with qm.isolated(f"DEFINE LISTENER(L) TRPTYPE(TCP) PORT({port}) IPADDR(127.0.0.1)\nSTART LISTENER(L)"):
            assert {each.name for each in qm.server.listener_status()} == {LISTENER, "L"}
        assert {each.name for each in qm.server.listener_status()} == {LISTENER}


def test_clients_that_a_block_left_are_broken() -> None:
    reasons: list[int] = []
    with queue_manager(mqsc="DEFINE QLOCAL(Q)") as qm:
        before = ostler.connect(qm.name, qm.connection_name, channel=qm.channel)
        with qm.isolated("DEFINE QLOCAL(OWN)"):
            left = ostler.connect(qm.name, qm.connection_name, channel=qm.channel)
            left.put("Q", "not committed", syncpoint=True)
            own = left.open("OWN")
            own.put("not committed", syncpoint=True)
            waiting = ostler.connect(qm.name, qm.connection_name, channel=qm.channel).open("Q", "r")
            thread = threading.Thread(target=_wait, args=(waiting, reasons))
            thread.start()
            while not waits_on(qm, "Q"):
                thread.join(0.01)
        thread.join(60)
        assert reasons == [mq.MQRC_CONNECTION_BROKEN]
        with pytest.raises(ostler.MQError) as broken:
            own.get()
        assert broken.value.reason == mq.MQRC_CONNECTION_BROKEN
        assert qm.depth("Q") == 0
        before.put("Q", "still here")
        assert qm.depth("Q") == 1
        before.close()


def _wait(queue: Queue, reasons: list[int]) -> None:
    try:
        queue.get(wait=60)
    except ostler.MQError as error:
        reasons.append(error.reason)


def waits_on(qm: RunningQueueManager, queue: str) -> bool:
    with qm.manager.lock:
        return bool(list(qm.manager.engine.queues[queue].waiting.in_service_order()))


def test_a_block_may_end_the_queue_manager() -> None:
    with queue_manager(mqsc="DEFINE QLOCAL(Q)") as qm:
        with qm.isolated("DEFINE QLOCAL(OWN)"):
            qm.put("OWN", "1", persistent=True)
            qm.put("Q", "1", persistent=True)
            qm.end("preemptive")
        assert qm.depth("Q") == 0
        with pytest.raises(ostler.MQError):
            qm.depth("OWN")


def test_what_the_module_offers() -> None:
    assert {"queue_manager", "RunningQueueManager", "MqscError", "IsolationError"} <= set(dir(ostler.testing))
    with pytest.raises(AttributeError, match="nonsense"):
        ostler.testing.nonsense  # noqa: B018


def test_a_port_that_is_taken_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostler.testing import running

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1], running._free_port()]
        given = iter(ports)
        monkeypatch.setattr(running, "_free_port", lambda: next(given))
        with queue_manager() as qm:
            assert qm.port == ports[1]


def test_nothing_is_left_behind() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with queue_manager() as qm:
        qm.mqsc("DISPLAY QMGR")
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1
