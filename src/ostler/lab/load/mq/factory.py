"""From a plan to clients of Ostler, and what each operation of theirs comes to."""

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


def mq_clients(plan: LoadSpec, pace: Pace, is_requester: bool, numbers: range) -> list[LoadClient]:
    """One client for each connection, in the order of their numbers. Clients that share one are its `members`.

    Those that share a connection are of one queue manager, and connections go round the queue managers.
    """
    terms = mq_terms(plan)
    shared = plan.conversations
    if shared <= 1 or (is_requester and plan.kind == SESSIONS):
        return [_client(plan, pace, terms, is_requester, number, 1) for number in numbers]
    by_manager = [[number for number in numbers if number % terms.managers == each] for each in range(terms.managers)]
    found: list[LoadClient] = []
    for at in range(0, max(len(each) for each in by_manager), shared):
        for each in by_manager:
            members = [
                _client(plan, pace, terms, is_requester, number, conversation)
                for conversation, number in enumerate(each[at : at + shared], 1)
            ]
            if members:
                found.append(MqCarrier(pace, terms.channel, members))
    return found


def _client(plan: LoadSpec, pace: Pace, terms: MqTerms, is_requester: bool, number: int, conversation: int) -> MqClient:
    if plan.kind == PUBLISH:
        if is_requester:
            return MqPublisher(pace, number, terms, conversation)
        return MqSubscriber(pace, number, terms, conversation)
    if plan.kind == ONE_WAY:
        if is_requester:
            return MqProducer(pace, number, terms, conversation)
        return MqConsumer(pace, number, terms, conversation)
    if not is_requester:
        if plan.routes:
            return MqRemoteResponder(pace, number, terms, conversation)
        return MqResponder(pace, number, terms, conversation)
    if plan.kind == SESSIONS:
        return MqSession(pace, number, terms)
    return MqRequester(pace, number, terms, conversation)


def requesters_in_units(plan: LoadSpec) -> bool:
    return plan.units == EVERYBODY


def responders_in_units(plan: LoadSpec) -> bool:
    return plan.units in (RESPONDERS, EVERYBODY) or (plan.units == BY_PERSISTENCE and plan.persistent)


def mq_terms(plan: LoadSpec) -> MqTerms:
    return MqTerms(
        pairs=plan.pairs,
        body_bytes=plan.body_bytes,
        persistent=plan.persistent,
        # The queue manager's own socket has no channels.
        channel="" if isinstance(plan.address, str) else plan.channel,
        pipelined=plan.protocol == MQ_PIPELINED,
        requester_units=requesters_in_units(plan),
        responder_units=responders_in_units(plan),
        goes_round=plan.goes_round,
        own_replies=plan.own_replies,
        is_jms=plan.messages == JMS,
        async_put=plan.async_put,
        read_ahead=plan.read_ahead,
        session_round_trips=plan.session_round_trips,
        subscribers=plan.subscribers,
        managers=1 + len(plan.other_addresses),
        consumer_unit=plan.consumer_unit,
        routes=plan.routes,
    )


@dataclass(frozen=True)
class VerbCounts:
    """Verbs that the queue manager counts."""

    puts: int
    gets: int
    commits: int


def verbs_per_round_trip(plan: LoadSpec) -> VerbCounts:
    """Of requester and responder together. A session has `session_round_trips` times as many."""
    commits = (2 if requesters_in_units(plan) else 0) + (1 if responders_in_units(plan) else 0)
    return VerbCounts(puts=2, gets=2, commits=commits)


def exchanges_per_operation(plan: LoadSpec) -> int:
    """How often somebody sends and waits for an answer in one main operation: so often the network limit counts.

    Of a one-way message: the producer's exchanges alone, as the consumer works at the same time.
    """
    is_pipelined = plan.protocol == MQ_PIPELINED
    in_units = requesters_in_units(plan)
    if plan.kind in (ONE_WAY, PUBLISH):
        return 2 if in_units and not is_pipelined and not plan.async_put else 1
    # Put, commit, get, commit of the requester; pipelined, its get and its last commit.
    requester = (2 if in_units else 1) if is_pipelined else (4 if in_units else 2)
    responder = 1 if is_pipelined else (3 if responders_in_units(plan) else 2)
    if plan.kind != SESSIONS:
        return requester + responder
    queues = (plan.pairs if plan.goes_round else 1) * (1 if plan.own_replies else 2) + (1 if plan.own_replies else 0)
    # TCP's own, first frame, connect, open and close each queue, disconnect.
    around = 5 if is_pipelined else 4 + 2 * queues
    return around + plan.session_round_trips * (requester + responder)
