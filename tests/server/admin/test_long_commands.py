"""Commands longer than a frame."""

from __future__ import annotations

import ostler.testing
from ostler.client.link.control import control
from ostler.server.config.directories import QueueManagerDirectory

COMMANDS = 6_000


def test_a_script_of_many_segments_is_run_whole() -> None:
    lines = [f"DEFINE PROCESS(P{number}) APPLICID('{'x' * 40}')" for number in range(COMMANDS)]
    text = "\n".join(lines)
    assert len(text) > 2 * 128 * 1024
    with ostler.testing.queue_manager("LONG") as running:
        directory = QueueManagerDirectory(running.data, "LONG")
        answers = list(control(directory, "mqsc", text=text, verify=True))
    assert answers[-1]["counts"] == {"read": COMMANDS, "syntax_errors": 0, "failed": 0, "exit_code": 0}
