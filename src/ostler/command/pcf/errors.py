"""Refusals of PCF commands: the reason, and the parameter that MQ sends with it."""

from __future__ import annotations

from typing import Final

from ostler.command.admin.channel_errors import CHANNEL_REASONS
from ostler.command.admin.context import LISTENER_ACTIVE, LISTENER_NOT_ACTIVE, NOT_AUTHORIZED, CommandRefused
from ostler.model.constants import (
    MQIACF_PARAMETER_ID,
    MQIACF_SELECTOR,
    MQRC_DURABILITY_NOT_ALLOWED,
    MQRC_NOT_AUTHORIZED,
    MQRC_OBJECT_ALREADY_EXISTS,
    MQRC_OBJECT_IN_USE,
    MQRC_SELECTOR_ERROR,
    MQRC_SUBSCRIPTION_IN_USE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_CHANNEL_ALREADY_EXISTS,
    MQRCCF_CHANNEL_NOT_FOUND,
    MQRCCF_COMMAND_FAILED,
    MQRCCF_DURABILITY_NOT_ALLOWED,
    MQRCCF_LISTENER_NOT_STARTED,
    MQRCCF_LISTENER_RUNNING,
    MQRCCF_LISTENER_STOPPED,
    MQRCCF_OBJECT_ALREADY_EXISTS,
    MQRCCF_OBJECT_OPEN,
    MQRCCF_SERVICE_RUNNING,
    MQRCCF_SERVICE_STOPPED,
    MQRCCF_SUBSCRIPTION_IN_USE,
)
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, Parameter

# The PCF reasons of MQSC messages.
_REASONS: Final = {
    NOT_AUTHORIZED: MQRC_NOT_AUTHORIZED,
    LISTENER_ACTIVE: MQRCCF_LISTENER_RUNNING,
    LISTENER_NOT_ACTIVE: MQRCCF_LISTENER_STOPPED,
    **CHANNEL_REASONS,
    "AMQ8147E": MQRC_UNKNOWN_OBJECT_NAME,
    "AMQ8227E": MQRCCF_CHANNEL_NOT_FOUND,
    "AMQ8148E": MQRCCF_OBJECT_OPEN,
    "AMQ8150E": MQRCCF_OBJECT_ALREADY_EXISTS,
    "AMQ9218E": MQRCCF_LISTENER_NOT_STARTED,
    "AMQ8734W": MQRCCF_SERVICE_RUNNING,
    "AMQ8735W": MQRCCF_SERVICE_STOPPED,
}
# Reasons of the engine for which commands have others.
_OF_COMMANDS: Final = {
    MQRC_OBJECT_ALREADY_EXISTS: MQRCCF_OBJECT_ALREADY_EXISTS,
    MQRC_OBJECT_IN_USE: MQRCCF_OBJECT_OPEN,
    MQRC_SUBSCRIPTION_IN_USE: MQRCCF_SUBSCRIPTION_IN_USE,
    MQRC_DURABILITY_NOT_ALLOWED: MQRCCF_DURABILITY_NOT_ALLOWED,
}
_OF_CHANNELS: Final = {
    MQRC_OBJECT_ALREADY_EXISTS: MQRCCF_CHANNEL_ALREADY_EXISTS,
    MQRC_UNKNOWN_OBJECT_NAME: MQRCCF_CHANNEL_NOT_FOUND,
}


class PcfRefused(Exception):
    """The command fails with a reason. `details` are sent with it: one parameter at most, except for Escape."""

    def __init__(self, reason: int, *details: Parameter) -> None:
        super().__init__(reason, details)
        self.reason = reason
        self.details = list(details)


def bad_parameter(reason: int, parameter: int) -> PcfRefused:
    """Returns the refusal of a wrong parameter, which the reply names."""
    return PcfRefused(reason, Integer(MQIACF_PARAMETER_ID, parameter))


def bad_selector(selector: int, reason: int = MQRC_SELECTOR_ERROR) -> PcfRefused:
    """Returns the refusal of an unknown or duplicate selector, which the reply names."""
    return PcfRefused(reason, Integer(MQIACF_SELECTOR, selector))


def as_pcf_refusal(error: MQError | CommandRefused, is_channel: bool = False) -> PcfRefused:
    """Returns the refusal with the PCF reason of an error."""
    if isinstance(error, CommandRefused):
        return PcfRefused(_REASONS.get(error.number, MQRCCF_COMMAND_FAILED))
    if is_channel and error.reason in _OF_CHANNELS:
        return PcfRefused(_OF_CHANNELS[error.reason])
    return PcfRefused(_OF_COMMANDS.get(error.reason, error.reason))
