"""The reactor: one thread that owns the sockets and runs the engine for them.

Each pass waits for events, takes the engine's lock, lets every readable link hand its frames to the engine, answers
those who waited, and gives the lock back; then it sends, and forces the log for the replies that promise something.
Every pass is bounded: so many events, so many bytes of each link, so many timers and new connections.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final, final

from librt.threading import Lock
from librt.time import time
from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.log.recovery_log import RecoveryLog
from ostler.model.constants import MQCC_FAILED
from ostler.model.errors import MQError
from ostler.server.agents import Agent
from ostler.server.conversation import Conversation, Waiting
from ostler.server.held_back import HeldReply, Parked
from ostler.server.journal_writer import JournalWriter
from ostler.server.link_limits import LARGE_HIGH_BYTES, OUT_HIGH_BYTES, OUT_LOW_BYTES
from ostler.server.policy import Policy
from ostler.server.server_link import CLOSED, CLOSING, ServerLink
from ostler.server.timers import Timer, TimerWheel

_EVENTS_MAX: Final = 256
_TIMERS_MAX: Final = 1024
_POSTED_MAX: Final = 64
_SLEEP_MS_MAX: Final = 1000
_MILLISECONDS: Final = 1000.0
_IN: Final = select.EPOLLIN
_OUT: Final = select.EPOLLOUT
_GONE: Final = select.EPOLLHUP | select.EPOLLERR
# A force that takes longer than this is left to the log's own thread, so that others go on meanwhile.
_INLINE_US_MAX: Final = 1500
_GATHER_ROUNDS: Final = 4
_ROOM_TRIES: Final = 3
# Parts of long messages that are kept for all links together.
KEPT_BYTES_MAX: Final = 1 << 30


@final
class ReactorCounters:
    def __init__(self) -> None:
        self.passes: i64 = 0
        self.events: i64 = 0
        self.malformed: i64 = 0
        self.breakdowns: i64 = 0
        self.accepted: i64 = 0
        self.refused: i64 = 0
        self.inline_forces: i64 = 0
        self.parked: i64 = 0


@final
class Reactor:
    def __init__(self, engine: Engine, lock: Lock, writer: JournalWriter, policy: Policy) -> None:
        self.engine = engine
        self.lock = lock
        self.writer = writer
        self.log: RecoveryLog = writer.log
        self.policy = policy
        self.epoll = select.epoll()
        self.links: dict[int, ServerLink] = {}
        self.listening: set[int] = set()
        self.now_ms: i64 = i64(monotonic() * _MILLISECONDS)
        self.ahead_ms: i64 = 0  # the clock is this far ahead, for tests
        self.wheel = TimerWheel(self.now_ms)
        self.counters = ReactorCounters()
        self.dirty: list[ServerLink] = []
        self.failing: list[ServerLink] = []
        self.answered: list[Waiting] = []  # by other threads, under the engine's lock
        self.resuming: list[Waiting] = []  # streams that have more to do
        self.reading: list[ServerLink] = []  # links that are read from again
        self.pumping: list[Agent] = []  # message channels that have something to send
        self.released_lsn: i64 = 0  # replies that promise no more than this have been sent
        self._held: list[HeldReply] = []
        self._parked: list[Parked] = []
        self._retried: Parked | None = None
        self._is_making_room = False
        self._kept_bytes: i64 = 0
        self._posted: list[Callable[[], None]] = []
        self._woken = False
        self._asked_lsn: i64 = 0  # the log's thread was asked to force up to here
        self._stopping = False
        self._force_us: i64 = 0
        self.inline_us_max: i64 = _INLINE_US_MAX
        self.is_gathering = False
        self._event_turn = Lock()
        self._event_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.epoll.register(self._event_fd, _IN)

    # -- from other threads --------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Have the reactor look up. From any thread."""
        if self._woken:
            return
        # The lock is for those who come when all is closed: by then the number may be another file's.
        self._event_turn.acquire()
        try:
            self._woken = True
            if self._event_fd >= 0:
                os.eventfd_write(self._event_fd, 1)
        finally:
            self._event_turn.release()

    def post(self, task: Callable[[], None]) -> None:
        """Have something done on the reactor's thread, under the engine's lock. From any thread."""
        self._posted.append(task)
        self.wake()

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    # -- links ---------------------------------------------------------------------------------------------------------

    def listen(self, fd: int) -> None:
        self.listening.add(fd)
        self.epoll.register(fd, _IN)

    def unlisten(self, fd: int) -> None:
        if fd in self.listening:
            self.listening.discard(fd)
            self.epoll.unregister(fd)

    def add(self, link: ServerLink) -> None:
        """Take a new link in."""
        self.links[link.fd] = link
        link.mask = _IN
        self.epoll.register(link.fd, _IN)
        link.begin(self.now_ms)
        self.counters.accepted += 1

    def watch(self, link: ServerLink) -> None:
        """Watch a link for what it can do now: read unless too much is unsent or a request of it is parked."""
        if link.state == CLOSED:
            return
        unsent: i64 = link.unsent_bytes()
        if (
            link.is_parked
            or unsent > OUT_HIGH_BYTES
            or (link.is_paused and unsent > OUT_LOW_BYTES)
            or link.large_bytes > LARGE_HIGH_BYTES
        ):
            link.is_paused = True
            mask: i64 = 0
        else:
            if link.is_paused:
                link.is_paused = False
                self.reading.append(link)
            mask = _IN
        if link.unsent:
            mask |= _OUT
        if mask != link.mask:
            link.mask = mask
            self.epoll.modify(link.fd, mask)

    def end_conversations(self, link: ServerLink) -> None:
        """All applications of a link are gone: what they did not commit is backed out."""
        conversations = link.conversations
        link.conversations = {}
        for conversation in conversations.values():
            try:
                conversation.close(False)
            except Exception as error:
                self.counters.breakdowns += 1
                self.policy.note_link(link, f"AMQ6109E: A connection could not be ended properly: {error!r}.")
        for assembly in link.assemblies.values():
            self.let_go(assembly.cost_bytes)
        link.assemblies = {}
        agent = link.agent
        if agent is not None:
            link.agent = None
            try:
                agent.closed(link.why)
            except Exception as error:
                self.counters.breakdowns += 1
                self.policy.note_link(link, f"AMQ6109E: A channel could not be ended properly: {error!r}.")
        if self._parked:
            self._parked = [each for each in self._parked if each.conversation.link is not link]

    def close(self, link: ServerLink) -> None:
        """Let a link go, whatever it was doing."""
        if link.state == CLOSED:
            return
        link.state = CLOSED
        self.end_conversations(link)
        link.drop_unsent()
        self.wheel.remove(link)
        if self.links.pop(link.fd, None) is not None:
            self.epoll.unregister(link.fd)
        self.policy.closed(link)
        link.sock.close()

    # -- limits --------------------------------------------------------------------------------------------------------

    def keep(self, size: i64) -> bool:
        """Whether so many bytes more of unfinished messages may be kept."""
        if self._kept_bytes + size > KEPT_BYTES_MAX:
            return False
        self._kept_bytes += size
        return True

    def let_go(self, size: i64) -> None:
        self._kept_bytes -= size
        if self._kept_bytes < 0:
            self._kept_bytes = 0

    def kept_bytes(self) -> int:
        """Parts of long messages, on their way in or out, of all links."""
        return self._kept_bytes

    def park(self, conversation: Conversation, type: i64, number: i64, payload: bytes) -> bool:
        """A request found no log space: try it again when room was made. False when that was tried often enough."""
        retried = self._retried
        if retried is not None and retried.conversation is conversation and retried.number == number:
            retried.tries += 1
            if retried.tries > _ROOM_TRIES:
                return False
            parked = retried
        else:
            parked = Parked(conversation, type, number, payload)
        self.counters.parked += 1
        self._parked.append(parked)
        conversation.link.is_parked = True
        self.watch(conversation.link)
        if not self._is_making_room:
            self._is_making_room = True
            self.policy.make_room(self._room_made)
        return True

    def _room_made(self) -> None:
        self._is_making_room = False
        parked = self._parked
        self._parked = []
        for each in parked:
            link = each.conversation.link
            link.is_parked = False
            if link.state >= CLOSING:
                continue
            self._retried = each
            try:
                if not each.conversation.is_over:
                    each.conversation.handle(each.type, each.number, each.payload, 0, len(each.payload))
            except MQError as error:
                each.conversation.fail(each.type, each.number, MQCC_FAILED, error.reason, error.detail)
            except Exception as error:
                link.broke_down(error)
            self._retried = None
            self.watch(link)  # what came behind is taken up in this pass

    # -- the log -------------------------------------------------------------------------------------------------------

    def durable_lsn(self) -> i64:
        return self.log.durable_lsn()

    def hold(self, lsn: i64, link: ServerLink, data: bytes) -> None:
        """Send a frame when the log is durable up to an LSN."""
        self._held.append(HeldReply(lsn, link, data))
        link.held += 1
        link.held_bytes += len(data)
        if link.held_bytes > OUT_HIGH_BYTES and not link.is_paused:
            self.watch(link)

    def hold_behind(self, lsn: i64, link: ServerLink, conversation: i64, request: i64, data: bytes) -> None:
        """As `hold`, and behind all that a request was answered with before. LSN 0: now."""
        if lsn == 0:
            link.send_behind(conversation, request, data)
            return
        self.hold(lsn, link, data)
        held = self._held[-1]
        held.conversation = conversation
        held.request = request

    def hold_last(self, link: ServerLink, data: bytes) -> None:
        """Send a frame behind all replies of a link that wait for the log."""
        lsn: i64 = 0
        for reply in self._held:
            if reply.link is link and reply.lsn > lsn:
                lsn = reply.lsn
        self.hold(lsn, link, data)
        self._held[-1].is_last = True

    def hold_large(
        self, lsn: i64, link: ServerLink, type: i64, conversation: i64, request: i64, head: bytes, body: bytes
    ) -> None:
        """Send a payload in segments, when the log is durable up to an LSN. LSN 0: now."""
        self._kept_bytes += len(body)
        link.large_bytes += len(head) + len(body)
        if lsn == 0:
            link.send_large(type, conversation, request, head, body)
            return
        held = HeldReply(lsn, link, head)
        held.type = type
        held.conversation = conversation
        held.request = request
        held.body = body
        self._held.append(held)
        link.held += 1
        if link.large_bytes > LARGE_HIGH_BYTES and not link.is_paused:
            self.watch(link)

    def _release(self) -> None:
        """Send the replies whose records are durable."""
        durable: i64 = self.log.durable_lsn()
        held = self._held
        self._held = []
        for reply in held:
            if reply.lsn <= durable:
                reply.release()
            else:
                self._held.append(reply)
        self.released_lsn = durable

    def _force(self) -> None:
        """Have the log forced for those who wait. The engine's lock is not held."""
        if self.writer.failure:
            self._drop_held()
            return
        wanted: i64 = 0
        for reply in self._held:
            if reply.lsn > wanted:
                wanted = reply.lsn
        log = self.log
        if log.buffer_is_full():
            # Whoever fills the buffer waits for the disk; so do all others, and nobody's memory grows.
            self._wait_durable(log.end_lsn())
        elif wanted > log.durable_lsn():
            if self._force_us <= self.inline_us_max:
                self._wait_durable(wanted)
            elif wanted > self._asked_lsn:
                self._asked_lsn = wanted
                self.lock.acquire()
                self.writer.when_durable(wanted, self._forced)
                self.lock.release()
        if log.needs_checkpoint():
            self.writer.ask_for_checkpoint()
        if self._held:
            self._release()

    def _drop_held(self) -> None:
        """The log has failed: the queue manager breaks all connections, and nothing that was promised is said."""
        held = self._held
        self._held = []
        for reply in held:
            reply.drop()

    def _wait_durable(self, lsn: i64) -> None:
        began = monotonic()
        try:
            self.writer.wait_durable(lsn)
        except MQError:
            self._drop_held()
            return
        self.counters.inline_forces += 1
        took: i64 = i64((monotonic() - began) * 1000000.0)
        self._force_us = (self._force_us * 15 + took) // 16

    def _forced(self) -> None:
        """The log's thread has forced. When that is quick again, the reactor does it itself."""
        self._force_us = (self._force_us * 15 + self.writer.counters.last_us) // 16
        self.wake()

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        while not self._stopping:
            self.run_pass(_SLEEP_MS_MAX)

    def run_pass(self, sleep_ms_max: i64) -> None:
        """Wait for something to do, and do a bounded share of it."""
        sleep_ms: i64 = 0
        if not (self._posted or self.resuming or self.dirty or self.reading or self.pumping):
            sleep_ms = self.wheel.sleep_ms(self.now_ms, sleep_ms_max)
        events: list[tuple[int, int]] = self.epoll.poll(float(sleep_ms) / _MILLISECONDS, _EVENTS_MAX)
        self.now_ms = i64(monotonic() * _MILLISECONDS) + self.ahead_ms
        self.counters.passes += 1
        self.counters.events += len(events)
        self.lock.acquire()
        try:
            self.engine.now_ms = i64(time() * _MILLISECONDS)
            self._serve(events)
        finally:
            self.lock.release()
        self._send()
        if self._held or self.log.needs_checkpoint() or self.log.buffer_is_full():
            self._gather()
            self._force()
            self._send()

    def _gather(self) -> None:
        """Before a force, serve those who have come meanwhile: one force does for all of them. Nobody is waited for."""
        for _ in range(_GATHER_ROUNDS):
            if not self._held or self.log.buffer_is_full():
                return
            events: list[tuple[int, int]] = self.epoll.poll(0.0, _EVENTS_MAX)
            if not events:
                return
            self.counters.events += len(events)
            self.is_gathering = True
            self.lock.acquire()
            try:
                self._serve(events)
            finally:
                self.lock.release()
                self.is_gathering = False
            self._send()

    def _serve(self, events: list[tuple[int, int]]) -> None:
        for fd, mask in events:
            link = self.links.get(fd)
            if link is not None:
                if mask & _IN:
                    link.readable()
                    if self.engine.woken:
                        self.tell_woken()
                elif mask & _GONE:
                    link.lost("the connection was cut")
                if mask & _OUT and not link.is_dirty:
                    link.is_dirty = True
                    self.dirty.append(link)
            elif fd == self._event_fd:
                # In this order: who wakes the reactor in between has left its work already.
                with suppress(BlockingIOError):
                    os.eventfd_read(self._event_fd)
                self._woken = False
            elif fd in self.listening:
                self.policy.accept(fd)
        if self.answered:
            self._tell_answered()  # before what may end their links
        if self._posted:
            self._run_posted()
        if self.resuming:
            resuming = self.resuming
            self.resuming = []
            for waiting in resuming:
                self._answer(waiting)
        if self.reading:
            reading = self.reading
            self.reading = []
            for link in reading:
                link.take_up()
        for timer in self.wheel.due(self.now_ms, _TIMERS_MAX):
            self._fire(timer)
        if self.engine.woken:
            self.tell_woken()
        if self.pumping:
            self._pump()
        if self._held:
            self._release()

    def _pump(self) -> None:
        """Let message channels send what has come for them, once for all that came in this pass."""
        pumping = self.pumping
        self.pumping = []
        for agent in pumping:
            agent.is_marked = False
            try:
                agent.pump()
            except Exception as error:
                self._agent_broke_down(agent, error)
        if self.engine.woken:
            self.tell_woken()

    def _agent_broke_down(self, agent: Agent, error: Exception) -> None:
        """Something is wrong on this side. The channel ends with it; others go on."""
        self.counters.breakdowns += 1
        try:
            agent.broke_down(error)
        except Exception as another:
            self.policy.note(f"AMQ6109E: A channel could not be ended properly: {another!r}, after {error!r}.")

    def _run_posted(self) -> None:
        tasks = self._posted[:_POSTED_MAX]
        del self._posted[: len(tasks)]
        for task in tasks:
            try:
                task()
            except Exception as error:
                # Whatever it was for fails; everybody else is served.
                self.counters.breakdowns += 1
                self.policy.note(f"AMQ6109E: Something could not be done: {type(error).__name__}: {error}.")

    def _tell_answered(self) -> None:
        answered = self.answered
        self.answered = []
        for waiting in answered:
            self._answer(waiting)

    def _answer(self, waiting: Waiting) -> None:
        try:
            waiting.answered()
        except Exception as error:
            waiting.conversation.link.broke_down(error)

    def _fire(self, timer: Timer) -> None:
        try:
            timer.fire(self.now_ms)
        except Exception as error:
            if isinstance(timer, Waiting):
                timer.conversation.link.broke_down(error)
            elif isinstance(timer, ServerLink):
                timer.broke_down(error)
            elif isinstance(timer, Agent):
                self._agent_broke_down(timer, error)
            else:
                self.counters.breakdowns += 1
                self.policy.note(f"AMQ6109E: Something that was due could not be done: {error!r}.")

    def tell_woken(self) -> None:
        """Answer those whose gets the engine has answered."""
        while self.engine.woken:
            woken = self.engine.woken
            self.engine.woken = []
            for request in woken:
                waker = request.waker
                if isinstance(waker, Waiting):
                    self._answer(waker)
                elif isinstance(waker, Agent):
                    waker.mark()
                elif callable(waker):
                    try:
                        waker()
                    except Exception as error:
                        # Such as a program in this process whose event loop is gone.
                        self.policy.note(f"AMQ6109E: A waiting program could not be told of its message: {error!r}.")

    def _send(self) -> None:
        """Send what the pass has left. The engine's lock is not held; only this thread has to do with links."""
        dirty = self.dirty
        self.dirty = []
        for link in dirty:
            link.is_dirty = False
            link.flush()
        if self.failing:
            failing = self.failing
            self.failing = []
            self.lock.acquire()
            try:
                for link in failing:
                    link.lost("the connection failed")
                if self.engine.woken:
                    self.tell_woken()
            finally:
                self.lock.release()

    def close_links(self) -> None:
        self.lock.acquire()
        try:
            for link in list(self.links.values()):
                link.flush()
                self.close(link)
        finally:
            self.lock.release()

    def close_all(self) -> None:
        """The last thing: no link stays. The thread has ended."""
        self.close_links()
        self.epoll.close()
        self._event_turn.acquire()
        if self._event_fd >= 0:
            os.close(self._event_fd)
            self._event_fd = -1
        self._event_turn.release()
