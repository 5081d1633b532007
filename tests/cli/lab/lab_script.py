"""The family that tests of `ostler lab run` put in the place of a real one: it does what the script says."""

from __future__ import annotations

from tests.lab.runner.simulated_experiment import Script

from ostler.lab.runner.contract import Experiment, RunContext

RUNNER = f"{__name__}:experiment"


class Stage:
    """The script that is played; a test sets its own."""

    def __init__(self) -> None:
        self.script = Script()
        self.contexts: list[RunContext] = []


STAGE = Stage()


def experiment(context: RunContext) -> Experiment:
    STAGE.contexts.append(context)
    return STAGE.script.experiment(context)
