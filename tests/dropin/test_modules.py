"""The two modules have what the packages look for, and take no other arguments than theirs did."""

from __future__ import annotations

import ctypes
import importlib.metadata
import inspect
import logging
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import ibmmqc
import pymqe
import pytest
from ostler_dropin import sharing

import ostler
from ostler.model import constants as mqc
from ostler.model.structures.catalogue import LAYOUTS

IBMMQC = {
    "MQBACK": 1,
    "MQBEGIN": 1,
    "MQCB": 6,
    "MQCBINIT": 1,
    "MQCLOSE": 3,
    "MQCMIT": 1,
    "MQCONN": 1,
    "MQCONNX": 6,
    "MQCRTMH": 2,
    "MQCTL": 3,
    "MQDISC": 1,
    "MQDLTMH": 3,
    "MQDLTMP": 4,
    "MQGET": 5,
    "MQINQ": 7,
    "MQINQMP": 7,
    "MQLOGCF": 2,
    "MQOPEN": 3,
    "MQPUT": 5,
    "MQPUT1": 5,
    "MQSET": 5,
    "MQSETMP": 8,
    "MQSTAT": 3,
    "MQSUB": 3,
    "MQSUBRQ": 4,
}
PYMQE = {
    "MQBACK": 1,
    "MQBEGIN": 1,
    "MQCLOSE": 3,
    "MQCMIT": 1,
    "MQCONN": 1,
    "MQCONNX": 5,
    "MQCRTMH": 2,
    "MQDISC": 1,
    "MQGET": 5,
    "MQINQ": 3,
    "MQINQMP": 7,
    "MQOPEN": 3,
    "MQPUT": 5,
    "MQPUT1": 5,
    "MQSET": 4,
    "MQSETMP": 8,
    "MQSUB": 3,
}


@pytest.mark.parametrize(("module", "functions"), [(ibmmqc, IBMMQC), (pymqe, PYMQE)])
def test_functions(module: object, functions: dict[str, int]) -> None:
    found = {
        name: len(inspect.signature(value).parameters)
        for name, value in vars(module).items()
        if name.startswith("MQ") and inspect.isfunction(value)
    }
    assert found == functions


def test_attributes() -> None:
    assert ibmmqc.__version__ == importlib.metadata.version("ibmmq")
    assert ibmmqc.__mqbuild__ == "common"
    assert ibmmqc.__cmdlevel__ == 940
    assert pymqe.__mqbuild__ == "client"
    assert "8.0.0" in pymqe.__mqlevels__
    assert issubclass(vars(ibmmqc)["ibmmqc.error"], Exception)
    assert issubclass(vars(pymqe)["pymqe.error"], Exception)


def test_structures_are_known_in_the_versions_that_are_told() -> None:
    for name, version in ibmmqc.__strucversions__.items():
        layout = LAYOUTS.get("MQ" + name.upper())
        if layout is not None:
            assert layout.current_version == version, name


@pytest.fixture(scope="module")
def hconn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    manager = ostler.start("MODULES", data=tmp_path_factory.mktemp("data"), create=True)
    cno = LAYOUTS["MQCNO"].default()
    LAYOUTS["MQCNO"].patch(cno, "Options", mqc.MQCNO_HANDLE_SHARE_BLOCK)
    handle, code, reason = ibmmqc.MQCONNX(b"MODULES", bytes(cno), None, None, None, None)
    assert (code, reason) == (mqc.MQCC_OK, mqc.MQRC_NONE)
    yield handle
    ibmmqc.MQDISC(handle)
    manager.end("immediate")


def test_arguments_that_are_no_numbers(hconn: int) -> None:
    for module in (ibmmqc, pymqe):
        with pytest.raises(TypeError):
            module.MQCMIT(None)
        with pytest.raises(TypeError):
            module.MQCLOSE(hconn, "1", 0)
    with pytest.raises(TypeError):
        ibmmqc.MQCONN(5)  # type: ignore[arg-type]


def test_buffers_of_the_wrong_size(hconn: int) -> None:
    for module in (ibmmqc, pymqe):
        with pytest.raises(Exception, match=r"MQOD wrong size\. Given: 3, expected 424"):
            module.MQOPEN(hconn, b"abc", 0)
        with pytest.raises(module.error):
            module.MQGET(hconn, 1, bytes(364), bytes(112), -1)


def test_lists_that_are_no_lists(hconn: int) -> None:
    with pytest.raises(ibmmqc.error):
        ibmmqc.MQINQ(hconn, 1, 5, [], 1, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(ibmmqc.error):
        ibmmqc.MQSET(hconn, 1, [5], 5, b"")  # type: ignore[arg-type]
    with pytest.raises(pymqe.error):
        pymqe.MQSET(hconn, 1, mqc.MQIA_INHIBIT_PUT, b"text")
    with pytest.raises(pymqe.error):
        pymqe.MQSET(hconn, 1, mqc.MQCA_TRIGGER_DATA, 5)


def test_callbacks_need_a_function() -> None:
    with pytest.raises(ibmmqc.error):
        ibmmqc.MQCBINIT("no function")  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [ibmmqc, pymqe])
def test_subscriptions(hconn: int, module: ModuleType) -> None:
    """The handles come back; the descriptor that was passed stays as it was."""
    text = ctypes.create_string_buffer(b"modules/topic")
    sd = LAYOUTS["MQSD"].default()
    LAYOUTS["MQSD"].patch(sd, "Options", mqc.MQSO_CREATE | mqc.MQSO_MANAGED)
    fields = struct.pack("<Qiiii", ctypes.addressof(text), 0, 0, len(text.value), mqc.MQCCSI_APPL)
    at = LAYOUTS["MQSD"].offset("ObjectString")
    sd[at : at + len(fields)] = fields
    given = bytes(sd)
    told, queue, subscription, code, reason = module.MQSUB(hconn, given, mqc.MQHO_NONE)
    assert (code, reason) == (mqc.MQCC_OK, mqc.MQRC_NONE)
    assert len(told) == len(given)
    assert LAYOUTS["MQSD"].read_bytes(told, "SubCorrelId") != mqc.MQCI_NONE
    assert given == bytes(sd)
    assert queue != subscription
    for handle in (subscription, queue):
        assert module.MQCLOSE(hconn, handle, mqc.MQCO_NONE) == (mqc.MQCC_OK, mqc.MQRC_NONE)


def test_subscriptions_that_cannot_be(hconn: int) -> None:
    sd, sro = bytes(LAYOUTS["MQSD"].default()), bytes(LAYOUTS["MQSRO"].default())
    refused = (mqc.MQHO_UNUSABLE_HOBJ, mqc.MQCC_FAILED, mqc.MQRC_OPTIONS_ERROR)
    for module in (ibmmqc, pymqe):
        assert module.MQSUB(hconn, sd, mqc.MQHO_NONE) == (sd, mqc.MQHO_NONE, *refused)
        with pytest.raises(module.error, match=r"MQSD wrong size\. Given: 1, expected 344"):
            module.MQSUB(hconn, b"S", 0)
        with pytest.raises(TypeError):
            module.MQSUB(hconn, sd, None)
    nothing = (mqc.MQCC_FAILED, mqc.MQRC_HOBJ_ERROR)
    assert ibmmqc.MQSUBRQ(hconn, 4711, mqc.MQSR_ACTION_PUBLICATION, sro) == (sro, *nothing)
    with pytest.raises(ibmmqc.error, match="MQSRO wrong size"):
        ibmmqc.MQSUBRQ(hconn, 1, mqc.MQSR_ACTION_PUBLICATION, sd)


def test_log(tmp_path: Path) -> None:
    log = logging.getLogger("ibmmqc")
    before = list(log.handlers)
    ibmmqc.MQLOGCF(0, str(tmp_path / "not.log"))
    ibmmqc.MQLOGCF(logging.DEBUG, str(tmp_path / "verbs.log"))
    ibmmqc.MQCONN("NO.SUCH.MANAGER")
    for handler in log.handlers[:]:
        if handler not in before:
            log.removeHandler(handler)
            handler.close()
    assert "NO.SUCH.MANAGER" in (tmp_path / "verbs.log").read_text()
    assert not (tmp_path / "not.log").exists()


def test_verbs_of_several_threads_take_turns() -> None:
    sharing.serialize_verbs(-7)
    order: list[str] = []
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with sharing.verb_lock(-7), sharing.verb_lock(-7):
            entered.set()
            leave.wait(60)
            order.append("first")

    def second() -> None:
        with sharing.verb_lock(-7):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(60)
    threads[1].start()
    leave.set()
    sharing.stop_serializing(-7)
    for thread in threads:
        thread.join(60)
    assert order == ["first", "second"]
    with sharing.verb_lock(-7):
        order.append("nobody shares it now")


def test_text_behind_a_null_counts_as_blanks(hconn: int) -> None:
    layout = LAYOUTS["MQMD"]
    md = layout.default()
    for field, value in (("Format", b"MQSTR\0xy"), ("UserIdentifier", b"me\0"), ("PutApplName", b"app\0")):
        at = layout.by_name[field]
        md[at.offset : at.offset + at.length] = value.ljust(at.length, b"\0")
    od = LAYOUTS["MQOD"].default()
    LAYOUTS["MQOD"].patch(od, "ObjectName", "SYSTEM.DEFAULT.LOCAL.QUEUE")
    pmo = LAYOUTS["MQPMO"].default()
    LAYOUTS["MQPMO"].patch(pmo, "Options", mqc.MQPMO_SET_ALL_CONTEXT)
    put, _, code, reason = ibmmqc.MQPUT1(hconn, bytes(od), bytes(md), bytes(pmo), b"")
    assert (code, reason) == (mqc.MQCC_OK, mqc.MQRC_NONE)
    assert layout.read_bytes(put, "Format") == b"MQSTR   "
    assert layout.read_bytes(put, "UserIdentifier") == b"me          "
    assert layout.read_bytes(put, "PutApplName") == b"app".ljust(28)
