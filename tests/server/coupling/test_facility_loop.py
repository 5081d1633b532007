"""The loop of a facility with real sockets: order, limits, lost and silent members, TLS."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, time_ns

import pytest
from tests.coupling.members import entry_with
from tests.server.coupling.members_here import MemberHere

from ostler.model import constants as mq
from ostler.model.coupling import events as ev
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer, ListAnswer, MembersAnswer, PutAnswer
from ostler.model.coupling.entries import make_id
from ostler.server.coupling.facility_client import FacilityClient, FacilityLost
from ostler.server.coupling.facility_directory import FacilityDirectory, FacilityRunning
from ostler.server.coupling.facility_loop import OUT_HIGH_BYTES, FacilityLoop
from ostler.server.coupling.facility_process import (
    SERVER_NAME,
    AddressNotAllowed,
    FacilityAddress,
    FacilityProcess,
)
from ostler.server.coupling.repository.opening import open_repository
from ostler.server.replica.group_tls import GroupTls
from ostler.server.tls.certificate_maker import Authority
from ostler.wire.coupling_frames import CouplingHello
from ostler.wire.coupling_programs import encode_program
from ostler.wire.frames import CF_PROGRAM, frame

SECONDS = 60.0
REPORTED = bytes(8) + mq.MQRO_EXPIRATION.to_bytes(4, "little") + bytes(352)
LOOPBACK = FacilityAddress("127.0.0.1", 0)


class RunningFacility:
    """A facility whose loop runs in a thread of this process."""

    def __init__(self, directory: FacilityDirectory, tls: GroupTls | None = None) -> None:
        self.directory = directory
        self.notes: list[str] = []
        self.process = FacilityProcess(directory, LOOPBACK, tls, self.notes.append)
        self.process.start()
        self._thread = threading.Thread(target=self.process.loop.run)
        self._thread.start()

    def connect(self, name: str, heartbeat_ms: int = 60_000) -> FacilityClient:
        return FacilityClient(self.directory.connect(SECONDS), self.directory.name, name, None, heartbeat_ms)

    def tcp(self) -> socket.socket:
        host, _, port = self.process.address.rpartition(":")
        return socket.create_connection((host, int(port)), SECONDS)

    def end(self) -> None:
        self.process.loop.stop()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        self.process.close()


@pytest.fixture
def facility(tmp_path: Path) -> Iterator[RunningFacility]:
    running = RunningFacility(FacilityDirectory(tmp_path, "CF1"))
    yield running
    running.end()


class Member:
    """A member with a link of its own, connected to APPL1."""

    def __init__(self, client: FacilityClient, number: int, name: str) -> None:
        self.client = client
        self.number = number
        self.last = 0
        answer = client.run(p.JoinProgram(number, 1, name))
        assert isinstance(answer, JoinAnswer)
        self.fence = answer.fence
        self.ok(p.ConnectProgram("APPL1", 512 << 20, 5))

    def run(self, program: p.Program) -> Answer:
        program.fence = self.fence
        return self.client.run(program)

    def ok(self, program: p.Program) -> Answer:
        answer = self.run(program)
        assert answer.status == cf.OK, cf.STATUS_NAMES[answer.status]
        return answer

    def put_program(self, body: bytes = b"body") -> p.PutProgram:
        self.last += 1
        entry = entry_with(body=body)
        entry.id = make_id(self.number, 1, self.last)
        program = p.PutProgram("APPL1", "Q", entry)
        program.fence = self.fence
        return program


def member(facility: RunningFacility, number: int, heartbeat_ms: int = 60_000) -> Member:
    return Member(facility.connect(f"QM{number}", heartbeat_ms), number, f"QM{number}")


def wait_until(happened: Callable[[], bool], what: str) -> None:
    deadline = monotonic() + SECONDS
    while not happened():
        assert monotonic() < deadline, f"{what} within {SECONDS:g} seconds"
        threading.Event().wait(0.01)


def test_programs_sent_ahead_are_answered_in_their_order(facility: RunningFacility) -> None:
    one = member(facility, 1)
    one.client.send([one.put_program() for _ in range(500)])
    answers = [one.client.receive() for _ in range(500)]
    depths = [answer.depth for answer in answers if isinstance(answer, PutAnswer)]
    assert depths == list(range(1, 501))


def test_a_program_that_comes_byte_by_byte_is_run_when_it_is_whole(facility: RunningFacility) -> None:
    sock = facility.tcp()
    client = FacilityClient(sock, "CF1", "QM1")
    data = encode_program(p.MembersProgram(), 7)
    for at in range(len(data)):
        sock.sendall(data[at : at + 1])
    assert isinstance(client.receive(), MembersAnswer)
    client.close()


def test_a_broken_link_fails_its_member_and_peers_are_told(facility: RunningFacility) -> None:
    one, two = member(facility, 1), member(facility, 2)
    one.ok(one.put_program())
    one.client.close()
    event = two.client.receive_event()
    assert isinstance(event, ev.MemberChanged)
    assert (event.member, event.state) == (1, cf.MEMBER_FAILED)
    two.ok(p.BeginRecoveryProgram(1))
    two.ok(p.EndRecoveryProgram(1))
    assert [note[:9] for note in facility.notes[1:]] == ["AMQ3853I:", "AMQ3853I:", "AMQ3854W:"]


def test_a_member_that_left_is_not_failed_when_its_link_ends(facility: RunningFacility) -> None:
    one, two = member(facility, 1), member(facility, 2)
    one.ok(p.LeaveProgram())
    one.client.close()
    wait_until(lambda: len(facility.process.loop.links) == 1, "the link was to be gone")
    answer = two.ok(p.MembersProgram())
    assert isinstance(answer, MembersAnswer)
    assert [each.state for each in answer.members] == [cf.MEMBER_LEFT, cf.MEMBER_ACTIVE_STATE]


def test_a_queue_manager_that_ends_leaves_in_order(tmp_path: Path) -> None:
    directory = tmp_path / "groups" / "QSG1"
    directory.mkdir(parents=True)
    repository = open_repository(str(directory / "repository.db"), "QSG1")
    repository.create()
    repository.close()
    running = RunningFacility(FacilityDirectory(tmp_path, "CF01"))
    MemberHere(tmp_path, "QM1", 1, str(tmp_path / "facilities" / "CF01" / "cf.sock")).end()
    wait_until(lambda: not running.process.loop.links, "the link was to be gone")
    running.end()
    assert [note[:8] for note in running.notes] == ["AMQ3851I", "AMQ3853I", "AMQ3853I"]


def test_what_expires_while_nobody_is_connected_is_dropped(facility: RunningFacility) -> None:
    one = member(facility, 1)
    now_ms = time_ns() // 1_000_000
    programs = [one.put_program() for _ in range(5)]
    for program in programs[:4]:
        program.entry.expiry_ms = now_ms + 50
    programs[1].entry.flags = cf.PERSISTENT
    programs[2].entry.md = REPORTED
    programs[3].entry.expiry_ms = now_ms + 3_600_000
    for program in programs:
        one.ok(program)
    structure = facility.process.machine.state.structures["APPL1"]
    kept = [program.entry.id for program in programs[1:]]
    wait_until(lambda: time_ns() // 1_000_000 > now_ms + 50, "the clock was to go on")
    assert len(structure.entries) == 5  # a member is there: it removes them, with reports and records
    one.ok(p.LeaveProgram())
    wait_until(lambda: list(structure.entries) == kept, "one message was to be dropped")


def test_commands_that_nobody_has_read_do_not_keep_a_facility_from_ending(tmp_path: Path) -> None:
    facility = RunningFacility(FacilityDirectory(tmp_path, "CF1"))
    one = member(facility, 1)
    one.ok(p.ConnectProgram("CSQSYSAPPL", 512 << 20, 5))
    command, message = one.put_program(), one.put_program()
    command.structure = "CSQSYSAPPL"
    one.ok(command)
    one.ok(message)
    one.ok(p.LeaveProgram())
    asking = facility.connect("")
    assert "hold 1 messages" in asking.end(False)
    two = member(facility, 2)
    assert two.run(p.GetProgram("APPL1", "Q", cf.REMOVE)).status == cf.OK
    two.ok(p.LeaveProgram())
    assert asking.end(False) == ""
    facility.end()


def test_events_wake_a_member_that_waits(facility: RunningFacility) -> None:
    one, two = member(facility, 1), member(facility, 2)
    two.ok(p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS))
    one.ok(one.put_program())
    event = two.client.receive_event()
    assert isinstance(event, ev.QueueNotEmpty)
    assert (event.structure, event.queue) == ("APPL1", "Q")
    assert two.run(p.GetProgram("APPL1", "Q", cf.REMOVE)).status == cf.OK


def test_answers_that_are_not_read_stop_the_reading_and_come_all_the_same(facility: RunningFacility) -> None:
    one, two = member(facility, 1), member(facility, 2)
    one.client.send([one.put_program(bytes(60_000)) for _ in range(8)])
    for _ in range(8):
        assert one.client.receive().status == cf.OK
    programs: list[p.Program] = []
    for _ in range(60):
        listing = p.ListProgram("APPL1", "Q")
        listing.with_bodies, listing.fence = True, one.fence
        programs.append(listing)
    one.client.send(programs)
    wait_until(lambda: any(link.is_paused for link in facility.process.loop.links.values()), "reading was to stop")
    # Others are served meanwhile.
    two.ok(p.InquireProgram("APPL1", "Q"))
    answers = [one.client.receive() for _ in range(60)]
    assert all(isinstance(answer, ListAnswer) and len(answer.entries) == 8 for answer in answers)
    assert 4 * OUT_HIGH_BYTES < 60 * 8 * 60_000


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "a frame of"),
        (frame(CF_PROGRAM, 0, 1, bytes(12)), "wrong time"),
        (CouplingHello("OTHER", "QM1").encode(1), "This is coupling facility CF1, not OTHER"),
        (CouplingHello("CF1", "QM1").encode(1) + frame(CF_PROGRAM, 0, 1, b"nonsense"), "broke the protocol"),
    ],
)
def test_who_breaks_the_protocol_is_told_and_others_go_on(facility: RunningFacility, sent: bytes, why: str) -> None:
    one = member(facility, 1)
    sock = facility.tcp()
    sock.sendall(sent)
    received = b""
    while data := sock.recv(65_536):
        received += data
    assert why.encode() in received
    assert any(why in note for note in facility.notes)
    one.ok(one.put_program())


def test_a_member_joins_under_the_name_of_its_hello(facility: RunningFacility) -> None:
    client = facility.connect("QM1")
    assert client.run(p.JoinProgram(1, 1, "QM2")).status == cf.BAD_PROGRAM
    assert client.run(p.JoinProgram(1, 1, "QM1")).status == cf.OK
    client.close()


def test_only_one_process_runs_a_facility(facility: RunningFacility) -> None:
    with pytest.raises(FacilityRunning):
        FacilityProcess(facility.directory, None, None, print).start()
    assert facility.directory.is_running()


def test_other_machines_need_keys(tmp_path: Path) -> None:
    with pytest.raises(AddressNotAllowed, match="give it keys"):
        FacilityProcess(FacilityDirectory(tmp_path, "CF1"), FacilityAddress("0.0.0.0", 0), None, print)


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_000

    def monotonic_ns(self) -> int:
        return self.now_ms * 1_000_000


def test_a_member_that_stands_still_is_given_up_after_two_heartbeat_intervals(tmp_path: Path) -> None:
    clock = Clock()
    process = FacilityProcess(FacilityDirectory(tmp_path, "CF1"), None, None, print)
    process.loop = FacilityLoop(
        process.machine, "CF1", clock.monotonic_ns, time_ns, lambda fd: None, lambda is_forced: "", print
    )
    here, there = socket.socketpair()
    here.setblocking(False)
    process.loop.add(here, "process 1", True, None)
    hello = CouplingHello("CF1", "QM1")
    hello.heartbeat_ms = 700
    there.sendall(hello.encode(1) + encode_program(p.JoinProgram(1, 1, "QM1"), 2))
    process.loop.run_pass(0)
    states = process.machine.state.members
    there.settimeout(SECONDS)
    before = there.recv(65_536)
    clock.now_ms += 700
    process.loop.run_pass(0)
    assert there.recv(65_536), "a heartbeat was to come"
    clock.now_ms += 699
    process.loop.run_pass(0)
    assert states[1].state == cf.MEMBER_ACTIVE_STATE
    clock.now_ms += 101
    process.loop.run_pass(0)
    assert states[1].state == cf.MEMBER_FAILED
    assert process.loop.links == {}
    assert before
    there.close()


def test_a_member_that_does_not_read_its_answers_is_given_up_when_it_takes_none_for_as_long(tmp_path: Path) -> None:
    clock = Clock()
    process = FacilityProcess(FacilityDirectory(tmp_path, "CF1"), None, None, print)
    loop = FacilityLoop(
        process.machine, "CF1", clock.monotonic_ns, time_ns, lambda fd: None, lambda is_forced: "", print
    )
    here, there = socket.socketpair()
    here.setblocking(False)
    there.settimeout(SECONDS)
    loop.add(here, "process 1", True, None)
    hello = CouplingHello("CF1", "QM1")
    hello.heartbeat_ms = 700
    there.sendall(hello.encode(1) + encode_program(p.JoinProgram(1, 1, "QM1"), 2))
    loop.run_pass(0)
    (link,) = loop.links.values()
    asked = encode_program(p.MembersProgram(), 3) * 1000
    there.setblocking(False)
    while not link.is_paused:
        with suppress(BlockingIOError):
            there.send(asked)
        loop.run_pass(0)
    states = process.machine.state.members
    for _ in range(3):  # it reads slowly, and lives
        clock.now_ms += 1300
        with suppress(BlockingIOError):
            while there.recv(65_536):
                pass
        loop.run_pass(0)
        assert link.is_paused
        assert states[1].state == cf.MEMBER_ACTIVE_STATE
    clock.now_ms += 1500
    loop.run_pass(0)
    assert states[1].state == cf.MEMBER_FAILED
    assert loop.links == {}
    there.close()


def test_a_stranger_who_says_nothing_is_disconnected(tmp_path: Path) -> None:
    clock = Clock()
    process = FacilityProcess(FacilityDirectory(tmp_path, "CF1"), None, None, print)
    loop = FacilityLoop(
        process.machine, "CF1", clock.monotonic_ns, time_ns, lambda fd: None, lambda is_forced: "", print
    )
    here, there = socket.socketpair()
    here.setblocking(False)
    loop.add(here, "process 1", True, None)
    clock.now_ms += 9_900
    loop.run_pass(0)
    assert len(loop.links) == 1
    clock.now_ms += 200
    loop.run_pass(0)
    assert loop.links == {}
    there.close()


# TLS.


def keys(directory: Path, name: str, authority: Authority) -> GroupTls:
    authority.issue(directory / name, name, [("CN", name), ("O", "GRP1")], "ec")
    return GroupTls(directory / name, "", name, "ANY_TLS13_OR_HIGHER", None, SERVER_NAME)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "ca")
    made.create("Group GRP1", "ec")
    return made


def test_members_prove_their_names_with_certificates(tmp_path: Path, authority: Authority) -> None:
    running = RunningFacility(FacilityDirectory(tmp_path, "CF1"), keys(tmp_path, "CF1", authority))
    try:
        tls = keys(tmp_path, "QM1", authority)
        one = Member(FacilityClient(running.tcp(), "CF1", "QM1", tls.stream(False)), 1, "QM1")
        one.client.send([one.put_program(bytes(60_000)) for _ in range(20)])
        assert [one.client.receive().status for _ in range(20)] == [cf.OK] * 20
        with pytest.raises(FacilityLost, match="The certificate is of 'QM1', not of 'QM2'"):
            FacilityClient(running.tcp(), "CF1", "QM2", tls.stream(False))
        stranger = Authority(tmp_path / "other")
        stranger.create("Somebody else", "ec")
        other = tmp_path / "stranger"
        other.mkdir()
        with pytest.raises(FacilityLost):
            FacilityClient(running.tcp(), "CF1", "QM1", keys(other, "QM1", stranger).stream(False))
        with pytest.raises(FacilityLost):
            FacilityClient(running.tcp(), "CF1", "QM1")
        one.ok(one.put_program())
        one.client.close()
    finally:
        running.end()
