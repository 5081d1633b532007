"""The states of a message channel and the events that lead from one to another: one table for both ends.

An outbound channel:

    INACTIVE -START, TRIGGERED-> STARTING -DISPATCHED-> INITIALIZING -CONNECTED-> BINDING -NEGOTIATED-> RUNNING
                                    ^                                             |  ^                   |  ^
                                RETRY_DUE                         CALLBACK_PROMISED  CALLED_BACK         |  |
                                    |                                             v  |        MESSAGE_RETRY RETRY_OVER
                                    |                                         REQUESTING                 v  |
                                    |                                                                   PAUSED
                                RETRYING <--FAILED-- any of these
                                    |
                                    +--RETRIES_EXHAUSTED--> STOPPED <--STOP_COMPLETE, FAILED_PERMANENTLY-- any of these

    RUNNING --END_DUE, STOP_REQUESTED--> STOPPING --ENDED--> INACTIVE
                                         STOPPING --STOP_COMPLETE--> STOPPED --START--> STARTING

An inbound channel goes from INACTIVE through CALLED to BINDING. A requester may ask a sender to call back: both close
the connection, the requester in REQUESTING, the sender with CALLBACK_REQUESTED in STARTING. An inbound channel does not
retry: it has ENDED when its link is gone, whatever the cause. A channel without a link has nothing to finish: instead
of STOP_REQUESTED it gets STOP_COMPLETE or ENDED, by STATUS of the command.

SWITCHING moves messages to another transmission queue. Only clusters do that, so no channel reaches it yet.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.model import constants as mq

INACTIVE: Final = mq.MQCHS_INACTIVE  # idle; may be started or called
BINDING: Final = mq.MQCHS_BINDING  # connected; both ends negotiate
STARTING: Final = mq.MQCHS_STARTING  # waits for its turn to connect
RUNNING: Final = mq.MQCHS_RUNNING  # transfers messages or waits for them
STOPPING: Final = mq.MQCHS_STOPPING  # completes the batch and ends with the partner
RETRYING: Final = mq.MQCHS_RETRYING  # waits for the retry interval
STOPPED: Final = mq.MQCHS_STOPPED  # idle until START CHANNEL
REQUESTING: Final = mq.MQCHS_REQUESTING  # a requester waits for the partner to call back
PAUSED: Final = mq.MQCHS_PAUSED  # waits for the message-retry interval
INITIALIZING: Final = mq.MQCHS_INITIALIZING  # resolves the partner's address and connects
SWITCHING: Final = mq.MQCHS_SWITCHING  # moves messages to another transmission queue

NAMES: Final[dict[int, str]] = {
    INACTIVE: "INACTIVE",
    STARTING: "STARTING",
    INITIALIZING: "INITIALIZING",
    BINDING: "BINDING",
    REQUESTING: "REQUESTING",
    RUNNING: "RUNNING",
    PAUSED: "PAUSED",
    STOPPING: "STOPPING",
    RETRYING: "RETRYING",
    STOPPED: "STOPPED",
    SWITCHING: "SWITCHING",
}

START: Final = 1
TRIGGERED: Final = 2
ENABLED: Final = 3
CALLED: Final = 4
SWITCH: Final = 5
SWITCHED: Final = 6
DISPATCHED: Final = 7
CONNECTED: Final = 8
NEGOTIATED: Final = 9
CALLBACK_PROMISED: Final = 10
CALLED_BACK: Final = 11
CALLBACK_REQUESTED: Final = 12
MESSAGE_RETRY: Final = 13
RETRY_OVER: Final = 14
END_DUE: Final = 15
STOP_REQUESTED: Final = 16
ENDED: Final = 17
FAILED: Final = 18
RETRY_DUE: Final = 19
RETRIES_EXHAUSTED: Final = 20
FAILED_PERMANENTLY: Final = 21
STOP_COMPLETE: Final = 22

EVENTS: Final[dict[int, tuple[str, str]]] = {
    START: ("START", "START CHANNEL, or the restart of a queue manager that had the channel running"),
    TRIGGERED: ("TRIGGERED", "a message arrived on its transmission queue"),
    ENABLED: ("ENABLED", "START of a channel that the partner calls, or STOP with STATUS(INACTIVE) of a stopped one"),
    CALLED: ("CALLED", "the partner has connected"),
    SWITCH: ("SWITCH", "the channel has another transmission queue than before"),
    SWITCHED: ("SWITCHED", "the messages are on the new transmission queue"),
    DISPATCHED: ("DISPATCHED", "its turn has come: the address of the partner is resolved and connected to"),
    CONNECTED: ("CONNECTED", "the partner has accepted the connection"),
    NEGOTIATED: ("NEGOTIATED", "both ends have negotiated, and no batch is in doubt"),
    CALLBACK_PROMISED: ("CALLBACK_PROMISED", "the partner is going to call back"),
    CALLED_BACK: ("CALLED_BACK", "the partner called back"),
    CALLBACK_REQUESTED: ("CALLBACK_REQUESTED", "a requester has asked this sender to call back"),
    MESSAGE_RETRY: ("MESSAGE_RETRY", "a message cannot be put now; it is put again after MRTMR"),
    RETRY_OVER: ("RETRY_OVER", "the message is put, dead-lettered or discarded"),
    END_DUE: ("END_DUE", "the disconnect interval is over, or the partner or the queue manager ends"),
    STOP_REQUESTED: ("STOP_REQUESTED", "STOP CHANNEL with MODE(QUIESCE)"),
    ENDED: ("ENDED", "the channel has ended, and does not retry"),
    FAILED: ("FAILED", "the channel has failed, and retries"),
    RETRY_DUE: ("RETRY_DUE", "the retry interval is over"),
    RETRIES_EXHAUSTED: ("RETRIES_EXHAUSTED", "SHORTRTY and LONGRTY are used up"),
    FAILED_PERMANENTLY: ("FAILED_PERMANENTLY", "the channel has failed, and a retry would not help"),
    STOP_COMPLETE: ("STOP_COMPLETE", "the channel has ended, and stays stopped until START CHANNEL"),
}

TRANSITIONS: Final[dict[tuple[int, int], int]] = {
    (INACTIVE, START): STARTING,
    (INACTIVE, TRIGGERED): STARTING,
    (INACTIVE, ENABLED): INACTIVE,
    (INACTIVE, CALLED): BINDING,
    (INACTIVE, ENDED): INACTIVE,
    (INACTIVE, STOP_COMPLETE): STOPPED,
    (STARTING, SWITCH): SWITCHING,
    (STARTING, DISPATCHED): INITIALIZING,
    (STARTING, CALLED): BINDING,
    (STARTING, ENDED): INACTIVE,
    (STARTING, FAILED): RETRYING,
    (STARTING, FAILED_PERMANENTLY): STOPPED,
    (STARTING, STOP_COMPLETE): STOPPED,
    (SWITCHING, SWITCHED): STARTING,
    (SWITCHING, STOP_REQUESTED): STOPPING,
    (SWITCHING, ENDED): INACTIVE,
    (SWITCHING, FAILED): RETRYING,
    (SWITCHING, FAILED_PERMANENTLY): STOPPED,
    (SWITCHING, STOP_COMPLETE): STOPPED,
    (INITIALIZING, CONNECTED): BINDING,
    (INITIALIZING, ENDED): INACTIVE,
    (INITIALIZING, FAILED): RETRYING,
    (INITIALIZING, FAILED_PERMANENTLY): STOPPED,
    (INITIALIZING, STOP_COMPLETE): STOPPED,
    (BINDING, NEGOTIATED): RUNNING,
    (BINDING, CALLBACK_PROMISED): REQUESTING,
    (BINDING, CALLBACK_REQUESTED): STARTING,
    (BINDING, END_DUE): STOPPING,
    (BINDING, STOP_REQUESTED): STOPPING,
    (BINDING, ENDED): INACTIVE,
    (BINDING, FAILED): RETRYING,
    (BINDING, FAILED_PERMANENTLY): STOPPED,
    (BINDING, STOP_COMPLETE): STOPPED,
    (REQUESTING, CALLED_BACK): BINDING,
    (REQUESTING, ENDED): INACTIVE,
    (REQUESTING, FAILED): RETRYING,
    (REQUESTING, FAILED_PERMANENTLY): STOPPED,
    (REQUESTING, STOP_COMPLETE): STOPPED,
    (RUNNING, MESSAGE_RETRY): PAUSED,
    (RUNNING, END_DUE): STOPPING,
    (RUNNING, STOP_REQUESTED): STOPPING,
    (RUNNING, ENDED): INACTIVE,
    (RUNNING, FAILED): RETRYING,
    (RUNNING, FAILED_PERMANENTLY): STOPPED,
    (RUNNING, STOP_COMPLETE): STOPPED,
    (PAUSED, RETRY_OVER): RUNNING,
    (PAUSED, END_DUE): STOPPING,
    (PAUSED, STOP_REQUESTED): STOPPING,
    (PAUSED, ENDED): INACTIVE,
    (PAUSED, FAILED): RETRYING,
    (PAUSED, FAILED_PERMANENTLY): STOPPED,
    (PAUSED, STOP_COMPLETE): STOPPED,
    # A message retry may end while the channel stops.
    (STOPPING, RETRY_OVER): STOPPING,
    # STOP CHANNEL may arrive while the channel ends by itself, and may be repeated.
    (STOPPING, END_DUE): STOPPING,
    (STOPPING, STOP_REQUESTED): STOPPING,
    (STOPPING, ENDED): INACTIVE,
    (STOPPING, FAILED): RETRYING,
    (STOPPING, FAILED_PERMANENTLY): STOPPED,
    (STOPPING, STOP_COMPLETE): STOPPED,
    (RETRYING, START): STARTING,
    (RETRYING, CALLED): BINDING,
    (RETRYING, RETRY_DUE): STARTING,
    (RETRYING, ENDED): INACTIVE,
    (RETRYING, RETRIES_EXHAUSTED): STOPPED,
    (RETRYING, FAILED_PERMANENTLY): STOPPED,
    (RETRYING, STOP_COMPLETE): STOPPED,
    (STOPPED, START): STARTING,
    (STOPPED, ENABLED): INACTIVE,
    (STOPPED, STOP_COMPLETE): STOPPED,
}


def next_state(state: i64, event: i64) -> int:
    """Return the state that an event leads to. ValueError if the event cannot happen in this state."""
    found = TRANSITIONS.get((int(state), int(event)))
    if found is None:
        state_name = NAMES.get(int(state), str(state))
        event_name = EVENTS[int(event)][0] if int(event) in EVENTS else str(event)
        raise ValueError(f"The event {event_name} is not possible in the channel state {state_name}.")
    return found


def accepts(state: i64, event: i64) -> bool:
    """Return True if the event can happen in this state."""
    return (int(state), int(event)) in TRANSITIONS


def as_text() -> str:
    """Return the table as text: the meaning of each event, then each state with the events that leave it."""
    lines = [f"{word:<18} {meaning}" for word, meaning in EVENTS.values()]
    for state, name in NAMES.items():
        lines.append("")
        lines.append(name)
        for (before, event), following in TRANSITIONS.items():
            if before == state:
                lines.append(f"  {EVENTS[event][0]:<18} -> {NAMES[following]}")
    return "\n".join(lines) + "\n"
