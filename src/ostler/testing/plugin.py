"""The pytest plugin: one queue manager for a test run, isolated for each test.

    @pytest.mark.mqsc("DEFINE QLOCAL(ORDERS)")
    def test_orders(qmgr):
        run_my_program(env={**os.environ, **qmgr.environment})
        assert qmgr.depth("ORDERS") == 1

Settings, in pytest.ini or pyproject.toml:

    ostler_mqsc_file     files with MQSC commands that are run once, for all tests
    ostler_qmgr_name     the queue manager's name
    ostler_channel       the name of its server-connection channel

With pytest-xdist every worker has a queue manager of its own, in a directory and on a port of its own. Its name is its
own, too, unless `ostler_qmgr_name` is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ostler.testing.running import RunningQueueManager

# Ostler is loaded only when a test uses a queue manager: the plugin is part of every pytest run.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("ostler_mqsc_file", "files with MQSC commands, run once for all tests", type="paths", default=[])
    parser.addini("ostler_qmgr_name", "name of the queue manager that tests use", default="")
    parser.addini("ostler_channel", "name of its server-connection channel", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "mqsc(text, ...): MQSC commands to run before the test, undone after it")


def manager_name(config: pytest.Config) -> str:
    """Return the name of this worker's queue manager."""
    from ostler.testing.running import NAME

    given = str(config.getini("ostler_qmgr_name"))
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    return given or (f"{NAME}.{worker.upper()}" if worker else NAME)


@pytest.fixture(scope="session")
def qmgr_session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningQueueManager]:
    """The queue manager of the whole run, without isolation: changes stay for all tests. Most tests use `qmgr`."""
    from ostler.testing.running import CHANNEL, queue_manager

    config = request.config
    data = tmp_path_factory.mktemp("ostler")
    channel = str(config.getini("ostler_channel")) or CHANNEL
    with queue_manager(manager_name(config), data=data, channel=channel) as running:
        for path in config.getini("ostler_mqsc_file"):
            running.mqsc(path.read_text())
        yield running


@pytest.fixture
def qmgr(request: pytest.FixtureRequest, qmgr_session: RunningQueueManager) -> Iterator[RunningQueueManager]:
    """The queue manager, with the objects that the `mqsc` marks of the test define.

    After the test its state is restored: connections that the test left open are broken, objects are as before, and
    queues are empty.
    """
    # Marks of a class come before those of its tests.
    marks = reversed(list(request.node.iter_markers("mqsc")))
    with qmgr_session.isolated("\n".join(text for mark in marks for text in mark.args)) as running:
        yield running


@pytest.fixture
def qmgr_environment(qmgr: RunningQueueManager, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set the environment of this process so that MQ programs in it connect to `qmgr`. Returns the variables."""
    for name in ("MQCCDTURL", "MQCHLLIB", "MQCHLTAB"):
        monkeypatch.delenv(name, raising=False)
    for name, value in qmgr.environment.items():
        monkeypatch.setenv(name, value)
    return qmgr.environment
