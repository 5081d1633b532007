"""Thousands of sockets of one process, from several loopback addresses, that connect as fast as they can and stay."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

from ostler.wire import frames as wire
from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.frames import FrameReader

# Each address has some 28,000 ports to connect from, and those that were closed stay taken for a minute.
SOCKETS_PER_ADDRESS = 5_000
ADDRESSES = 200
UNDER_WAY_MAX = 128
PATIENCE_SECONDS = 120.0
IP_BIND_ADDRESS_NO_PORT = 24


class Member:
    """One socket: says HELLO, then CONNECT for each of its conversations."""

    def __init__(self, sock: socket.socket, conversations: int) -> None:
        self.sock = sock
        self.reader = FrameReader(wire.SEGMENT_BYTES)
        self.conversations = conversations
        self.connected = 0
        self.beats = 0

    def take(self) -> bytes:
        """Read what has come; what to say to it."""
        data = self.sock.recv(1 << 16)
        assert data, "the queue manager closed a connection"
        self.reader.feed(data)
        answer = b""
        while self.reader.next():
            kind = int(self.reader.type)
            assert self.reader.buffer[self.reader.start] == 0, self.reader.buffer[self.reader.start :]
            if kind == wire.HELLO | wire.REPLY:
                asked = ConnectArguments()
                asked.application = "one of many"
                payload = asked.encode()
                numbers = range(1, 1 + self.conversations)
                answer += b"".join(wire.frame(wire.CONNECT, number, 1, payload) for number in numbers)
            elif kind == wire.CONNECT | wire.REPLY:
                self.connected += 1
            elif kind == wire.HEARTBEAT | wire.REPLY:
                self.beats += 1
        return answer


class Crowd:
    def __init__(self, address: tuple[str, int], channel: str) -> None:
        self._address = address
        self._channel = channel
        self._epoll = select.epoll()
        self._opened = 0
        self.members: dict[int, Member] = {}

    def open(self, sockets: int, conversations: int) -> float:
        """Connect so many more; the seconds until the last conversation was there."""
        began = time.perf_counter()
        hello = Hello(self._channel)
        hello.conversations_max = conversations
        greeting = wire.frame(wire.HELLO, 0, 1, hello.encode())
        new: list[Member] = []
        ready = 0

        def is_ready(member: Member) -> bool:
            return member.connected == member.conversations

        while ready < sockets:
            while len(new) < sockets and len(new) - ready < UNDER_WAY_MAX:
                new.append(self._dial(conversations, greeting))
            ready += self._turn(is_ready)
        return time.perf_counter() - began

    def _dial(self, conversations: int, greeting: bytes) -> Member:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # Without this the port would be chosen before it is known to whom it leads, from fewer ones.
        sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((f"127.0.0.{1 + self._opened // SOCKETS_PER_ADDRESS % ADDRESSES}", 0))
        sock.connect(self._address)
        sock.setblocking(False)
        sock.send(greeting)
        self._opened += 1
        member = Member(sock, conversations)
        self.members[sock.fileno()] = member
        self._epoll.register(sock.fileno(), select.EPOLLIN)
        return member

    def _turn(self, is_done: Callable[[Member], bool]) -> int:
        """Serve those who were answered; how many are done now."""
        done = 0
        for fd, _ in self._epoll.poll(1.0, 256):
            member = self.members[fd]
            was_done = is_done(member)
            answer = member.take()
            if answer:
                member.sock.send(answer)
            done += is_done(member) and not was_done
        return done

    def ask_all(self) -> None:
        """Have every socket answered once more."""
        wanted = 1 + max(member.beats for member in self.members.values())
        for member in self.members.values():
            member.sock.send(wire.frame(wire.HEARTBEAT, 0, 5))
        deadline = time.monotonic() + PATIENCE_SECONDS
        left = len(self.members)
        while left:
            left -= self._turn(lambda member: member.beats == wanted)
            assert time.monotonic() < deadline, f"{left} were not answered"

    def leave(self) -> None:
        for member in self.members.values():
            member.sock.close()
        self.members.clear()
        self._epoll.close()
