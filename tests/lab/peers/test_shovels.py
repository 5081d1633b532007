"""Two RabbitMQ nodes with shovels between them: started, used for a few messages, and ended. Or skipped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.lab.load.recorded import operations, timeline_of

from ostler.lab.load import spec
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.spec import LoadSpec
from ostler.lab.peers.rabbitmq_shovels import Line, definitions
from ostler.lab.runner.queue_managers.channel_wiring import Wiring
from ostler.lab.runner.shovel_peer import ShovelPeer, line_name
from ostler.lab.store.rows import OperationRow

ROUTES = 2


def test_a_route_is_a_queue_behind_an_exchange_and_a_shovel_from_it() -> None:
    line = Line("durable-0ms", ROUTES, True, 2, 1)
    made = json.loads(definitions(1, [(name, line.is_durable, line.there) for name in line.routes()]))
    names = ["durable-0ms.0", "durable-0ms.1"]
    assert [each["name"] for each in made["exchanges"]] == [each["name"] for each in made["queues"]] == names
    assert [(each["source"], each["destination"]) for each in made["bindings"]] == [(name, name) for name in names]
    for shovel, name in zip(made["parameters"], names, strict=True):
        assert shovel["value"]["src-queue"] == name
        assert (shovel["value"]["src-uri"], shovel["value"]["dest-uri"]) == ("amqp://127.0.0.1:1", "amqp://127.0.0.1:2")
        assert shovel["value"]["ack-mode"] == "on-confirm"


def test_what_is_not_kept_is_not_acknowledged() -> None:
    (shovel,) = json.loads(definitions(1, [("transient-0ms.0", False, 2)]))["parameters"]
    assert shovel["value"]["ack-mode"] == "no-ack"


def test_lines_are_told_apart() -> None:
    assert line_name(True, 0) == "durable-0ms"
    assert line_name(False, 10) == "transient-10ms"


@pytest.mark.slow
def test_requests_go_to_the_other_node_and_replies_come_back(tmp_path: Path) -> None:
    absent: dict[str, str] = {}
    peer = ShovelPeer.started(tmp_path, [(False, 0), (True, 2)], ROUTES, absent)
    if peer is None:
        pytest.skip(str(absent))
    pids = [each.pid for each in peer.watched()]
    try:
        base = LoadSpec(spec.AMQP, ("", 0), range(3), range(2), 2, 256, False)
        for persistent, distance in ((False, 0), (True, 2)):
            wiring = Wiring(routes=ROUTES, round_trip_ms=distance)
            load = peer.spec_like(replace(base, persistent=persistent), wiring)
            assert load.address != load.responder_address
            driver = start_driver(load)
            try:
                recorder = driver.run(timeline_of(0.0), ignore_progress)
                assert operations(recorder.phases) == 3
                rows = [row for phase in recorder.phases for row in phase.rows(0) if isinstance(row, OperationRow)]
                assert min(row.lowest_ns or 0 for row in rows) >= distance * 1_000_000
            finally:
                driver.close()
        assert peer.describe_end() == ""
    finally:
        peer.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)
