"""Scenarios as plain values for JSON: names, numbers, lists and tables only."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ostler.lab.scenarios.features import Readiness
from ostler.lab.scenarios.model import Scenario


def summary(scenario: Scenario, readiness: Readiness) -> dict[str, Any]:
    """Return the entry of a scenario in a list."""
    return {
        "id": scenario.id,
        "kind": scenario.kind.value,
        "title": scenario.title,
        "report": scenario.report.name,
        "family": scenario.family or None,
        "topology": [each.value for each in scenario.topology],
        "persistence": [each.value for each in scenario.persistence],
        "message_bytes": list(scenario.message_bytes),
        "state": readiness.verdict.value,
        "can_run": readiness.can_run,
        "missing": [each.id for each in readiness.missing],
        "needs": list(readiness.needs()),
        "left_out": [each.name for each in readiness.left_out],
        "stand_ins": [each.id for each in readiness.stand_ins],
        "deviations": [each.what for each in scenario.deviations],
    }


def whole(scenario: Scenario, readiness: Readiness) -> dict[str, Any]:
    """Return everything on a scenario, and its readiness."""
    found: dict[str, Any] = {field.name: plain(getattr(scenario, field.name)) for field in fields(scenario)}
    found["readiness"] = {
        "state": readiness.verdict.value,
        "can_run": readiness.can_run,
        "needs": list(readiness.needs()),
        "missing": plain(readiness.missing),
        "stand_ins": plain(readiness.stand_ins),
        "left_out": plain(readiness.left_out),
    }
    return found


def plain(value: object) -> Any:
    """Return frozen values as tables, tuples as lists, words as texts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "items"):
        return {name: plain(each) for name, each in value.items()}
    return value
