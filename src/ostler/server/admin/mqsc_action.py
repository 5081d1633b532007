"""The action behind `runmqsc`: it runs a script and answers with its report, several lines at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.mqsc.script import run_script
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.admin.actions import Answers, Arguments, Caller

# Lines are sent together, but not held back for longer than this.
_LINES_AT_ONCE: Final = 200
_LINES_SECONDS: Final = 0.02


def run_mqsc(context_for: Callable[[str, int], CommandContext], arguments: Arguments, caller: Caller) -> Answers:
    """Run the script in the argument `text`. Raises MQError when the caller is not the owner."""
    if not caller.is_owner:
        raise MQError(mq.MQRC_NOT_AUTHORIZED, f"User {caller.user} may not give commands to this queue manager.")
    text = arguments.get("text", "")
    if not isinstance(text, str):
        raise MQError(mq.MQRC_NOT_AUTHORIZED, "The script has to be text.")
    echo = bool(arguments.get("echo", True))
    context = context_for(caller.user, mq.MQEVO_CONSOLE)
    lines: list[str] = []
    due = 0.0
    for answer in run_script(context, text, bool(arguments.get("verify", False)), echo):
        if isinstance(answer, str):
            if not lines:
                due = time.monotonic() + _LINES_SECONDS
            lines.append(answer)
            if len(lines) >= _LINES_AT_ONCE or time.monotonic() >= due:
                yield {"lines": lines}
                lines = []
        else:
            yield {"lines": lines, "counts": answer.as_json()}
