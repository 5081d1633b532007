"""MQSUB and MQSUBRQ on queue managers of this process."""

from __future__ import annotations

from ostler.client.mqi.connection_state import retry_when_log_full, usable_connection, wait_durable
from ostler.client.mqi.objects import open_handle
from ostler.client.mqi.put_get import Result, completion, error_result, wake_when_done
from ostler.client.mqi.subscription_structures import (
    describe_request,
    describe_subscribed,
    request_options,
    subscribe_arguments,
)
from ostler.engine.core import Engine
from ostler.engine.outcomes import RetainedOutcome
from ostler.engine.pubsub.subscribe import (
    SubscribeResult,
    finish_request,
    finish_subscribe,
    request_publications,
)
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.verbs import topics as topic_verbs

Subscription = tuple[int, int, int, int]
"""The handles of the destination and of the subscription, completion and reason."""


def MQSUB(hconn: int, sd: bytearray, hobj: int) -> Subscription:
    """Subscribe. `sd` is updated; with MQSO_MANAGED the object handle is that of the managed queue."""
    try:
        bound = usable_connection(hconn)
        connection = bound.connection
        asked = subscribe_arguments(sd, hobj)

        def verb(engine: Engine) -> SubscribeResult:
            made = topic_verbs.subscribe_as_asked(engine, connection, asked, True)
            wake_when_done(bound, made.task)
            return made

        made = retry_when_log_full(bound, verb)
        if made.task is not None:
            bound.waker.acquire()
            with bound.turn as engine:
                finish_subscribe(engine, connection, made)
        found, reason = topic_verbs.make_subscribe_reply(made), int(made.warning)
        wait_durable(bound, made.after_lsn)
    except MQError as error:
        return hobj, mq.MQHO_UNUSABLE_HOBJ, *error_result(error)
    describe_subscribed(sd, found)
    return found.destination.hobj or hobj, found.hsub, completion(reason), reason


def MQSUBRQ(hconn: int, hsub: int, action: int, sro: bytearray | None) -> Result:
    """Request the retained publications of a subscription. `sro` returns their number."""
    try:
        bound = usable_connection(hconn)
        handle = open_handle(bound, hsub)
        options = request_options(sro)

        def verb(engine: Engine) -> RetainedOutcome:
            sent = request_publications(engine, bound.connection, handle, action, options, True)
            wake_when_done(bound, sent.task)
            return sent

        sent = retry_when_log_full(bound, verb)
        if sent.task is not None:
            bound.waker.acquire()
            assert handle.subscription is not None
            with bound.turn as engine:
                finish_request(engine, bound.connection, handle.subscription, sent)
        wait_durable(bound, sent.after_lsn)
    except MQError as error:
        return error_result(error)
    describe_request(sro, sent.count)
    return mq.MQCC_OK, mq.MQRC_NONE
