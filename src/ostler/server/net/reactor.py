"""The reactor: one thread that owns the sockets and runs the engine for them.

Each pass waits for events, takes the engine's lock, lets every readable link pass its frames to the engine, answers
waiting requests, and releases the lock. Then it sends, and forces the log for the replies that wait for it. Every pass
is bounded: in events, in bytes of each link, in timers, and in time for requests that take long (`slow_lane.py`).
"""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from librt.threading import Lock
from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.get import resume_work
from ostler.engine.task import EngineTask
from ostler.log.recovery_log import RecoveryLog
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.machine import MACHINE, Machine
from ostler.server.net.conversation import ServerConversation, TaskReply, WaitingRequest
from ostler.server.net.link import CLOSED, CLOSING, ServerLink
from ostler.server.net.link_agent import LinkAgent
from ostler.server.net.link_limits import OUT_HIGH_BYTES, OUT_LOW_BYTES
from ostler.server.net.link_memory import LinkMemory
from ostler.server.net.pass_times import LongestPass, ReactorCounters
from ostler.server.net.reactor_handler import ReactorHandler
from ostler.server.net.slow_lane import SlowLane
from ostler.server.net.timers import Timer, TimerWheel
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.turn import EngineTurn

_EVENTS_MAX: Final = 256
_TIMERS_MAX: Final = 1024
_POSTED_MAX: Final = 64
_SLEEP_MS_MAX: Final = 1000
_MILLISECONDS: Final = 1000.0
_MILLISECOND_NS: Final = 1_000_000
_IN: Final = select.EPOLLIN
_OUT: Final = select.EPOLLOUT
_GONE: Final = select.EPOLLHUP | select.EPOLLERR
# When forces take longer than this, the log's own thread does them, and other requests are served meanwhile.
_INLINE_US_MAX: Final = 1500
# The same for more bytes than this, as of a long message. Other long messages wait until it is written; short ones do
# not, up to _BEHIND_BYTES_MAX.
_INLINE_BYTES_MAX: Final = 4 << 20
_BEHIND_BYTES_MAX: Final = 128 << 20
_GATHER_ROUNDS: Final = 4
# Zeros that are never touched use no memory of the machine, but count against the limit of the process.
_BALLAST_BYTES: Final = 4 << 20
_MEMORY_PAUSE_SECONDS: Final = 0.01
_NO_MEMORY_LEFT: Final = "AMQ6118E: The queue manager has no memory left. Give it more, or end some applications."
_ROOM_TRIES: Final = 3
# The memory that all links together may hold for messages in transit, unless the process may have little.
LINK_MEMORY_BYTES_MAX: Final = 1 << 30


@final
class GatedReply:
    """A reply that is sent when the log is durable up to its LSN."""

    def __init__(self, lsn: i64, link: ServerLink, data: bytes) -> None:
        self.lsn: i64 = lsn
        self.link = link
        self.data = data
        self.type: i64 = 0  # of a large reply
        self.conversation: i64 = 0
        self.request: i64 = 0  # of a large reply, or of those that it follows
        self.body: bytes = b""
        self.is_last = False  # it depends on no record, and only follows those that do

    def release(self) -> None:
        """Send the reply."""
        link = self.link
        link.gated -= 1
        if self.type != 0:
            link.send_large(self.type, self.conversation, self.request, self.data, self.body)
            return
        link.gated_bytes -= len(self.data)
        if self.request != 0:
            link.send_behind(self.conversation, self.request, self.data)
        else:
            link.send(self.data)

    def drop(self) -> None:
        """Discard the reply, because its record was not written."""
        if self.is_last:
            self.release()
            return
        self.link.gated -= 1
        if self.type != 0:
            self.link.large_bytes -= len(self.data) + len(self.body)
            self.link.remove_large_reply(len(self.body))
        else:
            self.link.gated_bytes -= len(self.data)


@final
class StalledRequest:
    """A request that is tried again when there is log space."""

    def __init__(self, conversation: ServerConversation, type: i64, number: i64, payload: bytes) -> None:
        self.conversation = conversation
        self.type: i64 = type
        self.number: i64 = number
        self.payload = payload
        self.tries: i64 = 0


@final
class Reactor:
    """Owns all links. Methods need the engine's lock and the reactor's thread, unless they say otherwise."""

    def __init__(
        self, turn: EngineTurn, writer: JournalWriter, handler: ReactorHandler, machine: Machine = MACHINE
    ) -> None:
        self.machine = machine
        self.monotonic_ns: Callable[[], int] = machine.monotonic_ns
        self.turn = turn
        self.engine: Engine = turn.engine
        self.writer = writer
        self.log: RecoveryLog = writer.log
        self.handler = handler
        self.epoll = machine.epoll()
        self.slow = SlowLane(self.epoll, machine.epoll())
        self.links: dict[int, ServerLink] = {}
        self.listening: set[int] = set()
        self.now_ms: i64 = i64(self.monotonic_ns()) // _MILLISECOND_NS
        self.ahead_ms: i64 = 0  # added to the clock, for tests
        self.wheel = TimerWheel(self.now_ms)
        self.memory = LinkMemory(self, LINK_MEMORY_BYTES_MAX)
        self.counters = ReactorCounters()
        self.longest_pass = LongestPass()
        self.dirty: list[ServerLink] = []
        self.failing: list[ServerLink] = []
        self.answered: list[WaitingRequest] = []  # their gets were answered by other threads
        self.resuming: list[WaitingRequest] = []  # streams that have more to send
        self.reading: list[ServerLink] = []  # links that are read again
        self._deferred: list[ServerLink] = []  # links whose requests cost more than the share of a pass
        self.pumping: list[LinkAgent] = []  # message channels that may have messages to send
        self.released_lsn: i64 = 0  # replies that depend on no later record have been sent
        self._gated: list[GatedReply] = []
        self._stalled: list[StalledRequest] = []
        self._retried: StalledRequest | None = None
        self._is_making_room = False
        self._is_slow_ready = False
        self._posted: list[Callable[[], None]] = []
        self._woken = False
        self._asked_lsn: i64 = 0  # the log's thread was asked to force up to this LSN
        self._stopping = False
        self._force_us: i64 = 0
        self.inline_us_max: i64 = _INLINE_US_MAX
        self.inline_bytes_max: i64 = _INLINE_BYTES_MAX
        self.waiting_for_log: list[ServerLink] = []  # until earlier long messages are written
        self.is_gathering = False
        self.has_no_ballast = True
        self._ballast = b""
        self.allocate_ballast()
        self._event_turn = Lock()
        self._event_fd = machine.eventfd()
        self.epoll.register(self._event_fd, _IN)
        # From now on passes continue long searches for messages, also those of programs in this process.
        self._previous_waker: object = self.engine.owner_signal.waker
        self.engine.owner_signal.waker = self.wake

    # -- from other threads --------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Wake the reactor. May be called on any thread."""
        if self._woken:
            return
        # After `close_all` the descriptor may belong to another file, hence the lock.
        self._event_turn.acquire()
        try:
            self._woken = True
            if self._event_fd >= 0:
                self.machine.eventfd_write(self._event_fd, 1)
        finally:
            self._event_turn.release()

    def post(self, task: Callable[[], None]) -> None:
        """Run a task on the reactor's thread, under the engine's lock. May be called on any thread."""
        self._posted.append(task)
        self.wake()

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    def is_stopping(self) -> bool:
        return self._stopping

    # -- links ---------------------------------------------------------------------------------------------------------

    def listen(self, fd: int) -> None:
        self.listening.add(fd)
        self.slow.epoll.register(fd, _IN)

    def unlisten(self, fd: int) -> None:
        if fd in self.listening:
            self.listening.discard(fd)
            self.slow.epoll.unregister(fd)

    def add(self, link: ServerLink) -> None:
        """Register a new link."""
        self.links[link.fd] = link
        link.mask = _IN
        self.slow.epoll.register(link.fd, _IN)
        link.begin(self.now_ms)
        self.counters.accepted += 1

    def update_interest(self, link: ServerLink) -> None:
        """Update the events that epoll watches: reading, unless too much is unsent or a request waits; writing."""
        if link.state == CLOSED:
            return
        unsent: i64 = link.unsent_bytes()
        if (
            link.is_deferred
            or link.waits_for_memory
            or link.waits_for_log
            or unsent > OUT_HIGH_BYTES
            or (link.is_paused and unsent > OUT_LOW_BYTES)
            or link.has_too_many_large_replies()
        ):
            link.is_paused = True
            mask: i64 = 0
        else:
            if link.is_paused:
                link.is_paused = False
                link.progress_ms = self.now_ms  # the peer could not make progress
                self.reading.append(link)
            mask = _IN
        if link.unsent:
            mask |= _OUT
        if mask != link.mask:
            link.mask = mask
            self.slow.epoll_of(link).modify(link.fd, mask)

    def throttle(self, link: ServerLink) -> None:
        """Stop reading a link with too much unsent output. Its waiting gets take no messages until that is sent."""
        self.update_interest(link)
        if link.is_paused:
            link.is_throttled = True
            for conversation in link.conversations.values():
                conversation.withdraw_gets()

    def end_conversations(self, link: ServerLink) -> None:
        """End the conversations of a link. Their uncommitted units of work are backed out."""
        conversations = link.conversations
        link.conversations = {}
        for conversation in conversations.values():
            try:
                conversation.close(False)
            except Exception as error:
                self.counters.internal_errors += 1
                self.handler.note_link(link, f"AMQ6109E: Ending a connection failed: {error!r}.")
        for payload in link.partial_payloads.values():
            self.memory.remove_parts(link, payload.cost_bytes)
        link.partial_payloads = {}
        agent = link.agent
        if agent is not None:
            link.agent = None
            try:
                agent.on_closed(link.close_reason)
            except Exception as error:
                self.counters.internal_errors += 1
                self.handler.note_link(link, f"AMQ6109E: Ending a channel failed: {error!r}.")
        if self._stalled:
            self._stalled = [each for each in self._stalled if each.conversation.link is not link]

    def close(self, link: ServerLink) -> None:
        """Close a link now, in any state. Unsent output is lost."""
        if link.state == CLOSED:
            return
        link.state = CLOSED
        self.end_conversations(link)
        link.drop_unsent()
        self.memory.forget(link)
        self.wheel.remove(link)
        if self.links.pop(link.fd, None) is not None:
            self.slow.epoll_of(link).unregister(link.fd)
        self.handler.on_link_closed(link)
        link.sock.close()

    # -- limits --------------------------------------------------------------------------------------------------------

    def segmented_bytes(self) -> int:
        """Return the bytes of partial payloads and large replies of all links."""
        return self.memory.segmented_bytes

    def defer(self, link: ServerLink) -> None:
        """Leave the requests of a link to a later pass: they have cost enough in this one."""
        self.counters.deferred += 1
        link.is_deferred = True
        self._deferred.append(link)
        self.update_interest(link)

    def _resume_deferred(self, end_ns: i64) -> None:
        """Resume deferred links in their order, within the share and the time of this pass."""
        left: i64 = len(self._deferred)
        while left > 0 and self.engine.share_left > 0:
            left -= 1
            link = self._deferred.pop(0)
            link.is_deferred = False
            self.update_interest(link)
            link.resume()
            if self.engine.woken:
                self.answer_woken()
            if i64(self.monotonic_ns()) >= end_ns:
                return

    def stall(self, conversation: ServerConversation, type: i64, number: i64, payload: bytes) -> bool:
        """Keep a request that found no log space, and try it again later. False after _ROOM_TRIES attempts."""
        retried = self._retried
        if retried is not None and retried.conversation is conversation and retried.number == number:
            retried.tries += 1
            if retried.tries > _ROOM_TRIES:
                return False
            stalled = retried
        else:
            stalled = StalledRequest(conversation, type, number, payload)
        self.counters.stalled += 1
        self._stalled.append(stalled)
        conversation.link.is_deferred = True
        self.update_interest(conversation.link)
        if not self._is_making_room:
            self._is_making_room = True
            self.handler.make_room(self._retry_stalled)
        return True

    def _retry_stalled(self) -> None:
        """Try stalled requests again, because log space has been freed."""
        self._is_making_room = False
        stalled = self._stalled
        self._stalled = []
        for each in stalled:
            link = each.conversation.link
            link.is_deferred = False
            if link.state >= CLOSING:
                continue
            self._retried = each
            try:
                if not each.conversation.is_over:
                    each.conversation.handle(each.type, each.number, each.payload, 0, len(each.payload))
            except MQError as error:
                each.conversation.reply_failure(each.type, each.number, mq.MQCC_FAILED, error.reason, error.detail)
            except Exception as error:
                link.internal_error(error)
            self._retried = None
            self.update_interest(link)  # the requests behind it are handled in this pass

    # -- tasks of the engine -------------------------------------------------------------------------------------------

    def call_when_done(self, task: EngineTask, reply: TaskReply) -> None:
        """Reply when a task of the engine is done. Until then the link of the request is not read."""
        link = reply.conversation.link
        link.is_deferred = True
        self.update_interest(link)
        self.engine.notify_when_done(task, lambda: self.post(lambda: self._on_done(task, link, reply)))

    def _on_done(self, task: EngineTask, link: ServerLink, reply: TaskReply) -> None:
        link.is_deferred = False
        if link.state < CLOSING and not task.is_abandoned:
            reply.finish()
            self.update_interest(link)  # the requests behind it are handled in this pass

    # -- the log -------------------------------------------------------------------------------------------------------

    def durable_lsn(self) -> i64:
        return self.log.durable_lsn()

    def send_when_durable(self, lsn: i64, link: ServerLink, data: bytes) -> None:
        """Send a frame when the log is durable up to an LSN."""
        self._gated.append(GatedReply(lsn, link, data))
        link.gated += 1
        link.gated_bytes += len(data)
        if link.gated_bytes > OUT_HIGH_BYTES and not link.is_throttled:
            self.throttle(link)

    def send_behind_when_durable(
        self, lsn: i64, link: ServerLink, conversation: i64, request: i64, data: bytes
    ) -> None:
        """As `hold`, and behind all that a request was answered with before. LSN 0: now."""
        if lsn == 0:
            link.send_behind(conversation, request, data)
            return
        self.send_when_durable(lsn, link, data)
        reply = self._gated[-1]
        reply.conversation = conversation
        reply.request = request

    def send_behind_gated(self, link: ServerLink, data: bytes) -> None:
        """Send a frame behind all gated replies of a link."""
        lsn: i64 = 0
        for reply in self._gated:
            if reply.link is link and reply.lsn > lsn:
                lsn = reply.lsn
        self.send_when_durable(lsn, link, data)
        self._gated[-1].is_last = True

    def send_large_when_durable(
        self, lsn: i64, link: ServerLink, type: i64, conversation: i64, request: i64, head: bytes, body: bytes
    ) -> None:
        """Send a payload in segments when the log is durable up to an LSN. LSN 0: now."""
        link.add_large_reply(len(head), len(body))
        if lsn == 0:
            link.send_large(type, conversation, request, head, body)
            return
        reply = GatedReply(lsn, link, head)
        reply.type = type
        reply.conversation = conversation
        reply.request = request
        reply.body = body
        self._gated.append(reply)
        link.gated += 1
        if not link.is_throttled and link.has_too_many_large_replies():
            self.throttle(link)

    def is_log_behind(self) -> bool:
        """Return True while the log's own thread writes a long message, or while other copies hold up a full buffer."""
        if self.writer.shipper is not None:
            return self.log.buffer_is_full()
        return self.log.end_lsn() - self.log.durable_lsn() > self.inline_bytes_max and self.log.buffer_is_full()

    def wait_for_log(self, link: ServerLink) -> None:
        """Stop reading a link that sends a long message until earlier ones are written."""
        link.waits_for_log = True
        self.waiting_for_log.append(link)
        self.update_interest(link)

    def _release_gated(self) -> None:
        """Send the gated replies whose records are durable."""
        durable: i64 = self.log.durable_lsn()
        gated = self._gated
        self._gated = [reply for reply in gated if reply.lsn > durable]
        for reply in gated:
            if reply.lsn <= durable:
                try:
                    reply.release()
                except MemoryError as error:
                    reply.link.internal_error(error)
        self.released_lsn = durable

    def _force(self) -> None:
        """Force the log for gated replies. The engine's lock is not held."""
        if self.writer.failure:
            self._drop_gated()
            return
        wanted: i64 = 0
        for reply in self._gated:
            if reply.lsn > wanted:
                wanted = reply.lsn
        log = self.log
        behind: i64 = log.end_lsn() - log.durable_lsn()
        if log.buffer_is_full() and wanted < log.end_lsn():
            wanted = log.end_lsn()
        if self.writer.shipper is not None:
            self._ask_for_force(wanted)  # other copies may take any time: links are paused when the buffer is full
        elif log.buffer_is_full() and (behind > _BEHIND_BYTES_MAX or behind <= self.inline_bytes_max):
            # The buffer is full: everybody waits for the disk, so that memory does not grow.
            self._wait_durable(wanted)
        elif wanted > log.durable_lsn():
            if self._force_us <= self.inline_us_max and behind <= self.inline_bytes_max:
                self._wait_durable(wanted)
            else:
                self._ask_for_force(wanted)
        if log.needs_checkpoint():
            self.writer.ask_for_checkpoint()
        if self._gated:
            with self.turn:  # a link with too much output is throttled, and its gets leave their queues
                self._release_gated()

    def _ask_for_force(self, wanted: i64) -> None:
        """Ask the log's thread to force up to an LSN, and to wake this one when the log is durable up to there."""
        if wanted > self._asked_lsn:
            with self.turn:
                self.writer.call_when_durable(wanted, self._on_forced)
            self._asked_lsn = wanted

    def _drop_gated(self) -> None:
        """Discard gated replies, because the log has failed. The queue manager then breaks all connections."""
        gated = self._gated
        self._gated = []
        for reply in gated:
            reply.drop()

    def _wait_durable(self, lsn: i64) -> None:
        began_ns: i64 = self.monotonic_ns()
        try:
            self.writer.wait_durable(lsn)
        except MQError:
            self._drop_gated()
            return
        self.counters.inline_forces += 1
        took: i64 = (i64(self.monotonic_ns()) - began_ns) // 1000
        self._force_us = (self._force_us * 15 + took) // 16

    def _on_forced(self) -> None:
        """Record the time of a force by the log's thread. When forces are quick again, the reactor does them itself."""
        self._force_us = (self._force_us * 15 + self.writer.counters.last_us) // 16
        self.wake()

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run passes until `stop`. The engine's lock is not held."""
        while not self._stopping:
            try:
                self.run_pass(_SLEEP_MS_MAX)
                if self.has_no_ballast:
                    self.allocate_ballast()
            except MemoryError:
                # A request without memory fails by itself. This was a small allocation: the ballast suffices for it.
                self.release_ballast()
                with suppress(MemoryError):
                    self.handler.note(_NO_MEMORY_LEFT)
                    self.machine.sleep(_MEMORY_PAUSE_SECONDS)

    def release_ballast(self) -> None:
        """Free the memory that is reserved for reporting that there is no more."""
        if len(self._ballast) > 0:
            self._ballast = b""
            self.has_no_ballast = True

    def allocate_ballast(self) -> None:
        """Reserve memory for reporting that there is no more. Does nothing when there is none now."""
        if self.has_no_ballast:
            with suppress(MemoryError):
                self._ballast = bytes(_BALLAST_BYTES)
                self.has_no_ballast = False

    def run_pass(self, sleep_ms_max: i64) -> None:
        """Wait for events, and handle a bounded number of them. The engine's lock is not held."""
        sleep_ms: i64 = 0
        now_ns: i64 = self.monotonic_ns()
        has_slow_turn: bool = self.slow.has_turn(now_ns)
        if not (self._posted or self.resuming or self.dirty or self.reading or self.pumping):
            if not has_slow_turn:
                sleep_ms = self.wheel.sleep_ms(self.now_ms, sleep_ms_max)
                rest_ms: i64 = self.slow.rest_ms(now_ns)
                sleep_ms = rest_ms if rest_ms < sleep_ms else sleep_ms
            elif not self._deferred and not self.engine.has_pending_work():
                sleep_ms = self.wheel.sleep_ms(self.now_ms, sleep_ms_max)
        events: list[tuple[int, int]] = self.epoll.poll(float(sleep_ms) / _MILLISECONDS, _EVENTS_MAX)
        now_ns = self.monotonic_ns()
        self.now_ms = now_ns // _MILLISECOND_NS + self.ahead_ms
        self.counters.passes += 1
        self.counters.events += len(events)
        with self.turn as engine:
            if engine.share_left < engine.share_cost:
                engine.renew_share()
            self._serve(events, now_ns)
            if has_slow_turn and (self._is_slow_ready or self._deferred or engine.has_pending_work()):
                self._serve_slow()
            self._finish_serving()
        self._send()
        if self._gated or self.log.needs_checkpoint() or self.log.buffer_is_full():
            self._gather()
            self._force()
            self._send()
        if self.memory.waiting or self.memory.streams:
            self.memory.resume()
        if self.waiting_for_log and not self.is_log_behind():
            waiting = self.waiting_for_log
            self.waiting_for_log = []
            for link in waiting:
                link.waits_for_log = False
                self.update_interest(link)
        ended_ns: i64 = self.monotonic_ns()
        self.longest_pass.note(ended_ns - now_ns, ended_ns)

    def _gather(self) -> None:
        """Serve links that became readable meanwhile, without waiting: one force then suffices for all of them."""
        for _ in range(_GATHER_ROUNDS):
            if not self._gated or self.log.buffer_is_full():
                return
            events: list[tuple[int, int]] = self.epoll.poll(0.0, _EVENTS_MAX)
            if not events or (len(events) == 1 and events[0][0] == self.slow.fd):
                return
            self.counters.events += len(events)
            self.is_gathering = True
            try:
                with self.turn:
                    self._serve(events, self.monotonic_ns())
                    self._finish_serving()
            finally:
                self.is_gathering = False
            self._send()

    def _serve(self, events: list[tuple[int, int]], now_ns: i64) -> None:
        """Serve the links of the fast lane that have events."""
        self._is_slow_ready = False
        for fd, mask in events:
            link = self.links.get(fd)
            if link is not None:
                self._serve_link(link, mask)
                before_ns: i64 = now_ns
                now_ns = self.monotonic_ns()
                self.slow.fast_ns = now_ns
                if now_ns - before_ns > self.slow.quick_ns and link.state != CLOSED:
                    self.slow.update_lane(link, now_ns - before_ns)
            elif fd == self._event_fd:
                # In this order: a thread that wakes the reactor in between has queued its work already.
                with suppress(BlockingIOError):
                    self.machine.eventfd_read(self._event_fd)
                self._woken = False
            elif fd == self.slow.fd:
                self._is_slow_ready = True

    def _serve_slow(self) -> None:
        """Serve the slow lane for a slice of time: links and listeners once each, and long searches for messages."""
        began_ns: i64 = self.monotonic_ns()
        now_ns: i64 = began_ns
        end_ns: i64 = began_ns + self.slow.slice_ns(began_ns)
        if self._deferred:
            self._resume_deferred(end_ns)
            now_ns = self.monotonic_ns()
        seen: set[int] = set()
        events: list[tuple[int, int]] = self.slow.poll()
        while events:
            for fd, mask in events:
                if fd in seen or (seen and now_ns >= end_ns):
                    events = []
                    break
                seen.add(fd)
                link = self.links.get(fd)
                if link is not None:
                    self._serve_link(link, mask)
                elif fd in self.listening:
                    self.handler.accept(fd)
                before_ns: i64 = now_ns
                now_ns = self.monotonic_ns()
                if link is not None and link.state != CLOSED:
                    self.slow.update_lane(link, now_ns - before_ns)
            if events:
                self.counters.events += len(events)
                events = self.slow.poll()
        if self.engine.has_pending_work():
            resume_work(self.engine)
            self.counters.searches += 1
            now_ns = self.monotonic_ns()
        self.slow.rest(began_ns, now_ns)

    def _serve_link(self, link: ServerLink, mask: i64) -> None:
        if mask & _IN and self.writer.shipper is not None and self.is_log_behind():
            self.wait_for_log(link)
        elif mask & _IN:
            link.on_readable()
            if self.engine.woken:
                self.answer_woken()
        elif mask & _GONE:
            link.close("the connection was cut")
        if mask & _OUT and not link.is_dirty:
            link.is_dirty = True
            self.dirty.append(link)

    def _finish_serving(self) -> None:
        """Do the work that requests and other threads have queued, and fire timers."""
        if self.answered:
            self._answer_ready()  # before tasks that may close their links
        if self._posted:
            self._run_posted()
        # One by one: if one of them finds no memory even to fail, the others are still queued in the next pass.
        for _ in range(len(self.resuming)):
            self._answer(self.resuming.pop(0))
        for _ in range(len(self.reading)):
            self.reading.pop(0).resume()
        for timer in self.wheel.due(self.now_ms, _TIMERS_MAX):
            self._fire(timer)
        if self.engine.woken:
            self.answer_woken()
        if self.pumping:
            self._pump()
        if self._gated:
            self._release_gated()

    def _pump(self) -> None:
        """Let message channels send the messages that arrived in this pass."""
        pumping = self.pumping
        self.pumping = []
        for agent in pumping:
            agent.is_marked = False
            try:
                agent.pump()
            except Exception as error:
                self._agent_internal_error(agent, error)
        if self.engine.woken:
            self.answer_woken()

    def _agent_internal_error(self, agent: LinkAgent, error: Exception) -> None:
        """End a channel, because code on this side has failed. Other channels are not affected."""
        self.counters.internal_errors += 1
        try:
            agent.on_internal_error(error)
        except Exception as another:
            self.handler.note(f"AMQ6109E: Ending a channel failed: {another!r}, after {error!r}.")

    def _run_posted(self) -> None:
        tasks = self._posted[:_POSTED_MAX]
        del self._posted[: len(tasks)]
        for task in tasks:
            try:
                task()
            except Exception as error:
                # The task has failed; the others are run.
                self.counters.internal_errors += 1
                self.handler.note(f"AMQ6109E: A task of the reactor failed: {type(error).__name__}: {error}.")

    def _answer_ready(self) -> None:
        for _ in range(len(self.answered)):
            self._answer(self.answered.pop(0))

    def _answer(self, waiting: WaitingRequest) -> None:
        try:
            waiting.on_answer()
        except Exception as error:
            waiting.conversation.link.internal_error(error)

    def _fire(self, timer: Timer) -> None:
        try:
            timer.fire(self.now_ms)
        except Exception as error:
            if isinstance(timer, WaitingRequest):
                timer.conversation.link.internal_error(error)
            elif isinstance(timer, ServerLink):
                timer.internal_error(error)
            elif isinstance(timer, LinkAgent):
                self._agent_internal_error(timer, error)
            else:
                self.counters.internal_errors += 1
                self.handler.note(f"AMQ6109E: A timer of the reactor failed: {type(error).__name__}: {error}.")

    def answer_woken(self) -> None:
        """Reply to the requests whose gets the engine has answered."""
        while self.engine.woken:
            woken = self.engine.woken
            self.engine.woken = []
            for request in woken:
                waker = request.waker
                if isinstance(waker, WaitingRequest):
                    self._answer(waker)
                elif isinstance(waker, LinkAgent):
                    waker.mark()
                elif callable(waker):
                    try:
                        waker()
                    except Exception as error:
                        # For example, a program in this process has closed its event loop.
                        self.handler.note(f"AMQ6109E: Waking a program that waits for a message failed: {error!r}.")

    def _send(self) -> None:
        """Send the output of this pass. The engine's lock is not held: only this thread uses links."""
        dirty = self.dirty
        self.dirty = []
        for link in dirty:
            link.is_dirty = False
            link.flush()
        if self.failing:
            failing = self.failing
            self.failing = []
            with self.turn:
                for link in failing:
                    link.close("the connection failed")
                if self.engine.woken:
                    self.answer_woken()

    def close_links(self, flushes: bool = True) -> None:
        """Close all links, and send what they have to send before that, unless it is not to be believed any more."""
        with self.turn:
            for link in list(self.links.values()):
                if flushes:
                    link.flush()
                self.close(link)

    def close_all(self) -> None:
        """Close all links and the reactor itself, after its thread has ended."""
        self.close_links()
        with self.turn as engine:
            engine.owner_signal.waker = self._previous_waker
            engine.signal_new_owner()
        self.slow.close()
        self.epoll.close()
        self._event_turn.acquire()
        if self._event_fd >= 0:
            self.machine.close(self._event_fd)
            self._event_fd = -1
        self._event_turn.release()
