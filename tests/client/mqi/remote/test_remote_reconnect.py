"""Automatic reconnection: handles stay, waits go on, units of work are told to be lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest
from tests.client.remote_site import (
    BOTH,
    FAILED,
    OK,
    PATIENCE_SECONDS,
    RawProgram,
    RemoteSite,
    eventually,
    field,
    free_port,
    structure,
)

from ostler import mqi
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType

QUICKLY = {"OSTLER_RECONNECT_DELAYS": "(10,10)", "OSTLER_RECONNECT_TIMEOUT": "60"}
AT_ONCE = {"OSTLER_RECONNECT_DELAYS": "(10,10)", "OSTLER_RECONNECT_TIMEOUT": "0"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RemoteSite]:
    made = RemoteSite(tmp_path, "AGAIN")
    made.queue("Q", DEFPSIST="NO")
    yield made
    made.end()


def connected(site: RemoteSite, **more: str) -> RawProgram:
    return site.connect(environment=QUICKLY, sharing_conversations=1, **{"reconnect": "yes", **more})


def restart(site: RemoteSite, mode: str = "immediate") -> None:
    site.end(mode)
    site.begin()


def test_handles_keep_their_numbers(site: RemoteSite) -> None:
    program = connected(site)
    first, second = program.open("Q"), program.open("Q", mqc.MQOO_INQUIRE)
    program.break_link()
    assert program.put(first, b"after it") == 0
    assert mqi.MQINQ(program.hconn, second, [mqc.MQIA_CURRENT_Q_DEPTH], 1, 0) == ([1], b"", *OK)
    assert mqi.MQCLOSE(program.hconn, second, 0)[1:] == OK
    assert program.get(first) == (b"after it", 0)
    assert program.leave() == OK


def test_a_connection_that_fails_to_come_back_leaves_nothing_behind(site: RemoteSite) -> None:
    site.queue("STAYS")
    site.queue("GOES")
    program = site.connect(environment=QUICKLY, reconnect="yes")
    stays = program.open("STAYS", mqc.MQOO_INPUT_EXCLUSIVE | mqc.MQOO_OUTPUT)
    program.open("GOES")
    count = len(site.manager.engine.connections)
    program.break_link()
    eventually(lambda: len(site.manager.engine.connections) < count)
    site.manager.delete(ObjectType.QLOCAL, "GOES")
    other = site.connect()
    assert program.put(stays, b"x") == mqc.MQRC_RECONNECT_FAILED
    # It had joined the link of the other one, which goes on.
    od = structure("MQOD", ObjectName="STAYS")
    eventually(lambda: mqi.MQOPEN(other.hconn, od, mqc.MQOO_INPUT_EXCLUSIVE)[1:] == OK)
    program.leave()
    assert other.leave() == OK


@pytest.mark.parametrize("mode", ["immediate", "preemptive"])
def test_a_queue_manager_that_comes_back(site: RemoteSite, mode: str) -> None:
    program = connected(site)
    hobj = program.open("Q")
    assert program.put(hobj, b"kept", persistence=1) == 0
    restart(site, mode)
    assert program.get(hobj) == (b"kept", 0)
    assert program.leave() == OK


def test_a_wait_goes_on(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    answers: list[tuple[bytes, int]] = []
    wait = threading.Thread(target=lambda: answers.append(program.get(hobj, mqc.MQGMO_WAIT, 60_000)))
    wait.start()
    site.until_waiting("Q")
    program.break_link()
    eventually(lambda: program.remote.generation == 1)
    site.until_waiting("Q")
    other = site.connect()
    assert other.put(other.open("Q"), b"at last") == 0
    wait.join()
    assert answers == [(b"at last", 0)]
    assert program.leave() == OK


def test_a_wait_does_not_begin_anew(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    answers: list[tuple[bytes, int]] = []
    wait = threading.Thread(target=lambda: answers.append(program.get(hobj, mqc.MQGMO_WAIT, 500)))
    wait.start()
    breaks = 0

    def is_over() -> bool:
        nonlocal breaks
        if program.remote.generation == breaks:
            program.break_link()
            breaks += 1
        wait.join(0.1)
        return not wait.is_alive()

    # If each break gave it its whole time again, it would never be over.
    eventually(is_over)
    assert answers == [(b"", mqc.MQRC_NO_MSG_AVAILABLE)]


def test_a_unit_of_work_is_lost(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    assert program.put(hobj, b"lost", mqc.MQPMO_SYNCPOINT) == 0
    program.break_link()
    assert program.put(hobj, b"not in a unit") == 0
    # Until the program ends the unit, everything in it is refused.
    assert program.put(hobj, b"lost, too", mqc.MQPMO_SYNCPOINT) == mqc.MQRC_BACKED_OUT
    assert program.get(hobj, mqc.MQGMO_SYNCPOINT) == (b"", mqc.MQRC_BACKED_OUT)
    assert mqi.MQCMIT(program.hconn) == (mqc.MQCC_WARNING, mqc.MQRC_BACKED_OUT)
    assert program.put(hobj, b"in the next", mqc.MQPMO_SYNCPOINT) == 0
    assert mqi.MQCMIT(program.hconn) == OK
    assert [program.get(hobj)[0], program.get(hobj)[0]] == [b"not in a unit", b"in the next"]


def test_backing_out_is_enough_too(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    assert program.put(hobj, b"lost", mqc.MQPMO_SYNCPOINT) == 0
    program.break_link()
    assert mqi.MQBACK(program.hconn) == OK
    assert program.put(hobj, b"first of its unit", mqc.MQPMO_SYNCPOINT) == 0
    program.break_link()
    assert mqi.MQCMIT(program.hconn) == (mqc.MQCC_WARNING, mqc.MQRC_BACKED_OUT)
    assert site.depth("Q") == 0


def test_the_first_verb_of_a_unit_is_simply_done_again(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    program.break_link()
    assert program.put(hobj, b"first", mqc.MQPMO_SYNCPOINT) == 0
    assert mqi.MQCMIT(program.hconn) == OK
    assert site.depth("Q") == 1


def test_nobody_knows_of_a_persistent_message_outside_a_unit(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")

    def put1() -> int:
        od, md = structure("MQOD", ObjectName="Q"), structure("MQMD", Persistence=1)
        return mqi.MQPUT1(program.hconn, od, md, structure("MQPMO", Options=mqc.MQPMO_NO_SYNCPOINT), b"perhaps")[1]

    assert interrupted(site, program, lambda: program.put(hobj, b"perhaps", persistence=1)) == mqc.MQRC_CALL_INTERRUPTED
    assert interrupted(site, program, put1) == mqc.MQRC_CALL_INTERRUPTED
    assert interrupted(site, program, lambda: program.put(hobj, b"surely")) == 0
    program.break_link()
    assert program.put(hobj, b"not sent before", persistence=1) == 0


def test_nobody_knows_of_an_interrupted_commit(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    assert program.put(hobj, b"perhaps", mqc.MQPMO_SYNCPOINT) == 0
    assert interrupted(site, program, lambda: mqi.MQCMIT(program.hconn)[1]) == mqc.MQRC_CALL_INTERRUPTED
    assert interrupted(site, program, lambda: mqi.MQCMIT(program.hconn)[1]) == 0, "there was nothing to commit"
    assert mqi.MQCMIT(program.hconn) == OK


def interrupted(site: RemoteSite, program: RawProgram, verb: Callable[[], int]) -> int:
    """The reason of a verb whose link breaks after its request was sent, and before it was answered."""
    answers: list[int] = []
    link = program.remote.conversation.link
    with site.manager.lock:
        call = threading.Thread(target=lambda: answers.append(verb()))
        call.start()
        eventually(lambda: len(link.waiting) > 0)
        program.break_link()
    call.join()
    return answers[0]


def test_dynamic_queues_are_there_again(site: RemoteSite) -> None:
    site.define(ObjectType.QMODEL, "TEMPORARY", DEFTYPE="TEMPDYN")
    site.define(ObjectType.QMODEL, "PERMANENT", DEFTYPE="PERMDYN")
    program = connected(site)
    temporary = program.open("TEMPORARY", DynamicQName="MINE.*")
    permanent = program.open("PERMANENT", DynamicQName="OURS.*")
    names = {program.remote.handles[each].name for each in (temporary, permanent)}
    assert program.put(permanent, b"kept", persistence=1) == 0
    restart(site)
    assert program.put(temporary, b"answer") == 0
    assert program.get(temporary) == (b"answer", 0)
    assert program.get(permanent) == (b"kept", 0)
    assert names == {program.remote.handles[each].name for each in (temporary, permanent)}


def test_an_object_that_is_gone_fails_it(site: RemoteSite) -> None:
    program = connected(site)
    site.queue("SHORT.LIVED")
    hobj = program.open("SHORT.LIVED")
    other = program.open("Q")
    with site.manager.lock:
        connection = next(iter(site.manager.engine.connections.values()))
    program.break_link()
    eventually(lambda: bool(connection.broken))
    site.manager.delete(ObjectType.QLOCAL, "SHORT.LIVED")
    assert program.put(other, b"") == mqc.MQRC_RECONNECT_FAILED
    assert program.put(hobj, b"") == mqc.MQRC_RECONNECT_FAILED
    sts = structure("MQSTS")
    assert mqi.MQSTAT(program.hconn, mqc.MQSTAT_TYPE_RECONNECTION_ERROR, sts) == OK
    assert field("MQSTS", sts, "Reason") == mqc.MQRC_UNKNOWN_OBJECT_NAME
    assert field("MQSTS", sts, "ObjectName") == b"SHORT.LIVED"
    assert program.leave() == (FAILED, mqc.MQRC_RECONNECT_FAILED)


def test_it_gives_up_after_its_time(site: RemoteSite) -> None:
    program = site.connect(environment=AT_ONCE, reconnect="yes")
    hobj = program.open("Q")
    site.end()
    assert program.put(hobj, b"") == mqc.MQRC_RECONNECT_TIMED_OUT
    assert program.get(hobj) == (b"", mqc.MQRC_RECONNECT_TIMED_OUT)
    site.begin()


def test_another_queue_manager_will_do_or_not(site: RemoteSite, tmp_path_factory: pytest.TempPathFactory) -> None:
    port = free_port()
    name = f"127.0.0.1({site.port}),127.0.0.1({port})"
    anyone = connected(site, queue_manager="*ANY", connection_name=name)
    faithful = connected(site, queue_manager="*ANY", connection_name=name, reconnect="qmgr")
    handles = [anyone.open("Q"), faithful.open("Q")]
    second = RemoteSite(tmp_path_factory.mktemp("second"), "OTHER", port)
    second.queue("Q")
    site.end()
    assert anyone.put(handles[0], b"over there") == 0
    assert second.depth("Q") == 1
    assert faithful.put(handles[1], b"never") == mqc.MQRC_RECONNECT_QMID_MISMATCH
    anyone.leave()
    second.end()
    site.begin()


def test_what_a_reconnectable_connection_cannot_ask_for(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q")
    assert program.put(hobj, b"", mqc.MQPMO_LOGICAL_ORDER) == mqc.MQRC_RECONNECT_INCOMPATIBLE
    gmo = structure("MQGMO", 3, Options=mqc.MQGMO_NO_SYNCPOINT, MatchOptions=mqc.MQMO_MATCH_MSG_TOKEN)
    answer = mqi.MQGET(program.hconn, hobj, structure("MQMD"), gmo, 10)
    assert answer == (b"", 0, FAILED, mqc.MQRC_RECONNECT_Q_MGR_REQD)


def test_it_is_not_done_unless_asked_for(site: RemoteSite) -> None:
    for reconnect in ("no", "disabled"):
        program = connected(site, reconnect=reconnect)
        hobj = program.open("Q")
        program.break_link()
        assert program.put(hobj, b"") == mqc.MQRC_CONNECTION_BROKEN


# -- callbacks ---------------------------------------------------------------------------------------------------------


def test_consumers_go_on_and_the_event_handler_is_told(site: RemoteSite) -> None:
    program = connected(site)
    hobj = program.open("Q", BOTH)
    messages: Queue[bytes] = Queue()
    events: Queue[tuple[int, int]] = Queue()

    def consume(hconn: int, md: bytearray, gmo: bytearray, data: bytes, cbc: bytearray) -> None:
        messages.put(data)

    def event(hconn: int, md: bytearray, gmo: bytearray, data: bytes, cbc: bytearray) -> None:
        events.put((field("MQCBC", cbc, "CompCode"), field("MQCBC", cbc, "Reason")))

    cbd = structure("MQCBD", CallbackType=mqc.MQCBT_EVENT_HANDLER)
    assert mqi.MQCB(program.hconn, mqc.MQOP_REGISTER, cbd, mqc.MQHO_NONE, None, None, event) == OK
    gmo = structure("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT)
    register = mqc.MQOP_REGISTER
    assert mqi.MQCB(program.hconn, register, structure("MQCBD"), hobj, structure("MQMD"), gmo, consume) == OK
    assert mqi.MQCTL(program.hconn, mqc.MQOP_START, structure("MQCTLO")) == OK
    site.until_waiting("Q")
    program.break_link()
    assert events.get(timeout=PATIENCE_SECONDS) == (mqc.MQCC_WARNING, mqc.MQRC_RECONNECTING)
    assert events.get(timeout=PATIENCE_SECONDS) == (mqc.MQCC_OK, mqc.MQRC_RECONNECTED)
    other = site.connect()
    assert other.put(other.open("Q"), b"to the callback") == 0
    assert messages.get(timeout=PATIENCE_SECONDS) == b"to the callback"
    assert mqi.MQCTL(program.hconn, mqc.MQOP_STOP, structure("MQCTLO")) == OK
    assert program.leave() == OK


def test_the_event_handler_hears_of_the_end(site: RemoteSite) -> None:
    program = site.connect(environment=AT_ONCE, reconnect="yes")
    program.open("Q")
    events: Queue[int] = Queue()

    def event(hconn: int, md: bytearray, gmo: bytearray, data: bytes, cbc: bytearray) -> None:
        events.put(field("MQCBC", cbc, "Reason"))

    cbd = structure("MQCBD", CallbackType=mqc.MQCBT_EVENT_HANDLER)
    assert mqi.MQCB(program.hconn, mqc.MQOP_REGISTER, cbd, mqc.MQHO_NONE, None, None, event) == OK
    assert mqi.MQCTL(program.hconn, mqc.MQOP_START, structure("MQCTLO")) == OK
    site.end()
    told = [events.get(timeout=PATIENCE_SECONDS)]
    while told[-1] != mqc.MQRC_RECONNECT_FAILED:
        told.append(events.get(timeout=PATIENCE_SECONDS))
    assert mqc.MQRC_RECONNECTING in told
    site.begin()


# -- without reconnection ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", ["local", "client"])
def test_callbacks_hear_that_the_queue_manager_ends(site: RemoteSite, binding: str) -> None:
    program = site.connect(binding)
    hobj = program.open("Q")
    events: Queue[int] = Queue()
    calls: Queue[tuple[int, int]] = Queue()

    def consume(hconn: int, md: bytearray, gmo: bytearray, data: bytes, cbc: bytearray) -> None:
        calls.put((field("MQCBC", cbc, "CallType"), field("MQCBC", cbc, "Reason")))

    def event(hconn: int, md: bytearray, gmo: bytearray, data: bytes, cbc: bytearray) -> None:
        events.put(field("MQCBC", cbc, "Reason"))

    cbd = structure("MQCBD", CallbackType=mqc.MQCBT_EVENT_HANDLER)
    assert mqi.MQCB(program.hconn, mqc.MQOP_REGISTER, cbd, mqc.MQHO_NONE, None, None, event) == OK
    gmo = structure("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_FAIL_IF_QUIESCING)
    register = mqc.MQOP_REGISTER
    assert mqi.MQCB(program.hconn, register, structure("MQCBD"), hobj, structure("MQMD"), gmo, consume) == OK
    assert mqi.MQCTL(program.hconn, mqc.MQOP_START, structure("MQCTLO")) == OK
    site.until_waiting("Q")
    ending = threading.Thread(target=site.server.end, args=("quiesce", PATIENCE_SECONDS))
    ending.start()
    assert events.get(timeout=PATIENCE_SECONDS) == mqc.MQRC_Q_MGR_QUIESCING
    assert calls.get(timeout=PATIENCE_SECONDS) == (mqc.MQCBCT_EVENT_CALL, mqc.MQRC_Q_MGR_QUIESCING)
    assert mqi.MQCTL(program.hconn, mqc.MQOP_STOP, structure("MQCTLO")) == OK
    assert program.leave() == OK
    ending.join()
    site.begin()


def test_callbacks_hear_that_the_link_is_gone(site: RemoteSite) -> None:
    program = site.connect()
    program.open("Q")
    events: Queue[int] = Queue()

    def event(hconn: int, md: bytearray, gmo: bytearray, data: bytes, cbc: bytearray) -> None:
        events.put(field("MQCBC", cbc, "Reason"))

    cbd = structure("MQCBD", CallbackType=mqc.MQCBT_EVENT_HANDLER)
    assert mqi.MQCB(program.hconn, mqc.MQOP_REGISTER, cbd, mqc.MQHO_NONE, None, None, event) == OK
    assert mqi.MQCTL(program.hconn, mqc.MQOP_START, structure("MQCTLO")) == OK
    program.break_link()
    assert events.get(timeout=PATIENCE_SECONDS) == mqc.MQRC_CONNECTION_BROKEN
