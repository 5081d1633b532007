"""The simulator finds bugs: each test puts one into production code, and some seed must fail because of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ostler.cli.framework.flavour import is_compiled
from ostler.client.session.remote_queue import RemoteQueue
from ostler.client.session.remote_session import RemoteSession
from ostler.server.channels.mca import LinkChannelPort
from ostler.server.net.conversation import ServerConversation
from ostler.testing.simulation.machine import ProcessFile
from ostler.testing.simulation.scenario import run_seed
from ostler.testing.simulation.scheduler import SimulationError

interpreted = pytest.mark.skipif(is_compiled(), reason="methods of compiled classes cannot be replaced")
_SEEDS_MAX = 60


def first_failure(faults: int, kinds: Sequence[str], first_seed: int = 0) -> Exception:
    """Return what goes wrong with the first seed with which anything does."""
    for seed in range(first_seed, first_seed + _SEEDS_MAX):
        try:
            run_seed(seed, faults, kinds=kinds)
        except Exception as error:
            return error
    pytest.fail(f"none of {_SEEDS_MAX} seeds has found the bug")


@interpreted
def test_a_reply_before_the_force_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(self: ServerConversation, lsn: int, data: bytes) -> None:
        self.link.send(data)

    monkeypatch.setattr(ServerConversation, "reply", reply)
    assert isinstance(first_failure(3, ["lose power"]), SimulationError)


@interpreted
def test_a_batch_that_is_confirmed_before_its_commit_is_durable_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def send_after(self: LinkChannelPort, lsn: int, data: bytes) -> None:
        self.send(data)

    monkeypatch.setattr(LinkChannelPort, "send_after", send_after)
    assert isinstance(first_failure(4, ["lose power"], 1000), SimulationError)


def test_a_get_that_does_not_wait_for_its_removal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def confirm_removal(*_: object) -> bool:
        return True

    monkeypatch.setattr(RemoteQueue, "_confirm_removal", confirm_removal)
    failure = first_failure(8, ["end", "full disk"], 1010)
    assert "times" in str(failure) or "came back" in str(failure)


@interpreted
def test_a_non_persistent_message_that_comes_back_after_it_was_sent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerConversation, "_end_held", ServerConversation._back_out_held)
    assert "times" in str(first_failure(20, ["cut"], 1060))


def test_a_put_that_is_repeated_after_reconnection_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    production = RemoteSession.call

    async def call(self: RemoteSession, type: int, build: Any, in_unit: bool = False, _: bool = False) -> bytes:
        return await production(self, type, build, in_unit, False)

    monkeypatch.setattr(RemoteSession, "call", call)
    assert isinstance(first_failure(12, ["cut"]), SimulationError)


def test_a_disk_that_does_not_force_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def force(self: ProcessFile) -> None:
        pass

    monkeypatch.setattr(ProcessFile, "force", force)
    first_failure(3, ["lose power"])
