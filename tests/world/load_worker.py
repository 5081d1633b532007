"""A program to be killed: puts and gets persistent messages from several threads, and writes down what it was told.

    python -m tests.world.load_worker DIRECTORY QUEUE_MANAGER QUEUE THREADS SEED

Each thread appends lines to DIRECTORY/account.<life>.<thread>, one write per line, before and after each verb:

    put ID            about to put outside syncpoint        done-put ID       it was acknowledged
    get               about to get outside syncpoint        done-get ID       that message was returned
    begin N           a unit of work
    unit-put N ID, unit-get N ID                            under syncpoint, both returned
    commit N          about to commit                       done-commit N     it was acknowledged
    back-out N        about to back out                     backed-out N      the queue manager has: its log was filling
"""

from __future__ import annotations

import os
import random
import sys
import threading
from pathlib import Path

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.model.constants import MQRC_BACKED_OUT
from ostler.model.errors import MQError

BODY_BYTES = 2048


class Account:
    """The lines of one thread. A line is in the file before the next verb begins."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, line: str) -> None:
        os.write(self._descriptor, f"{line}\n".encode())


class Worker:
    def __init__(self, connection: Connection, queue: Queue, account: Account, name: str, seed: int) -> None:
        self._connection = connection
        self._queue = queue
        self._account = account
        self._name = name
        self._chance = random.Random(seed)
        self._numbered = 0

    def run(self) -> None:
        while True:
            choice = self._chance.random()
            if choice < 0.35:
                self._put()
            elif choice < 0.6:
                self._get()
            else:
                self._unit()

    def _new_id(self) -> str:
        self._numbered += 1
        return f"{self._name}.{self._numbered}"

    def _put(self) -> None:
        number = self._new_id()
        self._account.write(f"put {number}")
        self._queue.put(body_of(number), persistent=True, syncpoint=False)
        self._account.write(f"done-put {number}")

    def _get(self) -> None:
        self._account.write("get")
        message = self._queue.get(syncpoint=False)
        self._account.write(f"done-get {id_of(message.body)}" if message is not None else "done-get -")

    def _unit(self) -> None:
        unit = self._new_id()
        self._account.write(f"begin {unit}")
        try:
            self._unit_of_work(unit)
        except MQError as refused:
            if refused.reason != MQRC_BACKED_OUT:
                raise
            self._account.write(f"backed-out {unit}")
            self._connection.back_out()

    def _unit_of_work(self, unit: str) -> None:
        for _ in range(self._chance.randint(1, 6)):
            if self._chance.random() < 0.55:
                number = self._new_id()
                self._queue.put(body_of(number), persistent=True, syncpoint=True)
                self._account.write(f"unit-put {unit} {number}")
            else:
                message = self._queue.get(syncpoint=True)
                if message is not None:
                    self._account.write(f"unit-get {unit} {id_of(message.body)}")
        if self._chance.random() < 0.85:
            self._account.write(f"commit {unit}")
            self._connection.commit()
            self._account.write(f"done-commit {unit}")
        else:
            self._account.write(f"back-out {unit}")
            self._connection.back_out()


def body_of(number: str) -> bytes:
    return number.encode().ljust(BODY_BYTES, b".")


def id_of(body: bytes | str) -> str:
    data = body.encode() if isinstance(body, str) else body
    assert len(data) == BODY_BYTES
    return data.decode().rstrip(".")


def main(arguments: list[str]) -> None:
    directory, manager_name, queue_name = Path(arguments[0]), arguments[1], arguments[2]
    threads, seed = int(arguments[3]), int(arguments[4])
    manager = ostler.start(manager_name, data=directory, progress=False)
    for thread in range(threads):
        connection = ostler.connect(manager)
        account = Account(directory / f"account.{seed}.{thread}")
        worker = Worker(connection, connection.open(queue_name, "rw"), account, f"{seed}.{thread}", seed * 100 + thread)
        threading.Thread(target=worker.run, daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
