"""Lean clients of one-way loads, by protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.lab.load.bare_one_way import BareOneWayClient
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.plan import BARE, Plan


def one_way_client(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    """A producer or a consumer of a plan. Raises LoadFailed for a protocol that has none."""
    make = _MAKE.get(plan.protocol)
    if make is None:
        raise LoadFailed(f"{plan.protocol} has no one-way clients")
    return make(plan, pace, is_producer, number)


def _bare(plan: Plan, pace: Pace, is_producer: bool, number: int) -> LoadClient:
    return BareOneWayClient(pace, is_producer, number, plan.pairs, plan.body_bytes)


_Make = Callable[[Plan, Pace, bool, int], LoadClient]
_MAKE: Final[dict[str, _Make]] = {
    BARE: _bare,
}
