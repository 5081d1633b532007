"""Members of a queue-sharing group on simulated disks, and their facility, without threads, clocks or sockets.

    group = GroupWorld("QM1", "QM2")
    group.define_structure("APP1")
    group.define_queue("Q")
    a, b = group.members
    out = a.open(a.connect(), "Q", MQOO_OUTPUT)

Verbs of a member return when the group is quiet. `hold` leaves programs and answers where they are, for steps by hand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.world.group.recovery_host import Backups, SimulatedBackupHost, SimulatedRecoveryHost, merge_honestly
from tests.world.group.simulated_offload import Bodies, SimulatedOffload
from tests.world.group.simulated_port import Facility, SimulatedPort
from tests.world.world import Put, World, descriptor
from tests.world.world_lives import SMALL_LOG

from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import complete_open
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.put import put
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.shared.member import GroupMember
from ostler.engine.structure_recovery.backup import StructureBackupTask
from ostler.engine.structure_recovery.recover import StructureRecovery
from ostler.engine.structure_recovery.service import StructureRecoveries
from ostler.engine.syncpoint import back_out, commit
from ostler.engine.task import EngineTask
from ostler.log import LogSettings
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling import terms as cf
from ostler.model.definitions import new_definition

STEPS_MAX = 100_000


class MemberWorld(World):
    """One queue manager of the group."""

    group: GroupWorld
    port: SimulatedPort
    member: GroupMember
    offload: SimulatedOffload
    offload_step: Callable[[], bool]
    recoveries: StructureRecoveries
    recovery_steps: deque[Callable[[], None]]
    number: int
    is_up: bool

    def begin_membership(self) -> None:
        """Become a member in this life, and join."""
        self.port = SimulatedPort(self.group.facility, self.number, self.name)
        self.member = GroupMember(self.engine, self.port, self.number, "QSG1")
        self.offload = SimulatedOffload(self.group.bodies)
        self.member.sharing.offload = self.offload
        self.offload_step = self.offload.step
        if self.group.equip is not None:
            self.group.equip(self)
        self.recovery_steps = deque()
        self.recoveries = StructureRecoveries(self.member, SimulatedBackupHost(self), SimulatedRecoveryHost(self))
        self.recoveries.is_automatic = self.group.is_automatic
        self.acknowledge(int(self.member.begin()))
        self.is_up = True
        self.join()

    def join(self) -> int:
        self.port.facility = self.group.facility
        return self.port.join(int(self.member.sharing.start))

    def die(self, seed: int | None = None) -> None:
        """kill -9, or with a seed a power failure: what was not forced may be gone. The facility notices."""
        if seed is None:
            self.kill()
        else:
            self.lose_power(seed)
        self.is_up = False
        self.port.lose(told=False)

    def come_back(self) -> None:
        """Restart, and join the group again."""
        self.restart()
        self.begin_membership()
        self.group.settle()

    def step(self) -> bool:
        """One step of the network, and of the log when programs wait for it."""
        if not self.is_up:
            return False
        self.engine.now_ms = self.now_ms
        self.engine.woken = []
        self.port.durable_lsn = self.log.durable_lsn()
        if self.port.send_one() or self.port.hear_one() or self.offload_step():
            return True
        if self.recovery_steps:
            self.recovery_steps.popleft()()
            return True
        if self.port.outgoing and self.log.durable_lsn() < self.log.end_lsn():
            self.force()
            return True
        return False

    # -- verbs

    def open(self, connection: Connection, name: str, options: int) -> Handle:
        handle = super().open(connection, name, options)
        if handle.opening is not None:
            self.group.settle()
            complete_open(self.engine, connection, handle)
        return handle

    def close(self, connection: Connection, handle: Handle) -> None:
        super().close(connection, handle)
        self.group.settle()

    def put_later(
        self,
        connection: Connection,
        handle: Handle,
        body: bytes,
        *,
        syncpoint: bool = False,
        persistence: int = 1,
        priority: int = 0,
        expiry_tenths: int = -1,
        message_id: bytes = NULL_ID,
        correlation_id: bytes = NULL_ID,
    ) -> PutOutcome:
        """MQPUT whose answer has not come when this returns."""
        self._set_clock()
        md = descriptor(persistence, priority, expiry_tenths, message_id, correlation_id)
        options = mq.MQPMO_SYNCPOINT if syncpoint else mq.MQPMO_NO_SYNCPOINT
        return put(self.engine, connection, handle, md, options, b"", body, None)

    def put(
        self,
        connection: Connection,
        handle: Handle,
        body: bytes,
        *,
        syncpoint: bool = False,
        persistence: int = 1,
        priority: int = 0,
        expiry_tenths: int = -1,
        message_id: bytes = NULL_ID,
        correlation_id: bytes = NULL_ID,
    ) -> Put:
        done = self.put_later(
            connection,
            handle,
            body,
            syncpoint=syncpoint,
            persistence=persistence,
            priority=priority,
            expiry_tenths=expiry_tenths,
            message_id=message_id,
            correlation_id=correlation_id,
        )
        if done.task is not None:
            self.group.settle()
            assert done.task.is_done, "the put was not answered"
        self.acknowledge(int(done.after_lsn))
        return Put(int(done.reason), int(done.after_lsn), done.md)

    def get(
        self,
        connection: Connection,
        handle: Handle,
        options: int = mq.MQGMO_NO_SYNCPOINT,
        *,
        message_id: bytes = NULL_ID,
        correlation_id: bytes = NULL_ID,
        bytes_max: int = 1 << 26,
        wait_ms: int = 0,
    ) -> GetRequest:
        request = super().get(
            connection,
            handle,
            options,
            message_id=message_id,
            correlation_id=correlation_id,
            bytes_max=bytes_max,
            wait_ms=wait_ms,
        )
        self.group.settle()
        return request

    def commit_later(self, connection: Connection) -> UnitOutcome:
        self._set_clock()
        return commit(self.engine, connection, True)

    def commit(self, connection: Connection) -> tuple[int, int]:
        outcome = self.commit_later(connection)
        self.group.settle()
        assert outcome.task is None or outcome.task.is_done, "the commit was not answered"
        self.acknowledge(int(outcome.after_lsn))
        return int(outcome.reason), int(outcome.after_lsn)

    def back_out(self, connection: Connection) -> int:
        self._set_clock()
        outcome = back_out(self.engine, connection, True)
        self.group.settle()
        assert outcome.task is None or outcome.task.is_done, "the back-out was not answered"
        return int(outcome.reason)


class GroupWorld:
    member_type: type[MemberWorld] = MemberWorld
    log_settings = SMALL_LOG

    def __init__(
        self,
        *names: str,
        created: Callable[[MemberWorld], None] | None = None,
        equip: Callable[[MemberWorld], None] | None = None,
        facility: Facility | None = None,
        log: LogSettings | None = None,
    ) -> None:
        """`created` is called with each member before it joins, `equip` in each life of it."""
        self.equip = equip
        self.facility = facility or Facility()
        self.backups = Backups()
        self.merge_logs = merge_honestly
        self.is_automatic = False
        self.bodies = Bodies()
        self.now_ms = 0
        self._is_held = False
        self.members: list[MemberWorld] = []
        for number, name in enumerate(names, start=1):
            world = self.member_type.create(number, log or self.log_settings, name=name)
            world.group = self
            world.number = number
            self.members.append(world)
            if created is not None:
                created(world)
            world.begin_membership()
        self.settle()

    # -- the network

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let nothing move by itself."""
        self._is_held = True
        yield
        self._is_held = False

    def settle(self) -> None:
        """Go on until nothing moves any more."""
        if self._is_held:
            return
        for _ in range(STEPS_MAX):
            has_moved = False
            for member in self.members:
                has_moved = member.step() or has_moved
            if not has_moved:
                return
        raise AssertionError("the group does not come to rest")

    def tick(self, milliseconds: int) -> None:
        for member in self.members:
            member.tick(milliseconds)
        self.now_ms += milliseconds
        self.facility.tick(self.now_ms)
        self.settle()

    def ticks(self) -> None:
        """A second passes: members do what is due."""
        self.tick(1000)
        for member in self.members:
            if member.is_up:
                member.member.on_tick()
                member.recoveries.on_tick()
        self.settle()

    def lose_facility(self, seed: int = 2) -> None:
        """The facility ends, and a new one comes with an empty memory."""
        before = self.facility
        for member in self.members:
            if member.is_up:
                member.port.lose()
        assert not before.ports
        self.facility = Facility(seed)
        self.facility.decides_early = before.decides_early
        self.facility.late = [] if before.late is not None else None

    # -- backups and recoveries

    def back_up(self, member: MemberWorld, structure: str = "APP1") -> StructureBackupTask:
        """BACKUP CFSTRUCT, until it has ended."""
        backup = member.recoveries.begin_backup(structure)
        self._go_on(backup)
        return backup

    def recover(self, member: MemberWorld, *structures: str, purge: bool = False) -> StructureRecovery:
        """RECOVER CFSTRUCT, until it has ended."""
        recovery = member.recoveries.begin_recovery(list(structures) or ["APP1"], purge)
        self._go_on(recovery)
        return recovery

    def _go_on(self, task: EngineTask) -> None:
        for _ in range(100):
            self.settle()
            if task.is_done:
                return
            self.ticks()
        raise AssertionError("the backup or recovery does not end")

    # -- definitions

    def define_structure(
        self, name: str, level: int = 5, recover: bool = True, more: dict[str, Value] | None = None
    ) -> None:
        attributes: dict[str, Value] = {"CFLEVEL": level, "RECOVER": 1 if recover else 0, **(more or {})}
        for member in self.members:
            definition = new_definition(ObjectType.CFSTRUCT, name, attributes)
            member.acknowledge(int(objects.define(member.engine, definition)))

    def define_queue(self, name: str, structure: str = "APP1", attributes: dict[str, Value] | None = None) -> None:
        for member in self.members:
            shared: dict[str, Value] = {"QSGDISP": mq.MQQSGD_SHARED, "CFSTRUCT": structure, "SHARE": 1, "DEFSOPT": 2}
            member.define_queue(name, {**shared, **(attributes or {})})

    # -- what there is

    def entries(self, structure: str = "APP1") -> dict[str, int]:
        """Messages of a structure by place: committed, uncommitted, got."""
        found = self.facility.machine.state.structures.get(structure)
        places = {cf.COMMITTED: "committed", cf.UNCOMMITTED: "uncommitted", cf.GOT: "got"}
        counts = dict.fromkeys(places.values(), 0)
        for stored in found.entries.values() if found is not None else ():
            counts[places[int(stored.place)]] += 1
        return counts

    def units(self) -> dict[int, list[str]]:
        """States of the units that the facility knows, by member."""
        return {
            number: [cf.UNIT_STATES[int(unit.state)] for unit in member.units.values()]
            for number, member in self.facility.machine.state.members.items()
        }
