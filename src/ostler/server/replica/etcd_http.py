"""Requests to etcd's JSON gateway with the standard library: several endpoints, TLS, passwords, a limit on everything.

A request to one endpoint has one deadline, for connecting, sending and every byte of the answer together. An answer
has a size limit and must be a JSON object of the cluster that answered first. A request that did not leave is tried at
the next endpoint. One that left and was not answered may have happened: it is repeated only if the caller says that
this does no harm, and else raises ArbiterUnavailable; the next request goes to the next endpoint.
"""

from __future__ import annotations

import http.client
import io
import json
import select
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ostler.model.arbiter import LEASE_SECONDS_DEFAULT, LEASE_SECONDS_MIN, ArbiterRefused, ArbiterUnavailable

ANSWER_BYTES_MAX = 4 << 20
_WORDS_SHOWN = 200
_PORT = 2379

# gRPC's codes, as the gateway reports them.
NOT_FOUND = 5
_UNKNOWN = 2
_DEADLINE_EXCEEDED = 4
_ABORTED = 10
_INTERNAL = 13
_UNAVAILABLE = 14
_UNAUTHENTICATED = 16
_UNCERTAIN_CODES = (_UNKNOWN, _DEADLINE_EXCEEDED, _ABORTED, _INTERNAL, _UNAVAILABLE)


@dataclass(frozen=True)
class EtcdSettings:
    """The addresses of etcd, and our name and certificates there."""

    endpoints: tuple[str, ...]
    """URLs: http://host:port or https://host:port. All must be of one cluster."""
    lease_seconds: float = LEASE_SECONDS_DEFAULT
    timeout_seconds: float = 1.0
    """Of one attempt at one endpoint. With the keep-alive at every third of the lease, two may fail."""
    user: str = ""
    password: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""

    def __post_init__(self) -> None:
        if not self.endpoints:
            raise ValueError("etcd needs at least one endpoint")
        if self.lease_seconds < LEASE_SECONDS_MIN:
            raise ValueError(f"etcd grants no lease of less than {LEASE_SECONDS_MIN:.0f} s")
        if not 0 < self.timeout_seconds < self.lease_seconds:
            raise ValueError("the timeout of a request must be shorter than the lease")
        for each in self.endpoints:
            endpoint_address(each)


class EtcdError(Exception):
    """An error that etcd reports, by its gRPC code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class NotSent(Exception):
    """A request did not reach an endpoint."""


def endpoint_address(url: str) -> tuple[str, int, bool]:
    """Return host, port and whether it speaks TLS. Raises ValueError."""
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise ValueError(f"{url!r} is no endpoint of etcd: http://host:port or https://host:port")
    return parts.hostname, parts.port or _PORT, parts.scheme == "https"


def open_socket(url: str, settings: EtcdSettings, timeout_seconds: float) -> socket.socket:
    """Connect to an endpoint within the time. Raises OSError."""
    host, port, is_tls = endpoint_address(url)
    deadline = time.monotonic() + timeout_seconds
    made = socket.create_connection((host, port), timeout_seconds)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not is_tls:
        return made
    try:
        made.settimeout(max(0.001, deadline - time.monotonic()))
        return _tls_context(settings).wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


def _tls_context(settings: EtcdSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ca_file or None)
    if settings.certificate_file:
        context.load_cert_chain(settings.certificate_file, settings.key_file or None)
    return context


class EtcdConnection:
    """The endpoints, one of them connected. A call of another thread waits for the one under way."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.settings = settings
        self.cluster_id = ""
        self._current = 0
        self._connection: _Connection | None = None
        self._token = ""
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        """The endpoint that is used now."""
        return self.settings.endpoints[self._current]

    @property
    def token(self) -> str:
        """The token of our user; empty without one."""
        return self._token

    def call(self, path: str, body: dict[str, Any], repeatable: bool = False) -> dict[str, Any]:
        """Post a request and return the answer.

        `repeatable`: it may happen twice, so an unanswered one goes to the next endpoint. Raises ArbiterUnavailable,
        ArbiterRefused, and EtcdError NOT_FOUND.
        """
        with self._lock:
            return self._call(path, body, repeatable)

    def _call(self, path: str, body: dict[str, Any], repeatable: bool) -> dict[str, Any]:
        problems: dict[str, str] = {}
        tries_left = len(self.settings.endpoints)
        while tries_left:
            tries_left -= 1
            was_kept = self._connection is not None
            try:
                return self._call_here(path, body)
            except NotSent as problem:
                problems[self.endpoint] = str(problem)
                self._next_endpoint()
            except ArbiterRefused:
                raise
            except ArbiterUnavailable as problem:
                problems[self.endpoint] = str(problem)
                self._next_endpoint()
                if not repeatable:
                    break
                if was_kept:
                    tries_left += 1  # etcd may have closed the kept connection meanwhile: a new one may be answered
        told = "; ".join(f"{endpoint}: {problem}" for endpoint, problem in problems.items())
        raise ArbiterUnavailable(f"etcd gave no answer: {told}")

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _next_endpoint(self) -> None:
        self._close()
        self._token = ""
        self._current = (self._current + 1) % len(self.settings.endpoints)

    def _call_here(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        is_fresh = False
        if self.settings.user and not self._token:
            self._authenticate()
            is_fresh = True
        try:
            return self._post(path, body, self._deadline())
        except EtcdError as error:
            if error.code != _UNAUTHENTICATED or not self.settings.user or is_fresh:
                raise self._judged(error) from None
        # The token has expired, or etcd has restarted. Nothing happened.
        self._authenticate()
        try:
            return self._post(path, body, self._deadline())
        except EtcdError as error:
            raise self._judged(error) from None

    @staticmethod
    def _judged(error: EtcdError) -> Exception:
        """Tell an error that a caller expects from one that leaves open what happened, and from a refusal."""
        if error.code == NOT_FOUND:
            return error
        if error.code in _UNCERTAIN_CODES:
            return ArbiterUnavailable(str(error))
        return ArbiterRefused(f"etcd refuses: {error}")

    def _deadline(self) -> float:
        return time.monotonic() + self.settings.timeout_seconds

    def _authenticate(self) -> None:
        """Get a token, with a deadline of its own: etcd takes its time to compare passwords."""
        self._token = ""
        try:
            body = {"name": self.settings.user, "password": self.settings.password}
            token = self._post("/v3/auth/authenticate", body, self._deadline()).get("token")
        except EtcdError as error:
            if error.code in _UNCERTAIN_CODES:
                raise NotSent(str(error)) from None
            raise ArbiterRefused(f"etcd does not accept user {self.settings.user}: {error}") from None
        except ArbiterUnavailable as problem:
            raise NotSent(f"no answer to the password: {problem}") from None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise NotSent("etcd gave no token")
        self._token = token

    def _post(self, path: str, body: dict[str, Any], deadline: float) -> dict[str, Any]:
        """One request and its answer. Raises NotSent, ArbiterUnavailable, EtcdError."""
        connection = self._connected(deadline)
        headers = {"Content-Type": "application/json", "Connection": "keep-alive"}
        if self._token:
            headers["Authorization"] = self._token
        try:
            status, data, will_close = connection.exchange(path, json.dumps(body).encode(), headers, deadline)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            self._close()
            raise ArbiterUnavailable(_shown(failure)) from None
        if will_close:
            self._close()
        try:
            return self._checked(status, data)
        except ArbiterUnavailable:
            self._close()
            raise

    def _connected(self, deadline: float) -> _Connection:
        found = self._connection
        if found is not None and not found.is_stale():
            return found
        self._close()
        host, port, _ = endpoint_address(self.endpoint)
        try:
            seconds = max(0.001, deadline - time.monotonic())
            made = _Connection(host, port, open_socket(self.endpoint, self.settings, seconds))
        except (OSError, ValueError) as failure:
            raise NotSent(_shown(failure)) from None
        self._connection = made
        return made

    def _checked(self, status: int, data: bytes) -> dict[str, Any]:
        answer = parse_object(data, f"status {status}")
        if status != 200:
            code = answer.get("code")
            text = answer.get("message") or answer.get("error")
            if not isinstance(code, int) or not isinstance(text, str):
                raise ArbiterUnavailable(f"status {status}: {_shown(data)}")
            raise EtcdError(code, _shown(text))
        self._check_cluster(answer)
        return answer

    def _check_cluster(self, answer: dict[str, Any]) -> None:
        """Refuse an answer of another cluster: two clusters would be two arbiters."""
        inner = answer.get("result", answer)
        header = inner.get("header") if isinstance(inner, dict) else None
        cluster = header.get("cluster_id") if isinstance(header, dict) else None
        if not isinstance(cluster, str) or not cluster:
            raise ArbiterUnavailable("an answer does not name its cluster")
        if self.cluster_id and cluster != self.cluster_id:
            text = f"{self.endpoint} belongs to cluster {_shown(cluster)}, not {self.cluster_id}"
            self._next_endpoint()
            raise ArbiterRefused(text)
        self.cluster_id = cluster


def parse_object(data: bytes, what: str) -> dict[str, Any]:
    """Return the JSON object of an answer. Raises ArbiterUnavailable."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise ArbiterUnavailable(f"{what}: no JSON but {_shown(data)}") from None
    if not isinstance(answer, dict):
        raise ArbiterUnavailable(f"{what}: no JSON object but {_shown(data)}")
    return answer


def _shown(what: object) -> str:
    text = what.decode(errors="replace") if isinstance(what, bytes) else str(what) or type(what).__name__
    return "".join(each if each.isprintable() else "?" for each in text[:_WORDS_SHOWN])


class _Connection(http.client.HTTPConnection):
    """A kept connection whose reads and writes share one deadline."""

    def __init__(self, host: str, port: int, made: socket.socket) -> None:
        super().__init__(host, port)
        self.auto_open = 0
        self._timed = _TimedSocket(made)
        self.sock = self._timed  # sendall, makefile and close are all that is used

    def is_stale(self) -> bool:
        """Return True if the other side has closed it, or sent something that nobody asked for."""
        return self.sock is None or self._timed.is_readable()

    def exchange(self, path: str, body: bytes, headers: dict[str, str], deadline: float) -> tuple[int, bytes, bool]:
        self._timed.deadline = deadline
        self.request("POST", path, body, headers)
        answer = self.getresponse()
        data = answer.read(ANSWER_BYTES_MAX + 1)
        if len(data) > ANSWER_BYTES_MAX:
            raise ValueError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        # Whatever is left, as the end of the last chunk, must be gone before the next answer.
        will_close = answer.will_close or (not answer.isclosed() and bool(answer.read(1)))
        return answer.status, data, will_close


class _TimedSocket:
    """The part of a socket that http.client uses, with a deadline instead of a timeout for each read."""

    def __init__(self, made: socket.socket) -> None:
        self._socket = made
        self.deadline = 0.0

    def is_readable(self) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(waiting.poll(0))

    def sendall(self, data: Any) -> None:
        self._socket.settimeout(self._left())
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self))

    def receive_into(self, buffer: Any) -> int:
        self._socket.settimeout(self._left())
        return self._socket.recv_into(buffer)

    def close(self) -> None:
        self._socket.close()

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        return left


class _TimedReader(io.RawIOBase):
    def __init__(self, source: _TimedSocket) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.receive_into(buffer)
