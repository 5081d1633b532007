"""Topics and subscriptions over links that break, to queue managers that are older or answer nonsense."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.mqi.remote.test_remote_hostile import MD, Bench
from tests.client.mqi.topic_structures import MANAGED, OK, Publisher, field, made
from tests.client.remote_site import PATIENCE_SECONDS, RemoteSite, eventually

import ostler
from ostler import mqi
from ostler.client.mqi.remote.connections import remote_connection
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType
from ostler.wire import frames as wire
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import put_reply_frame
from ostler.wire.subscribe_frames import SubscribeReply

QUICKLY = {"OSTLER_RECONNECT_DELAYS": "(10,10)", "OSTLER_RECONNECT_TIMEOUT": "60"}
DURABLE = MANAGED | mqc.MQSO_DURABLE
WAIT = mqc.MQGMO_WAIT | mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_NO_PROPERTIES
CHANNEL = "APP.SVRCONN"


@pytest.fixture
def again(tmp_path: Path) -> Iterator[RemoteSite]:
    site = RemoteSite(tmp_path, "AGAIN")
    yield site
    site.end()


def connected(site: RemoteSite, reconnect: str = "yes") -> Publisher:
    return Publisher(site.connect(environment=QUICKLY, sharing_conversations=1, reconnect=reconnect).hconn)


def break_link(program: Publisher) -> None:
    remote_connection(program.hconn).conversation.link.fail_link(mqc.MQRC_CONNECTION_BROKEN, "The test broke it.")


def restart(site: RemoteSite, mode: str = "immediate") -> None:
    site.end(mode)
    site.begin()


# -- raw verbs ---------------------------------------------------------------------------------------------------------


def test_subscription_is_made_again(again: RemoteSite) -> None:
    program, other = connected(again), connected(again)
    gone = program.open("other")  # so that handles are others than before when they are made again
    hobj, hsub = program.subscribe("prices/#", SubName="MINE")
    assert program.close(gone) == mqc.MQRC_NONE
    target = other.open("prices/fruit")
    break_link(program)
    assert program.all(hobj) == []
    assert other.put(target, b"again") == mqc.MQRC_NONE
    assert program.get(hobj, WAIT, 30_000) == (b"again", mqc.MQRC_NONE)
    restart(again)
    assert program.all(hobj) == []
    assert other.put(target, b"and again") == mqc.MQRC_NONE
    assert program.get(hobj, WAIT, 30_000) == (b"and again", mqc.MQRC_NONE)
    assert program.request(hsub) == (0, mqc.MQRC_NO_RETAINED_MSG)
    assert program.close(hsub) == program.close(hobj) == mqc.MQRC_NONE
    assert other.put(target, b"", mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED) == mqc.MQRC_NO_SUBS_MATCHED


@pytest.mark.parametrize("mode", ["immediate", "preemptive"])
def test_durable_subscription_is_resumed(again: RemoteSite, mode: str) -> None:
    program = connected(again)
    hobj, hsub = program.subscribe("prices/#", DURABLE, SubName="DURABLE")
    assert program.put1("prices/fruit", b"kept", persistence=1) == mqc.MQRC_NONE
    restart(again, mode)
    assert program.get(hobj, WAIT, 30_000) == (b"kept", mqc.MQRC_NONE)
    assert program.put1("prices/fruit", b"more") == mqc.MQRC_NONE
    assert program.get(hobj, WAIT, 30_000) == (b"more", mqc.MQRC_NONE)
    assert program.close(hsub, mqc.MQCO_REMOVE_SUB) == mqc.MQRC_NONE


def test_link_breaks_while_a_durable_subscription_is_made(again: RemoteSite) -> None:
    program = connected(again)
    found: list[tuple[int, int]] = []
    thread = threading.Thread(target=lambda: found.append(program.subscribe("prices", DURABLE, SubName="DURABLE")))
    with again.manager.writer._turn:
        # The subscription is there, and its answer waits for the log.
        thread.start()
        eventually(lambda: "DURABLE" in again.manager.engine.topics.by_name)
        break_link(program)
    thread.join(PATIENCE_SECONDS)
    assert program.put1("prices", b"data") == mqc.MQRC_NONE
    assert program.get(found[0][0], WAIT, 30_000) == (b"data", mqc.MQRC_NONE)


def test_provided_destination_and_its_subscription(again: RemoteSite) -> None:
    again.queue("Q")
    program = connected(again)
    od = made("MQOD", ObjectName="Q")
    hobj, cc, rc = mqi.MQOPEN(program.hconn, od, mqc.MQOO_INPUT_SHARED | mqc.MQOO_OUTPUT)
    assert (cc, rc) == OK
    program.open("something/else")
    program.subscribe("prices", mqc.MQSO_CREATE, hobj)
    break_link(program)
    assert program.put1("prices", b"data") == mqc.MQRC_NONE
    assert program.get(hobj, WAIT, 30_000) == (b"data", mqc.MQRC_NONE)


def test_a_wait_goes_on(again: RemoteSite) -> None:
    program, other = connected(again), connected(again)
    hobj, _ = program.subscribe("prices")
    found: list[tuple[bytes, int]] = []
    thread = threading.Thread(target=lambda: found.append(program.get(hobj, WAIT, 60_000)))
    thread.start()
    eventually(lambda: waiting(again) == 1)
    break_link(program)
    eventually(lambda: remote_connection(program.hconn).generation == 1 and waiting(again) == 1)
    assert other.put1("prices", b"at last") == mqc.MQRC_NONE
    thread.join(PATIENCE_SECONDS)
    assert found == [(b"at last", mqc.MQRC_NONE)]


def waiting(site: RemoteSite) -> int:
    with site.manager.lock:
        managed = [queue for name, queue in site.manager.engine.queues.items() if name.startswith("SYSTEM.MANAGED.")]
        return sum(int(queue.waiting.count) for queue in managed)


def test_read_ahead_goes_on(again: RemoteSite) -> None:
    program, other = connected(again), connected(again)
    hobj, _ = program.subscribe("prices", MANAGED | mqc.MQSO_READ_AHEAD)
    for _ in range(3):
        assert other.put1("prices", b"data") == mqc.MQRC_NONE
        assert program.get(hobj, mqc.MQGMO_WAIT, 60_000)[1] == mqc.MQRC_NONE
        break_link(program)
        assert program.get(hobj, mqc.MQGMO_WAIT, 1)[1] == mqc.MQRC_NO_MSG_AVAILABLE


def test_queue_that_outlives_its_subscription(again: RemoteSite) -> None:
    program = connected(again)
    hobj, hsub = program.subscribe("prices", DURABLE, SubName="DURABLE")
    program.put1("prices", b"data", persistence=1)
    assert program.close(hsub, mqc.MQCO_KEEP_SUB) == mqc.MQRC_NONE
    break_link(program)
    assert program.get(hobj, WAIT, 30_000) == (b"data", mqc.MQRC_NONE)


def test_subscription_that_cannot_be_made_again(again: RemoteSite) -> None:
    program = connected(again)
    again.define(ObjectType.TOPIC, "PRICES", TOPICSTR="prices")
    hobj, _ = program.subscribe("", ObjectName="PRICES")
    break_link(program)
    eventually(lambda: not again.manager.engine.connections)
    again.manager.delete(ObjectType.TOPIC, "PRICES")
    assert program.get(hobj)[1] == mqc.MQRC_RECONNECT_FAILED
    sts = made("MQSTS", 1)
    assert mqi.MQSTAT(program.hconn, mqc.MQSTAT_TYPE_RECONNECTION_ERROR, sts) == OK
    assert field("MQSTS", sts, "Reason") == mqc.MQRC_UNKNOWN_OBJECT_NAME


def test_without_reconnection(again: RemoteSite) -> None:
    program = connected(again, "no")
    hobj, hsub = program.subscribe("prices")
    break_link(program)
    assert program.get(hobj)[1] == mqc.MQRC_CONNECTION_BROKEN
    assert program.request(hsub)[1] == mqc.MQRC_CONNECTION_BROKEN
    assert program.refused("prices") == mqc.MQRC_CONNECTION_BROKEN
    program.leave()
    eventually(lambda: not again.manager.engine.topics.subscriptions)


# -- the Python API ----------------------------------------------------------------------------------------------------


def cut(site: Any) -> None:
    """Break all links of clients. They may come back at once."""
    links = [link for link in list(site.server.reactor.links.values()) if link.channel]
    site.server.stop_channel(CHANNEL, "FORCE", "INACTIVE")
    site.until(lambda: not any(link in list(site.server.reactor.links.values()) for link in links))


def test_api_subscriptions_come_back(site: Any) -> None:
    with (
        site.connect("client", reconnect=True) as qm,
        qm.subscribe("cut/#") as passing,
        qm.subscribe("cut/+", durable=True, name="CUT") as durable,
        qm.topic("cut/one") as target,
    ):
        site.admin.publish("cut/one", "before")
        cut(site)
        target.publish("after")
        found = [message.text for message in durable.messages(wait=1)]
        assert found == ["before", "after"]
        # What came before the cut went with the queue of the subscription that is not durable.
        assert [message.text for message in passing.messages()] == ["after"]
        cut(site)
        assert durable.request() == 0
        durable.close(remove=True)


def test_api_waits_go_on(site: Any) -> None:
    async def main() -> str:
        async with (
            await site.connect_task("client", reconnect=True) as qm,
            await qm.subscribe("cut/task") as subscription,
        ):
            waits = asyncio.create_task(subscription.get(wait=PATIENCE_SECONDS))
            await asyncio.to_thread(site.until, lambda: self_waiting(site) == 1)
            await asyncio.to_thread(cut, site)
            await asyncio.to_thread(site.until, lambda: self_waiting(site) == 1)
            site.admin.publish("cut/task", "at last")
            message = await waits
            return message.text if message is not None else ""

    assert asyncio.run(main()) == "at last"


def self_waiting(site: Any) -> int:
    with site.manager.lock:
        queues = site.manager.engine.queues.items()
        return sum(int(queue.waiting.count) for name, queue in queues if name.startswith("SYSTEM.MANAGED."))


def test_api_subscription_that_cannot_be_made_again(site: Any) -> None:
    site.admin.define("TOPIC", "CUT.TOPIC", TOPICSTR="cut/gone")
    with site.connect("client", reconnect=True) as qm, qm.subscribe(object_name="CUT.TOPIC") as subscription:
        site.admin.alter("TOPIC", "CUT.TOPIC", SUB="DISABLED")
        cut(site)
        for verb in (subscription.get, subscription.request):
            with pytest.raises(ostler.MQError) as refused:
                verb()
            assert refused.value.reason == mqc.MQRC_OBJECT_CHANGED
    site.admin.delete("TOPIC", "CUT.TOPIC")


# -- other queue managers ----------------------------------------------------------------------------------------------


@pytest.fixture
def bench() -> Iterator[Bench]:
    found = Bench()
    yield found
    found.close()


def test_older_queue_manager(bench: Bench) -> None:
    bench.link.version = 1
    program = Publisher(bench.remote.hconn)
    assert program.refused("prices") == mqc.MQRC_FUNCTION_NOT_SUPPORTED
    assert program.request(bench.hobj)[1] == mqc.MQRC_FUNCTION_NOT_SUPPORTED
    assert program.put1("prices", b"data", PubLevel=3) == mqc.MQRC_FUNCTION_NOT_SUPPORTED
    bench.remote.handles[bench.hobj].is_topic = True
    assert program.put(bench.hobj, b"data", PubLevel=3) == mqc.MQRC_FUNCTION_NOT_SUPPORTED
    bench.peer.sendall(put_reply_frame(1, 1, 0, 0, MD))
    assert program.put(bench.hobj, b"data") == mqc.MQRC_NONE


def subscribed() -> bytes:
    found = SubscribeReply()
    found.hsub, found.topic = 9, "prices/#"
    found.destination.hobj, found.destination.name = 10, "SYSTEM.MANAGED.NDURABLE.1"
    return wire.frame(wire.SUBSCRIBE | wire.REPLY, 1, 1, bytes(8) + found.encode())


def test_correct_answer(bench: Bench) -> None:
    bench.peer.sendall(subscribed())
    program = Publisher(bench.remote.hconn)
    hobj, hsub = program.subscribe("prices/#")
    assert bench.remote.handles[hsub].hobj == 9
    assert bench.remote.handles[hobj].hobj == 10
    bench.peer.sendall(wire.frame(wire.SUBSCRIPTION_REQUEST | wire.REPLY, 1, 2, bytes(8) + numbers_payload([5])))
    assert program.request(hsub) == (5, mqc.MQRC_NONE)


def test_answers_that_end_early() -> None:
    whole = subscribed()
    for size in range(wire.HEADER_BYTES + 8, len(whole)):
        bench = Bench()
        bench.peer.sendall(size.to_bytes(4, "little") + whole[4:size])
        assert Publisher(bench.remote.hconn).refused("prices/#") == mqc.MQRC_CONNECTION_BROKEN
        bench.close()


def test_mutated_answers() -> None:
    chance = random.Random(20261116)
    for _ in range(300):
        bench = Bench()
        data = bytearray(subscribed())
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        bench.peer.sendall(bytes(data))
        bench.peer.shutdown(socket.SHUT_WR)
        sd = made("MQSD", Options=MANAGED, ObjectString="prices/#", ResObjectString=20)
        _, hsub, code, reason = mqi.MQSUB(bench.remote.hconn, sd, 0)
        assert (hsub == mqc.MQHO_UNUSABLE_HOBJ) == (code == mqc.MQCC_FAILED)
        assert reason or code != mqc.MQCC_FAILED
        bench.close()


def test_nonsense_in_answer_to_a_request(bench: Bench) -> None:
    bench.peer.sendall(wire.frame(wire.SUBSCRIPTION_REQUEST | wire.REPLY, 1, 1, bytes(8) + numbers_payload([-1])))
    assert Publisher(bench.remote.hconn).request(bench.hobj)[1] == mqc.MQRC_CONNECTION_BROKEN
