"""The benchmarks of channel authentication once, as small as can be. Nothing is timed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("hdrh", reason="the laboratory's packages are not installed")

from tests.lab.bench.test_benchmarks import written

from ostler.lab.bench import chlauth_connect_cost, chlauth_restart
from ostler.lab.bench.catalogue import all_benchmarks
from ostler.lab.common.channel_rules import channel_rules
from ostler.lab.common.own_process import ignore_report
from ostler.model.constants import MQUSRC_CHANNEL
from ostler.security.channel_authentication import ChannelRules, check_rule


def test_the_rules_are_many_and_let_only_loopback_in_as_it_is() -> None:
    table = ChannelRules()
    made = list(channel_rules("LAB", 200))
    for definition in made:
        check_rule(definition.attributes)
        table.put(definition)
    assert len({definition.name for definition in made}) == len(table) == 200
    assert table.decide("LAB", "127.0.0.9", "", "me", None, None).source == MQUSRC_CHANNEL
    assert table.decide("LAB", "10.0.0.5", "", "me", None, None).is_refused
    assert table.decide("LAB", "11.0.6.77", "", "me", None, None).user == "app"
    assert table.decide("APP4.X", "12.0.0.1", "", "me", None, None).user == "app"


@pytest.mark.slow
def test_connect_cost(tmp_path: Path) -> None:
    parameters = chlauth_connect_cost.Parameters((2, 30), 40, 2)
    result = chlauth_connect_cost.run(parameters, tmp_path, ignore_report)
    read = written(result, tmp_path)
    points = {(each["name"], each["labels"]["rules"]) for each in read["measurements"]}
    assert points == {
        (name, count)
        for name in (chlauth_connect_cost.CONNECT, chlauth_connect_cost.DRIVER, chlauth_connect_cost.DECISION)
        for count in (2, 30)
    }
    assert all(each["count"] == 2 for each in read["measurements"])
    assert [aim["limit"] for aim in read["aims"]] == [1.3]
    assert read["limits"][0]["labels"] == {"server": chlauth_connect_cost.BARE}


@pytest.mark.slow
def test_restart(tmp_path: Path) -> None:
    result = chlauth_restart.run(chlauth_restart.Parameters(30, 1), tmp_path, ignore_report)
    read = written(result, tmp_path)
    found = read["measurements"] + read["limits"]
    taken = {(each["labels"]["way"], each["labels"]["rules"]): each["median"] for each in found}
    for aim, way in zip(read["aims"], (chlauth_restart.FROM_LOG, chlauth_restart.FROM_FILES), strict=True):
        assert aim["measured"] == pytest.approx(taken[way, 30] - taken[way, 0])
        assert aim["limit"] == 1.0


def test_the_benchmarks_are_in_the_catalogue() -> None:
    assert {"chlauth-connect-cost", "chlauth-restart"} <= set(all_benchmarks())
