"""`ostler lab run` and `resume` with simulated contestants: what is said, what is kept, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.lab.lab_script import RUNNER, STAGE
from tests.lab.runner.simulated_experiment import Script

from ostler.cli.main import main
from ostler.lab.runner.contract import RunAborted, RunContext
from ostler.lab.scenarios.families import FAMILIES
from ostler.lab.scenarios.sets import SETS, Member, ScenarioSet, Windows
from ostler.lab.store.run_reader import RunCondition, StoredRun, read_run, stored_runs
from ostler.lab.store.segments import RunNotWritten

ONCE = ("--quick", "--seconds", "0.1", "--warm-up", "0", "--cool-down", "0", "--repetitions", "1", "--no-limits")
SHORT = (*ONCE, "--peers", "none")
LINE = re.compile(r" *\d+/\d+  (Ostler|Peer  )  requesters \d  ")


def script() -> Script:
    """Two contestants, for as few points as can be."""
    found = Script()
    found.contestants = found.contestants[:2]
    return found


@pytest.fixture(autouse=True)
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A fresh script in the place of two families, and a directory of its own to be in."""
    for name in ("request-reply", "rated"):
        monkeypatch.setitem(FAMILIES, name, replace(FAMILIES[name], runner=RUNNER))
    monkeypatch.chdir(tmp_path)
    STAGE.script = script()
    STAGE.contexts.clear()


def lab(*arguments: str) -> int:
    try:
        return main(["lab", *arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0)


def run(*arguments: str, scenario: str = "client-rr-np", requesters: str = "1") -> int:
    return lab("run", scenario, *SHORT, "--set", f"requesters={requesters}", *arguments)


def only_run() -> StoredRun:
    (directory,) = stored_runs(Path("lab-runs"))
    return read_run(directory)


class TestWhole:
    def test_lines_a_table_and_where_the_data_is(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(requesters="1,2") == 0
        out, err = capsys.readouterr()
        found = only_run()
        assert err == ""
        assert out.startswith("client-rr-np: 2 steps, once, 0.1 s each: at most 1 s for each contestant.\n")
        assert "4 points; about " in out
        lines = out.splitlines()
        assert len([line for line in lines if LINE.match(line)]) == 4
        assert next(line for line in lines if line.startswith("requesters  contestant ")).split()[:4] == [
            "requesters", "contestant", "rate/s", "mean",
        ]  # fmt: skip
        assert "All 4 points were measured." in lines
        assert f"Data: lab-runs/{found.manifest.run}, as manifest.json and segments/*/*.parquet." in lines
        assert "\x1b" not in out
        assert found.condition is RunCondition.COMPLETE
        assert found.manifest.command[0] == "ostler"

    def test_on_a_terminal(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in (("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "1"), ("COLUMNS", "80"), ("TERM", "xterm")):
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert run() == 0
        out = capsys.readouterr().out
        assert "requesters 1; once: " in out
        assert "\x1b[?25h" in out
        assert "All 2 points were measured." in out
        assert not LINE.search(out)

    def test_several_scenarios_for_programs(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert lab("run", "client-rr-np", "client-rated-np", *SHORT, "--set", "requesters=1", "--json") == 0
        out, err = capsys.readouterr()
        first, second = (json.loads(line) for line in out.splitlines())
        assert (first["scenario"], second["scenario"]) == ("client-rr-np", "client-rated-np")
        assert (first["condition"], first["points"]) == ("complete", 2)
        assert {each["contestant"] for each in first["results"]} == {"Ostler", "Peer"}
        assert first["results"][0]["rate_per_second"] == 200.0
        assert err.count("All 2 points were measured.") == 2

    def test_all_options_arrive(self) -> None:
        options = (
            "--quick", "--seconds", "0.2", "--warm-up", "0.01", "--cool-down", "0", "--repetitions", "1",
            "--drivers", "3", "--no-limits", "--no-libraries", "--accounting", "--peers", "none",
            "--output", "elsewhere",
        )  # fmt: skip
        assert lab("run", "client-rr-np", "--set", "requesters=7", *options) == 0
        (context,) = STAGE.contexts
        settings = context.settings
        assert (settings.measured_seconds, settings.warm_up_seconds, settings.cool_down_seconds) == (0.2, 0.01, 0.0)
        assert (settings.repetitions, settings.drivers, settings.peers) == (1, 3, ())
        assert (settings.limits, settings.libraries, settings.accounting, settings.is_quick) == (
            False,
            False,
            True,
            True,
        )
        assert [step.points["requesters"] for step in context.steps] == [7]
        assert len(stored_runs(Path("elsewhere"))) == 1


class TestEndingEarly:
    def test_points_that_failed(self, capsys: pytest.CaptureFixture[str]) -> None:
        STAGE.script.fails = lambda name, step: "it broke" if name == "Peer" else ""
        assert run() == 1
        out, err = capsys.readouterr()
        assert "Peer    requesters 1  failed: it broke" in out
        assert "point-failed: Peer at requesters 1: it broke\n" in out
        assert err == f"resume with: ostler lab resume lab-runs/{only_run().manifest.run}\n"

    def test_who_is_absent_is_no_failure(self, capsys: pytest.CaptureFixture[str]) -> None:
        STAGE.script.absent = {"NATS": "it is not installed"}
        assert run() == 0
        assert "Without NATS: it is not installed\n" in capsys.readouterr().out

    def test_the_sitting_is_over(self, capsys: pytest.CaptureFixture[str]) -> None:
        STAGE.script.fails = lambda name, step: "it broke" if name == "Ostler" else ""
        assert run("--repetitions", "3") == 1
        err = capsys.readouterr().err
        assert "ostler lab run: Ended early: Ostler failed 3 times in a row: it broke" in err
        assert f"resume with: ostler lab resume lab-runs/{only_run().manifest.run}\n" in err

    @pytest.mark.parametrize(
        ("failure", "rest"),
        [
            (RunAborted("no queue manager starts"), ""),
            (RunNotWritten("the disk is full"), "Not begun: client-rr-pm.\n"),
        ],
    )
    def test_nothing_measured(
        self, failure: Exception, rest: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def over(_context: RunContext) -> None:
            raise failure

        monkeypatch.setattr(STAGE.script, "experiment", over)
        assert lab("run", "client-rr-np", "client-rr-pm", *SHORT) == 1
        out, err = capsys.readouterr()
        assert f"ostler lab run: Nothing measured: {failure}\nresume with: ostler lab resume lab-runs/client-" in err
        assert err.endswith(rest)
        assert ("client-rr-pm: " in out) == (not rest)
        assert "contestant " not in out.replace("each contestant", "")

    def test_a_place_that_cannot_be_written(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("taken").write_text("no directory")
        assert run("--output", "taken") == 1
        err = capsys.readouterr().err
        assert "ostler lab run: Nothing measured: " in err
        assert "taken" in err

    def test_control_c_keeps_what_there_is_and_resume_goes_on(self, capsys: pytest.CaptureFixture[str]) -> None:
        STAGE.script.fails_to_prepare = self.interrupted
        assert lab("run", "client-rr-np", "client-rr-pm", *SHORT, "--set", "requesters=1,2") == 130
        out, err = capsys.readouterr()
        found = only_run()
        assert found.condition is RunCondition.PARTIAL
        assert "2 of 4 points were measured.\n" in out
        assert f"resume with: ostler lab resume lab-runs/{found.manifest.run}\n" in err
        assert "Not begun: client-rr-pm.\n" in err
        STAGE.script = script()
        assert lab("resume", found.manifest.run[:-3]) == 0
        out, err = capsys.readouterr()
        assert "4 points, 2 of them measured before; about " in out
        assert len([line for line in out.splitlines() if LINE.match(line)]) == 2
        assert "All 4 points were measured.\n" in out
        assert only_run().condition is RunCondition.COMPLETE

    def test_it_tells_of_its_own_run_when_another_was_begun_meanwhile(self, capsys: pytest.CaptureFixture[str]) -> None:
        def another(name: str, step: int) -> str:
            STAGE.script = script()
            assert run() == 0
            raise KeyboardInterrupt

        STAGE.script.fails_to_prepare = another
        assert run() == 130
        (interrupted,) = (
            path for path in stored_runs(Path("lab-runs")) if read_run(path).condition is RunCondition.PARTIAL
        )
        err = capsys.readouterr().err
        assert err.endswith(f"resume with: ostler lab resume lab-runs/{interrupted.name}\n")
        assert "Nothing measured: interrupted." in err

    def test_control_c_before_anything_was_measured(self, capsys: pytest.CaptureFixture[str]) -> None:
        STAGE.script.fails_to_prepare = lambda name, step: self.interrupted(name, 1)
        assert run() == 130
        err = capsys.readouterr().err
        assert "ostler lab run: Nothing measured: interrupted.\n" in err
        assert "resume with: ostler lab resume lab-runs/client-rr-np-" in err

    def test_who_ignores_hanging_up_goes_on_ignoring_it(self) -> None:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        STAGE.script.before_run = lambda name, step: os.kill(os.getpid(), signal.SIGHUP)
        try:
            assert run() == 0
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_being_told_to_end_is_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        before = signal.getsignal(signal.SIGTERM)
        STAGE.script.fails_to_prepare = self.terminated
        assert run(requesters="1,2") == 143
        assert "resume with: " in capsys.readouterr().err
        assert only_run().condition is RunCondition.PARTIAL
        assert signal.getsignal(signal.SIGTERM) is before

    @staticmethod
    def interrupted(name: str, step: int) -> str:
        if step == 1:
            raise KeyboardInterrupt
        return ""

    @staticmethod
    def terminated(name: str, step: int) -> str:
        if step == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return ""


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("client-rr",), "there is no scenario 'client-rr'. Did you mean client-rr-np or client-rr-pm"),
            (("%",), "ostler lab list shows all."),
            (("client-rr-np", "zos-clus-bind-on-open"), "zos-clus-bind-on-open cannot run yet: it needs clusters"),
            (("zos-ims-bridge-cm0",), "zos-ims-bridge-cm0 belongs to another platform: it needs "),
            (("tuning-guidance-v53",), "tuning-guidance-v53 is not measured: it is kept as guidance"),
            (("client-rr-np", "--set", "riders=1"), "client-rr-np does not sweep 'riders'; it sweeps requesters"),
            (("client-rr-np", "--set", "requesters=many"), "'many' is not a whole number from 1 to 1,000,000"),
            (("client-rr-np", "--set", "requesters"), "expected NAME=V,V..."),
            (("client-rr-np", "--set", "requesters=1,,2"), "expected NAME=V,V..."),
            (("client-rr-np", "--set", "requesters=1", "--set", "requesters=2"), "--set requesters is given twice"),
            (("client-rr-np", "--peers", "rabitmq"), "there is no peer 'rabitmq'. Did you mean rabbitmq?"),
            (("client-rr-np", "--peers", ""), "There are rabbitmq, nats, "),
            (("client-rr-np", "--seconds", "0"), "'0' is not a number of seconds from 0.1 to 3600"),
            (("client-rr-np", "--seconds", "nan"), "'nan' is not a number of seconds"),
            (("client-rr-np", "--warm-up", "-1"), "'-1' is not a number of seconds from 0 to 3600"),
            (("client-rr-np", "--repetitions", "1.5"), "'1.5' is not a whole number from 1 to 100"),
            (("client-rr-np", "--drivers", "0"), "'0' is not a whole number from 1 to 64"),
            (("client-rr-np", "--output"), "expected one argument"),
            ((), "required: SCENARIO"),
        ],
    )
    def test_what_cannot_be_run(
        self, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert lab("run", *arguments) == 2
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""
        assert not Path("lab-runs").exists()

    def test_a_peer_that_is_not_here(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("OSTLER_PEERS_CACHE", str(tmp_path / "cache"))
        if lab("peers", "redis") == 0:
            pytest.skip("redis is installed on this machine")
        capsys.readouterr()
        assert lab("run", "client-rr-np", "--peers", "redis") == 2
        err = capsys.readouterr().err
        assert "redis cannot take part: not here. Do this first: ostler lab peers --fetch redis" in err

    def test_a_peer_that_cannot_be_fetched(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        Path("taken").write_text("no directory")
        monkeypatch.setenv("OSTLER_PEERS_CACHE", str(tmp_path / "taken" / "cache"))
        if lab("peers", "redis") == 0:
            pytest.skip("redis is installed on this machine")
        capsys.readouterr()
        assert lab("run", "client-rr-np", "--peers", "redis", "--fetch") == 2
        assert "ostler lab run: redis " in capsys.readouterr().err
        assert lab("run", "client-rr-np", *ONCE, "--set", "requesters=1", "--fetch") == 0
        assert "Without redis: redis " in capsys.readouterr().out
        assert "redis" not in STAGE.contexts[0].settings.peers

    def test_only_peers_that_are_here_take_part(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("OSTLER_PEERS_CACHE", str(tmp_path / "cache"))
        lab("peers", "--json")
        here = {each["name"] for each in json.loads(capsys.readouterr().out) if each["state"] == "installed"}
        assert lab("run", "client-rr-np", *ONCE, "--set", "requesters=1", "--peers", "all") == 0
        assert set(STAGE.contexts[0].settings.peers) == here
        said = capsys.readouterr().out
        assert said.count("Without ") == 5 - len(here)

    @pytest.mark.parametrize(
        ("name", "said"),
        [("nowhere", "lab-runs holds none"), (".", "is not the directory of a run: it has no manifest.json.")],
    )
    def test_what_cannot_be_resumed(self, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert lab("resume", name) == 2
        assert said in capsys.readouterr().err

    def test_a_complete_run_cannot_be_resumed(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run() == 0
        capsys.readouterr()
        assert lab("resume", "client-rr-np") == 2
        out, err = capsys.readouterr()
        assert "is complete: there is nothing to resume. Start a new run." in err
        assert out == ""


def test_a_named_set_stands_for_its_scenarios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SETS, "two", ScenarioSet("two", "a test", (Member("client-rr-np"), Member("client-rated-np"))))
    assert main(["lab", "run", "@two", "client-rr-np", *SHORT]) == 0
    runs = sorted("-".join(each.name.split("-")[:3]) for each in Path("lab-runs").iterdir())
    assert runs == ["client-rated-np", "client-rr-np"], "each once"
    assert main(["lab", "run", "@twoo", *SHORT]) == 2
    assert "there is no set '@twoo'. There are: @micro" in capsys.readouterr().err


def test_a_set_has_points_and_windows_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Member("client-rr-np", {"requesters": ("2",)}, Windows(0.1, 0.2, 1))
    monkeypatch.setitem(SETS, "own", ScenarioSet("own", "a test", (own, Member("pubsub-1n-cluster2-np"))))
    asked = ("run", "@own", "--peers", "none", "--no-limits")
    assert lab(*asked) == 0
    assert "Left out: pubsub-1n-cluster2-np cannot run yet: it needs clusters." in capsys.readouterr().out
    found = only_run().manifest
    assert {dict(point.parameters)["requesters"] for point in found.points} == {2}
    told = found.parameters
    assert (told["measured_seconds"], told["repetitions"], told["is_quick"]) == (0.2, 1, True)
    assert lab(*asked, "--set", "requesters=1", "--seconds", "0.1", "--output", "others") == 0
    (other,) = (read_run(each).manifest for each in stored_runs(Path("others")))
    assert (other.parameters["set requesters"], other.parameters["measured_seconds"]) == ("1", 0.1), "these are first"


def test_the_retired_command_names_its_successor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "request-reply", "--quick"]) == 2
    assert capsys.readouterr().err == "ostler: there is no command bench any more. Use this: ostler lab run @bench\n"


def test_a_family_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = "ostler.pipeline.families.nothing:experiment"
    monkeypatch.setitem(FAMILIES, "request-reply", replace(FAMILIES["request-reply"], runner=runner))
    assert main(["lab", "run", "client-rr-np", *SHORT]) == 1
    said = capsys.readouterr().err
    assert "client-rr-np needs the package ostler.pipeline.families.nothing: pip install 'ostler[pipeline]'" in said
