"""MQCONN, MQCONNX, MQDISC, MQBEGIN and MQSTAT."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import pytest

from ostler import mqi
from ostler.client.locate import registry
from ostler.model import constants as mqc
from ostler.server.queue_manager import QueueManager

OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
FAILED = mqc.MQCC_FAILED


def on_another_thread(action: Any) -> Any:
    answer: list[Any] = []
    thread = threading.Thread(target=lambda: answer.append(action()))
    thread.start()
    thread.join()
    return answer[0]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("NOBODY", mqc.MQRC_Q_MGR_NAME_ERROR),
        ("has blanks", mqc.MQRC_Q_MGR_NAME_ERROR),
        ("*GROUP", mqc.MQRC_Q_MGR_NAME_ERROR),
        ("X" * 49, mqc.MQRC_Q_MGR_NAME_ERROR),
        ("M\u00fcnchen", mqc.MQRC_Q_MGR_NAME_ERROR),
        (b"\xff\xfe", mqc.MQRC_Q_MGR_NAME_ERROR),
    ],
)
def test_wrong_names(name: str | bytes, reason: int) -> None:
    assert mqi.MQCONN(name) == (mqc.MQHC_UNUSABLE_HCONN, FAILED, reason)


def test_names_end_at_blanks_and_nulls(app: Any) -> None:
    name = app.manager.name
    for given in (name, name.ljust(48), name.encode().ljust(48), name.encode() + b"\0rest"):
        hconn, cc, rc = on_another_thread(lambda given=given: mqi.MQCONN(given))
        assert (cc, rc) == OK
        assert mqi.MQDISC(hconn)[1:] == OK


def test_a_blank_name_means_the_only_or_the_default_one(own_manager: QueueManager) -> None:
    others = [each for each in registry.running_managers() if each is not own_manager]
    for other in others:
        registry.unregister(other)
    hconn, cc, rc = on_another_thread(lambda: mqi.MQCONN(" " * 48))
    assert (cc, rc) == OK
    mqi.MQDISC(hconn)
    for other in others:
        registry.register(other)


def test_an_ended_queue_manager_is_known_but_not_available(own_manager: QueueManager) -> None:
    own_manager.end("immediate")
    assert mqi.MQCONN(own_manager.name) == (mqc.MQHC_UNUSABLE_HCONN, FAILED, mqc.MQRC_Q_MGR_NOT_AVAILABLE)


def test_a_quiescing_queue_manager_takes_no_connections(own_manager: QueueManager) -> None:
    own_manager.engine.state = 1
    assert mqi.MQCONN(own_manager.name)[2] == mqc.MQRC_CONNECTION_QUIESCING
    own_manager.engine.state = 0


SHARE = mqc.MQCNO_HANDLE_SHARE_BLOCK


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (mqc.MQCNO_HANDLE_SHARE_BLOCK | mqc.MQCNO_HANDLE_SHARE_NONE, mqc.MQRC_OPTIONS_ERROR),
        (mqc.MQCNO_HANDLE_SHARE_BLOCK | mqc.MQCNO_HANDLE_SHARE_NO_BLOCK, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_FASTPATH_BINDING | mqc.MQCNO_SHARED_BINDING, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_LOCAL_BINDING | mqc.MQCNO_CLIENT_BINDING, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_RECONNECT | mqc.MQCNO_RECONNECT_DISABLED, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_ACCOUNTING_Q_ENABLED | mqc.MQCNO_ACCOUNTING_Q_DISABLED, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_SERIALIZE_CONN_TAG_QSG | mqc.MQCNO_RESTRICT_CONN_TAG_QSG, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_SERIALIZE_CONN_TAG_QSG, mqc.MQRC_NONE),
        (SHARE | 0x40000000, mqc.MQRC_OPTIONS_ERROR),
        (SHARE | mqc.MQCNO_CLIENT_BINDING, mqc.MQRC_Q_MGR_NAME_ERROR),
        (SHARE, mqc.MQRC_NONE),
        (SHARE | mqc.MQCNO_FASTPATH_BINDING, mqc.MQRC_NONE),
        (SHARE | mqc.MQCNO_LOCAL_BINDING | mqc.MQCNO_RECONNECT, mqc.MQRC_NONE),
    ],
)
def test_connect_options(app: Any, options: int, reason: int) -> None:
    hconn, _, rc = mqi.MQCONNX(app.manager.name, app.structure("MQCNO", Options=options))
    assert rc == reason
    assert (hconn == mqc.MQHC_UNUSABLE_HCONN) == (reason != 0)
    mqi.MQDISC(hconn)


@pytest.mark.parametrize("spoiled", [b"XNO ", b"CNO \x09\0\0\0", b"CNO \0\0\0\0"])
def test_a_wrong_structure_is_refused(app: Any, spoiled: bytes) -> None:
    cno = app.structure("MQCNO", Options=SHARE)
    cno[: len(spoiled)] = spoiled
    assert mqi.MQCONNX(app.manager.name, cno) == (mqc.MQHC_UNUSABLE_HCONN, FAILED, mqc.MQRC_CNO_ERROR)
    assert mqi.MQCONNX(app.manager.name, app.structure("MQCNO", 5)[:199])[2] == mqc.MQRC_CNO_ERROR


def test_the_connection_id_and_tag_come_back(app: Any) -> None:
    cno = app.structure("MQCNO", Options=SHARE | mqc.MQCNO_GENERATE_CONN_TAG)
    hconn, _, _ = mqi.MQCONNX(app.manager.name, cno)
    identifier = app.read("MQCNO", cno, "ConnectionId")
    assert isinstance(identifier, bytes)
    assert identifier.startswith(b"AMQ ")
    assert identifier in bytes(cno[24:152])
    mqi.MQDISC(hconn)


TAG = b"THE.TAG".ljust(128, b"\0")


@pytest.mark.parametrize("scope", ["Q_MGR", "QSG"])
def test_a_serialised_connection_tag_is_used_once(app: Any, scope: str) -> None:
    """In no queue-sharing group the scope QSG is that of the queue manager."""
    alone = getattr(mqc, f"MQCNO_SERIALIZE_CONN_TAG_{scope}")
    together = getattr(mqc, f"MQCNO_RESTRICT_CONN_TAG_{scope}")

    def connect(options: int, tag: bytes = TAG) -> tuple[int, int]:
        hconn, _, rc = mqi.MQCONNX(app.manager.name, app.structure("MQCNO", Options=SHARE | options, ConnTag=tag))
        return hconn, rc

    first, rc = connect(alone)
    assert rc == mqc.MQRC_NONE
    for options in (alone, together):
        assert connect(options) == (mqc.MQHC_UNUSABLE_HCONN, mqc.MQRC_CONN_TAG_IN_USE)
    before = len(app.manager.engine.connections)
    for _ in range(2):
        hconn, rc = connect(alone, mqc.MQCT_NONE)
        assert rc == mqc.MQRC_NONE
        mqi.MQDISC(hconn)
    assert len(app.manager.engine.connections) == before, "refused connections are left"
    assert mqi.MQDISC(first)[2] == mqc.MQRC_NONE
    shared = [connect(together) for _ in range(2)]
    assert [rc for _, rc in shared] == [mqc.MQRC_NONE] * 2
    assert connect(alone)[1] == mqc.MQRC_CONN_TAG_IN_USE
    for hconn, _ in shared:
        mqi.MQDISC(hconn)
    assert not app.manager.engine.tags


def _csp(app: Any, user: bytes, **fields: int) -> tuple[bytearray, bytearray]:
    """Connect options with an MQCSP behind them, and the user id behind that."""
    csp = app.structure("MQCSP", AuthenticationType=mqc.MQCSP_AUTH_USER_ID_AND_PWD)
    values = {"CSPUserIdOffset": len(csp), "CSPUserIdLength": len(user), **fields}
    csp = app.structure("MQCSP", AuthenticationType=mqc.MQCSP_AUTH_USER_ID_AND_PWD, **values)
    cno = app.structure("MQCNO", Options=SHARE, SecurityParmsOffset=272)
    return cno + csp + user, csp


def test_the_user_id_of_the_security_parameters_is_used(app: Any) -> None:
    cno, _ = _csp(app, b"alice   ")
    hconn, cc, rc = mqi.MQCONNX(app.manager.name, cno)
    assert (cc, rc) == OK
    users = {each.user for each in list(app.manager.engine.connections.values())}
    assert "alice" in users
    mqi.MQDISC(hconn)


def test_security_parameters_by_pointer(app: Any) -> None:
    user = ctypes.create_string_buffer(b"bob")
    csp = app.structure(
        "MQCSP",
        AuthenticationType=mqc.MQCSP_AUTH_USER_ID_AND_PWD,
        CSPUserIdPtr=ctypes.addressof(user),
        CSPUserIdLength=3,
    )
    memory = (ctypes.c_char * len(csp)).from_buffer(csp)
    cno = app.structure("MQCNO", Options=SHARE, SecurityParmsPtr=ctypes.addressof(memory))
    hconn, cc, rc = mqi.MQCONNX(app.manager.name, cno)
    assert (cc, rc) == OK
    assert "bob" in {each.user for each in list(app.manager.engine.connections.values())}
    mqi.MQDISC(hconn)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"CSPUserIdLength": -1}, mqc.MQRC_CSP_ERROR),
        ({"CSPUserIdLength": 5000}, mqc.MQRC_CSP_ERROR),
        ({"CSPUserIdLength": 100}, mqc.MQRC_CSP_ERROR),
        ({"CSPUserIdOffset": -4}, mqc.MQRC_CSP_ERROR),
        ({"CSPUserIdOffset": 0}, mqc.MQRC_CSP_ERROR),
        ({"CSPUserIdPtr": 4096}, mqc.MQRC_CSP_ERROR),
        ({"AuthenticationType": 77}, mqc.MQRC_CSP_ERROR),
        ({"AuthenticationType": mqc.MQCSP_AUTH_ID_TOKEN}, mqc.MQRC_FUNCTION_NOT_SUPPORTED),
        ({"Version": 9}, mqc.MQRC_CSP_ERROR),
    ],
)
def test_wrong_security_parameters(app: Any, fields: dict[str, int], reason: int) -> None:
    csp = app.structure(
        "MQCSP",
        **{
            "AuthenticationType": mqc.MQCSP_AUTH_USER_ID_AND_PWD,
            "CSPUserIdOffset": 104,
            "CSPUserIdLength": 5,
            **fields,
        },
    )
    cno = app.structure("MQCNO", Options=SHARE, SecurityParmsOffset=272) + csp + b"alice"
    assert mqi.MQCONNX(app.manager.name, cno)[2] == reason


def test_security_parameters_that_are_something_else(app: Any) -> None:
    junk = ctypes.create_string_buffer(b"CSPX\x01\0\0\0", 200)
    cno = app.structure("MQCNO", Options=SHARE, SecurityParmsPtr=ctypes.addressof(junk))
    assert mqi.MQCONNX(app.manager.name, cno)[2] == mqc.MQRC_CSP_ERROR


def test_the_application_name_is_used(app: Any) -> None:
    hconn, cc, rc = mqi.MQCONNX(app.manager.name, app.structure("MQCNO", Options=SHARE, ApplName="payroll"))
    assert (cc, rc) == OK
    assert "payroll" in {each.application for each in list(app.manager.engine.connections.values())}
    mqi.MQDISC(hconn)


@pytest.mark.parametrize("offset", [-8, 5000])
def test_security_parameters_outside_the_structure(app: Any, offset: int) -> None:
    cno = app.structure("MQCNO", Options=SHARE, SecurityParmsOffset=offset)
    assert mqi.MQCONNX(app.manager.name, cno)[2] == mqc.MQRC_CSP_ERROR


def test_pointer_and_offset_exclude_one_another(app: Any) -> None:
    cno = app.structure("MQCNO", Options=SHARE, SecurityParmsOffset=272, SecurityParmsPtr=4096)
    assert mqi.MQCONNX(app.manager.name, cno)[2] == mqc.MQRC_CNO_ERROR


def test_a_thread_has_one_handle_that_it_does_not_share(app: Any, own_manager: QueueManager) -> None:
    def connect_twice() -> None:
        first, cc, rc = mqi.MQCONN(app.manager.name)
        assert (cc, rc) == OK
        assert mqi.MQCONN(app.manager.name) == (first, mqc.MQCC_WARNING, mqc.MQRC_ALREADY_CONNECTED)
        assert mqi.MQCONN(own_manager.name)[1:] == (FAILED, mqc.MQRC_ANOTHER_Q_MGR_CONNECTED)
        shared, cc, rc = mqi.MQCONNX(own_manager.name, app.structure("MQCNO", Options=SHARE))
        assert (cc, rc) == OK
        mqi.MQDISC(shared)
        mqi.MQDISC(first)
        second, cc, rc = mqi.MQCONN(app.manager.name)
        assert (cc, rc) == OK
        assert second != first
        mqi.MQDISC(second)

    on_another_thread(connect_twice)


def test_work_of_a_thread_that_ended_without_disconnecting_is_backed_out(app: Any) -> None:
    name = app.queue()

    def put_and_end() -> int:
        hconn, _, _ = mqi.MQCONN(app.manager.name)
        hobj = app.open(name, mqc.MQOO_OUTPUT, hconn)
        pmo = app.structure("MQPMO", Options=mqc.MQPMO_SYNCPOINT)
        assert mqi.MQPUT(hconn, hobj, app.structure("MQMD"), pmo, b"lost") == OK
        return hconn

    dead = on_another_thread(put_and_end)
    assert app.depth(name) == 1
    mqi.MQDISC(app.connect())
    assert app.depth(name) == 0
    assert mqi.MQCMIT(dead)[1] == mqc.MQRC_HCONN_ERROR


def test_disconnecting_commits_and_makes_handles_unusable(app: Any) -> None:
    name = app.queue()
    hconn = app.connect()
    hobj = app.open(name, mqc.MQOO_OUTPUT, hconn)
    pmo = app.structure("MQPMO", Options=mqc.MQPMO_SYNCPOINT)
    assert mqi.MQPUT(hconn, hobj, app.structure("MQMD"), pmo, b"kept") == OK
    assert mqi.MQDISC(hconn) == (mqc.MQHC_UNUSABLE_HCONN, *OK)
    assert mqi.MQDISC(hconn) == (hconn, FAILED, mqc.MQRC_HCONN_ERROR)
    assert app.get(app.open(name, mqc.MQOO_INPUT_SHARED)) == (b"kept", mqc.MQRC_NONE)


def test_disconnecting_from_a_queue_manager_that_ended(own_manager: QueueManager, app: Any) -> None:
    hconn, _, _ = mqi.MQCONNX(own_manager.name, app.structure("MQCNO", Options=SHARE))
    own_manager.end("immediate")
    assert mqi.MQDISC(hconn) == (mqc.MQHC_UNUSABLE_HCONN, FAILED, mqc.MQRC_CONNECTION_BROKEN)
    assert mqi.MQDISC(hconn)[2] == mqc.MQRC_HCONN_ERROR


VERBS: list[tuple[str, Any]] = [
    ("MQOPEN", lambda app, h: mqi.MQOPEN(h, app.structure("MQOD", ObjectName="X"), mqc.MQOO_OUTPUT)),
    ("MQCLOSE", lambda app, h: mqi.MQCLOSE(h, 2, 0)),
    ("MQPUT", lambda app, h: mqi.MQPUT(h, 2, app.structure("MQMD"), app.structure("MQPMO"), b"")),
    (
        "MQPUT1",
        lambda app, h: mqi.MQPUT1(h, app.structure("MQOD"), app.structure("MQMD"), app.structure("MQPMO"), b""),
    ),
    ("MQGET", lambda app, h: mqi.MQGET(h, 2, app.structure("MQMD"), app.structure("MQGMO"), 1)),
    ("MQINQ", lambda app, h: mqi.MQINQ(h, 2, [], 0, 0)),
    ("MQSET", lambda app, h: mqi.MQSET(h, 2, [], [], b"")),
    ("MQCMIT", lambda app, h: mqi.MQCMIT(h)),
    ("MQBACK", lambda app, h: mqi.MQBACK(h)),
    ("MQBEGIN", lambda app, h: mqi.MQBEGIN(h, None)),
    ("MQSTAT", lambda app, h: mqi.MQSTAT(h, 0, app.structure("MQSTS"))),
    ("MQDISC", lambda app, h: mqi.MQDISC(h)),
    ("MQCB", lambda app, h: mqi.MQCB(h, mqc.MQOP_DEREGISTER, None, 2, None, None)),
    ("MQCTL", lambda app, h: mqi.MQCTL(h, mqc.MQOP_STOP, None)),
    ("MQCRTMH", lambda app, h: mqi.MQCRTMH(h, None)),
    ("MQDLTMH", lambda app, h: mqi.MQDLTMH(h, 1, None)),
    ("MQSETMP", lambda app, h: mqi.MQSETMP(h, 1, None, "a", None, mqc.MQTYPE_STRING, b"")),
    ("MQINQMP", lambda app, h: mqi.MQINQMP(h, 1, None, "a", None, 0, 10)),
    ("MQDLTMP", lambda app, h: mqi.MQDLTMP(h, 1, None, "a")),
    ("MQBUFMH", lambda app, h: mqi.MQBUFMH(h, 1, None, app.structure("MQMD"), bytearray())),
    ("MQMHBUF", lambda app, h: mqi.MQMHBUF(h, 1, None, "%", app.structure("MQMD"), 10)),
]


@pytest.mark.parametrize("hconn", [mqc.MQHC_UNUSABLE_HCONN, mqc.MQHC_DEF_HCONN, 123456789])
@pytest.mark.parametrize(("verb", "call"), VERBS, ids=[name for name, _ in VERBS])
def test_every_verb_refuses_a_wrong_connection_handle(app: Any, verb: str, call: Any, hconn: int) -> None:
    assert call(app, hconn)[-2:] == (FAILED, mqc.MQRC_HCONN_ERROR)


@pytest.mark.parametrize(("verb", "call"), VERBS, ids=[name for name, _ in VERBS])
def test_every_verb_tells_that_the_connection_broke(app: Any, verb: str, call: Any) -> None:
    hconn = app.connect()
    broken = next(each for each in reversed(app.manager.engine.connections.values()))
    broken.broken = mqc.MQRC_CONNECTION_BROKEN
    assert call(app, hconn)[-2:] == (FAILED, mqc.MQRC_CONNECTION_BROKEN)
    broken.broken = 0
    mqi.MQDISC(hconn)


def test_begin_warns_that_nobody_else_takes_part(app: Any) -> None:
    def begin() -> None:
        hconn, _, _ = mqi.MQCONN(app.manager.name)
        assert mqi.MQBEGIN(hconn, app.structure("MQBO", Options=1)) == (FAILED, mqc.MQRC_OPTIONS_ERROR)
        assert mqi.MQBEGIN(hconn, bytearray(b"BO  \x02\0\0\0\0\0\0\0")) == (FAILED, mqc.MQRC_BO_ERROR)
        assert mqi.MQBEGIN(hconn, app.structure("MQBO")) == (mqc.MQCC_WARNING, mqc.MQRC_NO_EXTERNAL_PARTICIPANTS)
        assert mqi.MQBEGIN(hconn, None) == (FAILED, mqc.MQRC_UOW_IN_PROGRESS)
        assert mqi.MQCMIT(hconn) == OK
        assert mqi.MQBEGIN(hconn, None) == (mqc.MQCC_WARNING, mqc.MQRC_NO_EXTERNAL_PARTICIPANTS)
        assert mqi.MQBACK(hconn) == OK
        mqi.MQDISC(hconn)

    on_another_thread(begin)


def test_begin_needs_a_handle_that_is_not_shared(app: Any) -> None:
    assert mqi.MQBEGIN(app.hconn, None) == (FAILED, mqc.MQRC_HCONN_ERROR)


@pytest.mark.parametrize(
    ("type", "reason"),
    [
        (mqc.MQSTAT_TYPE_ASYNC_ERROR, mqc.MQRC_NONE),
        (mqc.MQSTAT_TYPE_RECONNECTION, mqc.MQRC_ENVIRONMENT_ERROR),
        (mqc.MQSTAT_TYPE_RECONNECTION_ERROR, mqc.MQRC_ENVIRONMENT_ERROR),
        (-1, mqc.MQRC_STAT_TYPE_ERROR),
        (3, mqc.MQRC_STAT_TYPE_ERROR),
    ],
)
def test_types_of_status(app: Any, type: int, reason: int) -> None:
    assert mqi.MQSTAT(app.hconn, type, app.structure("MQSTS"))[1] == reason


def test_status_counts_asynchronous_puts_and_starts_anew(app: Any) -> None:
    name = app.queue()
    for _ in range(3):
        od = app.structure("MQOD", ObjectName=name)
        pmo = app.structure("MQPMO", Options=mqc.MQPMO_ASYNC_RESPONSE)
        assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), pmo, b"x") == OK
    sts = app.structure("MQSTS")
    assert mqi.MQSTAT(app.hconn, 0, sts) == OK
    assert app.read("MQSTS", sts, "PutSuccessCount") == 3
    assert mqi.MQSTAT(app.hconn, 0, sts) == OK
    assert app.read("MQSTS", sts, "PutSuccessCount") == 0
    assert mqi.MQSTAT(app.hconn, 0, bytearray(b"STAT\x05\0\0\0")) == (FAILED, mqc.MQRC_STS_ERROR)


def test_the_chosen_default_is_preferred(own_manager: QueueManager, app: Any) -> None:
    registry.set_default(own_manager.name)
    try:
        hconn, cc, rc = on_another_thread(lambda: mqi.MQCONN(""))
        assert (cc, rc) == OK
        mqi.MQDISC(hconn)
        own_manager.end("immediate")
        assert mqi.MQCONN("")[2] == mqc.MQRC_Q_MGR_NOT_AVAILABLE
    finally:
        registry.set_default("")


def test_a_blank_name_means_nobody_when_several_run(own_manager: QueueManager, app: Any) -> None:
    assert mqi.MQCONN("")[2] == mqc.MQRC_Q_MGR_NAME_ERROR
