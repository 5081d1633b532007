"""A whole world beside its naive twin: objects, checkpoints, time, crashes and restarts as well, all compared."""

from __future__ import annotations

from tests.world.model_checked_verbs import APPLICATIONS, LITTLE_ROOM_BYTES, Application, ModelCheckedVerbs
from tests.world.naive_model import NaiveQueue
from tests.world.world import World

from ostler.engine.core import queue_path
from ostler.engine.recovery.records import CLEAR, DEFINE, DELETE
from ostler.model.attributes import Value
from ostler.model.constants import MQRC_NONE, MQRC_OBJECT_IN_USE, MQRC_Q_NOT_EMPTY, MQRC_RESOURCE_PROBLEM
from ostler.model.disk import DiskFull
from ostler.model.errors import MQError
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.crashing_disk import PowerLost

_NPMCLASS_HIGH = 10
_FIFO = 1


class ModelCheckedWorld(ModelCheckedVerbs):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.space_comes = self._space_comes
        self._begin_life()

    def _begin_life(self) -> None:
        self.applications = [Application(self.world.connect()) for _ in range(APPLICATIONS)]
        self.waiters = []
        # Some messages may have been given back by the restart.
        queues = self.world.engine.queues.values()
        self.counted = {queue.name: {"backed_out": queue.counters.backed_out} for queue in queues}
        self.told_lsn = self.world.log.durable_lsn()
        self.verb_began = len(self.world.records)

    # -- objects

    def _define(self, name: str, naive: NaiveQueue, is_acknowledged: bool = True) -> None:
        attributes: dict[str, Value] = {
            "MSGDLVSQ": _FIFO if naive.is_fifo else 0,
            "NPMCLASS": _NPMCLASS_HIGH if naive.keeps_nonpersistent else 0,
            "MAXDEPTH": naive.depth_max,
        }
        reason = MQRC_NONE
        try:
            lsn = self.world.define_queue_unforced(name, attributes, True)
        except MQError as refused:
            reason, lsn = refused.reason, 0
        self._apply_system_backouts()
        if reason != MQRC_NONE:
            assert reason == MQRC_RESOURCE_PROBLEM
            assert self.world.log.room_bytes() < LITTLE_ROOM_BYTES
            self._complete_verb(0, False)
            return
        naive.queue_id = self.world.engine.queues[name].queue_id
        self.twin.do(self._lsn(DEFINE, naive.queue_id), "define", name, naive)
        self._complete_verb(lsn, is_acknowledged)

    def define(self, name: str, is_fifo: bool, keeps: bool, depth: int, is_acknowledged: bool) -> None:
        self._define(name, NaiveQueue(0, is_fifo, keeps, depth), is_acknowledged)

    def delete(self, name: str, purge: bool, is_acknowledged: bool) -> None:
        self._close_everywhere(name)
        queue = self.world.engine.queues.get(name)
        if queue is None:
            assert name not in self.twin.now.queues
            return
        depth, uncommitted = queue.depth, queue.uncommitted
        reason = MQRC_NONE
        try:
            lsn = self.world.delete_queue(name, purge)
        except MQError as refused:
            reason, lsn = refused.reason, 0
        if uncommitted:
            assert reason == MQRC_OBJECT_IN_USE
        elif depth > 0 and not purge:
            assert reason == MQRC_Q_NOT_EMPTY
        else:
            assert reason == MQRC_NONE
        if reason != MQRC_NONE:
            return
        assert lsn == self._lsn(DELETE, queue.queue_id)
        self.twin.do(lsn, "delete", name)
        self.counted.pop(name, None)
        self._complete_verb(lsn, is_acknowledged)

    def clear(self, name: str, is_acknowledged: bool) -> None:
        self._close_everywhere(name)
        queue = self.world.engine.queues.get(name)
        if queue is None or queue.uncommitted:
            return
        lsn = self.world.clear_queue(name)
        assert lsn == self._lsn(CLEAR, queue.queue_id)
        self.twin.do(lsn, "clear", name)
        self._complete_verb(lsn, is_acknowledged)

    def _close_everywhere(self, name: str) -> None:
        for application in self.applications:
            if application.waiter is not None and application.waiter.queue == name:
                self._end_wait(application.waiter)
            handle = application.handles.pop(name, None)
            application.cursors.pop(name, None)
            if handle is not None:
                self.world.close(application.connection, handle)

    # -- log, checkpoints, time

    def force(self) -> None:
        self.world.force()

    def write_without_acknowledging(self) -> None:
        self.world.write_log()

    def step_checkpoint(self, steps: int) -> None:
        try:
            for _ in range(steps):
                self.world.step_checkpoint()
        except DiskFull:
            assert self.disk_is_full

    def checkpoint(self) -> None:
        try:
            self.world.checkpoint()
        except DiskFull:
            assert self.disk_is_full

    def keep_extents(self) -> None:
        self.world.keep_extents()

    def tick(self, milliseconds: int) -> None:
        before = {name: len(self._visible(name)) for name in self.twin.now.queues}
        self.world.tick(milliseconds)
        for name, count in before.items():
            if len(self._visible(name)) != count:
                # Expired messages go when somebody comes upon them. Until then cursors may rest there.
                for application in self.applications:
                    application.cursors.pop(name, None)

    def expire(self) -> None:
        has_room = self.world.log.room_bytes() > LITTLE_ROOM_BYTES
        self.world.expire()
        if not has_room:
            return  # persistent ones may have to wait
        self.twin.now.forget_expired(self.world.now_ms)
        for name, naive in self.twin.now.queues.items():
            assert self.world.engine.queues[name].depth == naive.depth(self.world.now_ms)

    # -- media

    def record_image(self, name: str) -> None:
        if name in self.twin.now.queues:
            reason = MQRC_NONE
            try:
                self.world.record_image(name)
            except MQError as refused:
                reason = refused.reason
            except DiskFull:
                assert self.disk_is_full
            assert reason in (MQRC_NONE, MQRC_RESOURCE_PROBLEM)
            self.verb_began = len(self.world.records)

    def lose_a_file(self, name: str, file: str) -> None:
        """A crash takes a file of a queue with it; if the restart misses it, the queue is rebuilt from the log."""
        if name not in self.twin.now.queues:
            return
        self._empty_disk()
        self.world.force()
        self.world.kill()
        self.world.disk.remove(f"{queue_path(name, self.twin.now.queues[name].queue_id)}/{file}")
        self.world.restart()
        self.twin.crashed(self.world.log.restart_report.end_lsn)
        if self.world.engine.queues[name].damaged or file == "messages":
            self.world.rebuild(name)
            self.world.checkpoint()
        self._begin_life()
        self.look()

    # -- the end

    def crash(self, kind: str, seed: int) -> None:
        self._crash(kind, seed)

    def _crash(self, kind: str, seed: int) -> None:
        durable_lsn = self.world.log.durable_lsn()
        assert durable_lsn >= self.told_lsn
        self.world.disk.lose_power_after(-1)
        self._empty_disk()
        if kind == "kill":
            self.world.kill()
        elif kind in ("power", "garbage"):
            self.world.lose_power(seed, garbage=kind == "garbage")
        else:
            self.world.kill()
            disk = self.world.disk
            self.world.disk = disk.crash_losing_all() if kind == "lost" else disk.crash_keeping_all()
        self.world.restart()
        end_lsn = self.world.log.restart_report.end_lsn
        assert end_lsn >= durable_lsn
        if self.world.replay.was_orderly:
            self.twin.ended()  # the crash came behind all that matters of an orderly end
        else:
            self.twin.crashed(end_lsn)
        self._begin_life()
        self.look()

    def power_fails_during(self, changes: int, during: str, kind: str, seed: int) -> None:
        self._empty_disk()
        self.world.disk.lose_power_after(changes)
        try:
            if during == "force":
                self.world.force()
            elif during == "checkpoint":
                self.world.checkpoint()
            elif during == "restart":
                self._crash_twice(kind)
            else:
                self._end()
                return
        except PowerLost:
            self._apply_system_backouts()
            self._crash(kind, seed)
        finally:
            self.world.disk.lose_power_after(-1)

    def _crash_twice(self, kind: str) -> None:
        """A restart that does not come through."""
        if kind == "kill":
            self.world.kill()
        self.world.restart()
        self.twin.crashed(self.world.log.restart_report.end_lsn)
        self._begin_life()

    def _end(self) -> None:
        for application in self.applications:
            application.waiter = None
        self.waiters.clear()
        is_orderly = self.world.end()
        self.world.disk.lose_power_after(-1)
        self._empty_disk()
        self.world.restart()
        assert self.world.replay.was_orderly == is_orderly
        if is_orderly:
            self.twin.ended()
        else:
            self.twin.crashed(self.world.log.restart_report.end_lsn)
        self._begin_life()
        self.look()

    def end(self) -> None:
        self._end()

    def fill_disk(self, bytes_left: int) -> None:
        # What was appended in the hope of another extent would have to wait for space.
        self.world.force()
        self.world.disk.fill(bytes_left)
        self.disk_is_full = True
        # The log writer looks at the disk twice a second.
        self.world.keep_extents()
        if self.world.log.room_bytes() == 0:
            self._empty_disk()  # it counted on extents that were not made yet

    def empty_disk(self) -> None:
        self._empty_disk()

    def _space_comes(self) -> None:
        # Messages went to the disk since the log writer looked, where the log counted on another extent.
        assert self.disk_is_full
        self._empty_disk()

    def _empty_disk(self) -> None:
        self.world.disk.fill(1 << 40)
        self.disk_is_full = False

    # -- always

    def check(self) -> None:
        """All that must hold between any two calls."""
        audit_engine(self.world.engine)
        self._depths_and_counters_are_those_of_the_model()
        self._nobody_waits_for_what_is_there()

    def look(self) -> None:
        """What can be seen is what the model has, in the same order, each once."""
        world = self.world
        assert sorted(world.engine.queues) == sorted(self.twin.now.queues)
        in_doubt = {unit.number: unit.xid for unit in world.engine.units_of_work.values() if unit.xid}
        assert in_doubt == self.twin.now.prepared
        for name in self.twin.now.queues:
            expected = self._visible(name)
            found = world.messages(name)
            assert [request.body[:20] for request in found] == [message.body[:20] for message in expected]
            for request, message in zip(found, expected, strict=True):
                self._check_answer(request, message)
                self._count(name, browses=1, browse_bytes=len(message.body))
            self._count(name, gets_empty=1)

    def _depths_and_counters_are_those_of_the_model(self) -> None:
        for name, naive in self.twin.now.queues.items():
            queue = self.world.engine.queues[name]
            expired = sum(not m.put_by and not m.got_by and m.has_expired(self.world.now_ms) for m in naive.messages)
            depth = naive.depth(self.world.now_ms)
            assert depth <= queue.depth <= depth + expired, f"{name}: {queue.depth}, not {depth} and {expired} expired"
            for counter, count in self.counted.get(name, {}).items():
                assert (name, counter, getattr(queue.counters, counter)) == (name, counter, count)

    def _nobody_waits_for_what_is_there(self) -> None:
        for waiter in self.waiters:
            assert not waiter.request.done
            assert self._wanted(waiter.queue, waiter.message_id, waiter.correlation_id) is None
