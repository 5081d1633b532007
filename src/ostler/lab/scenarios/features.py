"""The features of the product today, and the readiness of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.model import Scenario, ScenarioPart


class FeatureState(StrEnum):
    """The state of a feature. `STAND_IN`: something of this platform replaces it. `FOREIGN`: it belongs to another
    platform and will not come. `MISSING`: it comes with a part of the product that is not built yet."""

    HERE = "here"
    STAND_IN = "stand-in"
    MISSING = "missing"
    FOREIGN = "foreign"


@dataclass(frozen=True)
class Feature:
    """A feature. `part` names the part of the product that must be built first; empty unless the feature is missing."""

    id: str
    name: str
    state: FeatureState
    note: str
    part: str = ""

    @property
    def is_usable(self) -> bool:
        return self.state in (FeatureState.HERE, FeatureState.STAND_IN)


class ReadinessVerdict(StrEnum):
    """The verdict on a scenario in `ostler lab list`."""

    READY = "ready"
    NEEDS_DRIVER = "needs-driver"
    NEEDS_FEATURES = "needs-features"
    FOREIGN = "foreign"
    NOT_MEASURED = "not-measured"


@dataclass(frozen=True)
class Readiness:
    """The readiness of a scenario. `missing` are features that do not exist; `stand_ins` are replaced ones, which must
    be named beside every result; `left_out` are points that must be omitted."""

    verdict: ReadinessVerdict
    missing: tuple[Feature, ...]
    stand_ins: tuple[Feature, ...]
    left_out: tuple[ScenarioPart, ...]

    @property
    def can_run(self) -> bool:
        return self.verdict is ReadinessVerdict.READY

    def needs(self) -> tuple[str, ...]:
        """Return the requirements in words: parts of the product, then the driver of the family."""
        parts = dict.fromkeys(each.part or each.name for each in self.missing)
        return (*parts, "a driver") if self.verdict is ReadinessVerdict.NEEDS_DRIVER else tuple(parts)


def readiness(scenario: Scenario, features: Mapping[str, Feature]) -> Readiness:
    """Return what a scenario lacks today: nothing, the driver of its family, or features of the product."""
    needed = [features[name] for name in scenario.needs]
    missing = tuple(each for each in needed if not each.is_usable)
    stand_ins = tuple(each for each in needed if each.state is FeatureState.STAND_IN)
    left_out = tuple(part for part in scenario.parts if not all(features[name].is_usable for name in part.needs))
    return Readiness(_verdict(scenario, missing), missing, stand_ins, left_out)


def _verdict(scenario: Scenario, missing: tuple[Feature, ...]) -> ReadinessVerdict:
    if not scenario.is_measured:
        return ReadinessVerdict.NOT_MEASURED
    if any(each.state is FeatureState.FOREIGN for each in missing):
        return ReadinessVerdict.FOREIGN
    if missing:
        return ReadinessVerdict.NEEDS_FEATURES
    return ReadinessVerdict.READY if FAMILIES[scenario.family].runner else ReadinessVerdict.NEEDS_DRIVER
