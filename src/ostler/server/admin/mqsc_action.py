"""The action behind `runmqsc`: a script in, its report out, several lines at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.mqsc.script import run_script
from ostler.model.constants import MQEVO_CONSOLE, MQRC_NOT_AUTHORIZED
from ostler.model.errors import MQError
from ostler.server.admin.executor import Answers, Arguments, Identity

# Lines of an answer are sent together, but nobody waits for them.
_LINES_AT_ONCE: Final = 200
_LINES_SECONDS: Final = 0.02


def run_mqsc(context_for: Callable[[str, int], CommandContext], arguments: Arguments, identity: Identity) -> Answers:
    """Run `text`, a script. MQError when whoever asks may not."""
    if not identity.is_owner:
        raise MQError(MQRC_NOT_AUTHORIZED, f"User {identity.user} may not give commands to this queue manager.")
    text = arguments.get("text", "")
    if not isinstance(text, str):
        raise MQError(MQRC_NOT_AUTHORIZED, "The commands are no text.")
    echo = bool(arguments.get("echo", True))
    target = context_for(identity.user, MQEVO_CONSOLE)
    lines: list[str] = []
    due = 0.0
    for answer in run_script(target, text, bool(arguments.get("verify", False)), echo):
        if isinstance(answer, str):
            if not lines:
                due = time.monotonic() + _LINES_SECONDS
            lines.append(answer)
            if len(lines) >= _LINES_AT_ONCE or time.monotonic() >= due:
                yield {"lines": lines}
                lines = []
        else:
            yield {"lines": lines, "counts": answer.as_json()}
