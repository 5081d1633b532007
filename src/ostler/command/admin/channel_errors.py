"""Failures of channel commands: AMQ message numbers and the PCF reasons that correspond to them.

A command context may raise either: CommandRefused with a number, or MQError with a reason.
"""

from __future__ import annotations

from typing import Final

from ostler.command.admin.context import CHANNEL_ACTIVE, CHANNEL_NOT_ACTIVE
from ostler.model import constants as mq

WRONG_TYPE: Final = "AMQ9512E"  # of PING
CHANNEL_REASONS: Final[dict[str, int]] = {
    "AMQ9202E": mq.MQRCCF_HOST_NOT_AVAILABLE,
    "AMQ9203E": mq.MQRCCF_CONFIGURATION_ERROR,
    "AMQ9206E": mq.MQRCCF_SEND_FAILED,
    "AMQ9207E": mq.MQRCCF_RECEIVED_DATA_ERROR,
    "AMQ9208E": mq.MQRCCF_RECEIVE_FAILED,
    "AMQ9209E": mq.MQRCCF_CONNECTION_CLOSED,
    "AMQ9503E": mq.MQRCCF_BIND_FAILED,
    "AMQ9510E": mq.MQRCCF_MQGET_FAILED,
    "AMQ9511E": mq.MQRCCF_MQPUT_FAILED,
    WRONG_TYPE: mq.MQRCCF_WRONG_CHANNEL_TYPE,
    CHANNEL_ACTIVE: mq.MQRCCF_CHANNEL_IN_USE,
    "AMQ9520E": mq.MQRCCF_UNKNOWN_REMOTE_CHANNEL,
    "AMQ9524E": mq.MQRCCF_REMOTE_QM_UNAVAILABLE,
    "AMQ9525E": mq.MQRCCF_REMOTE_QM_TERMINATING,
    "AMQ9526E": mq.MQRCCF_MSG_SEQ_NUMBER_ERROR,
    "AMQ9531E": mq.MQRCCF_NOT_XMIT_Q,
    CHANNEL_NOT_ACTIVE: mq.MQRCCF_CHANNEL_NOT_ACTIVE,
    "AMQ9534E": mq.MQRCCF_CHANNEL_DISABLED,
    "AMQ9547E": mq.MQRCCF_REMOTE_CHL_TYPE_ERROR,
}
# The message of each reason. MQRCCF_WRONG_CHANNEL_TYPE has one of its own only for PING.
CHANNEL_NUMBERS: Final[dict[int, str]] = {
    reason: number for number, reason in CHANNEL_REASONS.items() if number != WRONG_TYPE
}
