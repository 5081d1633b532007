"""The states of a message channel, and what leads from one to another: one table for sending and receiving ends.

A channel that calls its partner, and what may become of it:

    INACTIVE --START, TRIGGERED--> STARTING --TAKEN_UP--> INITIALIZING --CONNECTED--> BINDING --AGREED--> RUNNING
                                      ^                                                |  ^                |  ^
                                  RETRY_DUE                                    REQUESTED  CALLED_BACK      |  |
                                      |                                                v  |    MESSAGE_RETRY  RETRY_OVER
                                      |                                             REQUESTING             v  |
                                      |                                                                   PAUSED
                                  RETRYING <--FAILED-- any of these
                                      |
                                      +--GAVE_UP--> STOPPED <--STOPPED_NOW, REFUSED-- any of these

    RUNNING --END_DUE, STOP_ASKED--> STOPPING --ENDED--> INACTIVE
                                     STOPPING --STOPPED_NOW--> STOPPED --START--> STARTING

A channel that is called goes from INACTIVE through CALLED to BINDING. A requester may ask a sender to call back: both
hang up, the requester in REQUESTING, the sender with CALLS_BACK in STARTING. An end that is called does not retry: when
its link is gone, however that came about, it has ENDED. Who is asked to stop and has nothing to finish first, because
there is no link yet or any more, takes no STOP_ASKED: it is STOPPED_NOW, or has ENDED, as STATUS of the command says.

In SWITCHING messages move to another transmission queue than before. Only clusters will do that: none gets there yet.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.model.constants import (
    MQCHS_BINDING,
    MQCHS_INACTIVE,
    MQCHS_INITIALIZING,
    MQCHS_PAUSED,
    MQCHS_REQUESTING,
    MQCHS_RETRYING,
    MQCHS_RUNNING,
    MQCHS_STARTING,
    MQCHS_STOPPED,
    MQCHS_STOPPING,
    MQCHS_SWITCHING,
)

INACTIVE: Final = MQCHS_INACTIVE  # it does nothing, and may be started or called
BINDING: Final = MQCHS_BINDING  # there is a link; both ends negotiate
STARTING: Final = MQCHS_STARTING  # it is to start, and waits for its turn
RUNNING: Final = MQCHS_RUNNING  # messages move, or are waited for
STOPPING: Final = MQCHS_STOPPING  # the batch is finished, and the partner told
RETRYING: Final = MQCHS_RETRYING  # it waits until it tries again
STOPPED: Final = MQCHS_STOPPED  # it does nothing until somebody starts it
REQUESTING: Final = MQCHS_REQUESTING  # a requester waits for the partner's call
PAUSED: Final = MQCHS_PAUSED  # a message was refused, and is tried again in a while
INITIALIZING: Final = MQCHS_INITIALIZING  # the partner's address is looked up and called
SWITCHING: Final = MQCHS_SWITCHING  # messages move to another transmission queue

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
TAKEN_UP: Final = 7
CONNECTED: Final = 8
AGREED: Final = 9
REQUESTED: Final = 10
CALLED_BACK: Final = 11
CALLS_BACK: Final = 12
MESSAGE_RETRY: Final = 13
RETRY_OVER: Final = 14
END_DUE: Final = 15
STOP_ASKED: Final = 16
ENDED: Final = 17
FAILED: Final = 18
RETRY_DUE: Final = 19
GAVE_UP: Final = 20
REFUSED: Final = 21
STOPPED_NOW: Final = 22

EVENTS: Final[dict[int, tuple[str, str]]] = {
    START: ("START", "somebody starts it, or the queue manager does that had it running"),
    TRIGGERED: ("TRIGGERED", "a message arrived on its transmission queue"),
    ENABLED: ("ENABLED", "somebody starts an end that is called, or stops with STATUS(INACTIVE) what is stopped"),
    CALLED: ("CALLED", "the partner has connected"),
    SWITCH: ("SWITCH", "its transmission queue is another than before"),
    SWITCHED: ("SWITCHED", "the messages are on the transmission queue it has now"),
    TAKEN_UP: ("TAKEN_UP", "its turn has come: the partner's address is looked up and called"),
    CONNECTED: ("CONNECTED", "the partner has taken the call"),
    AGREED: ("AGREED", "both ends know how they work together, and no batch is in doubt"),
    REQUESTED: ("REQUESTED", "the partner will call back"),
    CALLED_BACK: ("CALLED_BACK", "the partner called back"),
    CALLS_BACK: ("CALLS_BACK", "a requester has asked this sender for its call"),
    MESSAGE_RETRY: ("MESSAGE_RETRY", "a message cannot be put now; MRTMR says when to try again"),
    RETRY_OVER: ("RETRY_OVER", "the message is put, or given up"),
    END_DUE: ("END_DUE", "the disconnect interval is over, or the partner or the queue manager ends"),
    STOP_ASKED: ("STOP_ASKED", "somebody stops it with MODE(QUIESCE)"),
    ENDED: ("ENDED", "it is over, and there is nothing to try again"),
    FAILED: ("FAILED", "it broke, and is tried again"),
    RETRY_DUE: ("RETRY_DUE", "the time to try again has come"),
    GAVE_UP: ("GAVE_UP", "it was tried as often as SHORTRTY and LONGRTY say"),
    REFUSED: ("REFUSED", "something is wrong that does not mend by itself"),
    STOPPED_NOW: ("STOPPED_NOW", "it is over, and stays so until it is started"),
}

TRANSITIONS: Final[dict[tuple[int, int], int]] = {
    (INACTIVE, START): STARTING,
    (INACTIVE, TRIGGERED): STARTING,
    (INACTIVE, ENABLED): INACTIVE,
    (INACTIVE, CALLED): BINDING,
    (INACTIVE, ENDED): INACTIVE,
    (INACTIVE, STOPPED_NOW): STOPPED,
    (STARTING, SWITCH): SWITCHING,
    (STARTING, TAKEN_UP): INITIALIZING,
    (STARTING, CALLED): BINDING,
    (STARTING, ENDED): INACTIVE,
    (STARTING, FAILED): RETRYING,
    (STARTING, REFUSED): STOPPED,
    (STARTING, STOPPED_NOW): STOPPED,
    (SWITCHING, SWITCHED): STARTING,
    (SWITCHING, STOP_ASKED): STOPPING,
    (SWITCHING, ENDED): INACTIVE,
    (SWITCHING, FAILED): RETRYING,
    (SWITCHING, REFUSED): STOPPED,
    (SWITCHING, STOPPED_NOW): STOPPED,
    (INITIALIZING, CONNECTED): BINDING,
    (INITIALIZING, ENDED): INACTIVE,
    (INITIALIZING, FAILED): RETRYING,
    (INITIALIZING, REFUSED): STOPPED,
    (INITIALIZING, STOPPED_NOW): STOPPED,
    (BINDING, AGREED): RUNNING,
    (BINDING, REQUESTED): REQUESTING,
    (BINDING, CALLS_BACK): STARTING,
    (BINDING, END_DUE): STOPPING,
    (BINDING, STOP_ASKED): STOPPING,
    (BINDING, ENDED): INACTIVE,
    (BINDING, FAILED): RETRYING,
    (BINDING, REFUSED): STOPPED,
    (BINDING, STOPPED_NOW): STOPPED,
    (REQUESTING, CALLED_BACK): BINDING,
    (REQUESTING, ENDED): INACTIVE,
    (REQUESTING, FAILED): RETRYING,
    (REQUESTING, REFUSED): STOPPED,
    (REQUESTING, STOPPED_NOW): STOPPED,
    (RUNNING, MESSAGE_RETRY): PAUSED,
    (RUNNING, END_DUE): STOPPING,
    (RUNNING, STOP_ASKED): STOPPING,
    (RUNNING, ENDED): INACTIVE,
    (RUNNING, FAILED): RETRYING,
    (RUNNING, REFUSED): STOPPED,
    (RUNNING, STOPPED_NOW): STOPPED,
    (PAUSED, RETRY_OVER): RUNNING,
    (PAUSED, END_DUE): STOPPING,
    (PAUSED, STOP_ASKED): STOPPING,
    (PAUSED, ENDED): INACTIVE,
    (PAUSED, FAILED): RETRYING,
    (PAUSED, REFUSED): STOPPED,
    (PAUSED, STOPPED_NOW): STOPPED,
    # A message that was being tried again may be done with while the channel stops.
    (STOPPING, RETRY_OVER): STOPPING,
    # Somebody may stop what ends by itself, or lose patience and stop it again.
    (STOPPING, END_DUE): STOPPING,
    (STOPPING, STOP_ASKED): STOPPING,
    (STOPPING, ENDED): INACTIVE,
    (STOPPING, FAILED): RETRYING,
    (STOPPING, REFUSED): STOPPED,
    (STOPPING, STOPPED_NOW): STOPPED,
    (RETRYING, START): STARTING,
    (RETRYING, CALLED): BINDING,
    (RETRYING, RETRY_DUE): STARTING,
    (RETRYING, ENDED): INACTIVE,
    (RETRYING, GAVE_UP): STOPPED,
    (RETRYING, REFUSED): STOPPED,
    (RETRYING, STOPPED_NOW): STOPPED,
    (STOPPED, START): STARTING,
    (STOPPED, ENABLED): INACTIVE,
    (STOPPED, STOPPED_NOW): STOPPED,
}


def after(state: i64, event: i64) -> int:
    """The state that an event leads to. ValueError for what cannot happen in a state."""
    found = TRANSITIONS.get((int(state), int(event)))
    if found is None:
        state_name = NAMES.get(int(state), str(state))
        event_name = EVENTS[int(event)][0] if int(event) in EVENTS else str(event)
        raise ValueError(f"A channel that is {state_name} has no {event_name}.")
    return found


def takes(state: i64, event: i64) -> bool:
    """Whether an event can happen in a state."""
    return (int(state), int(event)) in TRANSITIONS


def as_text() -> str:
    """The table for people: what each event means, then each state with what leads out of it."""
    lines = [f"{word:<14} {meaning}" for word, meaning in EVENTS.values()]
    for state, name in NAMES.items():
        lines.append("")
        lines.append(name)
        for (before, event), next_state in TRANSITIONS.items():
            if before == state:
                lines.append(f"  {EVENTS[event][0]:<14} -> {NAMES[next_state]}")
    return "\n".join(lines) + "\n"
