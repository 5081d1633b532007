"""The local socket of an instance that does not lead: commands are answered, applications refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler import mqi
from ostler.client.link.control import NotRunningError, control
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.admin.actions import Answers, Arguments, Caller
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory
from ostler.server.queue_manager import create_queue_manager
from ostler.server.replica.standby_socket import StandbySocket

REFUSAL = "Instance b of QM1 is active; it is at 127.0.0.1(1414)."


def _echo(arguments: Arguments, caller: Caller) -> Answers:
    yield {"line": "x" * 300_000}  # several segments
    yield {"word": arguments["word"], "is_owner": caller.is_owner}


def _fail(arguments: Arguments, caller: Caller) -> Answers:
    raise MQError(mq.MQRC_OPTIONS_ERROR, "not like this")
    yield {}


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[QueueManagerDirectory]:
    made = create_queue_manager(tmp_path, "QM1")
    notes: list[str] = []
    with InstanceLock(made):
        standby = StandbySocket(made, {"echo": _echo, "fail": _fail}, lambda: REFUSAL, lambda user: False, notes.append)
        yield made
        standby.close()
    assert notes == []
    with pytest.raises(NotRunningError):
        list(control(made, "echo", word="again"))


def test_answers_commands(directory: QueueManagerDirectory) -> None:
    replies = list(control(directory, "echo", word="hello"))
    assert replies[-1] == {"word": "hello", "is_owner": True}
    assert replies[0] == {"line": "x" * 300_000}


def test_reports_failures_of_commands(directory: QueueManagerDirectory) -> None:
    with pytest.raises(MQError, match="not like this"):
        list(control(directory, "fail"))


def test_refuses_unknown_commands_with_the_active_instance(directory: QueueManagerDirectory) -> None:
    with pytest.raises(MQError, match="Instance b of QM1 is active") as refused:
        list(control(directory, "mqsc", text="DISPLAY QMGR"))
    assert refused.value.reason == mq.MQRC_STANDBY_Q_MGR


def test_refuses_applications(directory: QueueManagerDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_DATA", str(directory.root))
    _, completion, reason = mqi.MQCONN("QM1")
    assert (completion, reason) == (mq.MQCC_FAILED, mq.MQRC_STANDBY_Q_MGR)
