"""Callbacks over a link whose messages are sent before they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.client.remote_site import OK, PATIENCE_SECONDS, RawProgram, RemoteSite, eventually, field, structure

from ostler import mqi
from ostler.client.session.read_ahead import WINDOW
from ostler.model import constants as mqc

AHEAD = mqc.MQOO_INPUT_SHARED | mqc.MQOO_READ_AHEAD
ASYNC = mqc.MQPMO_NO_SYNCPOINT | mqc.MQPMO_ASYNC_RESPONSE
NO_MESSAGE = (b"", mqc.MQRC_NO_MSG_AVAILABLE)
QUICKLY = {"OSTLER_RECONNECT_DELAYS": "(10,10)", "OSTLER_RECONNECT_TIMEOUT": "20"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteSite]:
    made = RemoteSite(tmp_path_factory.mktemp("consume"), "CONSUME")
    yield made
    made.end()


@pytest.fixture(params=["local", "client"])
def program(site: RemoteSite, request: pytest.FixtureRequest) -> Iterator[RawProgram]:
    """It has a link of its own, so that its frames can be counted."""
    made = site.connect(request.param, sharing_conversations=1)
    yield made
    made.leave()


@pytest.fixture
def sender(site: RemoteSite) -> Iterator[RawProgram]:
    made = site.connect("local")
    yield made
    made.leave()


@pytest.fixture
def queue(site: RemoteSite, request: pytest.FixtureRequest) -> str:
    return site.queue(f"Q{abs(hash(request.node.name))}")


class Taken:
    """A callback that keeps what it is called with, and does what a test gives it to do."""

    def __init__(self, action: Callable[[int], object] | None = None) -> None:
        self.bodies: list[bytes] = []
        self.events: list[int] = []
        self.action = action

    def __call__(self, hconn: int, md: bytearray, gmo: bytearray, buffer: bytes, cbc: bytearray) -> None:
        if field("MQCBC", cbc, "CallType") != mqc.MQCBCT_MSG_REMOVED:
            self.events.append(field("MQCBC", cbc, "Reason"))
            return
        self.bodies.append(buffer)
        if self.action is not None:
            self.action(len(self.bodies))


def register(program: RawProgram, hobj: int, function: Taken, wait: int | None = None, **cbd: int) -> None:
    options = mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_FAIL_IF_QUIESCING | (mqc.MQGMO_WAIT if wait is not None else 0)
    gmo = structure("MQGMO", Options=options, WaitInterval=wait or 0)
    asked = structure("MQCBD", **cbd)
    assert mqi.MQCB(program.hconn, mqc.MQOP_REGISTER, asked, hobj, structure("MQMD"), gmo, function) == OK


def manage(program: RawProgram, hobj: int, operation: int) -> None:
    assert mqi.MQCB(program.hconn, operation, structure("MQCBD"), hobj, None, None) == OK


def control(program: RawProgram, operation: int) -> None:
    assert mqi.MQCTL(program.hconn, operation, structure("MQCTLO")) == OK


def every(step: int, action: Callable[[], object]) -> Callable[[int], object]:
    """Do something at each so many messages."""

    def act(count: int) -> None:
        if count % step == 0:
            action()

    return act


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]


def fill(sender: RawProgram, queue: str, bodies: list[bytes], persistent: Callable[[int], bool] | None = None) -> None:
    hobj = sender.open(queue, mqc.MQOO_OUTPUT)
    for number, body in enumerate(bodies):
        persistence = int(persistent is not None and persistent(number))
        assert sender.put(hobj, body, mqc.MQPMO_NO_SYNCPOINT if persistence else ASYNC, persistence) == 0
    assert mqi.MQCLOSE(sender.hconn, hobj, 0)[1:] == OK


def asked_of(site: RemoteSite) -> int:
    """How many frames the queue manager has been sent."""
    return sum(int(link.calls) for link in list(site.server.reactor.links.values()))


def test_thousands_in_order_without_asking_for_each(
    site: RemoteSite, program: RawProgram, sender: RawProgram, queue: str
) -> None:
    bodies = numbers(0, 5000)
    fill(sender, queue, bodies)
    taken = Taken()
    hobj = program.open(queue, AHEAD)
    register(program, hobj, taken)
    before = asked_of(site)
    control(program, mqc.MQOP_START)
    eventually(lambda: len(taken.bodies) >= len(bodies))
    control(program, mqc.MQOP_STOP)
    assert taken.bodies == bodies
    assert asked_of(site) - before < len(bodies) / 10
    assert program.get(hobj) == NO_MESSAGE


def test_messages_that_come_one_by_one(site: RemoteSite, program: RawProgram, sender: RawProgram, queue: str) -> None:
    taken = Taken()
    register(program, program.open(queue, AHEAD), taken)
    control(program, mqc.MQOP_START)
    site.until_waiting(queue)
    for number in range(50):
        fill(sender, queue, [b"%d" % number])
        eventually(lambda: len(taken.bodies) == number + 1)  # noqa: B023
    assert taken.bodies == numbers(0, 50)


@pytest.mark.parametrize("halt", [(mqc.MQOP_STOP, mqc.MQOP_START), (mqc.MQOP_SUSPEND, mqc.MQOP_RESUME)])
def test_stopped_and_started_in_the_middle(
    site: RemoteSite, program: RawProgram, sender: RawProgram, queue: str, halt: tuple[int, int]
) -> None:
    bodies = numbers(0, 5000)
    fill(sender, queue, bodies)
    taken = Taken()
    register(program, program.open(queue, AHEAD), taken)
    control(program, mqc.MQOP_START)
    for share in range(1, 10):
        eventually(lambda: len(taken.bodies) >= 500 * share)  # noqa: B023
        control(program, halt[0])
        count = len(taken.bodies)
        # No more is sent to who is not called; what was sent is kept.
        assert site.depth(queue) >= 5000 - count - WINDOW
        control(program, halt[1])
    eventually(lambda: len(taken.bodies) >= 5000)
    control(program, mqc.MQOP_STOP)
    assert taken.bodies == bodies


def test_stopped_by_its_own_callback(program: RawProgram, sender: RawProgram, queue: str) -> None:
    fill(sender, queue, numbers(0, 200))
    taken = Taken(every(50, lambda: control(program, mqc.MQOP_STOP)))
    hobj = program.open(queue, AHEAD)
    register(program, hobj, taken)
    for count in (50, 100, 150):
        control(program, mqc.MQOP_START_WAIT)
        assert len(taken.bodies) == count
    # The program itself gets the others, first those that were sent ahead.
    manage(program, hobj, mqc.MQOP_DEREGISTER)
    options = mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_WAIT
    rest = [program.get(hobj, options, 20_000)[0] for _ in range(50)]
    assert taken.bodies + rest == numbers(0, 200)
    assert program.get(hobj) == NO_MESSAGE


def test_stopped_while_it_waits(site: RemoteSite, program: RawProgram, queue: str) -> None:
    taken = Taken()
    register(program, program.open(queue, AHEAD), taken)
    for _ in range(20):
        control(program, mqc.MQOP_START)
        site.until_waiting(queue)
        control(program, mqc.MQOP_STOP)
        assert site.manager.engine.queues[queue].waiting.count == 0
    assert (taken.bodies, taken.events) == ([], [])


def test_a_second_consumer_comes_and_goes(
    site: RemoteSite, program: RawProgram, sender: RawProgram, queue: str
) -> None:
    other_queue = site.queue(f"{queue}.2")
    fill(sender, queue, numbers(0, 1000))
    fill(sender, other_queue, numbers(0, 1000))
    first, second = program.open(queue, AHEAD), program.open(other_queue, AHEAD)
    other = Taken(every(10, lambda: manage(program, second, mqc.MQOP_SUSPEND)))
    taken = Taken(every(50, lambda: manage(program, second, mqc.MQOP_RESUME)))
    register(program, first, taken)
    register(program, second, other)
    manage(program, second, mqc.MQOP_SUSPEND)
    control(program, mqc.MQOP_START)
    eventually(lambda: len(taken.bodies) >= 1000)
    control(program, mqc.MQOP_STOP)
    assert len(other.bodies) >= 50
    manage(program, first, mqc.MQOP_DEREGISTER)
    other.action = None
    manage(program, second, mqc.MQOP_RESUME)
    control(program, mqc.MQOP_START)
    eventually(lambda: len(other.bodies) >= 1000)
    control(program, mqc.MQOP_STOP)
    assert taken.bodies == numbers(0, 1000)
    assert other.bodies == numbers(0, 1000)


def test_persistent_messages_among_them(site: RemoteSite, program: RawProgram, sender: RawProgram, queue: str) -> None:
    fill(sender, queue, numbers(0, 300), lambda number: number >= 100 and number % 7 == 0)
    at_risk: list[int] = []
    taken = Taken(lambda count: at_risk.append(300 - count - site.depth(queue)))
    register(program, program.open(queue, AHEAD), taken)
    control(program, mqc.MQOP_START)
    eventually(lambda: len(taken.bodies) >= 300)
    control(program, mqc.MQOP_STOP)
    assert taken.bodies == numbers(0, 300)
    assert 0 < max(at_risk[:100]) <= WINDOW
    assert set(at_risk[105 + WINDOW :]) == {0}, "nothing is sent ahead any more"


def test_a_handle_that_is_closed_in_its_callback(
    site: RemoteSite, program: RawProgram, sender: RawProgram, queue: str
) -> None:
    fill(sender, queue, numbers(0, 100))
    hobj = program.open(queue, AHEAD)
    taken = Taken(lambda count: count == 20 and mqi.MQCLOSE(program.hconn, hobj, mqc.MQCO_IMMEDIATE))
    register(program, hobj, taken)
    control(program, mqc.MQOP_START)
    eventually(lambda: hobj not in program.remote.handles)
    control(program, mqc.MQOP_STOP)
    assert taken.bodies == numbers(0, 20)
    # What was sent ahead is gone, no more than that.
    left = program.open(queue)
    rest = numbers(100 - site.depth(queue), 100)
    assert len(rest) >= 80 - WINDOW
    assert [program.get(left)[0] for _ in rest] == rest


def test_a_get_in_a_callback_takes_the_next_one(program: RawProgram, sender: RawProgram, queue: str) -> None:
    fill(sender, queue, numbers(0, 100))
    hobj = program.open(queue, AHEAD)
    got: list[bytes] = []
    taken = Taken(lambda count: got.append(program.get(hobj, mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_WAIT, 20_000)[0]))
    register(program, hobj, taken)
    control(program, mqc.MQOP_START)
    eventually(lambda: len(got) >= 50)
    control(program, mqc.MQOP_STOP)
    assert (taken.bodies, got) == (numbers(0, 100)[::2], numbers(0, 100)[1::2])


def test_it_is_told_that_nothing_comes(program: RawProgram, sender: RawProgram, queue: str) -> None:
    fill(sender, queue, numbers(0, 10))
    taken = Taken()
    register(program, program.open(queue, AHEAD), taken, wait=0, Options=mqc.MQCBDO_EVENT_CALL)
    control(program, mqc.MQOP_START)
    eventually(lambda: bool(taken.events))
    assert (taken.bodies, taken.events) == (numbers(0, 10), [mqc.MQRC_NO_MSG_AVAILABLE])
    fill(sender, queue, [b"later"])
    eventually(lambda: len(taken.events) == 2)
    assert taken.bodies[10:] == [b"later"]


def test_a_message_too_long_for_the_consumer_stays(program: RawProgram, sender: RawProgram, queue: str) -> None:
    fill(sender, queue, [b"short", b"much too long", b"fits"])
    taken = Taken()
    hobj = program.open(queue, AHEAD)
    register(program, hobj, taken, MaxMsgLength=5)
    control(program, mqc.MQOP_START)
    eventually(lambda: mqc.MQRC_TRUNCATED_MSG_FAILED in taken.events)
    control(program, mqc.MQOP_STOP)
    assert taken.bodies == [b"short"]
    options = mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_WAIT
    assert [program.get(hobj, options, 20_000)[0] for _ in range(2)] == [b"much too long", b"fits"]


def test_a_lost_link_and_a_new_one(site: RemoteSite, sender: RawProgram, queue: str) -> None:
    program = site.connect(environment=QUICKLY, sharing_conversations=1, reconnect="yes")
    taken = Taken()
    register(program, program.open(queue, AHEAD), taken)
    control(program, mqc.MQOP_START)
    for number in range(5):
        site.until_waiting(queue)
        fill(sender, queue, [b"%d" % number])
        eventually(lambda: len(taken.bodies) == number + 1)  # noqa: B023
        program.break_link()
        eventually(lambda: program.remote.generation == number + 1)  # noqa: B023
    assert taken.bodies == numbers(0, 5)
    assert program.leave() == OK


def test_the_end_of_the_queue_manager(tmp_path_factory: pytest.TempPathFactory) -> None:
    site = RemoteSite(tmp_path_factory.mktemp("ending"), "ENDING")
    site.queue("Q")
    program = site.connect(sharing_conversations=1)
    getter = site.connect("local", sharing_conversations=1)
    taken = Taken()
    register(program, program.open("Q", AHEAD), taken)
    control(program, mqc.MQOP_START)
    site.until_waiting("Q")
    hobj = getter.open("Q", AHEAD)
    options = mqc.MQGMO_WAIT | mqc.MQGMO_FAIL_IF_QUIESCING
    got: list[tuple[bytes, int]] = []
    wait = threading.Thread(target=lambda: got.append(getter.get(hobj, options, -1)))
    wait.start()
    eventually(lambda: site.manager.engine.queues["Q"].waiting.count == 2)
    ending = threading.Thread(target=lambda: site.end("quiesce"))
    ending.start()
    eventually(lambda: mqc.MQRC_Q_MGR_QUIESCING in taken.events)
    wait.join(PATIENCE_SECONDS)
    assert got == [(b"", mqc.MQRC_Q_MGR_QUIESCING)]
    getter.leave()
    program.leave()
    ending.join(PATIENCE_SECONDS)
    assert not ending.is_alive()


def test_another_thread_leaves_while_it_waits(site: RemoteSite, queue: str) -> None:
    """The link stays, as others use it; whoever waited on the connection must not wait for ever."""
    one, two = site.connect(), site.connect()
    assert one.remote.conversation.link is two.remote.conversation.link
    hobj = two.open(queue, AHEAD)
    got: list[tuple[bytes, int]] = []
    wait = threading.Thread(target=lambda: got.append(two.get(hobj, mqc.MQGMO_WAIT, -1)))
    wait.start()
    site.until_waiting(queue)
    assert two.leave() == OK
    wait.join(PATIENCE_SECONDS)
    assert got == [(b"", mqc.MQRC_CONNECTION_BROKEN)]
    assert one.leave() == OK
