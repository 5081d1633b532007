"""The configuration of two joined queue managers, for the manifest of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ostler.lab.families.channels.distributed_points import DistributedPoint
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.set_up.run_descriptions import plan_text, shortened
from ostler.lab.runner.queue_managers.channel_wiring import Wiring, sender_commands
from ostler.lab.runner.queue_managers.pair import pair_plans
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan

_USUAL_PORT: Final = 1414


def pair_texts(plan: QueueManagerPlan, wiring: Wiring, pairs: int) -> dict[str, str]:
    """Return the configuration of both queue managers, with their sender channels. Ports are those of the usual
    listener."""
    asking, answering = pair_plans(replace(plan, commands=()), wiring, pairs)
    return {
        f"queue manager {each.name}, of the {whose}": "\n".join(
            [plan_text(each), *shortened(sender_commands(wiring, each.name, other.name, _USUAL_PORT))]
        )
        for each, other, whose in ((asking, answering, "requesters"), (answering, asking, "responders"))
    }


def point_texts(point: LoadPoint) -> dict[str, str]:
    """Return the configuration of the queue managers of a step, and of the single one that has the same load."""
    assert isinstance(point, DistributedPoint)
    both = pair_texts(point.manager, point.wiring, point.pairs)
    return {**both, "one queue manager": plan_text(point.manager)}
