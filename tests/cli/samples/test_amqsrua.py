"""`ostler amqsrua` as a program of its own, against queue managers that are processes, one of them killed."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import SMALL_LOG, Command, Said

from ostler.server.config.directories import QueueManagerDirectory, queue_managers

ENDED_SECONDS_MAX = 30.0


@pytest.fixture
def started(program: Command, directory: QueueManagerDirectory) -> Command:
    """QM1 runs, and publishes every second."""
    assert program("crtmqm", *SMALL_LOG, "QM1").status == 0
    with directory.ini.open("a") as file:
        file.write("\nTuningParameters:\n   MonitorPublishHeartBeat=1\n")
    assert program("strmqm", "QM1").status == 0
    return program


def shown(said: Said) -> list[dict[str, Any]]:
    assert said.status == 0, said.err
    return [json.loads(line) for line in said.out.splitlines()]


def test_values_with_units_and_rates(started: Command) -> None:
    said = started("amqsrua", "-m", "QM1", "-c", "DISK", "-t", "Log", "-n", "2")
    assert said.status == 0, said.err
    assert said.err == "subscribed to $SYS/MQ/INFO/QMGR/QM1/Monitor/DISK/Log of QM1\n"
    lines = said.out.splitlines()
    assert len([line for line in lines if line.startswith("Publication received at 2")]) == 2
    assert len(lines) == 2 * 19
    [latency, _] = [line for line in lines if line.startswith("Log - write latency ")]
    assert latency.endswith(" uSec")
    [free, _] = [line for line in lines if line.startswith("Log file system - free space ")]
    assert free.endswith("%")


def test_classes_and_types_are_asked_for(started: Command) -> None:
    said = started("amqsrua", "-m", "QM1", "-n", "1", "--json", text="statq\nput\nSYSTEM.DEFAULT.LOCAL.QUEUE\n")
    [found] = shown(said)
    assert (found["class"], found["type"], found["object"]) == ("STATQ", "PUT", "SYSTEM.DEFAULT.LOCAL.QUEUE")
    assert "STATMQI : API usage statistics" in said.err
    assert "OPENCLOSE : MQOPEN and MQCLOSE" in said.err
    assert "Enter the name of an object for STATQ" in said.err


def test_a_queue_in_json(started: Command) -> None:
    assert started("runmqsc", "QM1", text="DEFINE QLOCAL(ORDERS)\n").status == 0
    assert started("put", "ORDERS", "QM1", "--persistent", text="hello\nworld\n").status == 0
    [found] = shown(started("amqsrua", "-m", "QM1", "-c", "STATQ", "-t", "PUT", "-o", "ORDERS", "-n", "1", "--json"))
    assert (found["queue_manager"], found["class"], found["type"]) == ("QM1", "STATQ", "PUT")
    assert found["object"] == "ORDERS"
    assert found["values"]["MQPUT persistent message count"] == 2
    assert found["values"]["MQPUT byte count"] == 10
    expected = round(2 / found["interval_seconds"], 3)
    assert found["per_second"]["MQPUT persistent message count"] == pytest.approx(expected, abs=0.01)


def retained_publications(program: Command) -> int:
    said = program("runmqsc", "QM1", text="DISPLAY QLOCAL(SYSTEM.RETAINED.PUB.QUEUE) CURDEPTH\n")
    [depth] = re.findall(r"CURDEPTH\((\d+)\)", said.out)
    return int(depth)


def test_metadata_survives_a_kill_once(started: Command, data: Path, program: Command) -> None:
    before = retained_publications(program)
    assert before > 0
    [entry] = queue_managers(data)
    os.kill(entry.process, signal.SIGKILL)
    deadline = time.monotonic() + ENDED_SECONDS_MAX
    while queue_managers(data)[0].running:
        assert time.monotonic() < deadline, "the killed queue manager still runs"
        time.sleep(0.05)
    assert program("strmqm", "QM1").status == 0
    [found] = shown(program("amqsrua", "-m", "QM1", "-c", "STATMQI", "-t", "CONNDISC", "-n", "1", "--json"))
    assert found["values"]["MQCONN/MQCONNX count"] >= 1
    assert retained_publications(program) == before


def test_errors_say_what_to_do(started: Command) -> None:
    said = started("amqsrua", "-m", "QM1", "-c", "NOTHING")
    assert (said.status, said.err) == (
        1,
        "ostler amqsrua: there is no class NOTHING; -c takes CPU, DISK, STATMQI, STATQ, STATAPP\n",
    )
    said = started("amqsrua", "-m", "QM1", "-c", "CPU", "-t", "Log")
    assert said.err.endswith("there is no type of CPU Log; -t takes SystemSummary, QMgrSummary\n")
    said = started("amqsrua", "-m", "QM1", "-c", "CPU", "-t", "QMgrSummary", "-o", "Q")
    assert (said.status, said.err.endswith("CPU has no data of single objects; leave -o out\n")) == (1, True)
    said = started("amqsrua", "-m", "QM1", "-c", "STATQ", "-t", "GET")
    assert (said.status, said.err.endswith("STATQ needs -o with the name of an object\n")) == (1, True)
    said = started(
        "amqsrua", "-m", "QM1", "-c", "STATQ", "-t", "GET", "-o", "NO.SUCH.QUEUE", "-n", "1", "--wait", "1.5"
    )
    assert said.status == 2
    assert "check DISPLAY QLOCAL(NO.SUCH.QUEUE)" in said.err
