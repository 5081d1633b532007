"""MQINQ and MQSET."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.client.remote_site import eventually

from ostler import mqi
from ostler.client.locate import registry
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType, attributes_of
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager

OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
FAILED = mqc.MQCC_FAILED
WARNING = mqc.MQCC_WARNING
SETTABLE = mqc.MQOO_SET | mqc.MQOO_INQUIRE


def inquire_one(app: Any, hobj: int, selector: int) -> tuple[Any, int]:
    ints, chars, _, rc = mqi.MQINQ(app.hconn, hobj, [selector], 1, 20000)
    return (ints[0] if ints else chars), rc


def test_integers_and_texts_come_in_the_order_of_their_selectors(app: Any) -> None:
    name = app.queue(DESCR="For tests", MAXDEPTH=77, BOTHRESH=3, INITQ="SOME.INITQ")
    hobj = app.open(name, mqc.MQOO_INQUIRE)
    selectors = [
        mqc.MQCA_INITIATION_Q_NAME,
        mqc.MQIA_BACKOUT_THRESHOLD,
        mqc.MQCA_Q_DESC,
        mqc.MQIA_MAX_Q_DEPTH,
        mqc.MQIA_BACKOUT_THRESHOLD,
    ]
    ints, chars, cc, rc = mqi.MQINQ(app.hconn, hobj, selectors, 3, 112)
    assert (cc, rc) == OK
    assert ints == [3, 77, 3]
    assert chars == b"SOME.INITQ".ljust(48) + b"For tests".ljust(64)


def test_no_selectors_no_attributes(app: Any) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INQUIRE)
    assert mqi.MQINQ(app.hconn, hobj, [], 0, 0) == ([], b"", *OK)


def test_live_values(app: Any) -> None:
    name = app.queue()
    hobj = app.open(name, mqc.MQOO_INQUIRE | mqc.MQOO_OUTPUT)
    app.open(name, mqc.MQOO_INPUT_SHARED)
    app.open(name, mqc.MQOO_INPUT_SHARED | mqc.MQOO_OUTPUT)
    app.put(name, b"1")
    app.put(name, b"2")
    selectors = [mqc.MQIA_CURRENT_Q_DEPTH, mqc.MQIA_OPEN_INPUT_COUNT, mqc.MQIA_OPEN_OUTPUT_COUNT, mqc.MQIA_Q_TYPE]
    ints, _, cc, rc = mqi.MQINQ(app.hconn, hobj, selectors, 4, 0)
    assert (cc, rc) == OK
    assert ints == [2, 2, 2, mqc.MQQT_LOCAL]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (mqc.MQCA_CREATION_DATE, b"2024-05-06  "),
        (mqc.MQCA_CREATION_TIME, b"07.08.09"),
        (mqc.MQCA_ALTERATION_DATE, b"2024-05-06  "),
        (mqc.MQCA_BACKOUT_REQ_Q_NAME, b" " * 48),
        (mqc.MQCA_TRIGGER_DATA, b" " * 64),
        (mqc.MQIA_DEFINITION_TYPE, mqc.MQQDT_PREDEFINED),
        (mqc.MQIA_INHIBIT_GET, mqc.MQQA_GET_ALLOWED),
        (mqc.MQIA_SHAREABILITY, mqc.MQQA_SHAREABLE),
        (mqc.MQIA_TRIGGER_CONTROL, mqc.MQTC_OFF),
    ],
)
def test_attributes_of_a_local_queue(app: Any, selector: int, expected: Any) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INQUIRE)
    assert inquire_one(app, hobj, selector) == (expected, mqc.MQRC_NONE)


def test_a_dynamic_queue_answers_for_itself(app: Any) -> None:
    od = app.structure("MQOD", ObjectName="SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName="DYN.*")
    hobj, _, _ = mqi.MQOPEN(app.hconn, od, mqc.MQOO_INQUIRE | mqc.MQOO_INPUT_SHARED)
    name = app.read("MQOD", od, "ObjectName")
    assert inquire_one(app, hobj, mqc.MQCA_Q_NAME)[0] == name.ljust(48)
    assert inquire_one(app, hobj, mqc.MQIA_Q_TYPE)[0] == mqc.MQQT_LOCAL
    assert inquire_one(app, hobj, mqc.MQIA_DEFINITION_TYPE)[0] == mqc.MQQDT_TEMPORARY_DYNAMIC
    assert inquire_one(app, hobj, mqc.MQIA_OPEN_INPUT_COUNT)[0] == 1


def test_an_alias_answers_for_itself(app: Any) -> None:
    base = app.queue(DESCR="base", DEFPRTY=1)
    app.put(base, b"x")
    alias = app.define(ObjectType.QALIAS, TARGET=base, DESCR="alias", DEFPRTY=5)
    hobj = app.open(alias, mqc.MQOO_INQUIRE | mqc.MQOO_OUTPUT)
    assert inquire_one(app, hobj, mqc.MQCA_Q_NAME) == (alias.encode().ljust(48), 0)
    assert inquire_one(app, hobj, mqc.MQCA_BASE_Q_NAME) == (base.encode().ljust(48), 0)
    assert inquire_one(app, hobj, mqc.MQCA_Q_DESC) == (b"alias".ljust(64), 0)
    assert inquire_one(app, hobj, mqc.MQIA_DEF_PRIORITY) == (5, 0)
    assert inquire_one(app, hobj, mqc.MQIA_Q_TYPE) == (mqc.MQQT_ALIAS, 0)
    ints, chars, cc, rc = mqi.MQINQ(
        app.hconn, hobj, [mqc.MQIA_CURRENT_Q_DEPTH, mqc.MQCA_INITIATION_Q_NAME, mqc.MQIA_INHIBIT_PUT], 2, 48
    )
    assert (cc, rc) == (WARNING, mqc.MQRC_SELECTOR_NOT_FOR_TYPE)
    assert ints == [mqc.MQIAV_NOT_APPLICABLE, mqc.MQQA_PUT_ALLOWED]
    assert chars == b"*" * 48


def test_a_definition_of_a_remote_queue_answers_for_itself(app: Any) -> None:
    transmission = app.queue(USAGE=mqc.MQUS_TRANSMISSION)
    remote = app.define(ObjectType.QREMOTE, RNAME="THERE", RQMNAME="QMX", XMITQ=transmission)
    hobj = app.open(remote, mqc.MQOO_INQUIRE | mqc.MQOO_OUTPUT)
    assert inquire_one(app, hobj, mqc.MQCA_REMOTE_Q_NAME) == (b"THERE".ljust(48), 0)
    assert inquire_one(app, hobj, mqc.MQCA_XMIT_Q_NAME) == (transmission.encode().ljust(48), 0)
    assert inquire_one(app, hobj, mqc.MQIA_Q_TYPE) == (mqc.MQQT_REMOTE, 0)
    assert inquire_one(app, hobj, mqc.MQIA_USAGE) == (-1, mqc.MQRC_SELECTOR_NOT_FOR_TYPE)


def _open_other(app: Any, kind: int, name: str) -> int:
    od = app.structure("MQOD", ObjectType=kind, ObjectName=name)
    hobj, cc, rc = mqi.MQOPEN(app.hconn, od, mqc.MQOO_INQUIRE)
    assert (cc, rc) == OK
    return hobj


def test_the_queue_manager(app: Any) -> None:
    hobj = _open_other(app, mqc.MQOT_Q_MGR, "")
    name = app.manager.name.encode()
    assert inquire_one(app, hobj, mqc.MQCA_Q_MGR_NAME) == (name.ljust(48), 0)
    identifier = inquire_one(app, hobj, mqc.MQCA_Q_MGR_IDENTIFIER)[0]
    assert identifier.startswith(name + b"_2")
    assert len(identifier) == 48
    assert inquire_one(app, hobj, mqc.MQCA_VERSION) == (b"09040000", 0)
    assert inquire_one(app, hobj, mqc.MQIA_COMMAND_LEVEL) == (940, 0)
    assert inquire_one(app, hobj, mqc.MQIA_PLATFORM) == (mqc.MQPL_UNIX, 0)
    assert inquire_one(app, hobj, mqc.MQIA_MAX_HANDLES) == (256, 0)
    assert inquire_one(app, hobj, mqc.MQIA_MAX_PRIORITY) == (9, 0)
    assert inquire_one(app, hobj, mqc.MQCA_DEAD_LETTER_Q_NAME) == (b" " * 48, 0)
    assert inquire_one(app, hobj, mqc.MQCA_COMMAND_INPUT_Q_NAME) == (b"SYSTEM.ADMIN.COMMAND.QUEUE".ljust(48), 0)


def test_processes_and_namelists(app: Any) -> None:
    process = app.define(ObjectType.PROCESS, APPLICID="run.sh", USERDATA="quick")
    hobj = _open_other(app, mqc.MQOT_PROCESS, process)
    assert inquire_one(app, hobj, mqc.MQCA_PROCESS_NAME) == (process.encode().ljust(48), 0)
    assert inquire_one(app, hobj, mqc.MQCA_APPL_ID) == (b"run.sh".ljust(256), 0)
    assert inquire_one(app, hobj, mqc.MQCA_USER_DATA) == (b"quick".ljust(128), 0)
    assert inquire_one(app, hobj, mqc.MQIA_APPL_TYPE) == (mqc.MQAT_UNIX, 0)
    names = app.define(ObjectType.NAMELIST, NAMES=("ONE", "TWO"))
    hobj = _open_other(app, mqc.MQOT_NAMELIST, names)
    assert inquire_one(app, hobj, mqc.MQIA_NAME_COUNT) == (2, 0)
    assert inquire_one(app, hobj, mqc.MQCA_NAMES) == (b"ONE".ljust(48) + b"TWO".ljust(48), 0)
    assert inquire_one(app, hobj, mqc.MQCA_NAMELIST_NAME) == (names.encode().ljust(48), 0)


@pytest.mark.parametrize("kind", [mqc.MQOT_Q_MGR, mqc.MQOT_PROCESS, mqc.MQOT_NAMELIST])
def test_what_other_objects_do_not_have_is_an_error(app: Any, kind: int) -> None:
    names = {
        mqc.MQOT_Q_MGR: "",
        mqc.MQOT_PROCESS: app.define(ObjectType.PROCESS),
        mqc.MQOT_NAMELIST: app.define(ObjectType.NAMELIST),
    }
    hobj = _open_other(app, kind, names[kind])
    assert mqi.MQINQ(app.hconn, hobj, [mqc.MQIA_CURRENT_Q_DEPTH], 1, 0) == (
        [],
        b"",
        FAILED,
        mqc.MQRC_SELECTOR_ERROR,
    )


@pytest.mark.parametrize(
    "kind", [ObjectType.QMGR, ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.NAMELIST]
)
def test_every_attribute_of_the_table_is_answered(app: Any, kind: ObjectType) -> None:
    if kind == ObjectType.QMGR:
        hobj = _open_other(app, mqc.MQOT_Q_MGR, "")
    elif kind == ObjectType.NAMELIST:
        hobj = _open_other(app, mqc.MQOT_NAMELIST, app.define(kind, NAMES=("A", "B")))
    else:
        given: dict[str, Any] = {}
        if kind == ObjectType.QALIAS:
            given = {"TARGET": app.queue()}
        elif kind == ObjectType.QREMOTE:
            given = {"RNAME": "R", "RQMNAME": "QMX", "XMITQ": app.queue(USAGE=mqc.MQUS_TRANSMISSION)}
        hobj = app.open(app.define(kind, **given), mqc.MQOO_INQUIRE)
    for attribute in attributes_of(kind):
        if attribute.by_mqinq and not attribute.zos_only:
            ints, chars, cc, rc = mqi.MQINQ(app.hconn, hobj, [attribute.pcf], 1, 20000)
            assert (cc, rc) == OK, attribute.name
            if mqc.MQIA_FIRST <= attribute.pcf <= mqc.MQIA_LAST:
                assert len(ints) == 1, attribute.name
                assert ints[0] != mqc.MQIAV_NOT_APPLICABLE or attribute.default == -1, attribute.name
            else:
                assert chars, attribute.name
                assert len(chars) % attribute.length_max == 0, attribute.name


@pytest.mark.parametrize("selector", [0, -1, 2000, 4000, 99999, mqc.MQIA_LAST, mqc.MQIACF_Q_ATTRS])
def test_selectors_that_mean_nothing(app: Any, selector: int) -> None:
    hobj = app.open(app.queue(), SETTABLE)
    assert mqi.MQINQ(app.hconn, hobj, [mqc.MQIA_Q_TYPE, selector], 2, 100)[2:] == (FAILED, mqc.MQRC_SELECTOR_ERROR)
    assert mqi.MQSET(app.hconn, hobj, [selector], [0], b"") == (FAILED, mqc.MQRC_SELECTOR_ERROR)


def test_too_many_selectors(app: Any) -> None:
    hobj = app.open(app.queue(), SETTABLE)
    many = [mqc.MQIA_INHIBIT_PUT] * 257
    assert mqi.MQINQ(app.hconn, hobj, many, 257, 0)[3] == mqc.MQRC_SELECTOR_LIMIT_EXCEEDED
    assert mqi.MQSET(app.hconn, hobj, many, [0] * 257, b"")[1] == mqc.MQRC_SELECTOR_LIMIT_EXCEEDED
    assert mqi.MQINQ(app.hconn, hobj, many[1:], 256, 0)[2:] == OK


@pytest.mark.parametrize(
    ("int_count", "char_length", "reason"),
    [(-1, 0, mqc.MQRC_INT_ATTR_COUNT_ERROR), (0, -1, mqc.MQRC_CHAR_ATTR_LENGTH_ERROR)],
)
def test_negative_sizes(app: Any, int_count: int, char_length: int, reason: int) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INQUIRE)
    assert mqi.MQINQ(app.hconn, hobj, [mqc.MQIA_Q_TYPE], int_count, char_length)[2:] == (FAILED, reason)


def test_too_little_room_is_a_warning_and_cuts_no_text(app: Any) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INQUIRE)
    selectors = [mqc.MQIA_Q_TYPE, mqc.MQIA_INHIBIT_GET, mqc.MQCA_Q_NAME, mqc.MQCA_Q_DESC]
    ints, chars, cc, rc = mqi.MQINQ(app.hconn, hobj, selectors, 1, 112)
    assert (len(ints), len(chars), cc, rc) == (1, 112, WARNING, mqc.MQRC_INT_ATTR_COUNT_TOO_SMALL)
    ints, chars, cc, rc = mqi.MQINQ(app.hconn, hobj, selectors, 2, 111)
    assert (len(ints), len(chars), cc, rc) == (2, 48, WARNING, mqc.MQRC_CHAR_ATTRS_TOO_SHORT)


def test_a_handle_that_was_not_opened_for_it(app: Any) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_OUTPUT)
    assert mqi.MQINQ(app.hconn, hobj, [mqc.MQIA_Q_TYPE], 1, 0)[3] == mqc.MQRC_NOT_OPEN_FOR_INQUIRE
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [1], b"")[1] == mqc.MQRC_NOT_OPEN_FOR_SET


def test_a_queue_that_is_gone(app: Any) -> None:
    model = app.define(ObjectType.QMODEL, DEFTYPE=mqc.MQQDT_TEMPORARY_DYNAMIC)
    od = app.structure("MQOD", ObjectName=model, DynamicQName="GONE.*")
    creator, _, _ = mqi.MQOPEN(app.hconn, od, mqc.MQOO_INPUT_SHARED)
    hobj = app.open(app.read("MQOD", od, "ObjectName").decode(), SETTABLE)
    mqi.MQCLOSE(app.hconn, creator, 0)
    assert mqi.MQINQ(app.hconn, hobj, [mqc.MQIA_Q_TYPE], 1, 0)[3] == mqc.MQRC_Q_DELETED
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [1], b"")[1] == mqc.MQRC_Q_DELETED


def test_an_object_that_was_deleted_under_its_handle(app: Any) -> None:
    alias = app.define(ObjectType.QALIAS, TARGET=app.queue())
    process = app.define(ObjectType.PROCESS)
    handles = [app.open(alias, mqc.MQOO_INQUIRE), _open_other(app, mqc.MQOT_PROCESS, process)]
    app.manager.delete(ObjectType.QALIAS, alias)
    app.manager.delete(ObjectType.PROCESS, process)
    for hobj in handles:
        assert mqi.MQINQ(app.hconn, hobj, [], 0, 0)[3] == mqc.MQRC_OBJECT_CHANGED


# -- MQSET ------------------------------------------------------------------------------------------------------------


def test_everything_that_can_be_set(app: Any) -> None:
    name = app.queue()
    hobj = app.open(name, SETTABLE)
    selectors = [
        mqc.MQIA_INHIBIT_GET,
        mqc.MQIA_INHIBIT_PUT,
        mqc.MQIA_TRIGGER_CONTROL,
        mqc.MQCA_TRIGGER_DATA,
        mqc.MQIA_TRIGGER_TYPE,
        mqc.MQIA_TRIGGER_DEPTH,
        mqc.MQIA_TRIGGER_MSG_PRIORITY,
        mqc.MQIA_DIST_LISTS,
    ]
    values = [1, 1, mqc.MQTC_ON, mqc.MQTT_DEPTH, 5, 7, mqc.MQDL_SUPPORTED]
    assert mqi.MQSET(app.hconn, hobj, selectors, values, b"some data".ljust(64)) == OK
    ints, chars, cc, rc = mqi.MQINQ(app.hconn, hobj, selectors, 7, 64)
    assert (cc, rc) == OK
    assert ints == values
    assert chars == b"some data".ljust(64)
    assert app.manager.engine.queues[name].trigger_depth == 5
    assert inquire_one(app, hobj, mqc.MQCA_ALTERATION_DATE)[0] == b"2024-05-06  "


def test_the_last_of_several_values_counts(app: Any) -> None:
    hobj = app.open(app.queue(), SETTABLE)
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_TRIGGER_DEPTH] * 3, [7, 8, 9], b"") == OK
    assert inquire_one(app, hobj, mqc.MQIA_TRIGGER_DEPTH)[0] == 9


@pytest.mark.parametrize(
    ("selectors", "ints", "chars", "reason"),
    [
        ([mqc.MQIA_INHIBIT_GET], [2], b"", mqc.MQRC_INHIBIT_VALUE_ERROR),
        ([mqc.MQIA_INHIBIT_PUT], [-1], b"", mqc.MQRC_INHIBIT_VALUE_ERROR),
        ([mqc.MQIA_TRIGGER_CONTROL], [2], b"", mqc.MQRC_TRIGGER_CONTROL_ERROR),
        ([mqc.MQIA_TRIGGER_DEPTH], [0], b"", mqc.MQRC_TRIGGER_DEPTH_ERROR),
        ([mqc.MQIA_TRIGGER_MSG_PRIORITY], [10], b"", mqc.MQRC_TRIGGER_MSG_PRIORITY_ERR),
        ([mqc.MQIA_TRIGGER_TYPE], [9], b"", mqc.MQRC_TRIGGER_TYPE_ERROR),
        ([mqc.MQIA_MAX_Q_DEPTH], [9], b"", mqc.MQRC_SELECTOR_ERROR),
        ([mqc.MQCA_Q_DESC], [], b" " * 64, mqc.MQRC_SELECTOR_ERROR),
        ([mqc.MQIA_INHIBIT_GET], [], b"", mqc.MQRC_INT_ATTR_COUNT_ERROR),
        ([mqc.MQCA_TRIGGER_DATA], [], b" " * 63, mqc.MQRC_CHAR_ATTR_LENGTH_ERROR),
        ([mqc.MQCA_TRIGGER_DATA], [], b"\xff" * 64, mqc.MQRC_CHAR_ATTRS_ERROR),
        ([mqc.MQIA_INHIBIT_PUT, mqc.MQIA_TRIGGER_TYPE], [1, 9], b"", mqc.MQRC_TRIGGER_TYPE_ERROR),
    ],
)
def test_what_cannot_be_set(app: Any, selectors: list[int], ints: list[int], chars: bytes, reason: int) -> None:
    name = app.queue()
    hobj = app.open(name, SETTABLE)
    before = app.manager.engine.queues[name].definition
    assert mqi.MQSET(app.hconn, hobj, selectors, ints, chars) == (FAILED, reason)
    assert app.manager.engine.queues[name].definition is before


def test_inhibited_gets_fail_at_once_those_who_wait(app: Any) -> None:
    name = app.queue()
    answers: list[int] = []

    def wait() -> None:
        hconn = app.connect()
        hobj = app.open(name, mqc.MQOO_INPUT_SHARED, hconn)
        waiting.release()
        answers.append(app.get(hobj, hconn, Options=mqc.MQGMO_WAIT, WaitInterval=mqc.MQWI_UNLIMITED)[1])
        mqi.MQDISC(hconn)

    waiting = threading.Semaphore(0)
    thread = threading.Thread(target=wait)
    thread.start()
    waiting.acquire()
    hobj = app.open(name, SETTABLE)
    # Whether it waits already or comes a moment later, the answer is the same.
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [1], b"") == OK
    thread.join()
    assert answers == [mqc.MQRC_GET_INHIBITED]
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [0], b"") == OK
    app.put(name, b"again")
    assert app.get(app.open(name, mqc.MQOO_INPUT_SHARED)) == (b"again", 0)


def test_setting_an_alias_changes_the_alias_only(app: Any) -> None:
    base = app.queue()
    alias = app.define(ObjectType.QALIAS, TARGET=base)
    through_alias = app.open(alias, mqc.MQOO_INPUT_SHARED | mqc.MQOO_OUTPUT)
    hobj = app.open(alias, SETTABLE)
    selectors = [mqc.MQIA_INHIBIT_GET, mqc.MQIA_INHIBIT_PUT]
    assert mqi.MQSET(app.hconn, hobj, selectors, [1, 1], b"") == OK
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_TRIGGER_DEPTH], [1], b"")[1] == mqc.MQRC_SELECTOR_ERROR
    app.put(base, b"still goes")
    assert app.get(through_alias)[1] == mqc.MQRC_GET_INHIBITED
    answer = mqi.MQPUT(app.hconn, through_alias, app.structure("MQMD"), app.structure("MQPMO"), b"no")
    assert answer == (FAILED, mqc.MQRC_PUT_INHIBITED)
    assert mqi.MQSET(app.hconn, hobj, selectors, [0, 0], b"") == OK
    assert app.get(through_alias) == (b"still goes", 0)


def test_inhibiting_an_alias_fails_those_who_wait_through_it(app: Any) -> None:
    base = app.queue()
    alias = app.define(ObjectType.QALIAS, TARGET=base)
    answers: list[int] = []
    waiting = threading.Semaphore(0)

    def wait() -> None:
        hconn = app.connect()
        hobj = app.open(alias, mqc.MQOO_INPUT_SHARED, hconn)
        waiting.release()
        answers.append(app.get(hobj, hconn, Options=mqc.MQGMO_WAIT, WaitInterval=mqc.MQWI_UNLIMITED)[1])
        mqi.MQDISC(hconn)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.acquire()
    eventually(lambda: app.manager.engine.queues[base].waiting.count > 0)
    hobj = app.open(alias, SETTABLE)
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_GET], [1], b"") == OK
    thread.join()
    assert answers == [mqc.MQRC_GET_INHIBITED]


def test_a_dynamic_queue_can_be_set(app: Any) -> None:
    od = app.structure("MQOD", ObjectName="SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName="SET.*")
    hobj, _, _ = mqi.MQOPEN(app.hconn, od, SETTABLE | mqc.MQOO_INPUT_SHARED)
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_INHIBIT_PUT], [1], b"") == OK
    assert inquire_one(app, hobj, mqc.MQIA_INHIBIT_PUT) == (1, 0)


def test_what_was_set_survives_a_crash(tmp_path: Path, application: Any) -> None:
    directory = create_queue_manager(tmp_path, "CRASH", LogSection(file_pages=64))
    manager = QueueManager(directory)
    manager.start()
    name = "SYSTEM.DEFAULT.LOCAL.QUEUE"
    registry.register(manager)
    other = application(manager)
    hobj = other.open(name, SETTABLE)
    assert mqi.MQSET(other.hconn, hobj, [mqc.MQIA_TRIGGER_DEPTH], [42], b"") == OK
    manager.end("preemptive")
    again = QueueManager(directory)
    again.start()
    assert again.engine.queues[name].trigger_depth == 42
    again.end("immediate")


def test_setting_a_trigger_fires_for_what_is_there(app: Any) -> None:
    initiation = app.queue()
    process = app.define(ObjectType.PROCESS, APPLICID="run")
    monitor = app.open(initiation, mqc.MQOO_INPUT_SHARED)
    name = app.queue(INITQ=initiation, PROCESS=process, TRIGTYPE=mqc.MQTT_FIRST)
    app.put(name, b"waits")
    assert app.get(monitor)[1] == mqc.MQRC_NO_MSG_AVAILABLE
    hobj = app.open(name, SETTABLE)
    assert mqi.MQSET(app.hconn, hobj, [mqc.MQIA_TRIGGER_CONTROL], [mqc.MQTC_ON], b"") == OK
    data, rc = app.get(monitor)
    assert rc == mqc.MQRC_NONE
    assert data.startswith(b"TM  ")
