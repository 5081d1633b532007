"""Applications that never stop: they put and get persistent messages while instances of their queue manager die."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from ostler.cli.demo.failover_account import FailoverAccount
from ostler.client.api.connection import Connection
from ostler.model import constants as mq
from ostler.model.errors import MQError

_RETRY_SECONDS: Final = 0.02
_GET_SECONDS: Final = 0.2
_JOIN_SECONDS: Final = 60.0
# The connection has been made anew, or will be by the next verb.
_GOES_ON: Final = frozenset((mq.MQRC_CALL_INTERRUPTED, mq.MQRC_BACKED_OUT))


class Applications:
    """Threads with a connection each. Messages are named by their putter and a number, so that each is known."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        queue: str,
        account: FailoverAccount,
        putters: int,
        getters: int,
        first: int = 0,
    ) -> None:
        """`first` is the number of the first putter; those of other applications on the queue have others."""
        self.account = account
        self.failures: list[BaseException] = []
        self._connect = connect
        self._queue = queue
        self._stopping = threading.Event()
        work: list[Callable[[], None]] = [partial(self._put, each) for each in range(first, first + putters)]
        work += [self._get for _ in range(getters)]
        self._threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends all threads. Raises what one of them has failed with."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
            if thread.is_alive():
                raise TimeoutError(f"an application did not end within {_JOIN_SECONDS:.0f} s")
        if self.failures:
            raise self.failures[0]

    def messages_left(self) -> Counter[str]:
        """Returns the names of the messages on the queue. Raises MQError."""
        with self._connect() as connection, connection.open(self._queue, "b") as queue:
            return Counter(message.data.decode() for message in queue.browse())

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.failures.append(error)

    def _connected(self) -> Connection | None:
        """Returns a connection, once there is one; None when the applications are to stop."""
        while not self._stopping.is_set():
            try:
                return self._connect()
            except MQError:
                self._stopping.wait(_RETRY_SECONDS)
        return None

    def _put(self, number: int) -> None:
        count = 0
        while (connection := self._connected()) is not None:
            with suppress(MQError), connection.open(self._queue, "w") as queue:
                while not self._stopping.is_set():
                    count += 1
                    name = f"{number}:{count}"
                    try:
                        queue.put(name.encode(), persistent=True)
                    except MQError as error:
                        self.account.may_be_put(name)
                        if error.reason not in _GOES_ON:
                            raise
                    else:
                        self.account.put(name)
            _disconnect(connection)

    def _get(self) -> None:
        while (connection := self._connected()) is not None:
            with suppress(MQError), connection.open(self._queue, "r") as queue:
                while not self._stopping.is_set():
                    name = ""
                    try:
                        message = queue.get(wait=_GET_SECONDS, syncpoint=True)
                        if message is None:
                            continue
                        name = message.data.decode()
                        connection.commit()
                    except MQError as error:
                        if name and error.reason != mq.MQRC_BACKED_OUT:
                            self.account.may_be_got(name)
                        if error.reason not in _GOES_ON:
                            raise
                        connection.back_out()
                    else:
                        self.account.got(name)
            _disconnect(connection)


def _disconnect(connection: Connection) -> None:
    with suppress(MQError):  # it is broken already
        connection.close()
