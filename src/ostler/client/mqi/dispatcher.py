"""The dispatcher of a connection's callbacks: it waits on the queues and calls one consumer at a time.

A connection is stopped, started or suspended. While it is started the dispatcher owns it, on a thread of its own or
(MQOP_START_WAIT) on the caller's thread. The connection's port delivers the messages. Changes that a callback makes to
callbacks take effect when it has returned.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from ostler.client.mqi.connection_state import ConnectionCallbacks
from ostler.client.mqi.consumer_port import ConsumerPort
from ostler.client.mqi.consumers import CallbackConsumer, Delivery, consumer_state_after, new_context
from ostler.client.mqi.put_get import Result
from ostler.model import constants as mq
from ostler.model.structures.consuming import MQCBC

STOPPED: Final = "stopped"
STARTED: Final = "started"
SUSPENDED: Final = "suspended"

# The time until the next try after a temporary failure, such as MQRC_GET_INHIBITED.
_RETRY_SECONDS: Final = 1.0
_STOPPED_AT_ONCE: Final[Result] = (mq.MQCC_FAILED, mq.MQRC_CONNECTION_STOPPED)
_ENDING: Final = frozenset({mq.MQRC_Q_MGR_STOPPING, mq.MQRC_CONNECTION_STOPPING, mq.MQRC_CONNECTION_BROKEN})


class Dispatcher(ConnectionCallbacks):
    def __init__(self, port: ConsumerPort) -> None:
        self.port = port
        self.phase = STOPPED
        self.consumers: dict[int, CallbackConsumer] = {}
        self.event_handler: CallbackConsumer | None = None
        self.area = 0  # ConnectionArea of MQCTLO, for the program's own use
        self._condition = threading.Condition()
        self._requested_phase = STARTED  # the phase that was requested last
        self._is_requested_inside = False  # by a callback, which may withdraw it
        self._on_caller = False  # started with MQOP_START_WAIT
        self._thread = 0
        self._ready: Result | None = None
        self._calls: deque[tuple[CallbackConsumer, int, int, int]] = deque()
        self._finish: Callable[[], object] | None = None
        self._turn = 0
        self._has_reported_quiescing = False
        port.open(self.is_inside)

    # -- for the verbs ------------------------------------------------------------------------------------------------

    def is_inside(self) -> bool:
        return self._thread == threading.get_ident()

    def is_started(self) -> bool:
        return self.phase == STARTED

    def start(self, on_caller: bool, area: int) -> Result:
        """MQOP_START and MQOP_START_WAIT."""
        self.area = area
        self._on_caller = on_caller
        return self._start_run()

    def resume(self) -> Result:
        """MQOP_RESUME after MQOP_SUSPEND, on the same kind of thread as before."""
        return self._start_run()

    def _start_run(self) -> Result:
        with self._condition:
            self.phase = STARTED
            self._requested_phase = STARTED
            self._ready = None
            self.port.set_consuming(True)
        if self._on_caller:
            return self._run()
        threading.Thread(target=self._run, name=f"ostler-callbacks-{self.port.hconn}", daemon=True).start()
        with self._condition:
            return self._condition.wait_for(self._is_ready) or _STOPPED_AT_ONCE

    def _is_ready(self) -> Result | None:
        return self._ready

    def cancel(self) -> None:
        """MQOP_START or MQOP_RESUME inside a callback: withdraw a stop or suspension that a callback requested."""
        with self._condition:
            if self._is_requested_inside:
                self._requested_phase = STARTED

    def halt(self, phase: str) -> None:
        """MQOP_STOP and MQOP_SUSPEND. Outside callbacks this returns when the last callback has ended."""
        with self._condition:
            if self.phase == STARTED:
                self._requested_phase = phase
                self._is_requested_inside = self.is_inside()
                self.port.wake()
                if not self.is_inside():
                    self._condition.wait_for(lambda: self.phase != STARTED)
                return
            was_suspended = self.phase == SUSPENDED and phase == STOPPED
            self.phase = phase
        if was_suspended:
            self._stop_calls(mq.MQRC_NONE)

    def register(self, consumer: CallbackConsumer) -> None:
        """Register a callback. It replaces the callback that its handle may have."""
        is_new = True
        if consumer.is_event_handler:
            is_new = self.event_handler is None
            self.event_handler = consumer
        else:
            before = self.consumers.get(consumer.hobj)
            is_new = before is None
            consumer.started = before is not None and before.started
            self.consumers[consumer.hobj] = consumer
        if not is_new:
            return
        if consumer.options & mq.MQCBDO_REGISTER_CALL:
            self._control_call(consumer, mq.MQCBCT_REGISTER_CALL, consumer.hobj)
        if self.phase == STARTED and not consumer.is_event_handler:
            consumer.started = True
            if consumer.options & mq.MQCBDO_START_CALL:
                self._control_call(consumer, mq.MQCBCT_START_CALL, consumer.hobj)

    def deregister(self, consumer: CallbackConsumer, hobj: int) -> None:
        """Deregister a callback. `hobj` is the handle for its last call: a closed handle is unusable."""
        if consumer.is_event_handler:
            self.event_handler = None
        else:
            self.consumers.pop(consumer.hobj, None)
        if consumer.started and consumer.options & mq.MQCBDO_STOP_CALL:
            self._control_call(consumer, mq.MQCBCT_STOP_CALL, hobj)
        if consumer.options & mq.MQCBDO_DEREGISTER_CALL:
            self._control_call(consumer, mq.MQCBCT_DEREGISTER_CALL, hobj)

    def on_handle_closed(self, hobj: int) -> None:
        consumer = self.consumers.get(hobj)
        if consumer is not None:
            self.deregister(consumer, mq.MQHO_UNUSABLE_HOBJ)

    def disconnect(self, finish: Callable[[], object]) -> bool:
        if self.is_inside():
            self._finish = finish
            self.halt(STOPPED)
            return False
        self.halt(STOPPED)
        self._deregister_all()
        return True

    def _deregister_all(self) -> None:
        self.port.close()
        for consumer in list(self.consumers.values()):
            self.deregister(consumer, mq.MQHO_UNUSABLE_HOBJ)
        if self.event_handler is not None:
            self.deregister(self.event_handler, mq.MQHO_UNUSABLE_HOBJ)

    # -- the loop -----------------------------------------------------------------------------------------------------

    def _run(self) -> Result:
        self._thread = threading.get_ident()
        outcome: Result = (mq.MQCC_FAILED, mq.MQRC_UNEXPECTED_ERROR)
        try:
            self._start_calls()
            is_halted = self._requested_phase != STARTED
            self._notify_starter(_STOPPED_AT_ONCE if is_halted else (mq.MQCC_OK, mq.MQRC_NONE))
            outcome = self._loop()
            if self._requested_phase != SUSPENDED:
                self._stop_calls(outcome[1])
            if self._finish is not None:
                self._deregister_all()
            self._run_calls()
        finally:
            self._finish_run()
        return outcome

    def _notify_starter(self, result: Result) -> None:
        with self._condition:
            self._ready = result
            self._condition.notify_all()

    def _finish_run(self) -> None:
        finish = self._finish
        self._finish = None
        self._thread = 0
        self.port.set_consuming(False)
        with self._condition:
            self.phase = SUSPENDED if self._requested_phase == SUSPENDED else STOPPED
            self._ready = self._ready or _STOPPED_AT_ONCE
            self._condition.notify_all()
        if finish is not None:
            finish()

    def _loop(self) -> Result:
        while True:
            self._run_calls()
            reason = self.port.broken()
            if reason:
                self._requested_phase = STOPPED
                self._report_event(reason, mq.MQCS_STOPPED)
                return mq.MQCC_FAILED, reason
            if self._requested_phase == SUSPENDED:
                return mq.MQCC_WARNING, mq.MQRC_CONNECTION_SUSPENDED
            if self._requested_phase == STOPPED:
                return mq.MQCC_OK, mq.MQRC_NONE
            self._report_quiescing()
            active = self._active()
            if not active and self._on_caller and not self._has_retries():
                self._requested_phase = STOPPED
                return mq.MQCC_FAILED, mq.MQRC_NO_CALLBACKS_ACTIVE
            for consumer, delivery in self.port.next(active, self._timeout(active)):
                self._deliver(consumer, delivery)

    def _report_quiescing(self) -> None:
        if self.port.is_quiescing() and not self._has_reported_quiescing:
            self._has_reported_quiescing = True
            self._report_event(mq.MQRC_Q_MGR_QUIESCING, mq.MQCS_NONE)

    def _active(self) -> list[CallbackConsumer]:
        """Return the consumers that may be called now, in round-robin order."""
        now = time.monotonic()
        ready = [each for each in self.consumers.values() if not each.suspended and each.retry_at <= now]
        if not ready:
            return []
        self._turn += 1
        first = self._turn % len(ready)
        return ready[first:] + ready[:first]

    def _has_retries(self) -> bool:
        return any(each.retry_at and not each.suspended for each in self.consumers.values())

    def _timeout(self, active: list[CallbackConsumer]) -> float | None:
        now = time.monotonic()
        moments = [each.retry_at for each in self.consumers.values() if each.retry_at > now and not each.suspended]
        moments += [each.waits_until for each in active if each.begin_wait(now)]
        if not active and self.event_handler is not None:
            # Without a waiting get, quiescing of the queue manager is found by polling.
            moments.append(now + _RETRY_SECONDS)
        return max(0.0, min(moments) - now) if moments else None

    # -- calling ------------------------------------------------------------------------------------------------------

    def _deliver(self, consumer: CallbackConsumer, delivery: Delivery) -> None:
        reason = delivery.reason
        consumer.waits_until = 0.0
        if self.consumers.get(consumer.hobj) is not consumer:
            return  # it was deregistered meanwhile; the message was only browsed
        if not delivery.md:
            self._on_get_failed(consumer, reason)
            return
        consumer.is_empty_reported = False
        consumer.fault = 0
        consumer.retry_at = 0.0
        md, gmo, call_type = consumer.prepare_call(delivery)
        state = mq.MQCS_NONE
        if reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            # Suspended, so that the same message is not delivered again and again before the program can act.
            consumer.suspended = True
            state = mq.MQCS_SUSPENDED_USER_ACTION
        body = delivery.body
        cbc = new_context(consumer, self.area, call_type, consumer.hobj, reason, state, delivery.data_bytes, len(body))
        self._call(consumer, md, gmo, body, cbc)

    def _on_get_failed(self, consumer: CallbackConsumer, reason: int) -> None:
        """Report a failed get to its consumer, with the state that the consumer is in then."""
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            consumer.is_empty_reported = True
            self._control(consumer, mq.MQCBCT_EVENT_CALL, consumer.hobj, reason, mq.MQCS_NONE)
            return
        if reason in _ENDING or (reason == mq.MQRC_Q_MGR_QUIESCING and not consumer.fails_if_quiescing):
            # The end of the queue manager is reported when the connection breaks.
            if reason in _ENDING:
                consumer.retry_at = time.monotonic() + _RETRY_SECONDS
            return
        state = consumer_state_after(reason)
        if state == mq.MQCS_SUSPENDED_TEMPORARY:
            consumer.retry_at = time.monotonic() + _RETRY_SECONDS
            if consumer.fault == reason:
                return
        else:
            consumer.suspended = True
        consumer.fault = reason
        self._control(consumer, mq.MQCBCT_EVENT_CALL, consumer.hobj, reason, state)

    def report_event(self, reason: int) -> None:
        """Report an event of the connection, on the calling thread."""
        self._report_event(reason, mq.MQCS_NONE)

    def _report_event(self, reason: int, state: int) -> None:
        """Report an event of the connection to the event handler and to consumers with MQCBDO_EVENT_CALL."""
        handler = self.event_handler
        if handler is not None and not handler.suspended:
            self._control(handler, mq.MQCBCT_EVENT_CALL, handler.hobj, reason, state)
        for consumer in list(self.consumers.values()):
            if consumer.options & mq.MQCBDO_EVENT_CALL:
                self._control(consumer, mq.MQCBCT_EVENT_CALL, consumer.hobj, reason, state)

    def _start_calls(self) -> None:
        for consumer in list(self.consumers.values()):
            if not consumer.started:
                consumer.started = True
                if consumer.options & mq.MQCBDO_START_CALL:
                    self._control(consumer, mq.MQCBCT_START_CALL, consumer.hobj, mq.MQRC_NONE, mq.MQCS_NONE)

    def _stop_calls(self, reason: int) -> None:
        for consumer in list(self.consumers.values()):
            if consumer.started:
                consumer.started = False
                if consumer.options & mq.MQCBDO_STOP_CALL:
                    state = mq.MQCS_STOPPED if reason else mq.MQCS_NONE
                    self._control(consumer, mq.MQCBCT_STOP_CALL, consumer.hobj, reason, state)

    def _control_call(self, consumer: CallbackConsumer, call_type: int, hobj: int) -> None:
        """Make a control call now, or after the running callback has returned."""
        if self.is_inside():
            self._calls.append((consumer, call_type, hobj, mq.MQRC_NONE))
        else:
            self._control(consumer, call_type, hobj, mq.MQRC_NONE, mq.MQCS_NONE)

    def _run_calls(self) -> None:
        while self._calls:
            consumer, call_type, hobj, reason = self._calls.popleft()
            self._control(consumer, call_type, hobj, reason, mq.MQCS_NONE)

    def _control(self, consumer: CallbackConsumer, call_type: int, hobj: int, reason: int, state: int) -> None:
        cbc = new_context(consumer, self.area, call_type, hobj, reason, state)
        self._call(consumer, bytearray(consumer.md), bytearray(consumer.gmo), b"", cbc)

    def _call(self, consumer: CallbackConsumer, md: bytearray, gmo: bytearray, buffer: bytes, cbc: bytearray) -> None:
        """Call a callback. One that raises is suspended, and the event handler is called."""
        try:
            consumer.function(self.port.hconn, md, gmo, buffer, cbc)
        except Exception:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            consumer.suspended = True
            if not consumer.is_event_handler:
                self._report_event(mq.MQRC_UNEXPECTED_ERROR, mq.MQCS_SUSPENDED)
            return
        consumer.area = MQCBC.read_int(cbc, "CallbackArea")
        self.area = MQCBC.read_int(cbc, "ConnectionArea")
