"""Configuration and deviations of a run, as its manifest has them."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ostler.lab.common.machine import file_system
from ostler.lab.families.load_experiment import SECOND_DISK_VARIABLE, TMPFS, is_plain
from ostler.lab.families.load_points import load_point
from ostler.lab.families.ready_loads import FROM_BUFFER, HANDED_OVER, SPILLED, queue_shares
from ostler.lab.families.set_up.queue_manager_plans import fitted_log
from ostler.lab.families.set_up.run_descriptions import plan_text, shortened
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import QUICK, Experiment, RunContext, Settings, SilentWatcher
from ostler.lab.runner.queue_managers.plan import COLLECT_STATISTICS, QueueManagerPlan, merged_stanzas
from ostler.lab.runner.runner import make_experiment
from ostler.lab.runner.windows import stated_windows
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import steps
from ostler.server.config.qm_ini import LogSection, LogType


def experiment(
    name: str, directory: Path, settings: Settings, chosen: dict[str, list[str]] | None = None
) -> Experiment:
    scenario = catalogue().find(name)
    planned = steps(scenario, catalogue().readiness(scenario), settings.is_quick, chosen)
    return make_experiment(RunContext(scenario, settings, planned, directory))


def test_a_quick_run_says_that_its_logs_are_smaller(tmp_path: Path) -> None:
    made = experiment("appl-c4", tmp_path, QUICK)
    whats = [each.what for each in made.deviations]
    assert "The log of each of 10 queue managers has 2 primary files of 16,384 pages, the report's has 64" in whats
    made.close()


def test_a_full_run_with_room_has_the_log_of_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=1 << 40, used=0, free=1 << 40))
    made = experiment("rr-bb-pm", tmp_path, Settings(), {"requesters": ["1"], "message_bytes": ["2048", "20480"]})
    assert not any("log" in each.what for each in made.deviations)
    texts = dict(made.configuration)
    assert set(texts) == {"queue manager (message_bytes 2048)", "queue manager (message_bytes 20480)"}
    small, large = texts.values()
    assert "crtmqm -lc -lp 16 -ls 2 -lf 16384 LAB" in small
    for line in ("LogBufferPages=4096", "LogWriteIntegrity=TripleWrite", "MaxChannels=5000", "MQIBindType=FASTPATH"):
        assert line in small
    assert "DefaultQBufferSize=10485760" in small
    assert "DefaultQBufferSize=104857600" in large
    assert "DEFINE QLOCAL(LAB.REQUEST.0) MAXDEPTH(999999999)\n* ... and 9 more, to LAB.REQUEST.9" in small
    made.close()


def test_both_queue_managers_of_a_distributed_run_are_described(tmp_path: Path) -> None:
    made = experiment("dq-capacity-qmax", tmp_path, QUICK, {"channel_pairs": ["3"]})
    texts = dict(made.configuration)
    asking = texts["queue manager LAB0, of the requesters"]
    assert "ALTER QMGR CCSID(819)" in asking
    assert "MaxChannels=20000" in asking
    assert "DEFINE CHANNEL(LAB0.LAB1.0) CHLTYPE(SDR)" in asking
    assert "ALTER QMGR CCSID(437)" in texts["queue manager LAB1, of the responders"]
    made.close()


@pytest.mark.parametrize(("settings", "is_told"), [(QUICK, True), (Settings(measured_seconds=60.0), False)])
def test_clients_that_send_nothing_in_the_window_are_told(settings: Settings, is_told: bool, tmp_path: Path) -> None:
    made = experiment("client-capacity-cmax", tmp_path, settings, {"requesters": ["1000"]})
    assert any("connected and idle" in each.what for each in made.deviations) == is_told
    made.close()


def test_a_page_less_than_is_allowed_is_told(tmp_path: Path) -> None:
    made = experiment("dq-capacity-q1000", tmp_path, QUICK)
    assert "LogBufferPages is 18, the report has 17" in [each.what for each in made.deviations]
    made.close()


def test_a_second_disk_that_is_none_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The same device as the run's: it would measure one disk twice.
    monkeypatch.setenv(SECOND_DISK_VARIABLE, str(tmp_path))
    made = experiment("queue-and-log-disks", tmp_path, QUICK)
    steps_here = made.contestants()[0].steps
    assert steps_here == frozenset({0, 1})
    assert "The log on a disk of its own is left out" in [each.what for each in made.deviations]
    made.close()


def test_a_second_disk_that_is_none_is_left_out_for_limits_and_peers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SECOND_DISK_VARIABLE, raising=False)
    made = experiment("queue-and-log-disks", tmp_path, QUICK)
    assert {each.name: each.steps for each in made.contestants()} == {
        "Ostler": frozenset({0, 1}),
        "bare ping-pong": frozenset({0, 1}),
        "group commit": frozenset({0, 1}),
    }
    made.close()


def test_a_second_disk_in_memory_is_told_and_has_the_log_and_the_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The run may be in memory itself: then a disk is the other device.
    elsewhere = [each for each in (TMPFS, Path("/var/tmp")) if each.stat().st_dev != tmp_path.stat().st_dev]
    if not elsewhere:
        pytest.skip("there is one file system only")
    with tempfile.TemporaryDirectory(dir=elsewhere[0]) as other:
        monkeypatch.setenv(SECOND_DISK_VARIABLE, other)
        made = experiment("queue-and-log-disks", tmp_path, QUICK)
        in_memory = [each for each in made.deviations if each.what.endswith("is on tmpfs, in memory")]
        assert len(in_memory) == (file_system(Path(other)) == "tmpfs")
        step = made.contestants()[0].steps
        assert step == frozenset({0, 1, 2, 3})
        scenario = catalogue().find("queue-and-log-disks")
        planned = steps(scenario, catalogue().readiness(scenario), True)
        for contestant in made.contestants():
            if contestant.name == "bare ping-pong":
                continue
            load = made.prepare(contestant, planned[2])
            load.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.2, 0.0), SilentWatcher())
            written = [each for each in Path(other).glob("ostler-lab-*/**/*") if each.is_file()]
            assert written, f"{contestant.name} writes on the second disk"
            load.close()
        made.close()
        assert not list(Path(other).glob("ostler-lab-*")), "and leaves nothing behind"


def test_peers_stay_out_where_the_log_is_elsewhere(tmp_path: Path) -> None:
    # Their logs would stay on the disk of the run, beside ours in memory.
    scenario = catalogue().find("rr-bb-filesystem")
    by_file_system = {
        step.points["file_system"]: load_point(scenario, step)
        for step in steps(scenario, catalogue().readiness(scenario), True, {"file_system": ["disk", "tmpfs"]})
    }
    assert is_plain(by_file_system["disk"])
    assert not is_plain(by_file_system["tmpfs"])


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (Settings(), "the median of 3 windows of 10 s"),
        (QUICK, "the median of 2 windows of 1 s"),
        (Settings(measured_seconds=120.0, repetitions=1), "a window of 120 s"),
    ],
)
@pytest.mark.parametrize("name", ["client-rr-np", "rr-cb-np", "pubsub-1n-np", "zos-chl-1-4", "appl-c1"])
def test_a_run_states_its_own_windows(name: str, settings: Settings, text: str) -> None:
    stated = [each.what for each in stated_windows(catalogue().find(name).deviations, settings)]
    assert [what for what in stated if what.startswith("Each point is ")] == [
        f"Each point is {text}, or of the time that the scenario needs where that is longer"
    ]


@pytest.mark.parametrize("name", ["zos-chl-1-4-ssl", "zos-chl-10-50-ssl"])
def test_another_cipher_is_told_once(name: str, tmp_path: Path) -> None:
    made = experiment(name, tmp_path, QUICK)
    told = [each.what for each in (*catalogue().find(name).deviations, *made.deviations) if "Channels use" in each.what]
    assert told == ["Channels use ECDHE_RSA_AES_256_GCM_SHA384"]
    made.close()


def test_the_window_of_triggered_sessions_is_long_enough_in_a_quick_run(tmp_path: Path) -> None:
    made = experiment("triggered-sessions", tmp_path, QUICK)
    assert not any("connected and idle" in each.what for each in made.deviations)
    made.close()


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("local-rr-np", "Requesters that"),
        ("client-trusted-np", "Responders that"),
        ("dq-trusted-np", "Requesters and responders that"),
        ("client-rr-np", ""),
    ],
)
def test_whose_processor_time_is_within_the_queue_managers(name: str, who: str, tmp_path: Path) -> None:
    made = experiment(name, tmp_path, QUICK)
    found = [each.what for each in made.deviations if "run trusted" in each.what]
    assert len(found) == bool(who)
    assert not who or found[0].startswith(who)
    made.close()


def test_connections_that_are_shared_are_told(tmp_path: Path) -> None:
    made = experiment("appl-connection-scaling", tmp_path, Settings(), {"requesters": ["1000", "900000"]})
    assert any("clients share" in each.what for each in made.deviations)
    assert any("SHARECNV(1)" in text for text in made.configuration.values())
    made.close()


@pytest.mark.parametrize(
    ("files", "managers", "bytes_max", "left"),
    [(64, 1, 16 << 30, 64), (64, 10, 16 << 30, 25), (64, 10, 512 << 20, 2), (4, 1, 1, 2), (2, 1, 512 << 20, 2)],
)
def test_logs_are_fitted_into_the_room_for_all(files: int, managers: int, bytes_max: int, left: int) -> None:
    log = LogSection(primary_files=files, file_pages=16_384)
    assert fitted_log(log, managers, bytes_max).primary_files == left


def test_stanzas_are_merged_line_by_line() -> None:
    first = {"Channels": {"MaxChannels": "1", "MQIBindType": "FASTPATH"}, "Log": {"LogPath": "x"}}
    found = merged_stanzas(first, {"Channels": {"MaxChannels": "2"}})
    assert found == {"Channels": {"MaxChannels": "2", "MQIBindType": "FASTPATH"}, "Log": {"LogPath": "x"}}


def test_commands_that_differ_in_numbers_are_shown_once() -> None:
    shown = shortened(["DEFINE QLOCAL(A.0)", "DEFINE QLOCAL(B.0)", "DEFINE QLOCAL(A.1)", "ALTER QMGR MAXHANDS(5)"])
    assert shown == ["DEFINE QLOCAL(A.0)", "* ... and 1 more, to A.1", "DEFINE QLOCAL(B.0)", "ALTER QMGR MAXHANDS(5)"]


def test_shares_of_messages_add_up() -> None:
    found = {each.name: each.value for each in queue_shares({"gets": 200, "handed_over": 150, "spilled": 20})}
    assert found == pytest.approx({HANDED_OVER: 75.0, FROM_BUFFER: 15.0, SPILLED: 10.0})
    assert queue_shares({"gets": 0}) == []


def test_a_plan_is_described_as_it_would_be_typed() -> None:
    log = LogSection(primary_files=16, secondary_files=2, file_pages=16_348, type=LogType.LINEAR)
    commands = tuple(f"DEFINE QLOCAL(Q{number})" for number in range(25))
    stanzas = {"TuningParameters": {"DefaultQBufferSize": "1048576"}}
    plan = QueueManagerPlan(log=log, commands=commands, stanzas=stanzas, conversations=10, is_accounting=True)
    text = plan_text(plan)
    assert text.startswith("crtmqm -ll -lp 16 -ls 2 -lf 16348 LAB\n")
    assert "TuningParameters:\n   DefaultQBufferSize=1048576\n" in text
    assert "SHARECNV(10)" in text
    assert f"\n{COLLECT_STATISTICS}\n" in text
    assert text.endswith("DEFINE QLOCAL(Q0)\n* ... and 24 more, to Q24")
