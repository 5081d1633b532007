"""Family `verb-timing`: a single-threaded program calls one verb repeatedly, with the verbs it depends on.

To time MQCONN it must also disconnect, to time MQGET it must put: those are timed as well. A step of MQPUT or MQGET has
both persistences, and one of MQCMIT or MQBACK several units of work; the main operation is the plainest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from ostler.lab.common.embedded import NAME, QUEUE
from ostler.lab.common.verb_program import BACKOUT, COMMIT, NON_PERSISTENT, PERSISTENT, VerbProgram
from ostler.lab.families.bare_exchange import BareExchange
from ostler.lab.families.hosts import EMBEDDED, LOCAL, Host, Hosts
from ostler.lab.families.micro.tasks import Batch, BatchLoop, ForceLoop
from ostler.lab.families.task import Loop, Task
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.load.timeline import PhaseOperation, PhaseRecorder
from ostler.lab.runner.contract import (
    OVER_A_SOCKET,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PROBE
from ostler.server.config.qm_ini import LogSection

BODY_BYTES: Final = 2048
_LOG: Final = LogSection(file_pages=2048)
_PAGE_BYTES: Final = 4096
_PLAIN_TURNS: Final = 10
# The operation that represents a verb in tables.
MAIN: Final = {
    "MQCONN": "MQCONN",
    "MQDISC": "MQDISC",
    "MQOPEN": "MQOPEN",
    "MQCLOSE": "MQCLOSE",
    "MQPUT": f"MQPUT, {NON_PERSISTENT}",
    "MQGET": f"MQGET, {NON_PERSISTENT}",
    "MQCMIT": COMMIT,
    "MQBACK": BACKOUT,
    "MQPUT1": f"MQPUT1, {NON_PERSISTENT}",
    "MQBEGIN": "MQBEGIN",
    "MQSTAT": "MQSTAT",
    "MQINQ": "MQINQ",
    "MQSET": "MQSET",
    "MQCRTMH": "MQCRTMH",
    "MQSETMP": "MQSETMP",
    "MQINQMP": "MQINQMP",
    "MQMHBUF": "MQMHBUF",
    "MQBUFMH": "MQBUFMH",
    "MQDLTMP": "MQDLTMP",
    "MQDLTMH": "MQDLTMH",
    "MQCB": "MQCB, register",
    "MQCTL": "MQCTL, start",
}
_CONNECTING: Final = frozenset({"MQCONN", "MQDISC"})
_OPENING: Final = frozenset({"MQOPEN", "MQCLOSE"})
_SENDING: Final = frozenset({"MQPUT", "MQGET", "MQPUT1"})
_ATTRIBUTES: Final = frozenset({"MQINQ", "MQSET"})
_PROPERTIES: Final = frozenset({"MQCRTMH", "MQSETMP", "MQINQMP", "MQMHBUF", "MQBUFMH", "MQDLTMP", "MQDLTMH"})
_CALLBACKS: Final = frozenset({"MQCB", "MQCTL"})
_PUTS: Final = tuple(f"{verb}, {kind}" for verb in ("MQPUT", "MQPUT1") for kind in (NON_PERSISTENT, PERSISTENT))
_EXCHANGE: Final = f"a bare exchange{OVER_A_SOCKET}"
_NOTHING: Final = "calling nothing"
_FORCE: Final = "writing and forcing a page"


def experiment(context: RunContext) -> Experiment:
    return VerbTiming(context)


class VerbTiming(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        commands = (f"DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999)",)
        plan = QueueManagerPlan(NAME, _LOG, commands=commands, is_accounting=context.settings.accounting)
        self._hosts = Hosts(context.scratch, plan)

    @property
    def configuration(self) -> Mapping[str, str]:
        return self._hosts.configuration

    def contestants(self) -> Sequence[Contestant]:
        found = [LOCAL, EMBEDDED]
        if self._context.settings.limits:
            commits = frozenset(step.number for step in self._context.steps if _verb(step) == "MQCMIT")
            found.append(Contestant(_EXCHANGE, ContestantKind.LIMIT, "a request and its answer between two processes"))
            found.append(Contestant(_NOTHING, ContestantKind.LIMIT, "a call that returns at once"))
            if commits:
                found.append(
                    Contestant(_FORCE, ContestantKind.LIMIT, "a page that is there, written and forced", commits)
                )
        return found

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        verb = _verb(step)
        point_spec = PointSpec(1, BODY_BYTES, False, main_operation=MAIN[verb])
        if contestant.kind is ContestantKind.LIMIT:
            return ReadyTask(point_spec, TaskProcess(self._limit(contestant, step, verb), PROBE))
        return self._hosts.prepare(contestant, partial(VerbLoop, verb=verb), point_spec, _agreements(verb))

    def _limit(self, contestant: Contestant, step: Step, verb: str) -> Callable[[], Task]:
        main = MAIN[verb]
        if contestant.name == _NOTHING:
            return partial(nothing_loop, main)
        if contestant.name == _FORCE:
            return partial(ForceLoop, self._context.scratch / f"forced-{step.number}", main, _PAGE_BYTES)
        size = BODY_BYTES if verb in _SENDING else 1
        operations = (MAIN["MQPUT"], MAIN["MQGET"]) if verb in _SENDING else (main, main)
        return partial(BareExchange, size, operations, main)

    def close(self) -> None:
        self._hosts.close()


def _verb(step: Step) -> str:
    verb = str(step.points["verb"])
    if verb not in MAIN:
        raise PointFailed(f"there is no timing of {verb}")
    return verb


def _agreements(verb: str) -> tuple[Agreement, ...]:
    """Return the operations that the queue manager counts as well."""
    if verb in _CONNECTING:
        return (Agreement(("MQCONN",), "connections"),)
    if verb in _OPENING:
        return Agreement(("MQOPEN",), "opens"), Agreement(("MQCLOSE",), "closes")
    if verb in _SENDING:
        return (Agreement(_PUTS, "puts"),)
    if verb in _ATTRIBUTES | _PROPERTIES | _CALLBACKS:
        return ()
    return (Agreement((BACKOUT,), "backouts"),)


class VerbLoop(Loop):
    """The program, which does only the part of a turn that the verb needs."""

    def __init__(self, host: Host, verb: str) -> None:
        self.main_operation = MAIN[verb]
        self._host = host.open()
        self._verb = verb
        self._operations: dict[str, PhaseOperation] = {}
        self._ended_ns = 0
        self._turns = 0
        self._program = VerbProgram(BODY_BYTES, _forget)
        if verb not in _CONNECTING:
            self._program.connect()
            if verb not in _OPENING:
                self._program.open()

    def begin(self, recorder: PhaseRecorder) -> None:
        self._recorder = recorder
        self._operations = {}
        self._program.note = self._record

    def _record(self, name: str, began_ns: int, ended_ns: int) -> None:
        operation = self._operations.get(name)
        if operation is None:
            operation = self._operations[name] = self._recorder.operation(name)
        operation.record(began_ns, ended_ns)
        self._ended_ns = ended_ns

    def turn(self) -> int:
        program, verb = self._program, self._verb
        if verb in _CONNECTING:
            program.connect()
            program.disconnect()
        elif verb in _OPENING:
            program.open()
            program.close()
        elif verb in _SENDING:
            # A forced write takes so long that the other operations would hardly get a turn.
            self._turns += 1
            if self._turns % _PLAIN_TURNS:
                program.put_and_get(NON_PERSISTENT, False)
            else:
                program.put_and_get(PERSISTENT, True)
        elif verb in _ATTRIBUTES:
            program.inquire_and_set()
        elif verb in _PROPERTIES:
            program.message_properties()
        elif verb in _CALLBACKS:
            program.callbacks()
        else:
            program.units_of_work()
        return self._ended_ns

    def metrics(self) -> list[Metric]:
        return self._host.metrics()

    def close(self) -> None:
        self._program.note = _forget
        if self._verb not in _CONNECTING:
            self._program.disconnect()
        self._host.close()


def _forget(name: str, began_ns: int, ended_ns: int) -> None:
    """Ignore the timing of preparatory calls."""


def nothing() -> tuple[int, int]:
    """Return at once: the cost of a call of Python."""
    return 0, 0


def _call_nothing(times: int) -> int:
    began = time.perf_counter_ns()
    for _ in range(times):
        nothing()
    return time.perf_counter_ns() - began


def nothing_loop(main_operation: str) -> BatchLoop:
    return BatchLoop(Batch(main_operation, _call_nothing, 1))
