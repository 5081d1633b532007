"""Whether verbs are taken now: a queue manager that is ending takes some of them, or none."""

from __future__ import annotations

from ostler.engine.core import QUIESCING, RUNNING, Engine
from ostler.model.constants import MQRC_Q_MGR_QUIESCING, MQRC_Q_MGR_STOPPING
from ostler.model.errors import MQError


def check_state(engine: Engine, fail_if_quiescing: bool) -> None:
    if engine.state == RUNNING:
        return
    if engine.state == QUIESCING:
        if fail_if_quiescing:
            raise MQError(MQRC_Q_MGR_QUIESCING)
        return
    raise MQError(MQRC_Q_MGR_STOPPING)
