"""Objects of every type are there again after a restart, by the log and by the checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command.conftest import LOG, LocalCommandContext, Operator

from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.queue_manager import QueueManager, create_queue_manager

OBJECTS = {
    "def ql(Q1) maxdepth(5)": "dis ql(Q1)",
    "def qa(A1) target(Q1)": "dis qa(A1)",
    "def qr(R1) rname(Q1) rqmname(QM2)": "dis qr(R1)",
    "def qm(M1) deftype(permdyn)": "dis qm(M1)",
    "def chl(APP.SVRCONN) chltype(svrconn) maxinst(10) mcauser('app')": "dis chl(APP.SVRCONN)",
    "def chl(TO.QM1) chltype(clntconn) conname('here(1414)') qmname(QM1)": "dis chl(TO.QM1)",
    "def chl(TO.QM2) chltype(sdr) conname('there(1414)') xmitq(QM2)": "dis chl(TO.QM2)",
    "def lstr(L1) port(1415) control(qmgr)": "dis lstr(L1)",
    "def service(S1) startcmd('/bin/true')": "dis service(S1)",
    "def pro(P1) applicid('a')": "dis pro(P1)",
    "def nl(N1) names(A,B)": "dis nl(N1)",
    "def topic(T1) topicstr('a/b')": "dis topic(T1)",
    "def sub(U1) topicobj(T1) topicstr('#') destclas(managed) expiry(9000)": "dis sub(U1)",
    "def authinfo(I1) authtype(idpwos) chckclnt(none)": "dis authinfo(I1)",
    "alter qmgr descr('kept')": "dis qmgr",
}


def start(root: Path, create: bool = False) -> tuple[QueueManager, Operator]:
    if create:
        create_queue_manager(root, "AGAIN", LOG)
    manager = QueueManager(QueueManagerDirectory(root, "AGAIN"))
    manager.start()
    return manager, Operator(LocalCommandContext(manager))


@pytest.mark.parametrize("ending", ["preemptive", "immediate", "checkpoint"])
def test_objects_survive(tmp_path: Path, ending: str) -> None:
    manager, operator = start(tmp_path, create=True)
    for command in OBJECTS:
        operator.says(command)
    before = [operator.says(command) for command in OBJECTS.values()]
    if ending == "checkpoint":
        manager.checkpoint()
    manager.end("immediate" if ending == "immediate" else "preemptive")
    manager, operator = start(tmp_path)
    assert [operator.says(command) for command in OBJECTS.values()] == before
    manager.end("immediate")


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_what_was_changed_and_deleted_stays_so(tmp_path: Path, is_checkpointed: bool) -> None:
    manager, operator = start(tmp_path, create=True)
    for command in OBJECTS:
        operator.says(command)
    if is_checkpointed:
        manager.checkpoint()
    operator.says("alter chl(APP.SVRCONN) chltype(svrconn) maxinst(20)")
    operator.says("def lstr(L1) port(1416) replace")
    operator.says("delete chl(TO.QM2)")
    operator.says("delete service(S1)")
    operator.says("delete ql(Q1)")
    manager.end("preemptive")
    manager, operator = start(tmp_path)
    assert operator.says("dis chl(APP.SVRCONN) maxinst")[2] == "   MAXINST(20)"
    assert operator.says("dis lstr(L1) port control")[1:] == [
        "   LISTENER(L1)                            CONTROL(MANUAL)",
        "   PORT(1416)",
    ]
    for gone in ("dis chl(TO.QM2)", "dis service(S1)", "dis ql(Q1)"):
        assert operator.fails(gone).startswith("AMQ8147E")
    manager.end("immediate")
