"""Running scenarios with simulated contestants: order, what is kept, stop rules, failures, interruption, resuming."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.runner.simulated_experiment import HeardView, Script

from ostler.lab.runner.contract import QUICK, ROUND_TRIP, Experiment, RunAborted, RunContext
from ostler.lab.runner.run_parameters import as_parameters, chosen_from, settings_from
from ostler.lab.runner.runner import resume_run, run_scenario
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario, StopKind, StopRule
from ostler.lab.scenarios.steps import ParametersError
from ostler.lab.store.manifest import RunState, RunUnreadable, write_manifest
from ostler.lab.store.points import measured_points
from ostler.lab.store.run_reader import StoredRun, read_run
from ostler.lab.store.validation import validate

SETTINGS = replace(QUICK, warm_up_seconds=0.02, measured_seconds=0.05, cool_down_seconds=0.02, limits=False)


def scenario(stop: StopRule | None = None) -> Scenario:
    return replace(catalogue().find("client-rr-np"), stop=stop or StopRule(StopKind.SWEEP))


def run(
    script: Script, tmp_path: Path, requesters: str = "1,2", stop: StopRule | None = None, view: HeardView | None = None
) -> StoredRun:
    chosen = {"requesters": requesters.split(",")}
    directory = run_scenario(
        scenario(stop), SETTINGS, chosen, tmp_path / "runs", view or HeardView(), ("test",), script.experiment
    )
    found = read_run(directory)
    assert validate(found) == []
    return found


class TestWhole:
    def test_contestants_take_turns_in_every_repetition(self, tmp_path: Path) -> None:
        script = Script()
        run(script, tmp_path)
        once = [("Ostler", 0), ("Peer", 0), ("limit", 0)]
        assert script.turns == [*once, *once, *((name, 1) for name, _ in once), *((name, 1) for name, _ in once)]
        assert script.closed == script.turns
        assert script.is_closed

    def test_everything_is_kept(self, tmp_path: Path) -> None:
        view = HeardView()
        found = run(Script(), tmp_path, view=view)
        assert found.manifest.state is RunState.COMPLETE
        assert found.manifest.command == ("test",)
        points = measured_points(found)
        assert len(points) == 12
        assert {point.operations[ROUND_TRIP].count for point in points} == {10}
        assert {point.clients for point in points} == {1, 2}
        assert {point.parameters["requesters"] for point in points} == {"1", "2"}
        assert view.plans == [(12, 0)]
        assert len(view.dones) == 12
        assert {done.rate_per_second for done in view.dones} == {200.0}
        assert [each.p50_ns for each in view.dones if each.p50_ns is None] == []
        assert view.nows

    def test_figures_are_sampled_through_the_window(self, tmp_path: Path) -> None:
        rows = run(Script(), tmp_path, "1").table("statistic").to_pylist()
        puts = [row["value"] for row in rows if row["name"] == "puts" and row["contestant"] == "Ostler"]
        assert puts == [1.0, 2.0, 1.0, 2.0]
        assert {row["value"] for row in rows if row["name"] == "bytes per connection"} == {123.0}

    def test_counts_that_agree_are_noted_and_those_that_differ_flagged(self, tmp_path: Path) -> None:
        good = run(Script(), tmp_path / "a", "1").table("event").to_pylist()
        assert {row["kind"] for row in good if row["name"].startswith("counts")} == {"note"}
        view = HeardView()
        bad = run(Script(miscounted=1), tmp_path / "b", "1", view=view).table("event").to_pylist()
        assert {row["kind"] for row in bad if row["name"].startswith("counts")} == {"flag"}
        assert all("counts-differ" in done.flags for done in view.dones)

    def test_a_window_in_which_nothing_ended_is_flagged(self, tmp_path: Path) -> None:
        view = HeardView()
        script = Script(count=lambda name, step: 0 if name == "Peer" else 1)
        run(script, tmp_path, "1", view=view)
        assert {done.contestant for done in view.dones if "nothing-ended" in done.flags} == {"Peer"}

    def test_the_manifest_says_who_took_part_and_how_noisy_it_was(self, tmp_path: Path) -> None:
        environment = run(Script(absent={"NATS": "it is not installed"}), tmp_path, "1").manifest.environment
        assert [each["name"] for each in environment["contestants"]] == ["Ostler", "Peer", "limit"]  # type: ignore[attr-defined]
        assert environment["entrants"] == environment["contestants"], "the name that earlier versions read"
        assert environment["noise"]["percent"] >= 0  # type: ignore[index]
        assert environment["workload"]["id"] == "client-rr-np"  # type: ignore[index]
        assert {"what": "one host", "why": "there is one"} in environment["deviations"]  # type: ignore[operator]
        assert environment["configuration"] == [{"name": "Peer", "text": "port 1"}]

    def test_a_point_may_need_a_longer_window_than_the_settings_have(self, tmp_path: Path) -> None:
        longer, usual = run(Script(seconds_least=0.2), tmp_path / "a", "1"), run(Script(), tmp_path / "b", "1")
        seconds = [
            [row["seconds"] for row in each.table("phase").to_pylist() if row["phase"] == "measured"]
            for each in (longer, usual)
        ]
        assert min(seconds[0]) >= 0.2 > max(seconds[1])
        assert longer.manifest.parameters == usual.manifest.parameters, "the settings stay as they are"

    def test_a_run_without_a_point_says_why_and_fails(self, tmp_path: Path) -> None:
        nobody = Script(contestants=())
        with pytest.raises(RunAborted, match=r"nothing of what was asked for .* one host: there is one"):
            run(nobody, tmp_path, "1")
        assert nobody.is_closed

    @pytest.mark.parametrize("is_one_by_one", [True, False])
    def test_the_cost_of_an_operation_that_outlasts_the_window_is_in_the_window(
        self, is_one_by_one: bool, tmp_path: Path
    ) -> None:
        script = Script(is_one_by_one=is_one_by_one, outlasts_seconds=0.3, latency_ns=40_000_000)
        found = run(script, tmp_path, "1")
        rows = [row for row in found.table("process").to_pylist() if row["phase"] == "measured"]
        points = measured_points(found)
        sampled = sum(row["interval_us"] for row in rows) / len(points) / 1e6
        rates = {round(point.operations[ROUND_TRIP].rate_per_second) for point in points}
        if is_one_by_one:
            assert sampled >= 0.3
            # Ten operations took 40 ms each.
            assert rates == {25}
        else:
            assert sampled < 0.3
            assert rates == {200}

    @pytest.mark.parametrize("accounting", [True, False])
    def test_a_report_can_have_accounting_switched_on(self, accounting: bool, tmp_path: Path) -> None:
        asked = scenario()
        asked = replace(asked, report=replace(asked.report, accounting=accounting))
        seen: list[bool] = []

        def make(context: RunContext) -> Experiment:
            seen.append(context.settings.accounting)
            return Script().experiment(context)

        chosen = {"requesters": ["1"]}
        directory = run_scenario(asked, SETTINGS, chosen, tmp_path / "runs", HeardView(), ("test",), make)
        assert seen == [accounting]
        assert read_run(directory).manifest.parameters["accounting"] is accounting

    def test_who_is_absent_is_said(self, tmp_path: Path) -> None:
        view = HeardView()
        found = run(Script(absent={"NATS": "it is not installed"}), tmp_path, "1", view=view)
        assert ("absent", "NATS: it is not installed") in [(flag.name, flag.text) for flag in found.manifest.flags]
        assert "Without NATS: it is not installed" in view.notes

    def test_nothing_is_left_beside_the_run(self, tmp_path: Path) -> None:
        found = run(Script(), tmp_path, "1")
        assert [path.name for path in (tmp_path / "runs").iterdir()] == [found.directory.name]

    def test_what_a_killed_run_left_is_removed(self, tmp_path: Path) -> None:
        left = tmp_path / "runs" / ".scratch-client-rr-np-gone"
        left.mkdir(parents=True)
        (left / "file").write_text("x")
        run(Script(), tmp_path, "1")
        assert not left.exists()


class TestStopping:
    def test_a_contestant_stops_by_itself(self, tmp_path: Path) -> None:
        view = HeardView()
        script = Script(latency_ns=2_000_000_000)
        script.contestants = script.contestants[:1]
        found = run(script, tmp_path, "1,2,3", StopRule(StopKind.RESPONSE_TIME, 1.0), view)
        assert script.turns == [("Ostler", 0)] * 2
        assert len(found.manifest.skipped) == 4
        assert found.manifest.state is RunState.COMPLETE
        ((name, steps, why),) = view.skips
        assert (name, steps) == ("Ostler", 2)
        assert "passed 1 s at requesters 1" in why

    def test_others_go_on(self, tmp_path: Path) -> None:
        script = Script(count=lambda contestant, step: (9 - step) if contestant == "Ostler" else 10 + 10 * step)
        run(script, tmp_path, "1,2,3,4", StopRule(StopKind.PEAK))
        assert max(step for name, step in script.turns if name == "Ostler") == 2
        assert max(step for name, step in script.turns if name == "Peer") == 3

    def test_limits_are_probed_to_the_end(self, tmp_path: Path) -> None:
        script = Script(count=lambda contestant, step: 9 - step)
        run(script, tmp_path, "1,2,3,4", StopRule(StopKind.PEAK))
        assert max(step for name, step in script.turns if name == "limit") == 3


class TestFailing:
    def test_a_failed_point_is_flagged_and_the_rest_is_measured(self, tmp_path: Path) -> None:
        view = HeardView()
        script = Script(fails=lambda name, step: "it broke" if (name, step) == ("Peer", 0) else "")
        found = run(script, tmp_path, view=view)
        assert found.manifest.state is RunState.PARTIAL
        assert ("Peer", 0, "it broke") in view.failures
        assert "Peer at requesters 1: it broke" in [each.text for each in found.manifest.flags]
        assert len(measured_points(found)) == 10

    def test_preparing_may_fail_too(self, tmp_path: Path) -> None:
        script = Script(fails_to_prepare=lambda name, step: "no port" if name == "Peer" else "")
        found = run(script, tmp_path, "1")
        assert {point.contestant for point in measured_points(found)} == {"Ostler", "limit"}

    def test_who_fails_always_is_given_up(self, tmp_path: Path) -> None:
        script = Script(fails=lambda name, step: "it broke" if name == "Peer" else "")
        run(script, tmp_path, "1,2,3,4")
        assert sum(name == "Peer" for name, _ in script.turns) < 8

    def test_the_sitting_is_over_when_ostler_fails_always(self, tmp_path: Path) -> None:
        script = Script(fails=lambda name, step: "it broke" if name == "Ostler" else "")
        with pytest.raises(RunAborted, match="it broke"):
            run(script, tmp_path, "1,2,3,4")
        (directory,) = (tmp_path / "runs").iterdir()
        found = read_run(directory)
        assert found.manifest.state is RunState.PARTIAL
        assert measured_points(found)
        assert script.is_closed


class TestResuming:
    def broken(self, tmp_path: Path) -> Path:
        """A run that ended when Ostler failed at the second step and the third."""
        with pytest.raises(RunAborted):
            run(Script(fails=lambda name, step: "it broke" if name == "Ostler" and step else ""), tmp_path, "1,2,3")
        (directory,) = (tmp_path / "runs").iterdir()
        return directory

    def test_goes_on_where_it_ended(self, tmp_path: Path) -> None:
        directory = self.broken(tmp_path)
        before = {point.key for point in read_run(directory).remaining()}
        script, view = Script(), HeardView()
        assert resume_run(directory, view, script.experiment) == directory
        found = read_run(directory)
        assert found.manifest.state is RunState.COMPLETE
        assert validate(found) == []
        assert len(script.turns) == len(before)
        assert view.plans[0][0] - view.plans[0][1] == len(before)
        assert len(measured_points(found)) == 18

    def test_noise_is_kept_from_the_first_moment_on_and_over_all_sittings(self, tmp_path: Path) -> None:
        directory = self.broken(tmp_path)
        manifest = read_run(directory).manifest
        noise = manifest.environment["noise"]
        assert isinstance(noise, dict)
        assert noise["percent"] >= 0
        write_manifest(directory, replace(manifest, environment={**manifest.environment, "noise": {"percent": 1e6}}))
        resume_run(directory, HeardView(), Script().experiment)
        kept = read_run(directory).manifest.environment["noise"]
        assert isinstance(kept, dict)
        assert kept["percent"] == 1e6

    def test_stop_rules_see_what_was_measured_before(self, tmp_path: Path) -> None:
        only = Script().contestants[:1]
        first = Script(only, lambda name, step: 20 - step, lambda name, step: "it broke" if step else "")
        chosen = {"requesters": ["1", "2", "3", "4", "5"], "message_bytes": ["2048"]}
        with pytest.raises(RunAborted):
            run_scenario(
                catalogue().find("rr-cb-np"), SETTINGS, chosen, tmp_path, HeardView(), (), make=first.experiment
            )
        (directory,) = tmp_path.iterdir()
        second = Script(only, lambda name, step: 20 - step)
        resume_run(directory, HeardView(), second.experiment)
        # The peak was at the first step, which was measured before: two more that are not better end the sweep.
        assert sorted({step for _, step in second.turns}) == [1, 2]

    def test_a_complete_run_is_refused(self, tmp_path: Path) -> None:
        found = run(Script(), tmp_path, "1")
        with pytest.raises(RunUnreadable, match="nothing to resume"):
            resume_run(found.directory, HeardView(), Script().experiment)


class TestRefusing:
    def test_scenarios_that_lack_features(self, tmp_path: Path) -> None:
        with pytest.raises(ParametersError, match="needs"):
            run_scenario(catalogue().find("zos-clus-bind-on-open"), SETTINGS, {}, tmp_path, HeardView())

    def test_sweeps_that_are_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ParametersError, match="does not sweep 'colour'"):
            run_scenario(scenario(), SETTINGS, {"colour": ["red"]}, tmp_path, HeardView())
        assert list(tmp_path.iterdir()) == []

    def test_parameters_survive_the_manifest(self) -> None:
        settings = replace(SETTINGS, peers=("nats", "redis"), drivers=2)
        chosen = {"requesters": ("1", "2")}
        kept = as_parameters(settings, chosen)
        assert settings_from(kept) == settings
        assert chosen_from(kept) == chosen

    @pytest.mark.parametrize(
        "damage",
        [
            {"colour": 1},
            {"drivers": "many"},
            {"is_quick": 1},
            {"drivers": 0},
            {"repetitions": -1},
            {"measured_seconds": float("nan")},
            {"warm_up_seconds": float("inf")},
        ],
    )
    def test_parameters_of_another_version_are_refused(self, damage: dict[str, object]) -> None:
        with pytest.raises(RunUnreadable):
            settings_from({**as_parameters(SETTINGS, {}), **damage})  # type: ignore[dict-item]
