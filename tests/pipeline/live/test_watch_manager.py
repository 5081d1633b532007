"""Words about a queue manager before it is watched. They need no Spark."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

import pytest
from tests.pipeline.source.queue_stage import options

from ostler.cli.pipeline import watch_options as pipeline_watch_options
from ostler.cli.samples import connection as sample_connection
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.live.watch_manager import ManagerUnreachable, WatchedManager, inspect_manager
from ostler.testing import RunningQueueManager, queue_manager


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager() as running:
        yield running


def looked(qm: RunningQueueManager, **more: str) -> WatchedManager:
    return inspect_manager(options(qm, queue="SYSTEM.ADMIN.ACCOUNTING.QUEUE", **more))


def test_what_is_switched_off_is_told_with_the_command(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR STATMQI(ON) STATQ(NONE) ACCTMQI(OFF) ACCTQ(ON) STATINT(1800) ACCTINT(10)")
    told = looked(qm)
    assert told.name == qm.name
    assert told.notes == (
        "QMTEST writes no statistics of queues, accounts of connections. "
        "To have them: ALTER QMGR STATQ(ON) ACCTMQI(ON)",
        "Accounts are of connections that are made after that.",
        "QMTEST has STATINT(1800): so many seconds pass from one record to the next. "
        "For more of them: ALTER QMGR STATINT(60)",
    )
    qm.mqsc("ALTER QMGR STATQ(ON) ACCTMQI(ON) STATINT(10)")
    assert looked(qm).notes == ()


def test_nobody_there(qm: RunningQueueManager) -> None:
    with pytest.raises(ManagerUnreachable, match="MQRC_HOST_NOT_AVAILABLE"):
        looked(qm, port="1")
    with pytest.raises(PipelineError, match="MQRC_Q_MGR_NAME_ERROR") as refused:
        looked(qm, queueManager="OTHER")
    assert not isinstance(refused.value, ManagerUnreachable), "a wrong name does not come right by waiting"


def test_a_user_who_may_not_read() -> None:
    with queue_manager("QMGUARD", guarded=True) as guarded:
        guarded.add_user("ann", "secret")
        guarded.mqsc(
            "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(CONNECT)\n"
            "SET AUTHREC PROFILE(SYSTEM.ADMIN.STATISTICS.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET)"
        )
        with pytest.raises(PipelineError) as refused:
            looked(guarded, user="ann", password="secret")
        wanted = "SET AUTHREC PROFILE(SYSTEM.ADMIN.ACCOUNTING.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET)"
        assert str(refused.value).endswith(f"Let an administrator run: {wanted}")
        guarded.mqsc(wanted)
        (note,) = looked(guarded, user="ann", password="secret").notes
        assert "could not be asked: MQRC_NOT_AUTHORIZED" in note


@pytest.mark.parametrize(
    ("words", "environment", "wanted"),
    [
        (["QM1", "-c", "a(1)"], {"MQSERVER": "C/TCP/b(2)"}, {"queueManager": "QM1", "connectionName": "a(1)"}),
        ([], {"MQSERVER": "C/TCP/b(2)"}, {"queueManager": "", "connectionName": "b(2)", "channel": "C"}),
        (["QM1"], {"MQCCDTURL": "/etc/t.json"}, {"queueManager": "QM1", "ccdt": "/etc/t.json"}),
        (["QM1"], {}, {"queueManager": "QM1", "binding": "local", "data": "/nowhere"}),
        (
            ["-c", "a(1)", "--tls", "--ca-file", "/ca"],
            {},
            {"queueManager": "", "connectionName": "a(1)", "cipherSpec": "ANY_TLS12_OR_HIGHER", "caFile": "/ca"},
        ),
    ],
)
def test_where_the_source_is_sent(words: list[str], environment: dict[str, str], wanted: dict[str, str]) -> None:
    parser = ArgumentParser()
    parser.add_argument("queue_manager", nargs="?")
    sample_connection.add_arguments(parser)
    environment = {"OSTLER_DATA": "/nowhere", **environment}
    assert pipeline_watch_options.source_options(parser.parse_args(words), environment) == wanted


def test_nothing_says_where() -> None:
    parser = ArgumentParser()
    parser.add_argument("queue_manager", nargs="?")
    sample_connection.add_arguments(parser)
    with pytest.raises(sample_connection.UsageError, match="name a queue manager"):
        pipeline_watch_options.source_options(parser.parse_args([]), {"OSTLER_DATA": "/nowhere"})
