"""AddressCommand in the stanza Replication: a program of the administrator's that moves an address.

It is run with `up` when this instance begins to lead, before its listeners start, and with `down` when it ceases and
whenever it starts as a follower, because a process that was killed could not call it. So `down` must do no harm where
there is nothing to take down. It is executed directly, never through a shell, has a limited time, and what it prints
goes to the error log. Its failure does not keep the queue manager from working.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable
from typing import Final

from ostler.server.config.environment import for_service
from ostler.server.replica.messages import replication_message

UP: Final = "up"
DOWN: Final = "down"
_SECONDS_MAX: Final = 10.0
_SHOWN_BYTES_MAX: Final = 2048


def run_address_command(
    command: str,
    word: str,
    queue_manager: str,
    instance: str,
    note: Callable[[str], None],
    seconds_max: float = _SECONDS_MAX,
) -> bool:
    """Run the program with `up` or `down`, if there is one. Return False when it failed, which was noted."""
    if not command:
        return True
    environment = {**for_service(os.environ), "OSTLER_QMGR": queue_manager, "OSTLER_INSTANCE": instance}
    try:
        program = [*shlex.split(command), word]
        # A file takes any amount of output without a thread that reads it; only its beginning is shown.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                program,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                status = process.wait(seconds_max)
                why = f"exit status {status}" if status else ""
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                why = f"it did not end within {seconds_max:g} seconds and was killed"
            output.seek(0)
            printed = output.read(_SHOWN_BYTES_MAX).decode("utf-8", "replace").strip()
    except (OSError, ValueError) as error:
        note(replication_message("AMQ3286E", word=word, why=str(error), printed=""))
        return False
    shown = f" It printed: {printed}" if printed else ""
    if why:
        note(replication_message("AMQ3286E", word=word, why=why, printed=shown))
        return False
    note(replication_message("AMQ3287I", word=word, printed=shown))
    return True
