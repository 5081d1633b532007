"""Scripts as people have them, run whole against a real queue manager with sockets of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.server.admin.command_context import ServerCommandContext
from ostler.server.assembly import Server
from ostler.server.queue_manager import QueueManager

SCRIPTS = sorted((Path(__file__).parents[1] / "scripts").glob("*.mqsc"))
# What fails, and why that is right: nothing answers there, nothing was sent, or it is not there to be shown.
EXPECTED: dict[str, tuple[str, ...]] = {
    "12-house-keeping": ("AMQ8461I", "AMQ8461I", "AMQ8461I", "AMQ8565I", "AMQ8420I", "AMQ8420I"),
    "15-two-managers": ("AMQ8420I",),  # what RESET wrote is saved
}

# How many commands set what has no effect here.
IGNORED: dict[str, int] = {
    "03-full-repository": 5,
    "04-publish-subscribe": 1,
    "10-monitoring-and-events": 1,
    "11-dead-letters-and-limits": 2,
}


@pytest.fixture
def target(manager: QueueManager) -> ServerCommandContext:
    """The fixture of the queue manager ends the server, too."""
    server = Server(manager)
    server.start(with_listeners=False)
    return ServerCommandContext(server)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs(target: ServerCommandContext, path: Path) -> None:
    answers = list(run_script(target, path.read_text(encoding="utf-8")))
    counts = answers[-1]
    assert isinstance(counts, ScriptCounts)
    lines = [str(line) for line in answers[:-1]]
    told = "\n".join(lines)
    assert counts.read > 5
    assert counts.syntax_errors == 0, told
    warnings = [line for line in lines if line.startswith("AMQ8698W: Stored and displayed, but ignored: ")]
    assert len(warnings) == IGNORED.get(path.stem, 0), told
    refusals = [line.partition(":")[0] for line in lines if line.startswith("AMQ") and line[7] in "EW"]
    refusals = [number for number in refusals if number != "AMQ8698W"]
    refusals += [line.partition(":")[0] for line in lines if line.startswith(("AMQ8420I", "AMQ8461I", "AMQ8565I"))]
    assert sorted(refusals) == sorted(EXPECTED.get(path.stem, ())), told
    assert counts.failed == len(refusals)


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 15
