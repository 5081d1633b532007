"""Loads on a real queue manager: drivers and queue manager count the same, and messages are what they should be."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ostler.client.api.connection import Connection, connect
from ostler.client.api.message import Message
from ostler.lab.load import spec
from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.drivers.start import Sharing, start_driver
from ostler.lab.load.mq.client import MqClient, MqTerms
from ostler.lab.load.mq.factory import exchanges_per_operation, mq_clients, verbs_per_round_trip
from ostler.lab.load.mq.jms import USER_PROPERTIES
from ostler.lab.load.mq.request_reply import MqRequester, MqResponder
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import CONNECT, GET, PUT, ROUND_TRIP, SESSION
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.model.constants import MQMT_REQUEST
from ostler.server.config.qm_ini import LogSection

PAIRS = 2
BODY_BYTES = 300
LONG_BYTES = 400_000  # several segments
COMMANDS = (*pair_commands(PAIRS, own_replies=4), "DEFINE QLOCAL(LAB.FULL) MAXDEPTH(1)")


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabQueueManager]:
    log = LogSection(primary_files=2, secondary_files=1, file_pages=2048)
    with LabQueueManager(tmp_path_factory.mktemp("load"), QueueManagerPlan(log=log, commands=COMMANDS)) as running:
        yield running


@pytest.fixture
def base(manager: LabQueueManager) -> LoadSpec:
    return LoadSpec(spec.MQ_VERBS, manager.address, range(3), range(4), PAIRS, BODY_BYTES, False, CHANNEL)


@pytest.fixture
def api(manager: LabQueueManager) -> Iterator[Connection]:
    """Any application, on the queue manager's own socket."""
    with connect(manager.name, data=manager.root, binding="local") as connection:
        yield connection


def counters(manager: LabQueueManager) -> dict[str, int]:
    return {f"{each.source} {each.name}": int(each.value) for each in manager.metrics()}


class Ran:
    """The outcome of a load: in the eyes of its driver, and in the queue manager's."""

    def __init__(self, recorder: PhaseRecorder, grown: dict[str, int], outstanding: int) -> None:
        self.counts: dict[str, int] = {}
        for phase in recorder.phases:
            for row in phase.rows(0):
                if hasattr(row, "failed"):
                    self.counts[row.operation] = self.counts.get(row.operation, 0) + row.count
        self.puts = grown["queues puts"]
        self.gets = grown["queues gets"]
        self.put_bytes = grown["queues put_bytes"]
        self.commits = grown["queue-manager commits"]
        self.connections = grown["queue-manager connections"]
        self.outstanding = outstanding


def run(manager: LabQueueManager, load: LoadSpec, seconds: float = 0.02) -> Ran:
    before = counters(manager)
    driver = start_driver(load)
    try:
        begin_ns = time.perf_counter_ns()
        recorder = driver.run(Timeline.starting(begin_ns, seconds, seconds, seconds), lambda moment: None)
    finally:
        driver.close()
    after = counters(manager)
    assert isinstance(driver, Sharing)
    return Ran(recorder, {name: after[name] - before[name] for name in after}, driver.outstanding)


PROTOCOLS = (spec.MQ_VERBS, spec.MQ_PIPELINED, spec.OSTLER_API)
protocols = pytest.mark.parametrize("protocol", PROTOCOLS)
UNITS = (
    (False, spec.BY_PERSISTENCE),
    (True, spec.BY_PERSISTENCE),
    (True, spec.NOBODY),
    (False, spec.RESPONDERS),
    (True, spec.EVERYBODY),
)
CASES = [(protocol, *each) for protocol in PROTOCOLS[:2] for each in UNITS]
CASES += [(spec.OSTLER_API, *each) for each in UNITS if each[1] in (spec.BY_PERSISTENCE, spec.EVERYBODY)]
all_cases = pytest.mark.parametrize(("protocol", "persistent", "units"), CASES)


@all_cases
def test_round_trips_are_what_the_queue_manager_counts(
    manager: LabQueueManager, base: LoadSpec, protocol: str, persistent: bool, units: str
) -> None:
    load = replace(base, protocol=protocol, persistent=persistent, units=units)
    ran = run(manager, load)
    trips = ran.counts[ROUND_TRIP]
    expected = verbs_per_round_trip(load)
    assert trips >= 3
    assert (ran.puts, ran.gets) == (expected.puts * trips, expected.gets * trips)
    assert ran.commits == expected.commits * trips
    assert ran.put_bytes == 2 * BODY_BYTES * trips
    assert ran.connections == 7


@all_cases
def test_messages_of_one_way_are_all_got(
    manager: LabQueueManager, base: LoadSpec, protocol: str, persistent: bool, units: str
) -> None:
    load = replace(base, protocol=protocol, persistent=persistent, units=units, kind=spec.ONE_WAY)
    ran = run(manager, load)
    assert ran.counts[PUT] >= 3
    assert ran.counts[PUT] == ran.counts[GET] == ran.puts == ran.gets
    in_units = {spec.NOBODY: 0, spec.RESPONDERS: 1, spec.EVERYBODY: 2, spec.BY_PERSISTENCE: int(persistent)}[units]
    assert ran.commits == in_units * ran.counts[PUT]
    assert ran.outstanding == 0


@pytest.mark.parametrize("protocol", PROTOCOLS[:2])
@pytest.mark.parametrize("persistent", [False, True], ids=["nonpersistent", "persistent"])
@pytest.mark.parametrize("units", [spec.NOBODY, spec.EVERYBODY])
def test_puts_without_an_answer_and_messages_sent_ahead_are_all_counted(
    manager: LabQueueManager, base: LoadSpec, protocol: str, persistent: bool, units: str
) -> None:
    load = replace(base, protocol=protocol, persistent=persistent, units=units, kind=spec.ONE_WAY)
    ran = run(manager, replace(load, async_put=True, read_ahead=True))
    assert ran.counts[PUT] == ran.counts[GET] == ran.puts == ran.gets >= 3
    assert ran.outstanding == 0


def test_the_python_api_has_no_asynchronous_put(base: LoadSpec) -> None:
    with pytest.raises(LoadFailed, match="neither asynchronous put nor read-ahead"):
        start_driver(replace(base, protocol=spec.OSTLER_API, kind=spec.ONE_WAY, async_put=True))


@protocols
@pytest.mark.parametrize("messages", [spec.PLAIN, spec.JMS])
def test_requesters_may_have_their_own_reply_queues(
    manager: LabQueueManager, base: LoadSpec, protocol: str, messages: str
) -> None:
    ran = run(manager, replace(base, protocol=protocol, own_replies=True, messages=messages))
    assert ran.puts == ran.gets == 2 * ran.counts[ROUND_TRIP] >= 6
    own = sum(int(line.partition("MSGSIN(")[2].partition(")")[0]) for line in _own_queue_metrics(manager))
    assert own == ran.counts[ROUND_TRIP]


def _own_queue_metrics(manager: LabQueueManager) -> list[str]:
    lines = " ".join(manager.mqsc("RESET QSTATS(LAB.REPLY.OWN.*)")).split("QSTATS(")
    return [line for line in lines if "MSGSIN(" in line]


@protocols
def test_sessions_connect_anew_each_time(manager: LabQueueManager, base: LoadSpec, protocol: str) -> None:
    load = replace(base, protocol=protocol, kind=spec.SESSIONS, session_round_trips=3, goes_round=False)
    ran = run(manager, load)
    sessions = ran.counts[SESSION]
    assert sessions >= 3
    assert ran.counts[CONNECT] == sessions
    assert ran.counts[ROUND_TRIP] == 3 * sessions
    assert ran.connections == sessions + 4, "responders stay"
    assert ran.puts == ran.gets == 6 * sessions


@pytest.mark.parametrize("protocol", PROTOCOLS[:2])
@pytest.mark.parametrize("kind", [spec.REQUEST_REPLY, spec.ONE_WAY])
def test_clients_that_share_connections_are_counted_each(
    manager: LabQueueManager, base: LoadSpec, protocol: str, kind: str
) -> None:
    load = replace(base, protocol=protocol, kind=kind, conversations=3, persistent=True)
    pace = Pace()
    assert [len(each.members) for each in mq_clients(load, pace, False, load.responders)] == [3, 1]
    ran = run(manager, load)
    assert ran.connections == 7, "each conversation is one"
    main = ran.counts[ROUND_TRIP] * 2 if kind == spec.REQUEST_REPLY else ran.counts[PUT]
    assert ran.puts == ran.gets == main >= 3


@protocols
@pytest.mark.parametrize("kind", [spec.REQUEST_REPLY, spec.ONE_WAY])
def test_rated_clients_begin_when_they_are_due(
    manager: LabQueueManager, base: LoadSpec, protocol: str, kind: str
) -> None:
    ran = run(manager, replace(base, protocol=protocol, kind=kind, rate_per_second=100.0), 0.05)
    main = ran.counts[ROUND_TRIP if kind == spec.REQUEST_REPLY else PUT]
    # 150 ms of 100 a second and client; a stalled machine may not begin the last of them.
    assert 3 <= main <= 45
    assert ran.puts == ran.gets == (2 * main if kind == spec.REQUEST_REPLY else main)


@protocols
@pytest.mark.parametrize("messages", [spec.PLAIN, spec.JMS])
def test_long_messages_go_in_segments(manager: LabQueueManager, base: LoadSpec, protocol: str, messages: str) -> None:
    load = replace(base, protocol=protocol, messages=messages, body_bytes=LONG_BYTES, requesters=range(1))
    ran = run(manager, load, 0.01)
    trips = ran.counts[ROUND_TRIP]
    assert ran.puts == ran.gets == 2 * trips >= 2
    assert (ran.put_bytes == 2 * LONG_BYTES * trips) == (messages == spec.PLAIN), "the others have headers"


def test_responders_on_the_queue_managers_own_socket(manager: LabQueueManager, base: LoadSpec) -> None:
    ran = run(manager, replace(base, responder_address=manager.local_path, responder_protocol=spec.MQ_PIPELINED))
    assert ran.puts == ran.gets == 2 * ran.counts[ROUND_TRIP] >= 6


def test_clients_are_shared_out_among_queue_managers(base: LoadSpec) -> None:
    load = replace(base, other_addresses=(("127.0.0.1", 1), ("127.0.0.1", 2)), goes_round=False)
    clients = mq_clients(load, Pace(), True, range(8))
    pairs = [each.opens()[0][0] for each in clients if isinstance(each, MqClient)]
    assert pairs == [f"LAB.REQUEST.{pair}" for pair in (0, 0, 0, 1, 1, 1, 0, 0)]
    shared = mq_clients(replace(load, conversations=2), Pace(), True, range(8))
    numbers = [[each.number for each in carrier.members if isinstance(each, MqClient)] for carrier in shared]
    assert numbers == [[0, 3], [1, 4], [2, 5], [6], [7]], "connection n is for address n modulo 3"


# -- what is in the messages -------------------------------------------------------------------------------------------


class Wire:
    """A client on a socket of its own, taken step by step."""

    def __init__(self, manager: LabQueueManager, client: MqClient) -> None:
        self.client = client
        self._sock = socket.create_connection(manager.address, timeout=20)
        self._sock.sendall(client.opening())
        while not client.is_ready:
            self.turn()

    def turn(self) -> None:
        """Receive something, and answer."""
        data = self._sock.recv(65536)
        assert data
        self._sock.sendall(self.client.receive(data, 0))

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def close(self) -> None:
        self._sock.close()


@pytest.mark.parametrize("pipelined", [False, True])
def test_jms_messages_have_the_properties_of_jms(manager: LabQueueManager, api: Connection, pipelined: bool) -> None:
    terms = MqTerms(1, BODY_BYTES, True, CHANNEL, pipelined, is_jms=True, responder_units=True)
    pace = Pace()
    pace.goes_on, pace.active = False, 1
    requester = Wire(manager, MqRequester(pace, 5, terms))
    sent = requester.client.begin(0)
    requester.send(sent)
    with api.open("LAB.REQUEST.0") as requests, api.open("LAB.REPLY.0") as replies:
        request = requests.get(wait=20)
        assert request is not None
        assert request.message_type == MQMT_REQUEST
        assert request.persistent
        assert request.reply_to == "LAB.REPLY.0"
        assert request.text.startswith("0000000000000001\0")
        _check_properties(request)
        assert request.properties["jms.Dst"] == "queue:///LAB.REQUEST.0"
        assert request.properties["jms.Rto"] == "queue:///LAB.REPLY.0"

        responder = Wire(manager, MqResponder(Pace(), 6, terms))
        selected = requests.put(_data_of(sent), reply_to="LAB.REPLY.0", format="MQHRF2", ccsid=1208)
        responder.turn()
        reply = None
        while reply is None:
            reply = replies.get(correlation_id=selected.message_id)
            if reply is None:
                responder.turn()
        assert reply.text == request.text
        _check_properties(reply)
        assert reply.properties["jms.Dst"] == "queue:///LAB.REPLY.0"
        assert reply.properties["jms.Cid"] == f"ID:{selected.message_id.hex()}"
    requester.close()
    responder.close()


def _check_properties(message: Message) -> None:
    assert message.properties["mcd.Msd"] == "jms_text"
    assert message.properties["jms.Dlv"] in ("2", 2)
    assert len(str(message.properties["jms.Tms"])) == 13
    assert message.format == "MQSTR"
    found = {name: message.properties[name] for name, _, _ in USER_PROPERTIES}
    assert found == {
        "application": "ostler-lab", "priority_class": "ordinary", "attempt": 1, "amount": 12.5, "test": True,
    }  # fmt: skip


def _data_of(frame: bytes) -> bytes:
    """Header and text of a put."""
    start = frame.index(b"RFH ")
    length = int.from_bytes(frame[start + 8 : start + 12], "little") + BODY_BYTES
    return frame[start : start + length]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_queue_that_is_full_is_told_by_verb_and_reason(manager: LabQueueManager, base: LoadSpec) -> None:
    manager.mqsc("ALTER QLOCAL(LAB.REQUEST.0) MAXDEPTH(0)")
    try:
        load = replace(base, pairs=1)
        one_way = replace(load, kind=spec.ONE_WAY, responders=range(0))
        in_units = replace(one_way, units=spec.EVERYBODY)
        pipelined = replace(in_units, protocol=spec.MQ_PIPELINED)
        unanswered = [replace(each, async_put=True) for each in (one_way, in_units)]
        for each in (load, one_way, in_units, pipelined, *unanswered):
            with pytest.raises(LoadFailed, match=r"MQPUT with MQRC_Q_FULL \(2053\)"):
                run(manager, each)
        with pytest.raises(LoadFailed, match=r"MQRC_Q_FULL"):
            run(manager, replace(one_way, protocol=spec.OSTLER_API))
    finally:
        manager.mqsc("ALTER QLOCAL(LAB.REQUEST.0) MAXDEPTH(999999999)")


def test_a_queue_that_is_not_there_is_told(base: LoadSpec) -> None:
    with pytest.raises(LoadFailed, match=r"MQOPEN with MQRC_UNKNOWN_OBJECT_NAME \(2085\)"):
        start_driver(replace(base, pairs=PAIRS + 1))


def test_a_channel_that_is_not_there_is_told(base: LoadSpec) -> None:
    with pytest.raises(LoadFailed, match=r"the first frame with MQRC_UNKNOWN_CHANNEL_NAME \(2540\)"):
        start_driver(replace(base, channel="LAB.NONE"))


def test_exchanges_of_an_operation(base: LoadSpec) -> None:
    lean = replace(base, protocol=spec.MQ_PIPELINED)
    in_units = replace(base, units=spec.EVERYBODY)
    assert [exchanges_per_operation(each) for each in (base, replace(base, persistent=True), in_units)] == [4, 5, 7]
    assert [exchanges_per_operation(each) for each in (lean, replace(lean, units=spec.EVERYBODY))] == [2, 3]
    one_way = replace(base, kind=spec.ONE_WAY)
    assert [exchanges_per_operation(each) for each in (one_way, replace(one_way, units=spec.EVERYBODY))] == [1, 2]
    session = replace(base, kind=spec.SESSIONS, session_round_trips=5, goes_round=False)
    assert exchanges_per_operation(session) == 4 + 4 + 5 * 4
