"""The factory of Ostler clients for a load, and the cost of each operation of theirs."""

from __future__ import annotations

from dataclasses import dataclass

from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.mq.client import MqCarrier, MqClient, MqTerms
from ostler.lab.load.mq.one_way import MqConsumer, MqProducer
from ostler.lab.load.mq.publish import MqPublisher, MqSubscriber
from ostler.lab.load.mq.request_reply import MqRemoteResponder, MqRequester, MqResponder
from ostler.lab.load.mq.session import MqSession
from ostler.lab.load.spec import (
    BY_PERSISTENCE,
    EVERYBODY,
    JMS,
    MQ_PIPELINED,
    ONE_WAY,
    PUBLISH,
    RESPONDERS,
    SESSIONS,
    LoadSpec,
)


def mq_clients(spec: LoadSpec, pace: Pace, is_requester: bool, numbers: range) -> list[LoadClient]:
    """Return one client for each connection, in the order of their numbers. Clients that share one are its `members`.

    Those that share a connection use one queue manager, and connections are distributed over the queue managers in
    turn.
    """
    terms = mq_terms(spec)
    shared = spec.conversations
    if shared <= 1 or (is_requester and spec.kind == SESSIONS):
        return [_client(spec, pace, terms, is_requester, number, 1) for number in numbers]
    by_manager = [[number for number in numbers if number % terms.managers == each] for each in range(terms.managers)]
    found: list[LoadClient] = []
    for at in range(0, max(len(each) for each in by_manager), shared):
        for each in by_manager:
            members = [
                _client(spec, pace, terms, is_requester, number, conversation)
                for conversation, number in enumerate(each[at : at + shared], 1)
            ]
            if members:
                found.append(MqCarrier(pace, terms.channel, members))
    return found


def _client(spec: LoadSpec, pace: Pace, terms: MqTerms, is_requester: bool, number: int, conversation: int) -> MqClient:
    if spec.kind == PUBLISH:
        if is_requester:
            return MqPublisher(pace, number, terms, conversation)
        return MqSubscriber(pace, number, terms, conversation)
    if spec.kind == ONE_WAY:
        if is_requester:
            return MqProducer(pace, number, terms, conversation)
        return MqConsumer(pace, number, terms, conversation)
    if not is_requester:
        if spec.routes:
            return MqRemoteResponder(pace, number, terms, conversation)
        return MqResponder(pace, number, terms, conversation)
    if spec.kind == SESSIONS:
        return MqSession(pace, number, terms)
    return MqRequester(pace, number, terms, conversation)


def requesters_in_units(spec: LoadSpec) -> bool:
    return spec.units == EVERYBODY


def responders_in_units(spec: LoadSpec) -> bool:
    return spec.units in (RESPONDERS, EVERYBODY) or (spec.units == BY_PERSISTENCE and spec.persistent)


def mq_terms(spec: LoadSpec) -> MqTerms:
    return MqTerms(
        pairs=spec.pairs,
        body_bytes=spec.body_bytes,
        persistent=spec.persistent,
        # The queue manager's local socket has no channels.
        channel="" if isinstance(spec.address, str) else spec.channel,
        pipelined=spec.protocol == MQ_PIPELINED,
        requester_units=requesters_in_units(spec),
        responder_units=responders_in_units(spec),
        goes_round=spec.goes_round,
        own_replies=spec.own_replies,
        is_jms=spec.messages == JMS,
        async_put=spec.async_put,
        read_ahead=spec.read_ahead,
        session_round_trips=spec.session_round_trips,
        subscribers=spec.subscribers,
        managers=1 if spec.is_shared else 1 + len(spec.other_addresses),
        consumer_unit=spec.consumer_unit,
        producer_unit=spec.producer_unit,
        requester_ccsid=spec.requester_ccsid,
        responder_ccsid=spec.responder_ccsid,
        routes=spec.routes,
    )


@dataclass(frozen=True)
class VerbCounts:
    """Verbs that the queue manager counts."""

    puts: int
    gets: int
    commits: int


def verbs_per_round_trip(spec: LoadSpec) -> VerbCounts:
    """Return the verbs of requester and responder together. A session has `session_round_trips` times as many."""
    commits = (2 if requesters_in_units(spec) else 0) + (1 if responders_in_units(spec) else 0)
    return VerbCounts(puts=2, gets=2, commits=commits)


def exchanges_per_operation(spec: LoadSpec) -> int:
    """Return the number of waits for an answer in one main operation, the factor of the network limit.

    For a one-way message only the producer's exchanges count, since the consumer works at the same time.
    """
    is_pipelined = spec.protocol == MQ_PIPELINED
    in_units = requesters_in_units(spec)
    if spec.kind in (ONE_WAY, PUBLISH):
        return 2 if in_units and not is_pipelined and not spec.async_put else 1
    # Put, commit, get, commit of the requester; pipelined, its get and its last commit.
    requester = (2 if in_units else 1) if is_pipelined else (4 if in_units else 2)
    responder = 1 if is_pipelined else (3 if responders_in_units(spec) else 2)
    if spec.kind != SESSIONS:
        return requester + responder
    queues = (spec.pairs if spec.goes_round else 1) * (1 if spec.own_replies else 2) + (1 if spec.own_replies else 0)
    # The TCP handshake, first frame, connect, open and close of each queue, disconnect.
    around = 5 if is_pipelined else 4 + 2 * queues
    return around + spec.session_round_trips * (requester + responder)
