"""A watch on a range of etcd's keys, as a hint that something may have changed.

The request is of HTTP/1.0, so the answer is a stream of JSON lines without chunks. A stream that was silent for long is
opened again: it may have died without a word.
"""

from __future__ import annotations

import json
import os
import select
import socket
import ssl
import threading
import time
import weakref
from typing import Any

from ostler.model.arbiter import ArbiterUnavailable
from ostler.server.replica.etcd_http import EtcdSettings, endpoint_address, open_socket, parse_object

LINE_BYTES_MAX = 4 << 20
SILENT_SECONDS_MAX = 15.0
_HEAD_END = b"\r\n\r\n"


class EtcdWatch:
    """One stream at a time. `wait` belongs to one thread; `wake` and `close` may come from any."""

    def __init__(self, settings: EtcdSettings, key: str, range_end: str) -> None:
        self._settings = settings
        self._key, self._range_end = key, range_end
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._endpoint = 0
        self._buffer = b""
        self._has_head = False
        self._heard = 0.0
        self._wakes = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        weakref.finalize(self, os.close, self._wakes)

    def wait(self, seconds: float, token: str) -> bool:
        """Wait for news, at most so long. Never raises, and never returns early without news unless woken or closed."""
        deadline = time.monotonic() + seconds
        while not self._closed.is_set():
            left = deadline - time.monotonic()
            if left <= 0 or self._was_woken():
                return False
            try:
                if self._socket is None:
                    # What changed while there was no stream is not in it: that is news, too.
                    self._open(min(left, self._settings.timeout_seconds), token)
                    return True
                if self._has_news(min(left, self._settings.timeout_seconds)):
                    return True
                if time.monotonic() - self._heard > SILENT_SECONDS_MAX:
                    self._drop()
            except (OSError, ValueError, ArbiterUnavailable):
                self._drop()
                self._endpoint += 1
                self._poll(min(left, self._settings.timeout_seconds / 2))
        return False

    def wake(self) -> None:
        """End a wait that is under way, or else the next one."""
        os.eventfd_write(self._wakes, 1)

    def _was_woken(self) -> bool:
        try:
            os.eventfd_read(self._wakes)
        except BlockingIOError:
            return False
        return True

    def _poll(self, seconds: float) -> None:
        """Wait until the stream has data, or this is woken, at most so long."""
        poll = select.poll()
        poll.register(self._wakes, select.POLLIN)
        found = self._socket
        if found is not None:
            poll.register(found.fileno(), select.POLLIN)
        poll.poll(max(1, int(seconds * 1000)))

    def close(self) -> None:
        """End the stream, and a wait that is under way."""
        self._closed.set()
        self.wake()
        found = self._socket
        if found is not None:
            try:
                found.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _drop(self) -> None:
        found, self._socket = self._socket, None
        if found is not None:
            found.close()

    def _open(self, seconds: float, token: str) -> None:
        endpoints = self._settings.endpoints
        url = endpoints[self._endpoint % len(endpoints)]
        deadline = time.monotonic() + seconds
        made = open_socket(url, self._settings, seconds)
        self._socket, self._buffer, self._has_head, self._heard = made, b"", False, time.monotonic()
        body = json.dumps({"create_request": {"key": self._key, "range_end": self._range_end}}).encode()
        lines = [f"POST /v3/watch HTTP/1.0\r\nHost: {endpoint_address(url)[0]}\r\nContent-Type: application/json\r\n"]
        lines += [f"Content-Length: {len(body)}\r\n", f"Authorization: {token}\r\n" if token else "", "\r\n"]
        made.settimeout(seconds)
        made.sendall("".join(lines).encode() + body)
        # The first line says that the watch exists: from here on nothing is missed.
        while self._next_line() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the watch was not created in time")
            self._receive(left)

    def _has_news(self, seconds: float) -> bool:
        line = self._next_line()
        if line is None:
            self._receive_next(seconds)
            line = self._next_line()
        while line is not None:
            result = line.get("result")
            if not isinstance(result, dict) or result.get("canceled"):
                raise ArbiterUnavailable("the watch was ended")
            if result.get("events"):
                return True
            line = self._next_line()
        return False

    def _receive_next(self, seconds: float) -> None:
        """Receive what comes next, unless this is woken before."""
        found = self._socket
        assert found is not None
        # Data of TLS may be decrypted already.
        if not isinstance(found, ssl.SSLSocket) or not found.pending():
            self._poll(seconds)
        self._receive(0.0)

    def _receive(self, seconds: float) -> None:
        found = self._socket
        assert found is not None
        found.settimeout(max(0.001, seconds))
        try:
            data = found.recv(65536)
        except TimeoutError:
            return
        if not data:
            raise ConnectionError("the watch has ended")
        self._heard = time.monotonic()
        self._buffer += data
        if len(self._buffer) > LINE_BYTES_MAX:
            raise ValueError("a line of the watch is too long")

    def _next_line(self) -> dict[str, Any] | None:
        if not self._has_head:
            head, found, rest = self._buffer.partition(_HEAD_END)
            if not found:
                return None
            if b" 200 " not in head.split(b"\r\n")[0]:
                raise ArbiterUnavailable("the watch was refused")
            self._has_head, self._buffer = True, rest
        line, found, rest = self._buffer.partition(b"\n")
        if not found:
            return None
        self._buffer = rest
        return parse_object(line, "watch")
