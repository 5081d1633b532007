"""The pytest plugin, in pytest runs of its own."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

PLUGIN = "ostler.testing.plugin"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> type[Run]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    # Workers of the run that this test belongs to are not those of the runs it makes.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "MQSERVER", "MQCCDTURL"):
        monkeypatch.delenv(name, raising=False)
    Run.pytester = pytester
    return Run


class Run:
    """Runs pytest on files, and says how it went."""

    pytester: pytest.Pytester

    @classmethod
    def tests(cls, code: str, *options: str, **outcomes: int) -> pytest.RunResult:
        """Run the tests of a module; so many must have passed, failed ..."""
        cls.pytester.makepyfile(code)
        result = cls.pytest(*options)
        result.assert_outcomes(**outcomes)
        return result

    @classmethod
    def pytest(cls, *options: str) -> pytest.RunResult:
        installed = any(each.value == PLUGIN for each in entry_points(group="pytest11"))
        plugin = [] if installed else ["-p", PLUGIN]
        return cls.pytester.runpytest_subprocess("--strict-markers", "-p", "no:cacheprovider", *plugin, *options)


def test_a_queue_manager_per_run(run: type[Run]) -> None:
    run.tests(
        """
        import socket
        seen = []

        def test_one(qmgr):
            seen.append((qmgr.name, qmgr.port, qmgr.data))
            socket.create_connection((qmgr.host, qmgr.port)).close()

        def test_two(qmgr, qmgr_session):
            assert seen == [(qmgr.name, qmgr.port, qmgr.data)]
            assert qmgr is qmgr_session
            assert qmgr.name == "QMTEST"
            assert qmgr.mqserver == f"DEV.APP.SVRCONN/TCP/127.0.0.1({qmgr.port})"
        """,
        passed=2,
    )


@pytest.mark.slow
def test_definitions_from_marks_are_gone_after_the_test(run: type[Run]) -> None:
    run.tests(
        """
        import ostler, pytest
        pytestmark = pytest.mark.mqsc("DEFINE QLOCAL(ALL)")

        @pytest.mark.mqsc("DEFINE QLOCAL(CLASS)", "ALTER QLOCAL(ALL) DESCR('class')")
        class TestClass:
            @pytest.mark.mqsc("ALTER QLOCAL(CLASS) DESCR('test')")
            def test_both(self, qmgr):
                with qmgr.connect() as connection:
                    found = {each["NAME"]: each["DESCR"] for each in connection.display("QLOCAL", "*", "DESCR")}
                assert (found["ALL"], found["CLASS"]) == ("class", "test")
                qmgr.put("ALL", "left behind")

        @pytest.mark.mqsc('''
            * a comment
            DEFINE QLOCAL(OWN) +
                   MAXDEPTH(7)
        ''')
        def test_own(qmgr):
            assert qmgr.depth("OWN") == qmgr.depth("ALL") == 0
            with pytest.raises(ostler.MQError):
                qmgr.depth("CLASS")
        """,
        passed=2,
    )


@pytest.mark.slow
def test_settings(run: type[Run]) -> None:
    run.pytester.makefile(".mqsc", base="DEFINE QLOCAL(BASE)", more="DEFINE QALIAS(MORE) TARGET(BASE)")
    run.pytester.makeini(
        """
        [pytest]
        ostler_mqsc_file = base.mqsc more.mqsc
        ostler_qmgr_name = PROD
        ostler_channel = APP.SVRCONN
        """
    )
    run.tests(
        """
        import pytest

        @pytest.mark.parametrize("turn", [1, 2])
        def test_settings(qmgr, turn):
            assert qmgr.name == "PROD"
            assert qmgr.mqserver.startswith("APP.SVRCONN/TCP/")
            assert qmgr.depth("BASE") == 0
            qmgr.put("MORE", "message")
            assert qmgr.depth("BASE") == 1
            if turn == 1:
                qmgr.mqsc("DELETE QALIAS(MORE)")
        """,
        passed=2,
    )


@pytest.mark.slow
def test_commands_that_fail_are_the_tests_error(run: type[Run]) -> None:
    result = run.tests(
        """
        import pytest

        @pytest.mark.mqsc("DEFINE QLOCAL(")
        def test_never_runs(qmgr):
            pass

        def test_runs(qmgr):
            pass
        """,
        passed=1,
        errors=1,
    )
    result.stdout.fnmatch_lines(["*MqscError*DEFINE QLOCAL(*"])


@pytest.mark.slow
def test_the_next_test_is_safe_from_a_failed_one(run: type[Run]) -> None:
    run.tests(
        """
        import pytest
        pytestmark = pytest.mark.mqsc("DEFINE QLOCAL(Q)")
        left = []

        def test_fails(qmgr):
            left.append(qmgr.connect())
            left.append(left[0].open("Q", "xw"))
            left[1].put("not committed", syncpoint=True)
            assert False

        def test_ends_it(qmgr):
            assert qmgr.depth("Q") == 0
            qmgr.put("Q", "persistent", persistent=True)
            qmgr.end("preemptive")

        def test_passes(qmgr):
            assert qmgr.depth("Q") == 0
            with qmgr.connect() as connection, connection.open("Q", "x"):
                pass
        """,
        passed=2,
        failed=1,
    )


def test_programs_find_it_by_their_environment(run: type[Run]) -> None:
    run.tests(
        """
        import os, subprocess, sys, ostler, pytest
        from ostler.client.locate.connect_parameters import ConnectParameters
        from ostler.client.locate.endpoints import endpoints

        def test_environment(qmgr, qmgr_environment):
            (found,) = endpoints(ConnectParameters(binding="client"), os.environ)
            assert (found.host, found.port, found.channel) == (qmgr.host, qmgr.port, qmgr.channel)

        def test_it_is_as_it_was():
            assert "MQSERVER" not in os.environ
        """,
        passed=2,
    )


@pytest.mark.slow
def test_tests_without_a_queue_manager_pay_nothing(run: type[Run]) -> None:
    run.tests(
        """
        import sys

        def test_nothing():
            assert [name for name in sys.modules if name.startswith("ostler.")] == [
                "ostler._version", "ostler.testing", "ostler.testing.plugin"
            ]
        """,
        passed=1,
    )


@pytest.mark.slow
def test_fixtures_and_marks_are_documented(run: type[Run]) -> None:
    fixtures = run.pytest("--fixtures", "-v").stdout.str()
    assert "The queue manager, with the objects that the `mqsc` marks of the test define." in fixtures
    assert "@pytest.mark.mqsc(text, ...):" in run.pytest("--markers").stdout.str()


@pytest.mark.slow
def test_workers_have_queue_managers_of_their_own(run: type[Run]) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    run.tests(
        """
        import time, pytest

        @pytest.mark.mqsc("DEFINE QLOCAL(SAME)")
        @pytest.mark.parametrize("turn", range(6))
        def test_turns(qmgr, turn, worker_id):
            assert qmgr.name == f"QMTEST.{worker_id.upper()}"
            assert qmgr.depth("SAME") == 0
            for _ in range(10):
                qmgr.put("SAME", str(turn))
            assert [message.text for message in qmgr.browse("SAME")] == [str(turn)] * 10
        """,
        "-n",
        "2",
        passed=6,
    )
