"""Refusals of PCF commands: the reason, and the parameter that MQ sends with it."""

from __future__ import annotations

from typing import Final

from ostler.command.admin.channel_errors import CHANNEL_REASONS
from ostler.command.admin.context import LISTENER_ACTIVE, LISTENER_NOT_ACTIVE, NOT_AUTHORIZED, CommandRefused
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, Parameter

# The PCF reasons of MQSC messages.
_REASONS: Final = {
    NOT_AUTHORIZED: mq.MQRC_NOT_AUTHORIZED,
    LISTENER_ACTIVE: mq.MQRCCF_LISTENER_RUNNING,
    LISTENER_NOT_ACTIVE: mq.MQRCCF_LISTENER_STOPPED,
    **CHANNEL_REASONS,
    "AMQ8147E": mq.MQRC_UNKNOWN_OBJECT_NAME,
    "AMQ8227E": mq.MQRCCF_CHANNEL_NOT_FOUND,
    "AMQ8148E": mq.MQRCCF_OBJECT_OPEN,
    "AMQ8150E": mq.MQRCCF_OBJECT_ALREADY_EXISTS,
    "AMQ9218E": mq.MQRCCF_LISTENER_NOT_STARTED,
    "AMQ8734W": mq.MQRCCF_SERVICE_RUNNING,
    "AMQ8735W": mq.MQRCCF_SERVICE_STOPPED,
}
# Reasons of the engine for which commands have others.
_OF_COMMANDS: Final = {
    mq.MQRC_OBJECT_ALREADY_EXISTS: mq.MQRCCF_OBJECT_ALREADY_EXISTS,
    mq.MQRC_OBJECT_IN_USE: mq.MQRCCF_OBJECT_OPEN,
    mq.MQRC_SUBSCRIPTION_IN_USE: mq.MQRCCF_SUBSCRIPTION_IN_USE,
    mq.MQRC_DURABILITY_NOT_ALLOWED: mq.MQRCCF_DURABILITY_NOT_ALLOWED,
}
_OF_CHANNELS: Final = {
    mq.MQRC_OBJECT_ALREADY_EXISTS: mq.MQRCCF_CHANNEL_ALREADY_EXISTS,
    mq.MQRC_UNKNOWN_OBJECT_NAME: mq.MQRCCF_CHANNEL_NOT_FOUND,
}


class PcfRefused(Exception):
    """The command fails with a reason. `details` are sent with it: one parameter at most, except for Escape."""

    def __init__(self, reason: int, *details: Parameter) -> None:
        super().__init__(reason, details)
        self.reason = reason
        self.details = list(details)


def bad_parameter(reason: int, parameter: int) -> PcfRefused:
    """Returns the refusal of a wrong parameter, which the reply names."""
    return PcfRefused(reason, Integer(mq.MQIACF_PARAMETER_ID, parameter))


def bad_selector(selector: int, reason: int = mq.MQRC_SELECTOR_ERROR) -> PcfRefused:
    """Returns the refusal of an unknown or duplicate selector, which the reply names."""
    return PcfRefused(reason, Integer(mq.MQIACF_SELECTOR, selector))


def as_pcf_refusal(error: MQError | CommandRefused, is_channel: bool = False) -> PcfRefused:
    """Returns the refusal with the PCF reason of an error."""
    if isinstance(error, CommandRefused):
        return PcfRefused(_REASONS.get(error.number, mq.MQRCCF_COMMAND_FAILED))
    if is_channel and error.reason in _OF_CHANNELS:
        return PcfRefused(_OF_CHANNELS[error.reason])
    return PcfRefused(_OF_COMMANDS.get(error.reason, error.reason))
