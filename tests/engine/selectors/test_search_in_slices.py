"""Searches of long queues in slices: the results of an uninterrupted search, whatever happens in between."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples
from tests.world.world import World

from ostler.engine import put as putting
from ostler.engine.connection import Connection
from ostler.engine.get import SELECTOR_BYTES_MAX, cancel, get, new_request, resume_work
from ostler.engine.handle import Handle
from ostler.engine.message.message import MD_BYTES, NULL_ID
from ostler.engine.properties.properties import PropertySet
from ostler.engine.properties.property_block import encode_block
from ostler.engine.queue.get_request import BY_SCAN, GetRequest
from ostler.engine.selectors.selector import compile_selector
from ostler.model import constants as mq
from ostler.model.structures.md import MD_DEFAULT

EVERYTHING = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
DESTRUCTIVE = mq.MQGMO_NO_SYNCPOINT


def block_of(**values: int | str) -> bytes:
    properties = PropertySet(True, MD_DEFAULT.ljust(MD_BYTES, b"\0"))
    for name, value in values.items():
        properties.set(name, mq.MQTYPE_INT32 if isinstance(value, int) else mq.MQTYPE_STRING, value)
    return encode_block(properties.properties)


class Site:
    """A queue manager with one queue and an application that fills it."""

    def __init__(self, slice_cost: int = 40) -> None:
        self.world = World.create()
        self.engine = self.world.engine
        self.engine.slice_cost = slice_cost
        self.engine.share_cost = slice_cost
        self.rung = 0
        self.engine.owner_signal.waker = self._ring
        self.queue = self.world.define_queue("Q", {"MAXDEPTH": 1_000_000, "PROPCTL": mq.MQPROP_NONE})
        self.application, self.handle = self.join()

    def _ring(self) -> None:
        self.rung += 1

    def join(self) -> tuple[Connection, Handle]:
        connection = self.world.connect()
        return connection, self.world.open(connection, "Q", EVERYTHING)

    def put(
        self,
        body: bytes,
        priority: int = 0,
        syncpoint: bool = False,
        connection: Connection | None = None,
        handle: Handle | None = None,
        expiry_tenths: int = -1,
        correlation_id: bytes = NULL_ID,
        **values: int | str,
    ) -> None:
        md = bytearray(MD_DEFAULT.ljust(MD_BYTES, b"\0"))
        struct.pack_into("<i", md, 16, expiry_tenths)
        struct.pack_into("<ii24s24s", md, 40, priority, 0, NULL_ID, correlation_id)
        options = mq.MQPMO_SYNCPOINT if syncpoint else mq.MQPMO_NO_SYNCPOINT
        where = (connection or self.application, handle or self.handle)
        assert putting.put(self.engine, *where, bytes(md), options, block_of(**values), body, None).reason == 0

    def ask(
        self,
        selector: str,
        options: int = DESTRUCTIVE,
        wait_ms: int = 0,
        by: tuple[Connection, Handle] | None = None,
        may_pause: bool = True,
        correlation_id: bytes = NULL_ID,
    ) -> GetRequest:
        connection, handle = by or (self.application, self.handle)
        match = mq.MQMO_MATCH_CORREL_ID
        request = new_request(connection, handle, options, match, NULL_ID, correlation_id, 1 << 20)
        if selector:
            request.selector = compile_selector(selector)
            request.kind = BY_SCAN
        request.wait_ms = wait_ms
        request.may_pause = may_pause
        get(self.engine, request)
        return request

    def step(self) -> None:
        resume_work(self.engine)
        self.engine.woken = []

    def finish(self) -> int:
        """Run until no search is pending; returns the number of steps."""
        steps = 0
        while self.engine.has_pending_work():
            self.step()
            steps += 1
            assert steps < 1_000_000
        return steps


@pytest.fixture
def site() -> Site:
    return Site()


# -- a queue without other users --------------------------------------------------------------------------------------

selectors = st.sampled_from(
    [
        "k = 3",
        "k > 7",
        "k < 0",
        "k BETWEEN 2 AND 4",
        "k = 5 AND j = 'a'",
        "j = 'b' OR k = 9",
        "k IS NULL",
        "TRUE",
        "j LIKE '%b%'",
    ]
)
filling = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", "ab"]), st.integers(0, 2)), max_size=40)


@settings(max_examples=examples(60), deadline=None)
@given(filled=filling, text=selectors, slice_cost=st.integers(1, 120))
def test_slices_find_what_one_go_finds(filled: list[tuple[int, str, int]], text: str, slice_cost: int) -> None:
    site = Site(slice_cost)
    for number, (k, j, priority) in enumerate(filled):
        site.put(b"%d" % number, priority, k=k, j=j)
    one, several = site.join(), site.join()
    option = mq.MQGMO_BROWSE_FIRST
    while True:
        whole = site.ask(text, option, by=one, may_pause=False)
        sliced = site.ask(text, option, by=several)
        site.finish()
        assert sliced.done
        assert (sliced.reason, sliced.body) == (whole.reason, whole.body)
        if whole.reason != 0:
            break
        option = mq.MQGMO_BROWSE_NEXT
    taken = []
    expected = _all(site, text)
    while True:
        request = site.ask(text)
        site.finish()
        if request.reason != 0:
            break
        taken.append(request.body)
    assert taken == expected
    assert site.queue.waiting.count == 0
    assert site.queue.waiting.scanning == {}


def _all(site: Site, text: str) -> list[bytes]:
    """Return the result of an uninterrupted browse."""
    browser = site.join()
    found = []
    option = mq.MQGMO_BROWSE_FIRST
    while (request := site.ask(text, option, by=browser, may_pause=False)).reason == 0:
        found.append(request.body)
        option = mq.MQGMO_BROWSE_NEXT
    return found


def test_a_look_does_a_bounded_amount_of_work_at_a_time(site: Site) -> None:
    for number in range(500):
        site.put(b"%d" % number, k=number)
    selector = compile_selector("k > 498")
    before = selector.evaluations
    request = site.ask("k > 498")
    per_slice = selector.evaluations - before
    assert not request.done
    assert 0 < per_slice < 10
    assert site.rung == 0
    assert site.engine.woken[-1] is site.engine.owner_signal  # the owner is signalled
    site.step()
    assert 0 < selector.evaluations - before - per_slice < 10
    assert site.finish() > 40
    assert request.body == b"499"
    assert selector.evaluations - before == 500


def test_connections_take_turns_however_much_each_has_to_look_for(site: Site) -> None:
    for number in range(300):
        site.put(b"%d" % number, k=number)
    greedy = [site.ask("k = -1", by=site.join()) for _ in range(1)]
    hog = site.join()
    greedy += [site.ask("k = -1", mq.MQGMO_BROWSE_FIRST, by=hog) for _ in range(200)]
    modest = site.ask("k = 20", by=site.join())
    steps = 0
    while not modest.done:
        site.step()
        steps += 1
    assert modest.body == b"20"
    assert steps < 60  # a third of the turns, not one in two hundred
    for request in greedy:
        cancel(site.engine, request, mq.MQRC_NO_MSG_AVAILABLE)
    assert site.finish() <= 250
    assert site.queue.waiting.count == 0


# -- changes in between -----------------------------------------------------------------------------------------------


def test_what_is_taken_under_the_place_where_a_look_rests_does_no_harm(site: Site) -> None:
    for number in range(60):
        site.put(b"%d" % number, k=number)
    request = site.ask("k = 59")
    other = site.join()
    taken = 0
    while not request.done:
        rests_on = site.queue.load(request.scan_slot).body
        assert site.ask(f"k = {rests_on.decode()}", by=other, may_pause=False).body == rests_on
        taken += 1
        if taken % 2:
            site.put(b"1000", k=1000)  # takes the slot that has become free
        site.step()
    assert request.body == b"59"
    assert taken > 10


def test_a_request_that_was_withdrawn_in_its_look_begins_anew(site: Site) -> None:
    for number in range(60):
        site.put(b"%d" % number, k=number)
    request = site.ask("k = 59", DESTRUCTIVE | mq.MQGMO_WAIT, -1)
    site.step()
    rests_on = site.queue.load(request.scan_slot).body
    site.queue.waiting.remove(request)
    assert site.ask(f"k = {rests_on.decode()}", by=site.join(), may_pause=False).body == rests_on
    site.put(b"1000", k=1000)  # takes the slot that has become free, at the end of the queue
    get(site.engine, request)
    site.finish()
    assert request.body == b"59"


def test_what_comes_before_the_place_is_offered_and_what_comes_behind_is_found(site: Site) -> None:
    for number in range(60):
        site.put(b"%d" % number, 4, k=number)
    request = site.ask("k > 100")
    assert not request.done
    site.put(b"behind", 0, k=200)
    assert not request.done
    site.put(b"before", 9, k=300)
    site.finish()
    assert request.body == b"before"
    assert site.queue.depth == 61


def test_a_back_out_brings_a_message_back_before_the_place(site: Site) -> None:
    site.put(b"wanted", k=100)
    for number in range(60):
        site.put(b"%d" % number, k=number)
    other = site.join()
    assert site.ask("k = 100", mq.MQGMO_SYNCPOINT, by=other, may_pause=False).body == b"wanted"
    request = site.ask("k = 100")
    site.step()
    assert not request.done
    site.world.back_out(other[0])
    site.finish()
    assert request.body == b"wanted"


def test_two_looks_never_take_one_message(site: Site) -> None:
    for number in range(40):
        site.put(b"%d" % number, k=number)
    requests = [site.ask("k = 39", by=site.join()) for _ in range(5)]
    site.finish()
    assert sorted(request.reason for request in requests) == [0] + [mq.MQRC_NO_MSG_AVAILABLE] * 4


def test_a_get_that_waits_goes_on_waiting_behind_its_look(site: Site) -> None:
    for number in range(60):
        site.put(b"%d" % number, k=number)
    request = site.ask("k = 100", DESTRUCTIVE | mq.MQGMO_WAIT, -1)
    site.finish()
    assert not request.done
    assert site.queue.counters.waits == 1
    site.put(b"at last", k=100)
    site.finish()
    assert request.body == b"at last"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda site, request: cancel(site.engine, request, mq.MQRC_NO_MSG_AVAILABLE), mq.MQRC_NO_MSG_AVAILABLE),
        (lambda site, request: site.world.close(request.connection, request.handle), mq.MQRC_CONNECTION_STOPPING),
        (lambda site, request: site.world.disconnect(request.connection), mq.MQRC_CONNECTION_BROKEN),
        (lambda site, request: site.world.define_queue("Q", {"GET": 1}, replace=True), mq.MQRC_GET_INHIBITED),
    ],
)
def test_a_look_ends_with_what_it_is_for(site: Site, end: Callable[[Site, GetRequest], None], reason: int) -> None:
    for number in range(60):
        site.put(b"%d" % number, k=number)
    request = site.ask("k = 59", by=site.join())
    assert not request.done
    end(site, request)
    assert (request.done, request.reason) == (True, reason)
    site.finish()
    assert site.queue.depth == 60
    assert site.queue.waiting.count == 0


def test_a_browse_gives_up_its_lock_when_its_look_is_over(site: Site) -> None:
    for number in range(60):
        site.put(b"%d" % number, k=number)
    browser, other = site.join(), site.join()
    first = site.ask("k = 0", mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOCK, by=browser, may_pause=False)
    assert first.body == b"0"
    request = site.ask("k = 59", mq.MQGMO_BROWSE_NEXT, by=browser)
    assert not request.done
    assert site.ask("k = 0", by=other, may_pause=False).reason == mq.MQRC_NO_MSG_AVAILABLE
    site.finish()
    assert request.body == b"59"
    assert site.ask("k = 0", by=other, may_pause=False).body == b"0"


def test_many_expired_messages_are_passed_in_slices(site: Site) -> None:
    site.engine.slice_cost = site.engine.share_cost = 400
    for _ in range(200):
        site.put(b"gone", expiry_tenths=1)
    site.put(b"alive")
    site.engine.now_ms += 1_000
    request = site.ask("")
    assert not request.done
    assert 0 < site.queue.counters.expired < 50
    site.finish()
    assert request.body == b"alive"
    assert site.queue.depth == 0


def test_a_long_chain_of_one_identifier_is_followed_in_slices(site: Site) -> None:
    wanted = b"c" * 24
    for number in range(4_100):
        site.put(b"%d" % number, number % 2, correlation_id=wanted)
    request = site.ask("", correlation_id=wanted)
    assert not request.done
    site.finish()
    assert request.body == b"1"


def test_logical_order_with_a_selector_is_looked_for_in_slices(site: Site) -> None:
    for number in range(60):
        site.put(b"%d" % number, k=number)
    request = site.ask("k = 100", DESTRUCTIVE | mq.MQGMO_LOGICAL_ORDER)
    assert not request.done
    site.put(b"new", 9, k=100)  # found only by another search
    site.finish()
    assert request.body == b"new"


# -- waiting gets -----------------------------------------------------------------------------------------------------


def test_each_selector_is_asked_once_however_many_wait_with_it(site: Site) -> None:
    site.engine.slice_cost = site.engine.share_cost = 1 << 40
    wait = DESTRUCTIVE | mq.MQGMO_WAIT
    same = [site.ask("k > 5 AND k < 7", wait, -1, by=site.join()) for _ in range(50)]
    never = compile_selector("k > 1000")
    _ = [site.ask("k > 1000", wait, -1, by=site.join()) for _ in range(50)]
    selector = same[0].selector
    assert selector is not None
    before, before_never = selector.evaluations, never.evaluations
    site.put(b"for nobody", k=0)
    assert (selector.evaluations - before, never.evaluations - before_never) == (1, 1)
    site.put(b"for the first", k=6)
    assert same[0].body == b"for the first"
    assert not same[1].done
    assert selector.evaluations - before == 2


def test_equalities_are_found_by_their_value(site: Site) -> None:
    site.engine.slice_cost = site.engine.share_cost = 1 << 40
    wait = DESTRUCTIVE | mq.MQGMO_WAIT
    requests = [site.ask(f"order = '{number}' AND k > 0", wait, -1) for number in range(300)]
    before = sum(request.selector.evaluations for request in requests if request.selector is not None)
    site.put(b"for 217", order="217", k=1)
    site.put(b"for nobody", order="301", k=1)
    site.put(b"not for 5", order="5", k=0)
    asked = sum(request.selector.evaluations for request in requests if request.selector is not None) - before
    assert asked == 2
    assert requests[217].body == b"for 217"
    assert sum(request.done for request in requests) == 1


def test_a_put_does_not_ask_all_who_wait_at_once(site: Site) -> None:
    wait = DESTRUCTIVE | mq.MQGMO_WAIT
    site.engine.slice_cost = site.engine.share_cost = 100
    by = [site.join() for _ in range(3)]
    requests = [site.ask(f"k > {number}", wait, -1, by=by[number % 3]) for number in range(299, 1, -1)]
    counted = [request.selector for request in requests if request.selector is not None]
    before = sum(selector.evaluations for selector in counted)
    site.put(b"for nobody", k=0)
    site.put(b"for the last", k=3)
    assert sum(selector.evaluations for selector in counted) - before < 30
    assert site.queue.depth == 2
    # A get without a selector does not wait for selective ones.
    assert site.ask("", may_pause=False).body == b"for nobody"
    assert site.finish() > 3
    assert requests[-1].body == b"for the last"
    assert not site.queue.offers
    assert site.engine.offering == {}


def test_messages_are_offered_in_their_order(site: Site) -> None:
    site.engine.slice_cost = site.engine.share_cost = 100
    wait = DESTRUCTIVE | mq.MQGMO_WAIT
    for number in range(100):
        site.ask(f"j = 'x' AND k > {1000 + number}", wait, -1)
    resume_work(site.engine)
    last = site.ask("k > 5", wait, -1)
    # The first selector is evaluated for long; the second would match at once.
    site.put(b"first", j="x", k=6)
    assert not last.done
    site.engine.renew_share()
    site.put(b"second", j="y", k=7)
    assert not last.done
    site.finish()
    assert last.body == b"first"
    assert site.ask("k > 5", may_pause=False).body == b"second"


def test_selectors_that_wait_are_limited_in_bytes(site: Site) -> None:
    wait = DESTRUCTIVE | mq.MQGMO_WAIT
    long = " OR ".join(["k > 1"] * 600)
    size = compile_selector(long).size_bytes
    assert size > 100_000
    by = site.join()
    count = SELECTOR_BYTES_MAX // size + 2
    requests = [site.ask(f"{long} OR k > {number}", wait, -1, by=by) for number in range(count)]
    assert requests[0].done is False
    assert requests[-1].reason == mq.MQRC_RESOURCE_PROBLEM
    # Other connections have their own limit, and a selector already in use adds nothing.
    assert not site.ask(f"{long} OR k > {len(requests)}", wait, -1, by=site.join()).done
    for request in requests:
        cancel(site.engine, request, mq.MQRC_NO_MSG_AVAILABLE)
    assert by[0].selector_use.bytes == 0


# -- anything in between ----------------------------------------------------------------------------------------------

steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.integers(0, 2)),
        st.tuples(st.just("put in unit"), st.integers(0, 9), st.integers(0, 2)),
        st.tuples(st.just("get in unit"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("commit"), st.just(0), st.just(0)),
        st.tuples(st.just("back out"), st.just(0), st.just(0)),
        st.tuples(st.just("take first"), st.just(0), st.just(0)),
        st.tuples(st.just("step"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("ask"), st.integers(0, 9), st.integers(0, 2)),
        st.tuples(st.just("cancel"), st.integers(0, 5), st.just(0)),
    ),
    max_size=60,
)


class Asked:
    """A pending request, and the messages that have been available since it was made."""

    def __init__(self, request: GetRequest, k: int, there: dict[bytes, tuple[int, int, int]]) -> None:
        self.request = request
        self.k = k
        self.there = dict(there)


@settings(max_examples=examples(150), deadline=None)
@given(filled=st.lists(st.integers(0, 9), max_size=30), story=steps, slice_cost=st.integers(1, 80))
def test_whatever_happens_in_between(filled: list[int], story: list[tuple[str, int, int]], slice_cost: int) -> None:
    run = _Story(slice_cost)
    for k in filled:
        run.do("put", k, 1)
    for what, number, other in story:
        run.do(what, number, other)
    run.do("back out", 0, 0)
    run.site.finish()
    run.look_at_answers()
    # No waiting get has missed an available message.
    for asked in run.asked:
        assert not run.fitting(run.there, asked.k), (asked.k, run.there)


class _Story:
    def __init__(self, slice_cost: int) -> None:
        self.site = Site(slice_cost)
        self.other = self.site.join()
        self.taker = self.site.join()
        self.there: dict[bytes, tuple[int, int, int]] = {}  # body -> k, priority, number
        self.unseen: dict[bytes, tuple[int, int, int]] = {}  # put in the unit
        self.unsettled: dict[bytes, tuple[int, int, int]] = {}  # got in the unit
        self.asked: list[Asked] = []
        self.taken: set[bytes] = set()
        self.number = 0

    def fitting(self, messages: dict[bytes, tuple[int, int, int]], k: int) -> list[bytes]:
        """Return the messages that match a selector, in the order of delivery."""
        found = [(-priority, number, body) for body, (own, priority, number) in messages.items() if own == k]
        return [body for _, _, body in sorted(found)]

    def do(self, what: str, number: int, other: int) -> None:
        site = self.site
        if what in ("put", "put in unit"):
            self.number += 1
            body = b"%d" % self.number
            in_unit = what != "put"
            (self.unseen if in_unit else self.there)[body] = (number, other, self.number)
            if in_unit:
                site.put(body, other, True, *self.other, k=number)
            else:
                site.put(body, other, k=number)
        elif what == "get in unit":
            request = site.ask(f"k = {number}", mq.MQGMO_SYNCPOINT, by=self.other, may_pause=False)
            if request.reason == 0:
                self.unsettled[request.body] = self._gone(request.body)
        elif what == "commit":
            site.world.commit(self.other[0])
            self.there.update(self.unseen)
            self.unseen, self.unsettled = {}, {}
        elif what == "back out":
            site.world.back_out(self.other[0])
            self.there.update(self.unsettled)
            self.unseen, self.unsettled = {}, {}
        elif what == "take first":
            request = site.ask("", by=self.taker, may_pause=False)
            if request.reason == 0:
                self._gone(request.body)
        elif what == "step":
            for _ in range(number):
                site.step()
                self.look_at_answers()
        elif what == "ask":
            there = dict(self.there)
            wait = mq.MQGMO_WAIT if other else 0
            request = site.ask(f"k = {number}", DESTRUCTIVE | wait, -1 if other else 0, by=site.join())
            self.asked.append(Asked(request, number, there))
        elif self.asked:
            asked = self.asked[number % len(self.asked)]
            cancel(site.engine, asked.request, mq.MQRC_NO_MSG_AVAILABLE)
            self.asked.remove(asked)
        self.look_at_answers()

    def _gone(self, body: bytes) -> tuple[int, int, int]:
        for asked in self.asked:
            asked.there.pop(body, None)
        return self.there.pop(body)

    def look_at_answers(self) -> None:
        for asked in list(self.asked):
            request = asked.request
            if not request.done:
                continue
            self.asked.remove(asked)
            first = self.fitting(asked.there, asked.k)
            if request.reason == mq.MQRC_NO_MSG_AVAILABLE:
                assert first == [], "a message that was there the whole time was missed"
                continue
            assert request.reason == 0
            assert request.body in self.there, "taken twice, or not there at all"
            k, priority, number = self.there[request.body]
            assert k == asked.k
            if first:
                _, first_priority, first_number = self.there[first[0]]
                assert (-priority, number) <= (-first_priority, first_number), "out of order"
            self._gone(request.body)
