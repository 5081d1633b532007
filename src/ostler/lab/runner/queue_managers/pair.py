"""Two queue managers joined by running message channels, with a simulated distance between them where one is set."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.lab.runner.contract import Metric, PointFailed, RunAborted
from ostler.lab.runner.queue_managers import channel_wiring as wires
from ostler.lab.runner.queue_managers.channel_wiring import ANSWERING, ASKING, Wiring
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan, merged_stanzas
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.queue_managers.relay import Relay, RelayFailed
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import FAR, LABORATORY, NEAR, QUEUE_MANAGER, role_at

_RUNNING: Final = "RUNNING"
_RUNNING_SECONDS_MAX: Final = 60.0
_CHANNELS_PER_SECOND_LEAST: Final = 25
_POLL_SECONDS: Final = 0.05
_REPORT_SECONDS: Final = 5.0
# With this many channels the progress of their start is reported.
_MANY: Final = 100
# Commands are sent in portions, so that they do not keep a queue manager busy for long.
_COMMANDS_AT_A_TIME: Final = 200


def _ignore_note(text: str) -> None:
    """Ignore a note."""


def pair_plans(
    plan: QueueManagerPlan, wiring: Wiring, pairs: int, own_replies: tuple[str, ...] = ()
) -> tuple[QueueManagerPlan, QueueManagerPlan]:
    """Return the plans of the requesters' and of the responders' queue manager, without their sender channels."""
    plan = replace(plan, stanzas=merged_stanzas(plan.stanzas, wiring.stanzas))
    asking = replace(plan, name=ASKING, commands=wires.asking_commands(wiring, pairs, own_replies))
    return asking, replace(plan, name=ANSWERING, commands=wires.answering_commands(wiring, pairs))


class QueueManagerPair:
    """The queue managers of the requesters and of the responders. The caller ends it."""

    def __init__(
        self,
        root: Path,
        plan: QueueManagerPlan,
        wiring: Wiring,
        pairs: int,
        own_replies: tuple[str, ...] = (),
        starts_channels: bool = True,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Start both, and all channels between them. `plan` is for both, without objects. `report` is called with the
        progress where many channels take long to start.

        Raises RunAborted when a queue manager does not start, and PointFailed when a channel does not.
        """
        self.wiring = wiring
        self._report = report if report is not None and wiring.routes >= _MANY else _ignore_note
        self._told = time.monotonic()
        self._stack = ExitStack()
        self._relays: list[Relay] = []
        authority = str(root / "authority") if wiring.cipher_spec else ""
        plan = replace(plan, authority_directory=authority, key_type_of=wiring.cipher_spec)
        asking, answering = pair_plans(plan, wiring, pairs, own_replies)
        try:
            self._report(f"Two queue managers start, with {wiring.routes:,} channels each way between them.")
            self.asking = self._started(root, asking, NEAR)
            self.answering = self._started(root, answering, FAR)
            if starts_channels:
                self._join(self.asking, self.answering)
                self._join(self.answering, self.asking)
                self._wait_until_running()
        except BaseException:
            self.end()
            raise

    def _started(self, root: Path, plan: QueueManagerPlan, end: str) -> LabQueueManager:
        manager = LabQueueManager(root, plan, role=role_at(QUEUE_MANAGER, end))
        self._stack.callback(manager.end)
        return manager

    @property
    def managers(self) -> list[LabQueueManager]:
        return [self.asking, self.answering]

    @property
    def is_alive(self) -> bool:
        return all(each.is_alive for each in self.managers)

    def watched(self) -> list[WatchedProcess]:
        """Return the relays. Queue managers are watched by their users."""
        return [WatchedProcess(LABORATORY, relay.pid) for relay in self._relays]

    def _join(self, own: LabQueueManager, other: LabQueueManager) -> None:
        """Define and start the channels of one direction."""
        port = other.address[1]
        if self.wiring.round_trip_ms:
            try:
                relay = Relay(port, self.wiring.round_trip_ms / 2)
            except (RelayFailed, OSError) as failure:
                raise RunAborted(f"The relay does not start: {failure}") from None
            self._relays.append(relay)
            self._stack.callback(relay.close)
            port = relay.port
        commands = wires.sender_commands(self.wiring, own.name, other.name, port)
        for at in range(0, len(commands), _COMMANDS_AT_A_TIME):
            own.mqsc("\n".join(commands[at : at + _COMMANDS_AT_A_TIME]))
            done = min(at + _COMMANDS_AT_A_TIME, len(commands))
            self._report_occasionally(self.wiring.routes * done // len(commands), own, other, "are started")

    def _report_occasionally(self, count: int, own: LabQueueManager, other: LabQueueManager, what: str) -> None:
        now = time.monotonic()
        if now - self._told >= _REPORT_SECONDS:
            self._told = now
            self._report(f"{count:,} of {self.wiring.routes:,} channels from {own.name} to {other.name} {what}.")

    def _wait_until_running(self) -> None:
        seconds_max = _RUNNING_SECONDS_MAX + self.wiring.routes / _CHANNELS_PER_SECOND_LEAST
        deadline = time.monotonic() + seconds_max
        for own, other in ((self.asking, self.answering), (self.answering, self.asking)):
            while True:
                began = time.monotonic()
                found = self._states(own, other)
                waiting = {name: state for name, state in found.items() if state != _RUNNING}
                if len(found) == self.wiring.routes and not waiting:
                    break
                now = time.monotonic()
                self._report_occasionally(len(found) - len(waiting), own, other, "run")
                if now > deadline:
                    name, state = next(iter(waiting.items()), (own.name, "not shown"))
                    raise PointFailed(
                        f"{len(found) - len(waiting):,} of {self.wiring.routes:,} channels of {own.name} run after "
                        f"{seconds_max:.0f} s; {name} is {state}: {own.describe_end()}"
                    )
                # DISPLAY CHSTATUS of thousands of channels takes a while, and slows them down.
                time.sleep(max(_POLL_SECONDS, now - began))

    @staticmethod
    def _states(own: LabQueueManager, other: LabQueueManager) -> dict[str, str]:
        try:
            return wires.states(own.mqsc(wires.status_command(own.name, other.name)))
        except PointFailed:
            # There is no status yet.
            if not own.is_alive:
                raise
            return {}

    def end(self) -> None:
        self._stack.close()


def channel_metrics(pair: QueueManagerPair) -> list[Metric]:
    """Return the messages and batches of the sender channels, summed for each queue manager."""
    found: list[Metric] = []
    for own, other in ((pair.asking, pair.answering), (pair.answering, pair.asking)):
        lines = own.mqsc(wires.status_command(own.name, other.name))
        for name, shown in (("messages", "MSGS"), ("batches", "BATCHES")):
            found.append(Metric("channels", name, float(wires.total(lines, shown)), own.name))
    return found
