"""MQCB and MQCTL: messages by callback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType
from ostler.server.queue_manager import QueueManager

OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
FAILED = mqc.MQCC_FAILED
WARNING = mqc.MQCC_WARNING
PATIENCE_SECONDS = 60.0


class Call:
    """One call of a callback, as the test looks at it."""

    def __init__(self, app: Any, hconn: int, md: bytearray, gmo: bytearray, buffer: bytes, cbc: bytearray) -> None:
        self.hconn = hconn
        self.md = md
        self.gmo = gmo
        self.data = buffer
        self.cbc = cbc
        self.thread = threading.current_thread()
        for field in ("CallType", "Reason", "CompCode", "State", "Hobj", "DataLength", "BufferLength"):
            setattr(self, field, app.read("MQCBC", cbc, field))

    CallType: int
    Reason: int
    CompCode: int
    State: int
    Hobj: int
    DataLength: int
    BufferLength: int


class Recorder:
    """A callback that keeps its calls, and does what a test gives it to do in them."""

    def __init__(self, app: Any, action: Callable[[Call], object] | None = None) -> None:
        self.app = app
        self.action = action
        self.calls: Queue[Call] = Queue()

    def __call__(self, hconn: int, md: bytearray, gmo: bytearray, buffer: bytes, cbc: bytearray) -> None:
        call = Call(self.app, hconn, md, gmo, buffer, cbc)
        if self.action is not None:
            self.action(call)
        self.calls.put(call)

    def next(self) -> Call:
        return self.calls.get(timeout=PATIENCE_SECONDS)

    def types(self) -> list[int]:
        """The types of all calls so far."""
        return [self.calls.get_nowait().CallType for _ in range(self.calls.qsize())]


@pytest.fixture
def consumer_app(app: Any) -> Iterator[Any]:
    """The connection of `app` puts and looks; this one has the callbacks."""
    app.consumer = app.connect()
    yield app
    mqi.MQDISC(app.consumer)


def register(
    app: Any,
    hobj: int,
    function: Any,
    gmo: dict[str, int] | None = None,
    operation: int = mqc.MQOP_REGISTER,
    **cbd: int,
) -> tuple[int, int]:
    return mqi.MQCB(
        app.consumer,
        operation,
        app.structure("MQCBD", **cbd),
        hobj,
        app.structure("MQMD"),
        app.structure("MQGMO", **{"Options": mqc.MQGMO_NO_SYNCPOINT, **(gmo or {})}),
        function,
    )


def control(app: Any, operation: int) -> tuple[int, int]:
    return mqi.MQCTL(app.consumer, operation, app.structure("MQCTLO"))


def consuming(app: Any, recorder: Recorder, name: str = "", **register_options: Any) -> tuple[str, int]:
    """A queue with a started consumer."""
    name = name or app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED | mqc.MQOO_BROWSE, app.consumer)
    assert register(app, hobj, recorder, **register_options) == OK
    assert control(app, mqc.MQOP_START) == OK
    return name, hobj


# -- messages ---------------------------------------------------------------------------------------------------------


def test_messages_arrive_one_by_one_with_their_context(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    name = app.queue()
    app.put(name, b"was there")
    _, hobj = consuming(app, recorder, name)
    app.put(name, b"came later", persistence=1)
    first, second = recorder.next(), recorder.next()
    assert (first.data, second.data) == (b"was there", b"came later")
    assert first.thread is second.thread
    assert first.thread is not threading.current_thread()
    assert first.hconn == app.consumer
    assert (first.CallType, first.Reason, first.CompCode, first.State) == (mqc.MQCBCT_MSG_REMOVED, 0, 0, 0)
    assert (second.Hobj, second.DataLength, second.BufferLength) == (hobj, 10, 10)
    assert app.read("MQMD", second.md, "Persistence") == mqc.MQPER_PERSISTENT
    assert app.read("MQGMO", second.gmo, "ResolvedQName") == name.encode()
    assert app.depth(name) == 0


def test_several_consumers_share_a_connection(consumer_app: Any) -> None:
    app = consumer_app
    recorders = [Recorder(app) for _ in range(3)]
    names = [app.queue() for _ in range(3)]
    for name, recorder in zip(names, recorders, strict=True):
        hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
        assert register(app, hobj, recorder) == OK
    assert control(app, mqc.MQOP_START) == OK
    for number in range(5):
        for name in names:
            app.put(name, f"{name} {number}".encode())
    for name, recorder in zip(names, recorders, strict=True):
        assert [recorder.next().data for _ in range(5)] == [f"{name} {number}".encode() for number in range(5)]


@pytest.mark.within_process
def test_a_callback_commits_only_what_it_was_called_with(consumer_app: Any) -> None:
    """While one consumer runs, the other's message must still be on its queue, in no unit of work."""
    app = consumer_app
    entered, go_on = threading.Event(), threading.Event()

    def hold(call: Call) -> None:
        entered.set()
        assert go_on.wait(PATIENCE_SECONDS)
        assert mqi.MQCMIT(call.hconn) == OK

    first, second = Recorder(app, hold), Recorder(app, lambda call: mqi.MQBACK(call.hconn) and None)
    names = [app.queue(), app.queue()]
    for name, recorder in zip(names, (first, second), strict=True):
        hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
        assert register(app, hobj, recorder, {"Options": mqc.MQGMO_SYNCPOINT}) == OK
    assert control(app, mqc.MQOP_START) == OK
    app.put(names[0], b"one")
    assert entered.wait(PATIENCE_SECONDS)
    app.put(names[1], b"two")
    unit = next(each for each in list(app.manager.engine.connections.values()) if each.consuming).unit_of_work
    assert len(unit.entries) == 1
    go_on.set()
    assert first.next().data == b"one"
    # It backs its message out, so the same message comes again with its count raised.
    assert app.read("MQMD", second.next().md, "BackoutCount") == 0
    assert app.read("MQMD", second.next().md, "BackoutCount") == 1


def test_browsing_consumers_take_nothing(consumer_app: Any) -> None:
    app = consumer_app
    name = app.queue()
    app.put(name, b"1")
    app.put(name, b"2")
    recorder, other = Recorder(app), Recorder(app)
    quiet = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, quiet, other) == OK
    consuming(app, recorder, name, gmo={"Options": mqc.MQGMO_BROWSE_FIRST | mqc.MQGMO_BROWSE_NEXT})
    calls = [recorder.next(), recorder.next()]
    app.put(name, b"3")
    calls.append(recorder.next())
    assert [call.data for call in calls] == [b"1", b"2", b"3"]
    assert {call.CallType for call in calls} == {mqc.MQCBCT_MSG_NOT_REMOVED}
    assert app.depth(name) == 3


def test_selection_by_correlation_id(consumer_app: Any) -> None:
    app = consumer_app
    name = app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
    recorder = Recorder(app)
    wanted = b"W" * 24
    answer = mqi.MQCB(
        app.consumer,
        mqc.MQOP_REGISTER,
        app.structure("MQCBD"),
        hobj,
        app.structure("MQMD", CorrelId=wanted),
        app.structure("MQGMO"),
        recorder,
    )
    assert answer == OK
    assert control(app, mqc.MQOP_START) == OK
    app.put(name, b"for somebody else")
    md = app.structure("MQMD", CorrelId=wanted)
    od = app.structure("MQOD", ObjectName=name)
    assert mqi.MQPUT1(app.hconn, od, md, app.structure("MQPMO"), b"mine") == OK
    assert recorder.next().data == b"mine"
    assert app.depth(name) == 1


def test_long_messages(consumer_app: Any) -> None:
    app = consumer_app
    cut = Recorder(app)
    name, _ = consuming(app, cut, gmo={"Options": mqc.MQGMO_ACCEPT_TRUNCATED_MSG}, MaxMsgLength=4)
    app.put(name, b"longer than four")
    call = cut.next()
    assert (call.data, call.DataLength, call.BufferLength) == (b"long", 16, 4)
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_MSG_REMOVED, mqc.MQRC_TRUNCATED_MSG_ACCEPTED)


def test_a_message_that_is_too_long_suspends_until_the_callback_acts(consumer_app: Any) -> None:
    app = consumer_app

    def act(call: Call) -> None:
        if call.Reason == mqc.MQRC_TRUNCATED_MSG_FAILED:
            data, _, _, _ = mqi.MQGET(call.hconn, call.Hobj, app.structure("MQMD"), app.structure("MQGMO"), 100)
            taken.append(data)
            assert mqi.MQCB(call.hconn, mqc.MQOP_RESUME, None, call.Hobj, None, None) == OK

    taken: list[bytes] = []
    recorder = Recorder(app, act)
    name, _ = consuming(app, recorder, MaxMsgLength=4)
    app.put(name, b"longer than four")
    app.put(name, b"fits")
    call = recorder.next()
    assert (call.CallType, call.CompCode) == (mqc.MQCBCT_MSG_NOT_REMOVED, WARNING)
    assert call.State == mqc.MQCS_SUSPENDED_USER_ACTION
    assert recorder.next().data == b"fits"
    assert taken == [b"longer than four"]


def test_nothing_within_the_wait_interval(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    name, _ = consuming(app, recorder, gmo={"Options": mqc.MQGMO_WAIT, "WaitInterval": 1})
    call = recorder.next()
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_NO_MSG_AVAILABLE)
    app.put(name, b"x")
    while call.CallType == mqc.MQCBCT_EVENT_CALL:
        call = recorder.next()
    assert call.data == b"x"


def test_properties_go_into_the_handle(consumer_app: Any) -> None:
    app = consumer_app
    name = app.queue()
    hmsg, _, _ = mqi.MQCRTMH(app.hconn, None)
    assert mqi.MQSETMP(app.hconn, hmsg, None, "colour", None, mqc.MQTYPE_STRING, b"red") == OK
    od, pmo = app.structure("MQOD", ObjectName=name), app.structure("MQPMO", OriginalMsgHandle=hmsg)
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), pmo, b"x") == OK
    own, _, _ = mqi.MQCRTMH(app.consumer, None)
    seen: list[bytes] = []
    recorder = Recorder(app, lambda call: seen.append(mqi.MQINQMP(call.hconn, own, None, "colour", None, 0, 10)[1]))
    consuming(app, recorder, name, gmo={"MsgHandle": own, "Options": mqc.MQGMO_PROPERTIES_IN_HANDLE})
    assert recorder.next().data == b"x"
    assert seen == [b"red"]


# -- control calls ----------------------------------------------------------------------------------------------------

ALL_CALLS = mqc.MQCBDO_REGISTER_CALL | mqc.MQCBDO_START_CALL | mqc.MQCBDO_STOP_CALL | mqc.MQCBDO_DEREGISTER_CALL


def test_control_calls_come_in_order(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    name, hobj = consuming(app, recorder, Options=ALL_CALLS)
    app.put(name, b"x")
    calls = [recorder.next().CallType for _ in range(3)]
    assert calls == [mqc.MQCBCT_REGISTER_CALL, mqc.MQCBCT_START_CALL, mqc.MQCBCT_MSG_REMOVED]
    assert control(app, mqc.MQOP_STOP) == OK
    assert recorder.types() == [mqc.MQCBCT_STOP_CALL]
    assert mqi.MQCB(app.consumer, mqc.MQOP_DEREGISTER, None, hobj, None, None) == OK
    assert recorder.types() == [mqc.MQCBCT_DEREGISTER_CALL]


def test_closing_the_handle_deregisters(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, recorder, Options=mqc.MQCBDO_DEREGISTER_CALL) == OK
    assert mqi.MQCLOSE(app.consumer, hobj, 0)[1:] == OK
    call = recorder.next()
    assert (call.CallType, call.Hobj) == (mqc.MQCBCT_DEREGISTER_CALL, mqc.MQHO_UNUSABLE_HOBJ)


def test_areas_are_the_program_s_own(consumer_app: Any) -> None:
    app = consumer_app
    areas: list[tuple[Any, Any]] = []

    def count(call: Call) -> None:
        area = app.read("MQCBC", call.cbc, "CallbackArea")
        areas.append((area, app.read("MQCBC", call.cbc, "ConnectionArea")))
        call.cbc[16:24] = (area + 1).to_bytes(8, "little")

    recorder = Recorder(app, count)
    name = app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, recorder, CallbackArea=7) == OK
    assert mqi.MQCTL(app.consumer, mqc.MQOP_START, app.structure("MQCTLO", ConnectionArea=99)) == OK
    app.put(name, b"1")
    app.put(name, b"2")
    recorder.next()
    recorder.next()
    assert areas == [(7, 99), (8, 99)]


def test_a_callback_by_name(consumer_app: Any) -> None:
    app = consumer_app
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, None, CallbackName="builtins:print") == OK


def test_suspending_and_resuming_one_consumer(consumer_app: Any) -> None:
    app = consumer_app
    recorder, other = Recorder(app), Recorder(app)
    name, other_name = app.queue(), app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, recorder, operation=mqc.MQOP_REGISTER | mqc.MQOP_SUSPEND) == OK
    consuming(app, other, other_name)
    app.put(name, b"waits")
    app.put(other_name, b"goes")
    assert other.next().data == b"goes"
    assert control(app, mqc.MQOP_STOP) == OK
    assert recorder.calls.qsize() == 0
    assert app.depth(name) == 1
    assert mqi.MQCB(app.consumer, mqc.MQOP_RESUME, None, hobj, None, None) == OK
    assert control(app, mqc.MQOP_START) == OK
    assert recorder.next().data == b"waits"


def test_a_callback_that_registers_another(consumer_app: Any) -> None:
    app = consumer_app
    second = Recorder(app)
    second_name = app.queue()
    app.put(second_name, b"second")

    def introduce(call: Call) -> None:
        hobj = app.open(second_name, mqc.MQOO_INPUT_SHARED, call.hconn)
        assert register(app, hobj, second, Options=ALL_CALLS) == OK
        assert second.calls.qsize() == 0

    first = Recorder(app, introduce)
    name, _ = consuming(app, first)
    app.put(name, b"first")
    assert first.next().data == b"first"
    types = [second.next().CallType for _ in range(3)]
    assert types == [mqc.MQCBCT_REGISTER_CALL, mqc.MQCBCT_START_CALL, mqc.MQCBCT_MSG_REMOVED]


def test_a_callback_that_deregisters_itself(consumer_app: Any) -> None:
    app = consumer_app

    def leave(call: Call) -> None:
        if call.CallType == mqc.MQCBCT_MSG_REMOVED:
            assert mqi.MQCB(call.hconn, mqc.MQOP_DEREGISTER, None, call.Hobj, None, None) == OK

    recorder = Recorder(app, leave)
    options = mqc.MQCBDO_STOP_CALL | mqc.MQCBDO_DEREGISTER_CALL
    name, _ = consuming(app, recorder, Options=options)
    app.put(name, b"last")
    types = [recorder.next().CallType for _ in range(3)]
    assert types == [mqc.MQCBCT_MSG_REMOVED, mqc.MQCBCT_STOP_CALL, mqc.MQCBCT_DEREGISTER_CALL]
    app.put(name, b"stays")
    assert control(app, mqc.MQOP_STOP) == OK
    assert app.depth(name) == 1


# -- starting and stopping --------------------------------------------------------------------------------------------


def test_stop_waits_for_the_callback_under_way(consumer_app: Any) -> None:
    app = consumer_app
    entered, go_on = threading.Event(), threading.Event()

    def hold(call: Call) -> None:
        entered.set()
        assert go_on.wait(PATIENCE_SECONDS)

    recorder = Recorder(app, hold)
    name, _ = consuming(app, recorder)
    app.put(name, b"x")
    assert entered.wait(PATIENCE_SECONDS)
    threading.Timer(0.01, go_on.set).start()
    assert control(app, mqc.MQOP_STOP) == OK
    assert recorder.calls.qsize() == 1
    app.put(name, b"y")
    assert app.depth(name) == 1


def test_stopping_inside_a_callback_and_starting_again(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app, lambda call: mqi.MQCTL(call.hconn, mqc.MQOP_STOP, None))
    name, _ = consuming(app, recorder)
    app.put(name, b"1")
    app.put(name, b"2")
    assert recorder.next().data == b"1"
    assert control(app, mqc.MQOP_STOP) == OK
    assert app.depth(name) == 1
    assert control(app, mqc.MQOP_START) == OK
    assert recorder.next().data == b"2"


def test_a_stop_inside_a_callback_can_be_cancelled_there(consumer_app: Any) -> None:
    app = consumer_app

    def waver(call: Call) -> None:
        assert mqi.MQCTL(call.hconn, mqc.MQOP_STOP, None) == OK
        assert mqi.MQCTL(call.hconn, mqc.MQOP_START, None) == OK

    recorder = Recorder(app, waver)
    name, _ = consuming(app, recorder)
    app.put(name, b"1")
    app.put(name, b"2")
    assert [recorder.next().data, recorder.next().data] == [b"1", b"2"]


def test_stopping_in_the_start_call(consumer_app: Any) -> None:
    app = consumer_app
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    recorder = Recorder(app, lambda call: mqi.MQCTL(call.hconn, mqc.MQOP_STOP, None))
    assert register(app, hobj, recorder, Options=mqc.MQCBDO_START_CALL) == OK
    assert control(app, mqc.MQOP_START) == (FAILED, mqc.MQRC_CONNECTION_STOPPED)


def test_suspending_the_connection_gives_it_back(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    name, _ = consuming(app, recorder)
    assert control(app, mqc.MQOP_SUSPEND) == OK
    app.put(name, b"x")
    assert mqi.MQCMIT(app.consumer) == OK
    assert control(app, mqc.MQOP_START) == (FAILED, mqc.MQRC_OPERATION_NOT_ALLOWED)
    assert control(app, mqc.MQOP_START_WAIT) == (FAILED, mqc.MQRC_OPERATION_NOT_ALLOWED)
    assert recorder.calls.qsize() == 0
    assert control(app, mqc.MQOP_RESUME) == OK
    assert recorder.next().data == b"x"


def test_stopping_a_suspended_connection_makes_the_stop_calls(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    consuming(app, recorder, Options=mqc.MQCBDO_STOP_CALL)
    assert control(app, mqc.MQOP_SUSPEND) == OK
    assert recorder.types() == []
    assert control(app, mqc.MQOP_STOP) == OK
    assert recorder.types() == [mqc.MQCBCT_STOP_CALL]
    assert control(app, mqc.MQOP_START) == OK


def test_start_and_wait_runs_on_this_thread(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app, lambda call: mqi.MQCTL(call.hconn, mqc.MQOP_STOP, None))
    name = app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
    assert control(app, mqc.MQOP_START_WAIT) == (FAILED, mqc.MQRC_NO_CALLBACKS_ACTIVE)
    assert register(app, hobj, recorder) == OK
    app.put(name, b"x")
    assert control(app, mqc.MQOP_START_WAIT) == OK
    assert recorder.next().thread is threading.current_thread()


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (mqc.MQOP_SUSPEND, (WARNING, mqc.MQRC_CONNECTION_SUSPENDED)),
        (mqc.MQOP_DEREGISTER, (FAILED, mqc.MQRC_NO_CALLBACKS_ACTIVE)),
    ],
)
def test_how_start_and_wait_ends(consumer_app: Any, operation: int, expected: tuple[int, int]) -> None:
    app = consumer_app

    def end(call: Call) -> None:
        if operation == mqc.MQOP_SUSPEND:
            assert mqi.MQCTL(call.hconn, operation, None) == OK
        else:
            assert mqi.MQCB(call.hconn, operation, None, call.Hobj, None, None) == OK

    name = app.queue()
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, Recorder(app, end)) == OK
    app.put(name, b"x")
    assert control(app, mqc.MQOP_START_WAIT) == expected


def test_waiting_for_callbacks_in_a_callback(consumer_app: Any) -> None:
    app = consumer_app
    answers: list[tuple[int, int]] = []
    recorder = Recorder(app, lambda call: answers.append(mqi.MQCTL(call.hconn, mqc.MQOP_START_WAIT, None)))
    name, _ = consuming(app, recorder)
    app.put(name, b"x")
    recorder.next()
    assert answers == [(FAILED, mqc.MQRC_ENVIRONMENT_ERROR)]


def test_other_verbs_while_callbacks_are_started(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    name, hobj = consuming(app, recorder)
    md, gmo, pmo = app.structure("MQMD"), app.structure("MQGMO"), app.structure("MQPMO")
    od = app.structure("MQOD", ObjectName=name)
    active = (FAILED, mqc.MQRC_HCONN_ASYNC_ACTIVE)
    h = app.consumer
    assert mqi.MQOPEN(h, od, mqc.MQOO_OUTPUT)[1:] == active
    assert mqi.MQCLOSE(h, hobj, 0)[1:] == active
    assert mqi.MQPUT1(h, od, md, pmo, b"") == active
    assert mqi.MQINQ(h, hobj, [], 0, 0)[2:] == active
    assert mqi.MQSET(h, hobj, [], [], b"") == active
    assert mqi.MQSTAT(h, 0, app.structure("MQSTS")) == active
    assert mqi.MQCRTMH(h, None)[1:] == active
    assert register(app, hobj, recorder) == active
    assert control(app, mqc.MQOP_START) == active
    assert control(app, mqc.MQOP_RESUME) == active
    assert control(app, mqc.MQOP_START_WAIT) == (FAILED, mqc.MQRC_OPERATION_NOT_ALLOWED)
    assert mqi.MQGET(h, hobj, md, gmo, 10)[2:] == active
    assert mqi.MQPUT(h, hobj, md, pmo, b"") == active
    assert mqi.MQCMIT(h) == active
    assert mqi.MQBACK(h) == active
    assert control(app, mqc.MQOP_STOP) == OK
    assert mqi.MQCMIT(h) == OK


def test_all_verbs_work_inside_a_callback(consumer_app: Any) -> None:
    app = consumer_app
    reply = app.queue()
    reasons: list[int] = []

    def answer(call: Call) -> None:
        h = call.hconn
        hobj, _, rc = mqi.MQOPEN(h, app.structure("MQOD", ObjectName=reply), mqc.MQOO_OUTPUT | mqc.MQOO_INQUIRE)
        reasons.append(rc)
        pmo = app.structure("MQPMO", Options=mqc.MQPMO_SYNCPOINT)
        reasons.append(mqi.MQPUT(h, hobj, app.structure("MQMD"), pmo, call.data[::-1])[1])
        reasons.append(mqi.MQINQ(h, hobj, [mqc.MQIA_CURRENT_Q_DEPTH], 1, 0)[3])
        reasons.append(mqi.MQCLOSE(h, hobj, 0)[2])
        reasons.append(mqi.MQCMIT(h)[1])

    recorder = Recorder(app, answer)
    name, _ = consuming(app, recorder, gmo={"Options": mqc.MQGMO_SYNCPOINT})
    app.put(name, b"abc")
    recorder.next()
    assert reasons == [0, 0, 0, 0, 0]
    assert app.get(app.open(reply, mqc.MQOO_INPUT_SHARED)) == (b"cba", 0)


@pytest.mark.within_process
def test_disconnecting_stops_and_deregisters(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    options = mqc.MQCBDO_STOP_CALL | mqc.MQCBDO_DEREGISTER_CALL
    consuming(app, recorder, Options=options)
    told = len(app.manager.on_end)
    assert mqi.MQDISC(app.consumer)[1:] == OK
    assert recorder.types() == [mqc.MQCBCT_STOP_CALL, mqc.MQCBCT_DEREGISTER_CALL]
    assert len(app.manager.on_end) == told - 1
    assert mqi.MQCTL(app.consumer, mqc.MQOP_STOP, None)[1] == mqc.MQRC_HCONN_ERROR


def test_disconnecting_inside_a_callback(consumer_app: Any) -> None:
    app = consumer_app

    def leave(call: Call) -> None:
        if call.CallType == mqc.MQCBCT_MSG_REMOVED:
            assert mqi.MQDISC(call.hconn)[1:] == OK
            assert mqi.MQINQMP(call.hconn, 1, None, "a", None, 0, 1)[4] == mqc.MQRC_HMSG_ERROR  # still connected

    recorder = Recorder(app, leave)
    options = mqc.MQCBDO_STOP_CALL | mqc.MQCBDO_DEREGISTER_CALL
    name, _ = consuming(app, recorder, gmo={"Options": mqc.MQGMO_SYNCPOINT}, Options=options)
    app.put(name, b"x")
    calls = [recorder.next() for _ in range(3)]
    assert [call.CallType for call in calls] == [
        mqc.MQCBCT_MSG_REMOVED,
        mqc.MQCBCT_STOP_CALL,
        mqc.MQCBCT_DEREGISTER_CALL,
    ]
    calls[-1].thread.join(PATIENCE_SECONDS)
    assert mqi.MQCMIT(app.consumer)[1] == mqc.MQRC_HCONN_ERROR
    assert app.depth(name) == 0


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (0, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_REGISTER | mqc.MQOP_DEREGISTER, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_SUSPEND | mqc.MQOP_RESUME, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_START, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_DEREGISTER, mqc.MQRC_CALLBACK_NOT_REGISTERED),
        (mqc.MQOP_SUSPEND, mqc.MQRC_CALLBACK_NOT_REGISTERED),
        (mqc.MQOP_RESUME, mqc.MQRC_CALLBACK_NOT_REGISTERED),
    ],
)
def test_operations_of_mqcb(consumer_app: Any, operation: int, reason: int) -> None:
    app = consumer_app
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, print, operation=operation) == (FAILED, reason)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (0, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_START | mqc.MQOP_STOP, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_REGISTER, mqc.MQRC_OPERATION_ERROR),
        (mqc.MQOP_SUSPEND, mqc.MQRC_OPERATION_NOT_ALLOWED),
        (mqc.MQOP_RESUME, mqc.MQRC_OPERATION_NOT_ALLOWED),
        (mqc.MQOP_START_WAIT, mqc.MQRC_NO_CALLBACKS_ACTIVE),
        (mqc.MQOP_STOP, mqc.MQRC_NONE),
    ],
)
def test_operations_of_mqctl(consumer_app: Any, operation: int, reason: int) -> None:
    assert control(consumer_app, operation)[1] == reason


@pytest.mark.parametrize(
    ("cbd", "gmo", "reason"),
    [
        ({"CallbackType": 3}, {}, mqc.MQRC_CALLBACK_TYPE_ERROR),
        ({"Options": 0x10000}, {}, mqc.MQRC_CBD_OPTIONS_ERROR),
        ({"MaxMsgLength": -2}, {}, mqc.MQRC_MAX_MSG_LENGTH_ERROR),
        ({"CallbackName": "some:thing"}, {}, mqc.MQRC_CALLBACK_ROUTINE_ERROR),
        ({"CallbackFunction": 4096}, {}, mqc.MQRC_CALLBACK_ROUTINE_ERROR),
        ({"Version": 2}, {}, mqc.MQRC_CBD_ERROR),
        ({}, {"Version": 9}, mqc.MQRC_GMO_ERROR),
        ({}, {"Options": mqc.MQGMO_SET_SIGNAL}, mqc.MQRC_OPTIONS_ERROR),
        ({}, {"Options": mqc.MQGMO_MSG_UNDER_CURSOR}, mqc.MQRC_OPTIONS_ERROR),
        ({}, {"Options": mqc.MQGMO_LOCK | mqc.MQGMO_BROWSE_FIRST}, mqc.MQRC_OPTIONS_ERROR),
        ({}, {"Options": mqc.MQGMO_SYNCPOINT | mqc.MQGMO_NO_SYNCPOINT}, mqc.MQRC_OPTIONS_ERROR),
        ({}, {"Options": mqc.MQGMO_BROWSE_FIRST}, mqc.MQRC_NOT_OPEN_FOR_BROWSE),
        ({}, {"Options": mqc.MQGMO_WAIT, "WaitInterval": -5}, mqc.MQRC_WAIT_INTERVAL_ERROR),
        ({}, {"Options": mqc.MQGMO_PROPERTIES_IN_HANDLE}, mqc.MQRC_HMSG_ERROR),
        ({}, {"MsgHandle": 987654}, mqc.MQRC_HMSG_ERROR),
        ({}, {"MatchOptions": 0x1000}, mqc.MQRC_MATCH_OPTIONS_ERROR),
    ],
)
def test_callbacks_that_cannot_be_registered(
    consumer_app: Any, cbd: dict[str, Any], gmo: dict[str, int], reason: int
) -> None:
    app = consumer_app
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, print, gmo, **cbd) == (FAILED, reason)
    assert mqi.MQCB(app.consumer, mqc.MQOP_DEREGISTER, None, hobj, None, None)[1] == mqc.MQRC_CALLBACK_NOT_REGISTERED


@pytest.mark.parametrize("operation", [mqc.MQOP_DEREGISTER, mqc.MQOP_SUSPEND, mqc.MQOP_RESUME])
def test_operations_on_a_handle_that_is_none(consumer_app: Any, operation: int) -> None:
    answer = mqi.MQCB(consumer_app.consumer, operation, None, 9999, None, None)
    assert answer == (FAILED, mqc.MQRC_HOBJ_ERROR)


def test_more_callbacks_that_cannot_be_registered(consumer_app: Any) -> None:
    app = consumer_app
    hobj = app.open(app.queue(), mqc.MQOO_OUTPUT, app.consumer)
    assert register(app, hobj, print) == (FAILED, mqc.MQRC_NOT_OPEN_FOR_INPUT)
    assert register(app, hobj, None) == (FAILED, mqc.MQRC_CALLBACK_ROUTINE_ERROR)
    assert register(app, hobj, 5) == (FAILED, mqc.MQRC_CALLBACK_ROUTINE_ERROR)
    for name in ("no.such.module:function", "builtins:nothing", "builtins:__name__", "builtins"):
        assert register(app, hobj, None, CallbackName=name) == (FAILED, mqc.MQRC_CALLBACK_LINK_ERROR)
    cbd, md, gmo = app.structure("MQCBD"), app.structure("MQMD"), app.structure("MQGMO")
    assert mqi.MQCB(app.consumer, mqc.MQOP_REGISTER, None, hobj, md, gmo, print)[1] == mqc.MQRC_CBD_ERROR
    assert mqi.MQCB(app.consumer, mqc.MQOP_REGISTER, cbd, hobj, None, gmo, print)[1] == mqc.MQRC_MD_ERROR
    assert mqi.MQCB(app.consumer, mqc.MQOP_REGISTER, cbd, hobj, md, None, print)[1] == mqc.MQRC_GMO_ERROR
    assert mqi.MQCTL(app.consumer, mqc.MQOP_STOP, bytearray(b"CTLO\x09\0\0\0"))[1] == mqc.MQRC_CTLO_ERROR
    ctlo = app.structure("MQCTLO", Options=4)
    assert mqi.MQCTL(app.consumer, mqc.MQOP_STOP, ctlo)[1] == mqc.MQRC_OPTIONS_ERROR


def test_a_failed_replacement_leaves_nothing_registered(consumer_app: Any) -> None:
    app = consumer_app
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_SHARED, app.consumer)
    assert register(app, hobj, print) == OK
    assert register(app, hobj, print, MaxMsgLength=-9) == (FAILED, mqc.MQRC_MAX_MSG_LENGTH_ERROR)
    assert mqi.MQCB(app.consumer, mqc.MQOP_DEREGISTER, None, hobj, None, None)[1] == mqc.MQRC_CALLBACK_NOT_REGISTERED


def test_a_unit_of_work_stands_against_starting(consumer_app: Any) -> None:
    app = consumer_app
    od = app.structure("MQOD", ObjectName=app.queue())
    pmo = app.structure("MQPMO", Options=mqc.MQPMO_SYNCPOINT)
    assert mqi.MQPUT1(app.consumer, od, app.structure("MQMD"), pmo, b"x") == OK
    assert control(app, mqc.MQOP_START) == (FAILED, mqc.MQRC_ASYNC_UOW_CONFLICT)
    assert mqi.MQBACK(app.consumer) == OK
    assert control(app, mqc.MQOP_START) == OK


# -- failures and events ----------------------------------------------------------------------------------------------


def test_an_inhibited_queue_is_reported_and_tried_again(consumer_app: Any) -> None:
    app = consumer_app
    recorder = Recorder(app)
    name, _ = consuming(app, recorder)
    hobj = app.open(name, mqc.MQOO_SET)
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [1], b"") == OK
    call = recorder.next()
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_GET_INHIBITED)
    assert (call.State, call.CompCode) == (mqc.MQCS_SUSPENDED_TEMPORARY, FAILED)
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [0], b"") == OK
    app.put(name, b"again")
    assert recorder.next().data == b"again"


def test_a_queue_that_is_deleted_suspends_its_consumer(consumer_app: Any) -> None:
    app = consumer_app
    model = app.define(ObjectType.QMODEL, DEFTYPE=mqc.MQQDT_TEMPORARY_DYNAMIC, SHARE=1)
    od = app.structure("MQOD", ObjectName=model, DynamicQName="GONE.*")
    creator, _, _ = mqi.MQOPEN(app.hconn, od, mqc.MQOO_INPUT_SHARED)
    recorder = Recorder(app)
    consuming(app, recorder, app.read("MQOD", od, "ObjectName").decode())
    mqi.MQCLOSE(app.hconn, creator, 0)
    call = recorder.next()
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_Q_DELETED)
    assert call.State == mqc.MQCS_SUSPENDED


def test_a_message_handle_that_was_deleted_suspends_its_consumer(consumer_app: Any) -> None:
    app = consumer_app
    hmsg, _, _ = mqi.MQCRTMH(app.consumer, None)

    def delete(call: Call) -> None:
        if call.CallType == mqc.MQCBCT_MSG_REMOVED:
            assert mqi.MQDLTMH(call.hconn, hmsg, None)[1:] == OK

    recorder = Recorder(app, delete)
    name, _ = consuming(app, recorder, gmo={"MsgHandle": hmsg})
    app.put(name, b"1")
    assert recorder.next().data == b"1"
    call = recorder.next()
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_HMSG_ERROR)
    assert call.State == mqc.MQCS_SUSPENDED
    app.put(name, b"2")
    assert control(app, mqc.MQOP_STOP) == OK
    assert app.depth(name) == 1


def test_a_callback_that_raises_is_suspended_and_the_event_handler_told(
    consumer_app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = consumer_app
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)
    events = Recorder(app)
    assert register(app, 0, events, CallbackType=mqc.MQCBT_EVENT_HANDLER) == OK

    def fail(call: Call) -> None:
        raise ValueError("a bug of the application")

    name, _ = consuming(app, Recorder(app, fail))
    app.put(name, b"1")
    call = events.next()
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_UNEXPECTED_ERROR)
    assert [each.exc_type for each in reported] == [ValueError]
    app.put(name, b"2")
    assert control(app, mqc.MQOP_STOP) == OK
    assert app.depth(name) == 1


@pytest.fixture
def ending(own_manager: QueueManager, application: Any) -> Any:
    """A connection with an event handler on a queue manager that the test ends."""
    app = application(own_manager)
    app.consumer = app.connect()
    app.events = Recorder(app)
    assert register(app, 0, app.events, CallbackType=mqc.MQCBT_EVENT_HANDLER) == OK
    return app


def test_quiescing_is_an_event_and_fails_those_who_want_it(ending: Any) -> None:
    willing, unwilling = Recorder(ending), Recorder(ending)
    quiet = ending.open(ending.queue(), mqc.MQOO_INPUT_SHARED, ending.consumer)
    assert register(ending, quiet, willing, Options=mqc.MQCBDO_STOP_CALL) == OK
    consuming(ending, unwilling, gmo={"Options": mqc.MQGMO_FAIL_IF_QUIESCING})
    end = threading.Thread(target=ending.manager.end, args=("quiesce", 1.0))
    end.start()
    call = unwilling.next()
    assert (call.CallType, call.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_Q_MGR_QUIESCING)
    event = ending.events.next()
    assert (event.CallType, event.Reason) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_Q_MGR_QUIESCING)
    assert mqi.MQCTL(ending.consumer, mqc.MQOP_STOP, ending.structure("MQCTLO", Options=8192)) == (
        FAILED,
        mqc.MQRC_Q_MGR_QUIESCING,
    )
    stopped = willing.next()
    assert (stopped.CallType, stopped.Reason) == (mqc.MQCBCT_STOP_CALL, mqc.MQRC_CONNECTION_BROKEN)
    assert ending.events.next().Reason == mqc.MQRC_CONNECTION_BROKEN
    end.join()


@pytest.mark.parametrize("mode", ["immediate", "preemptive"])
def test_the_end_of_the_queue_manager_is_an_event(ending: Any, mode: str) -> None:
    recorder = Recorder(ending)
    consuming(ending, recorder, Options=mqc.MQCBDO_STOP_CALL)
    ending.manager.end(mode)
    event = ending.events.next()
    assert (event.Reason, event.State) == (mqc.MQRC_CONNECTION_BROKEN, mqc.MQCS_STOPPED)
    assert recorder.next().CallType == mqc.MQCBCT_STOP_CALL


def test_nothing_is_registered_on_a_quiescing_queue_manager(ending: Any) -> None:
    hobj = ending.open(ending.queue(), mqc.MQOO_INPUT_SHARED, ending.consumer)
    ending.manager.engine.state = 1
    answer = register(ending, hobj, print, Options=mqc.MQCBDO_FAIL_IF_QUIESCING)
    assert answer == (FAILED, mqc.MQRC_Q_MGR_QUIESCING)
    assert register(ending, hobj, print) == OK
    ctlo = ending.structure("MQCTLO", Options=mqc.MQCTLO_FAIL_IF_QUIESCING)
    assert mqi.MQCTL(ending.consumer, mqc.MQOP_START, ctlo) == (FAILED, mqc.MQRC_Q_MGR_QUIESCING)
    ending.manager.engine.state = 2
    assert register(ending, hobj, print) == (FAILED, mqc.MQRC_Q_MGR_STOPPING)
    ending.manager.engine.state = 0


@pytest.mark.parametrize("is_suspended", [False, True])
def test_an_event_handler_hears_of_quiescing_whoever_waits(ending: Any, is_suspended: bool) -> None:
    recorder = Recorder(ending)
    operation = mqc.MQOP_REGISTER | (mqc.MQOP_SUSPEND if is_suspended else mqc.MQOP_RESUME)
    name, _ = consuming(ending, recorder, operation=operation)
    end = threading.Thread(target=ending.manager.end, args=("quiesce", 5.0))
    end.start()
    assert ending.events.next().Reason == mqc.MQRC_Q_MGR_QUIESCING
    if not is_suspended:
        # It did not ask to fail, so it goes on as long as the queue manager lets it.
        ending.put(name, b"still")
        assert recorder.next().data == b"still"
    assert mqi.MQDISC(ending.consumer)[1:] == OK
    assert mqi.MQDISC(ending.hconn)[1:] == OK
    end.join()


@pytest.mark.within_process
def test_a_connection_in_a_callback_that_is_not_shared_is_the_callback_s(consumer_app: Any) -> None:
    app = consumer_app
    answers: list[tuple[int, int, int]] = []
    recorder = Recorder(app, lambda call: answers.append(mqi.MQCONN(app.manager.name)))
    name, _ = consuming(app, recorder)
    app.put(name, b"x")
    recorder.next()
    assert answers == [(app.consumer, WARNING, mqc.MQRC_ALREADY_CONNECTED)]
