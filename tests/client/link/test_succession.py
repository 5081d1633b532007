"""The search for a later leader: a client leaves a silent queue manager only for a later life of the same log."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ostler.client.link import loop_link, succession
from ostler.client.link.dial import ask_hello, client_conversation
from ostler.client.link.link import LinkListener
from ostler.client.link.loop_dialler import LoopDialler
from ostler.client.link.succession import Address, Succession, silent_last
from ostler.client.link.waiters import LinkBroken
from ostler.client.locate.connect_parameters import Endpoint
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.connect_frames import Hello, decode_hello
from ostler.wire.frames import HELLO, OPEN, REPLY, FrameReader, frame
from ostler.wire.replies import reply_frame

LOG = b"the log of QM1.."
OTHER_LOG = b"another log....."


class Manager:
    """Answers HELLO on a port of loopback, and nothing else, as one that then stands still."""

    def __init__(self, life: int, identity: bytes = LOG, is_silent: bool = False) -> None:
        self.life, self.identity, self.is_silent = life, identity, is_silent
        self.hellos = 0
        self.asked = threading.Event()
        self.received = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint(host="127.0.0.1", port=int(self._listener.getsockname()[1]), channel="APP")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(accepted)
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        reader = FrameReader()
        try:
            while data := accepted.recv(65536):
                reader.feed(data)
                while reader.next():
                    if reader.type == HELLO and not self.is_silent:
                        self.hellos += 1
                        asked = decode_hello(reader.buffer[reader.start : reader.end])
                        asked.log_identity, asked.life = self.identity, self.life
                        head = reply_frame(HELLO, 0, reader.request, 0, 0)
                        accepted.sendall(frame(HELLO | REPLY, 0, reader.request, head[16:] + asked.encode()))
                        self.asked.set()
                    elif reader.type != HELLO:
                        self.received.set()
        except OSError:
            return

    def close(self) -> None:
        with suppress(OSError):  # it is closed already
            self._listener.shutdown(socket.SHUT_RDWR)  # else a thread in accept would take one more connection
        self._listener.close()
        for each in self._open:
            each.close()


@pytest.fixture
def managers() -> Iterator[list[Manager]]:
    made: list[Manager] = []
    yield made
    for each in made:
        each.close()
    succession._silent.clear()


def made(managers: list[Manager], life: int, identity: bytes = LOG, is_silent: bool = False) -> Manager:
    managers.append(Manager(life, identity, is_silent))
    return managers[-1]


def search(current: Manager, *others: Manager) -> Succession:
    return Succession(current.endpoint, [Address(each.endpoint, None) for each in others], ask_hello)


def negotiated(life: int) -> Hello:
    hello = Hello("APP")
    hello.log_identity, hello.life = LOG, life
    return hello


def test_only_a_later_life_of_the_same_log_succeeds(managers: list[Manager]) -> None:
    current = made(managers, 4)
    later, same, earlier = made(managers, 5), made(managers, 4), made(managers, 3)
    stranger, none = made(managers, 9, OTHER_LOG), made(managers, 0)
    gone = made(managers, 9)
    gone.close()
    assert search(current, same, earlier, stranger, none, gone).successor(negotiated(4)) is None
    assert search(current, gone, stranger, later).successor(negotiated(4)) == later.endpoint


def test_an_address_that_does_not_answer_is_not_waited_for(
    managers: list[Manager], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(succession, "ANSWER_SECONDS", 0.1)
    current, silent, later = made(managers, 4), made(managers, 9, is_silent=True), made(managers, 5)
    assert search(current, silent, later).successor(negotiated(4)) == later.endpoint


def test_a_request_that_is_not_answered_leaves_for_the_later_leader(managers: list[Manager]) -> None:
    current, later = made(managers, 4), made(managers, 4)
    conversation = client_conversation(current.endpoint, None, shares=False).conversation
    link = conversation.link
    link.watch_succession(search(current, later))
    waiter = conversation.send_request(OPEN, b"")
    failed: list[LinkBroken] = []

    def wait() -> None:
        try:
            link.finish(waiter)
        except LinkBroken as broken:
            failed.append(broken)

    waiting = threading.Thread(target=wait)
    waiting.start()
    for _ in range(30):  # seconds of the keepalive thread: nobody else leads
        link.on_keepalive(1)
    assert current.received.wait(20), "no heartbeat was sent"
    assert later.asked.wait(20), "the other address was not asked"
    assert not link.broken
    later.life = 5
    for _ in range(2000):
        link.on_keepalive(1)
        waiting.join(0.01)
        if not waiting.is_alive():
            break
    assert not waiting.is_alive(), "the request waits on"
    assert failed[0].reason == mq.MQRC_CONNECTION_BROKEN
    assert f"is active at 127.0.0.1({later.endpoint.port}) now" in failed[0].text
    assert silent_last([current.endpoint, later.endpoint], lambda each: each) == [later.endpoint, current.endpoint]


def test_an_idle_link_asks_nobody(managers: list[Manager]) -> None:
    current, later = made(managers, 4), made(managers, 5)
    link = client_conversation(current.endpoint, None, shares=False).conversation.link
    link.watch_succession(search(current, later))
    for _ in range(100):
        link.on_keepalive(1)
    assert (later.hellos, link.broken) == (0, 0)


def test_a_queue_manager_without_copies_is_not_watched(managers: list[Manager]) -> None:
    current, later = made(managers, 0), made(managers, 5)
    link = client_conversation(current.endpoint, None, shares=False).conversation.link
    link.watch_succession(search(current, later))
    assert link.succession is None


class Listener(LinkListener):
    def on_notice(self, reason: int, text: str) -> None:
        pass

    def on_link_broken(self, error: MQError) -> None:
        pass


def test_a_task_leaves_for_the_later_leader(managers: list[Manager], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEARTBEAT_SECONDS", "LOOK_SECONDS", "AGAIN_SECONDS"):
        monkeypatch.setattr(loop_link, name, 0.05)
    current, later = made(managers, 4), made(managers, 5)

    async def ask() -> None:
        link = await LoopDialler().client(current.endpoint, None)
        link.watch_succession(search(current, later))
        conversation = link.attach(Listener())
        assert conversation is not None
        await asyncio.wait_for(link.exchange(conversation, OPEN), 20)

    with pytest.raises(MQError, match="is active at") as broken:
        asyncio.run(ask())
    assert broken.value.reason == mq.MQRC_CONNECTION_BROKEN
