"""Connecting over sockets: which way is taken, what is shared, what is refused, and how it ends."""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.remote_site import FAILED, OK, RawProgram, RemoteSite, eventually, free_port, structure
from tests.client.session.losing_proxy import Proxy

from ostler import mqi
from ostler.client.link.control import NotRunningError, control
from ostler.client.link.keepalive import open_links
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.mqi.remote.connections import FIRST_REMOTE
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import bind_local, connect_local, socket_path
from ostler.server.queue_manager import create_queue_manager


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteSite]:
    made = RemoteSite(tmp_path_factory.mktemp("remote"), "REMOTE")
    yield made
    made.end()


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[RemoteSite]:
    made = RemoteSite(tmp_path, "OWN")
    made.queue("Q")
    yield made
    made.end()


@pytest.fixture
def proxy(site: RemoteSite) -> Iterator[Proxy]:
    made = Proxy(site.port)
    yield made
    made.stop()


def refused(reason: int) -> pytest.RaisesExc[MQError]:
    return pytest.RaisesExc(MQError, check=lambda error: error.reason == reason)


def reason_of(parameters: ConnectParameters, environment: dict[str, str]) -> int:
    with pytest.raises(MQError) as caught:
        connect_handle(parameters, environment)
    assert caught.value.detail
    return caught.value.reason


def test_a_connection_shares_the_link_of_another(site: RemoteSite) -> None:
    first, second = site.connect(), site.connect()
    assert first.remote.conversation.link is second.remote.conversation.link
    alone = site.connect(sharing_conversations=1)
    assert alone.remote.conversation.link is not first.remote.conversation.link
    assert [each.leave() for each in (first, second, alone)] == [OK] * 3


def test_a_link_that_is_dead_is_not_shared(site: RemoteSite, proxy: Proxy) -> None:
    first = site.connect(connection_name=proxy.address)
    proxy.loses.set()
    second = site.connect(connection_name=proxy.address)
    assert proxy.lost.is_set()
    assert second.remote.conversation.link is not first.remote.conversation.link
    assert second.leave() == OK
    assert first.leave() == (FAILED, mqc.MQRC_CONNECTION_BROKEN)


def test_a_new_connection_is_told_why_there_is_none(site: RemoteSite, proxy: Proxy) -> None:
    first = site.connect(connection_name=proxy.address)
    with refused(mqc.MQRC_Q_MGR_NAME_ERROR):
        site.connect(connection_name=proxy.address, queue_manager="ANOTHER")
    proxy.stop()
    proxy.loses.set()
    with refused(mqc.MQRC_HOST_NOT_AVAILABLE):
        site.connect(connection_name=proxy.address)
    assert proxy.lost.is_set()
    first.leave()


def test_a_link_is_shared_by_so_many_as_the_channel_allows(own_site: RemoteSite) -> None:
    own_site.define(ObjectType.CHANNEL, "THREE", CHLTYPE="SVRCONN", TRPTYPE="TCP", SHARECNV=3)
    programs = [own_site.connect(channel="THREE") for _ in range(7)]
    links = {id(each.remote.conversation.link) for each in programs}
    assert len(links) == 3
    for each in programs:
        assert each.leave() == OK
    eventually(lambda: len(own_site.manager.engine.connections) == 0)


def test_the_last_conversation_closes_the_link(site: RemoteSite) -> None:
    program = site.connect(sharing_conversations=1)
    link = program.remote.conversation.link
    assert program.leave() == OK
    assert link.is_closed()
    eventually(lambda: link not in open_links())


def test_who_leaves_without_a_word_is_forgotten(own_site: RemoteSite) -> None:
    """As one does that is interrupted while it connects; others stay on the link."""
    one, two = own_site.connect(), own_site.connect()
    count = len(own_site.manager.engine.connections)
    two.remote.conversation.abandon()
    eventually(lambda: len(own_site.manager.engine.connections) == count - 1)
    two.leave()
    assert one.put(one.open(own_site.queue("STAYS")), b"x") == 0
    assert one.leave() == OK


def test_one_comes_while_the_last_one_goes(site: RemoteSite) -> None:
    """A link that is about to be closed is joined by nobody."""
    failures: list[str] = []

    def come_and_go() -> None:
        try:
            for _ in range(100):
                assert site.connect().leave() == OK
        except (MQError, AssertionError) as error:
            failures.append(repr(error))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=come_and_go) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failures == []


def test_mqserver_leads_there(site: RemoteSite) -> None:
    environment = {"MQSERVER": f"SYSTEM.DEF.SVRCONN/TCP/127.0.0.1({site.port})", "OSTLER_DATA": "/nowhere"}
    program = RawProgram(connect_handle(ConnectParameters(queue_manager="REMOTE"), environment))
    assert program.remote.queue_manager == "REMOTE"
    assert program.leave() == OK


def test_the_data_root_leads_to_the_socket(site: RemoteSite) -> None:
    for name in ("REMOTE", ""):
        program = RawProgram(connect_handle(ConnectParameters(queue_manager=name), {"OSTLER_DATA": str(site.data)}))
        assert program.hconn >= FIRST_REMOTE
        assert program.leave() == OK


def test_mqconnx_takes_the_channel_of_an_mqcd(site: RemoteSite) -> None:
    cd = bytearray(1984)
    cd[0:18] = b"SYSTEM.DEF.SVRCONN"
    struct.pack_into("<iii", cd, 20, 11, mqc.MQCHT_CLNTCONN, mqc.MQXPT_TCP)
    struct.pack_into("<i", cd, 844, 4194304)
    name = f"127.0.0.1({site.port})".encode()
    cd[1024 : 1024 + len(name)] = name
    struct.pack_into("<i", cd, 1480, 300)
    struct.pack_into("<i", cd, 1884, 10)
    place = ctypes.create_string_buffer(bytes(cd), len(cd))
    cno = structure("MQCNO", 5, Options=mqc.MQCNO_CLIENT_BINDING | mqc.MQCNO_HANDLE_SHARE_BLOCK)
    struct.pack_into("<Q", cno, 16, ctypes.addressof(place))
    hconn, cc, rc = mqi.MQCONNX("REMOTE", cno)
    assert (cc, rc) == OK
    program = RawProgram(hconn)
    assert program.remote.conversation.link.message_bytes_max == 4194304
    assert cno[164:188] == program.remote.connection_id
    assert program.leave() == OK


def test_the_next_address_is_tried(site: RemoteSite) -> None:
    program = site.connect(connection_name=f"127.0.0.1({free_port()}),127.0.0.1({site.port})")
    assert program.leave() == OK


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"queue_manager": "ANOTHER"}, mqc.MQRC_Q_MGR_NAME_ERROR),
        ({"channel": "NO.SUCH"}, mqc.MQRC_UNKNOWN_CHANNEL_NAME),
        ({"connection_name": "no-such-host.invalid(1414)"}, mqc.MQRC_HOST_NOT_AVAILABLE),
        (
            {"user": "me", "password": "secret", "connection_name": "192.0.2.1(1414)"},
            mqc.MQRC_PASSWORD_PROTECTION_ERROR,
        ),
    ],
)
def test_what_is_refused(site: RemoteSite, changes: dict[str, str], reason: int) -> None:
    with pytest.raises(MQError) as caught:
        site.connect(**changes)
    assert caught.value.reason == reason
    assert "secret" not in str(caught.value)


def test_a_port_where_nobody_listens() -> None:
    parameters = ConnectParameters(binding="client", connection_name=f"127.0.0.1({free_port()})")
    assert reason_of(parameters, {}) == mqc.MQRC_HOST_NOT_AVAILABLE


def test_a_queue_manager_that_does_not_run(tmp_path: Path) -> None:
    create_queue_manager(tmp_path, "SLEEPS")
    parameters = ConnectParameters(queue_manager="SLEEPS", binding="local", data=tmp_path)
    assert reason_of(parameters, {}) == mqc.MQRC_Q_MGR_NOT_AVAILABLE
    unknown = ConnectParameters(queue_manager="NOBODY", binding="local", data=tmp_path)
    assert reason_of(unknown, {}) == mqc.MQRC_Q_MGR_NAME_ERROR


def test_a_password_may_be_sent_where_the_user_says_so(site: RemoteSite) -> None:
    # What stays on this machine may be sent anyway.
    program = site.connect(user="me", password="secret")
    assert program.leave() == OK
    told = {"OSTLER_ALLOW_PLAIN_PASSWORD": "1"}
    far = ConnectParameters(
        binding="client", connection_name="no-such-host.invalid(1414)", user="me", password="secret"
    )
    assert reason_of(far, {}) == mqc.MQRC_PASSWORD_PROTECTION_ERROR
    assert reason_of(far, told) == mqc.MQRC_HOST_NOT_AVAILABLE
    local = site.connect("local", user="me", password="secret")
    assert local.leave() == OK


def test_leaving_commits_and_a_lost_program_is_backed_out(own_site: RemoteSite) -> None:
    orderly, lost = own_site.connect(), own_site.connect(sharing_conversations=1)
    for program in (orderly, lost):
        assert program.put(program.open("Q"), b"in a unit", mqc.MQPMO_SYNCPOINT) == 0
    assert orderly.leave() == OK
    lost.break_link()
    eventually(lambda: not own_site.manager.engine.connections)
    assert own_site.depth("Q") == 1


def test_a_handle_that_is_not_shared_goes_with_its_thread(own_site: RemoteSite) -> None:
    made: list[RawProgram] = []

    def work() -> None:
        program = own_site.connect(is_shared=False)
        program.put(program.open("Q"), b"never committed", mqc.MQPMO_SYNCPOINT)
        made.append(program)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    other = own_site.connect()
    assert mqi.MQCMIT(made[0].hconn) == (FAILED, mqc.MQRC_HCONN_ERROR)
    eventually(lambda: len(own_site.manager.engine.connections) == 1)
    assert own_site.depth("Q") == 0
    other.leave()


def test_without_reconnection_everything_is_broken(own_site: RemoteSite) -> None:
    program = own_site.connect()
    hobj = program.open("Q")
    answers: list[tuple[bytes, int]] = []
    waiting = threading.Thread(target=lambda: answers.append(program.get(hobj, mqc.MQGMO_WAIT, -1)))
    waiting.start()
    own_site.until_waiting("Q")
    own_site.end()
    waiting.join()
    assert answers[0][1] in (mqc.MQRC_CONNECTION_BROKEN, mqc.MQRC_Q_MGR_STOPPING)
    eventually(lambda: program.put(hobj, b"") == mqc.MQRC_CONNECTION_BROKEN)
    assert mqi.MQCMIT(program.hconn) == (FAILED, mqc.MQRC_CONNECTION_BROKEN)
    assert mqi.MQINQ(program.hconn, hobj, [mqc.MQIA_CURRENT_Q_DEPTH], 1, 0)[2:] == (FAILED, mqc.MQRC_CONNECTION_BROKEN)
    assert program.leave() == (FAILED, mqc.MQRC_CONNECTION_BROKEN)
    assert mqi.MQCMIT(program.hconn) == (FAILED, mqc.MQRC_HCONN_ERROR)


def test_other_verbs_while_a_get_waits(site: RemoteSite) -> None:
    site.queue("WAITED")
    program = site.connect()
    hobj = program.open("WAITED")
    answers: list[tuple[bytes, int]] = []
    waiting = threading.Thread(target=lambda: answers.append(program.get(hobj, mqc.MQGMO_WAIT, -1)))
    waiting.start()
    site.until_waiting("WAITED")
    assert program.put(hobj, b"") == mqc.MQRC_CALL_IN_PROGRESS
    # Conversations on the same link are not held up.
    other = site.connect()
    assert other.remote.conversation.link is program.remote.conversation.link
    assert other.put(other.open("WAITED"), b"for the one who waits") == 0
    waiting.join()
    assert answers == [(b"for the one who waits", 0)]
    assert program.leave() == OK
    assert other.leave() == OK


def test_leaving_ends_a_wait_of_another_thread(site: RemoteSite) -> None:
    site.queue("LEFT")
    program, other = site.connect(), site.connect()
    hobj = program.open("LEFT")
    answers: list[tuple[bytes, int]] = []
    waiting = threading.Thread(target=lambda: answers.append(program.get(hobj, mqc.MQGMO_WAIT, -1)))
    waiting.start()
    site.until_waiting("LEFT")
    assert program.leave() == OK
    waiting.join()
    assert answers == [(b"", mqc.MQRC_CONNECTION_BROKEN)]
    assert other.put(other.open("LEFT"), b"the link goes on") == 0
    other.leave()


def test_many_threads_share_one_link(site: RemoteSite) -> None:
    site.queue("BUSY")
    programs = [site.connect() for _ in range(8)]
    assert len({id(each.remote.conversation.link) for each in programs}) == 1
    got: list[bytes] = []

    def work(number: int) -> None:
        program = programs[number]
        hobj = program.open("BUSY")
        for turn in range(40):
            data = b"%d.%d." % (number, turn) + b"x" * (turn % 7 * 60_000)
            assert program.put(hobj, data) == 0
            found, reason = program.get(hobj, mqc.MQGMO_WAIT | mqc.MQGMO_NO_SYNCPOINT, 20_000)
            assert reason == 0
            got.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    expected = {b"%d.%d." % (number, turn) + b"x" * (turn % 7 * 60_000) for number in range(8) for turn in range(40)}
    assert len(got) == 320
    assert set(got) == expected
    assert all(each.leave() == OK for each in programs)


def test_a_forked_child_does_not_touch_the_link(site: RemoteSite) -> None:
    site.queue("FORKED")
    program = site.connect()
    hobj = program.open("FORKED")
    child = os.fork()
    if child == 0:
        reason = program.put(hobj, b"by the child")
        os._exit(0 if reason == mqc.MQRC_HCONN_ERROR and not open_links() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert program.put(hobj, b"by the parent") == 0
    assert site.depth("FORKED") == 1
    assert program.leave() == OK


class Interrupt(Exception):
    """What a signal handler of the test raises."""


def until_main_thread_sleeps() -> None:
    """Wait until the main thread has slept for a while: it waits for a reply, and is not about to begin with that."""
    path = f"/proc/self/task/{threading.main_thread().native_id}/stat"
    asleep = 0
    deadline = time.monotonic() + 60
    while asleep < 5:
        assert time.monotonic() < deadline, "the main thread does not wait for a reply"
        with open(path) as stat:
            asleep = asleep + 1 if stat.read().rpartition(")")[2].split()[0] == "S" else 0
        time.sleep(0.005)


@pytest.mark.parametrize("in_system_call", [True, False])
@pytest.mark.parametrize("another_reads", [False, True])
@pytest.mark.parametrize("wait", [-1, 1_000_000])
def test_a_wait_that_is_interrupted_takes_no_message(
    site: RemoteSite, another_reads: bool, in_system_call: bool, wait: int
) -> None:
    suffix = f"{another_reads}.{in_system_call}.{wait + 1}"
    name = site.queue(f"INTERRUPTED.{suffix}")
    program, other = site.connect(), site.connect()
    hobj, others = program.open(name), other.open(site.queue(f"READ.{suffix}"))
    reader = threading.Thread(target=lambda: other.get(others, mqc.MQGMO_WAIT, -1))
    if another_reads:
        reader.start()
        site.until_waiting(f"READ.{suffix}")

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGUSR1, interrupt)

    def wait_and_interrupt() -> None:
        site.until_waiting(name)
        until_main_thread_sleeps()
        if in_system_call:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        else:
            # It is there, but has not interrupted what the thread does.
            _thread.interrupt_main(signal.SIGUSR1)

    helper = threading.Thread(target=wait_and_interrupt)
    helper.start()
    try:
        with pytest.raises(Interrupt):
            program.get(hobj, mqc.MQGMO_WAIT | mqc.MQGMO_NO_SYNCPOINT, wait)
    finally:
        helper.join()
        signal.signal(signal.SIGUSR1, before)
    eventually(lambda: site.manager.engine.queues[name].waiting.count == 0)
    assert program.put(hobj, b"for the next get") == 0
    assert program.get(hobj) == (b"for the next get", 0)
    if another_reads:
        assert program.put(program.open(f"READ.{suffix}"), b"") == 0
        reader.join()
    assert [program.leave(), other.leave()] == [OK, OK]


def test_large_messages_there_and_back(site: RemoteSite) -> None:
    site.queue("LARGE")
    for binding in ("client", "local"):
        program = site.connect(binding)
        hobj = program.open("LARGE")
        data = os.urandom(1 << 20) * 3 + b"end"
        assert program.put(hobj, data) == 0
        assert program.get(hobj) == (data, 0)
        assert program.leave() == OK


def test_a_message_longer_than_the_channel_allows(own_site: RemoteSite) -> None:
    own_site.define(ObjectType.CHANNEL, "SHORT", CHLTYPE="SVRCONN", TRPTYPE="TCP", MAXMSGL=1000)
    program = own_site.connect(channel="SHORT")
    hobj = program.open("Q")
    assert program.put(hobj, b"x" * 1000) == 0
    assert program.put(hobj, b"x" * 1001) == mqc.MQRC_MSG_TOO_BIG_FOR_CHANNEL
    md, pmo = structure("MQMD"), structure("MQPMO")
    answer = mqi.MQPUT1(program.hconn, structure("MQOD", ObjectName="Q"), md, pmo, b"x" * 1001)
    assert answer == (FAILED, mqc.MQRC_MSG_TOO_BIG_FOR_CHANNEL)
    assert program.leave() == OK


# -- control and the local socket --------------------------------------------------------------------------------------


def test_control_runs_commands(site: RemoteSite) -> None:
    replies = list(control(QueueManagerDirectory(site.data, "REMOTE"), "mqsc", text="DEFINE QLOCAL(BY.CONTROL)"))
    assert "BY.CONTROL" in site.manager.engine.queues
    assert any("line" in each for each in replies)


def test_control_refuses_what_it_does_not_know(site: RemoteSite) -> None:
    with pytest.raises(MQError):
        list(control(QueueManagerDirectory(site.data, "REMOTE"), "dance"))


def test_control_of_nobody(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "SLEEPS")
    with pytest.raises(NotRunningError, match="SLEEPS"):
        control(directory, "status")


def test_a_local_socket_at_a_long_path(tmp_path: Path) -> None:
    root = tmp_path / ("deep" * 20) / ("er" * 40)
    root.mkdir(parents=True)
    directory = create_queue_manager(root, "FAR")
    socket_path(directory).parent.mkdir()
    socket_path(directory).write_text("left by a process that is gone")
    with bind_local(directory) as listening:
        assert socket_path(directory).stat().st_mode & 0o777 == 0o600
        with connect_local(directory) as made:
            accepted, _ = listening.accept()
            made.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
            accepted.close()
