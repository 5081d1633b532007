"""Family `properties`: puts and gets of messages with an MQRFH2, by PROPCTL of the queue.

The program builds the header itself, as programs without message handles do. V6COMPAT returns it unchanged; COMPAT
parses it first. As JMS programs, one publishes and the subscriber's queue has PROPCTL; the subscriber reads the MQRFH2
as JMS programs do. Puts and gets come in batches, so that the processor time of each is known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ostler import mqi
from ostler.lab.common.embedded import NAME, descriptor, get_options, put_options
from ostler.lab.common.processor_time import used_ns
from ostler.lab.common.put_and_get import connected, opened
from ostler.lab.families.hosts import EMBEDDED, LOCAL, Host, Hosts
from ostler.lab.families.response_time import AGREEMENTS, GET, PUT
from ostler.lab.families.set_up.run_descriptions import plan_text
from ostler.lab.families.task import RESULT, Loop
from ostler.lab.load.mq import jms
from ostler.lab.load.timeline import MEASURED, PhaseRecorder
from ostler.lab.runner.contract import Contestant, ContestantKind, Experiment, Metric, PointSpec, ReadyLoad, RunContext
from ostler.lab.runner.queue_managers.plan import COLLECT_STATISTICS, QueueManagerPlan
from ostler.lab.scenarios.steps import Step
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.consuming import MQSD
from ostler.model.structures.md import MQMD
from ostler.model.structures.od import MQOD

PUT_TIME: Final = "processor us of MQPUT"
GET_TIME: Final = "processor us of MQGET"
HEADER_BYTES: Final = "header bytes"
_BATCH: Final = 50
_BODY_BYTES: Final = 2048
_HEADER_BYTES_MAX: Final = 65536
_VALUE: Final = b"a value of 24 characters"
JMS: Final = "JMS publish/subscribe"
_TOPIC: Final = "lab/properties"
# The queue manager adds the topic string to the properties of a publication.
_ADDED_BYTES_MAX: Final = 1024
_WITHOUT: Final = "Ostler, in one process, the same bytes without properties"


def experiment(context: RunContext) -> Experiment:
    return Properties(context)


class Properties(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        controls = sorted({str(step.points["property_control"]) for step in context.steps})
        commands = tuple(f"DEFINE QLOCAL({_queue(each)}) MAXDEPTH(999999999) PROPCTL({each})" for each in controls)
        if context.settings.accounting:
            # A queue manager in the process of the application runs the commands only.
            commands = (COLLECT_STATISTICS, *commands)
        self._plan = QueueManagerPlan(NAME, commands=commands, is_accounting=context.settings.accounting)
        self._hosts = Hosts(context.scratch, self._plan)
        given = context.scenario.parameters.get("message_bytes")
        self._body_bytes = given if isinstance(given, int) else _BODY_BYTES

    @property
    def configuration(self) -> Mapping[str, str]:
        return {"queue manager": plan_text(self._plan)}

    def contestants(self) -> Sequence[Contestant]:
        found = [LOCAL, EMBEDDED]
        if self._context.settings.limits:
            plain = frozenset(step.number for step in self._context.steps if not _is_jms(step))
            promise = "a message of as many bytes with nothing to look at"
            found += [Contestant(_WITHOUT, ContestantKind.LIMIT, promise, plain)] if plain else []
        return found

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(1, self._body_bytes, False, main_operation=GET)
        is_limit = contestant.kind is ContestantKind.LIMIT
        whose = EMBEDDED if is_limit else contestant
        make = partial(
            JmsLoop if _is_jms(step) else PropertyLoop,
            queue=_queue(str(step.points["property_control"])),
            properties=int(step.points["properties"]),
            body_bytes=self._body_bytes,
            has_header=not is_limit,
            other_pid=self._hosts.manager().pid if whose.name == LOCAL.name else 0,
        )
        return self._hosts.prepare(whose, make, point_spec, AGREEMENTS)

    def close(self) -> None:
        self._hosts.close()


def _queue(control: str) -> str:
    return f"LAB.{control}"


def _is_jms(step: Step) -> bool:
    return step.points.get("programs") == JMS


class PropertyLoop(Loop):
    """The application: a batch of puts, then a batch of gets."""

    main_operation = GET

    def __init__(
        self, host: Host, queue: str, properties: int, body_bytes: int, has_header: bool, other_pid: int
    ) -> None:
        self._host = host.open()
        self._other_pid = other_pid
        self._hconn = connected(NAME)
        self._md = bytearray(descriptor(False))
        self._intake = opened(self._hconn, queue, mq.MQOO_INPUT_SHARED)
        self._output = self._opened(queue)
        header = self._header(properties)
        if not has_header:
            # As long as the other message, without any header.
            MQMD.patch(self._md, "Format", b"")
        self._header_bytes = len(header)
        self._body = os.urandom(body_bytes)
        self._data = (header if has_header else bytes(len(header))) + self._body
        self._got_md = bytearray(descriptor(False))
        self._pmo, self._gmo = bytearray(put_options()), bytearray(get_options())
        self._clear()

    def _opened(self, queue: str) -> int:
        """Return the handle for puts."""
        return opened(self._hconn, queue, mq.MQOO_OUTPUT)

    def _header(self, properties: int) -> bytes:
        """Return the header of all messages, and change the descriptor to match."""
        return _header(self._hconn, properties, self._md)

    def _check(self, data: bytes) -> None:
        """Check a message that was got."""
        if not data.endswith(self._body):
            raise AssertionError("the message that was got is not the one that was put")

    def _clear(self) -> None:
        self._phase = 0
        self._batches = self._put_ns = self._get_ns = 0

    def begin(self, recorder: PhaseRecorder) -> None:
        self._clear()
        self._puts, self._gets = recorder.operation(PUT), recorder.operation(GET)

    def entered(self, phase: int) -> None:
        self._phase = phase

    def turn(self) -> int:
        used = self._used_ns()
        self._put_batch()
        between = self._used_ns()
        now = self._get_batch()
        # A batch at the border of the window belongs to the phase it began in.
        if self._phase == MEASURED:
            self._batches += 1
            self._put_ns += between - used
            self._get_ns += self._used_ns() - between
        return now

    def _used_ns(self) -> int:
        """Return the processor time of the application, and of the queue manager if that is another process."""
        return time.process_time_ns() + (used_ns(self._other_pid) if self._other_pid else 0)

    def _put_batch(self) -> None:
        hconn, hobj, md, pmo, data = self._hconn, self._output, self._md, self._pmo, self._data
        for _ in range(_BATCH):
            began = time.perf_counter_ns()
            code, reason = mqi.MQPUT(hconn, hobj, md, pmo, data)
            self._puts.record(began, time.perf_counter_ns())
            if code != mq.MQCC_OK:
                raise MQError(reason, "MQPUT failed.")

    def _get_batch(self) -> int:
        hconn, hobj, md, gmo = self._hconn, self._intake, self._got_md, self._gmo
        end = 0
        for _ in range(_BATCH):
            began = time.perf_counter_ns()
            data, _, code, reason = mqi.MQGET(hconn, hobj, md, gmo, len(self._data) + _ADDED_BYTES_MAX)
            end = time.perf_counter_ns()
            self._gets.record(began, end)
            if code != mq.MQCC_OK:
                raise MQError(reason, "MQGET failed.")
            self._check(data)
        return end

    def results(self) -> list[Metric]:
        calls = max(self._batches, 1) * _BATCH
        return [
            Metric(RESULT, PUT_TIME, self._put_ns / 1000 / calls),
            Metric(RESULT, GET_TIME, self._get_ns / 1000 / calls),
            Metric(RESULT, HEADER_BYTES, self._header_bytes),
        ]

    def metrics(self) -> list[Metric]:
        return self._host.metrics()

    def close(self) -> None:
        mqi.MQDISC(self._hconn)
        self._host.close()


class JmsLoop(PropertyLoop):
    """A JMS publisher and its subscriber: a batch of publications, then a batch of gets from the subscriber's queue."""

    def _opened(self, queue: str) -> int:
        topic = _TOPIC.encode()
        sd = bytearray(MQSD.default())
        MQSD.patch(sd, "Options", mq.MQSO_CREATE | mq.MQSO_NON_DURABLE | mq.MQSO_FAIL_IF_QUIESCING)
        MQSD.patch(sd, "ObjectStringVSOffset", len(sd))
        MQSD.patch(sd, "ObjectStringVSLength", len(topic))
        returned = mqi.MQSUB(self._hconn, sd + topic, self._intake)
        if returned[-2] == mq.MQCC_FAILED:
            raise MQError(returned[-1], "MQSUB failed.")
        od = bytearray(MQOD.default(4))
        MQOD.patch(od, "ObjectType", mq.MQOT_TOPIC)
        MQOD.patch(od, "ObjectStringVSOffset", len(od))
        MQOD.patch(od, "ObjectStringVSLength", len(topic))
        hobj, code, reason = mqi.MQOPEN(self._hconn, od + topic, mq.MQOO_OUTPUT)
        if code != mq.MQCC_OK:
            raise MQError(reason, f"MQOPEN of {_TOPIC} failed.")
        return hobj

    def _header(self, properties: int) -> bytes:
        MQMD.patch(self._md, "Format", jms.FORMAT)
        MQMD.patch(self._md, "CodedCharSetId", jms.UTF_8)
        return jms.topic_header(_TOPIC, False, properties)

    def _check(self, data: bytes) -> None:
        message = jms.read_message(data, 0, len(data))
        if data[message.data_at :] != self._body:
            raise AssertionError("the publication that was got is not the one that was published")


def _header(hconn: int, properties: int, md: bytearray) -> bytes:
    """Return an MQRFH2 with this many properties, and change the descriptor to that of a message which begins with
    it."""
    hmsg, code, reason = mqi.MQCRTMH(hconn, None)
    if code == mq.MQCC_FAILED:
        raise MQError(reason, "MQCRTMH failed.")
    for number in range(properties):
        code, reason = mqi.MQSETMP(hconn, hmsg, None, f"property{number}", None, mq.MQTYPE_STRING, _VALUE)[-2:]
        if code == mq.MQCC_FAILED:
            raise MQError(reason, "MQSETMP failed.")
    returned = mqi.MQMHBUF(hconn, hmsg, None, "%", md, _HEADER_BYTES_MAX)
    if returned[-2] == mq.MQCC_FAILED:
        raise MQError(returned[-1], "MQMHBUF failed.")
    mqi.MQDLTMH(hconn, hmsg, None)
    return returned[0]
