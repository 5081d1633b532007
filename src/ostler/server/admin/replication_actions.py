"""The control action behind commands about copies: sethagrp, makedrprimary, dspmq -o nativeha and others."""

from __future__ import annotations

from typing import assert_never

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import (
    ChangeRole,
    Prefer,
    ReplicationRequest,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
)
from ostler.server.admin.actions import Action, Answers, Arguments, Caller
from ostler.server.queue_manager import QueueManager
from ostler.server.replica.control import ReplicationControl
from ostler.server.replica.control_codec import decode_request, encode_status

ACTION = "replication"
STATUS = "status"


def replication_actions(manager: QueueManager) -> dict[str, Action]:
    """Return the action, which asks the control that the queue manager has at the time."""

    def run(arguments: Arguments, caller: Caller) -> Answers:
        """Show the status with request "status"; otherwise carry out a request of `control_codec`."""
        if not caller.is_owner:
            raise MQError(
                mq.MQRC_NOT_AUTHORIZED,
                f"User {caller.user} may not administer copies: only the owner of the files may.",
            )
        if arguments.get("request") == STATUS:
            yield {"replication": encode_status(manager.replication.status())}
            return
        request = decode_request(arguments)
        sentence = carry_out(manager.replication, request)
        manager.note(f"{sentence} Asked by {caller.user}.")
        yield {"line": sentence}
        yield {"accepted": True}

    return {ACTION: run}


def carry_out(control: ReplicationControl, request: ReplicationRequest) -> str:
    """Pass a request to the method that is for it; return its sentence for people. Raises MQError."""
    match request:
        case SwitchOver():
            return control.switch_over(request)
        case Suspend():
            return control.suspend(request)
        case Resume():
            return control.resume(request)
        case Prefer():
            return control.prefer(request)
        case Resolve():
            return control.resolve(request)
        case ChangeRole():
            return control.change_role(request)
        case _:
            assert_never(request)
