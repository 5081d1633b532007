"""What a dump looks like: order, quoting, lines, comments, and what is chosen."""

from __future__ import annotations

import pytest

from ostler.command.dump.dump import DumpOptions, ScriptLayout, dump
from ostler.command.dump.text import LINE_CHARACTERS, ScriptCommand, command_lines, quoted
from ostler.command.mqsc.statements import StatementReader
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import MQQDT_TEMPORARY_DYNAMIC
from ostler.model.definitions import Definition, new_definition
from ostler.security.authorities import record_key
from ostler.security.channel_authentication import default_rules


def queue(name: str, **attributes: Value) -> Definition:
    return new_definition(ObjectType.QLOCAL, name, dict(attributes), date="2026-01-02", time="03.04.05")


def lines(*definitions: Definition, **asked: object) -> list[str]:
    exports = frozenset({"object", "sub", "authrec", "chlauth"})
    options: dict[str, object] = {"exports": exports, "pattern": "?*", **asked}
    if options["pattern"] == "?*":  # not the whole of a queue manager: nothing was deleted
        options |= {"pattern": "*", "type_word": asked.get("type_word", "queue")}
    return list(dump(definitions, DumpOptions(**options)))  # type: ignore[arg-type]


def joined(script: list[str]) -> list[str]:
    """The commands of a script, each on one line."""
    reader = StatementReader()
    return [command for line in script if (command := reader.feed(line)) is not None]


def test_only_what_differs_is_written_in_the_order_of_the_alphabet() -> None:
    assert lines(queue("Q1", MAXDEPTH=7, DESCR="it's", SHARE="NOSHARE")) == [
        "DEFINE QLOCAL('Q1') +",
        "   DESCR('it''s') +",
        "   MAXDEPTH(7) +",
        "   NOSHARE +",
        "   REPLACE",
    ]


def test_all_attributes_come_with_comments_on_what_nobody_can_give() -> None:
    script = lines(queue("Q1"), shows_all=True)
    assert script[1:4] == ["*  ALTDATE(2026-01-02)", "*  ALTTIME(03.04.05)", "*  CRDATE(2026-01-02)"]
    assert "   BOQNAME('') +" in script
    assert script[-1] == "   REPLACE"


def test_one_line_and_two() -> None:
    definition = queue("Q1", MAXDEPTH=7)
    assert lines(definition, layout=ScriptLayout.ONE_LINE) == ["DEFINE QLOCAL('Q1') MAXDEPTH(7) REPLACE"]
    first, second = lines(definition, layout=ScriptLayout.TWO_LINES, shows_all=True)
    assert first.startswith("DEFINE QLOCAL('Q1') ACCTQ(QMGR) ")
    assert second.startswith("* ALTDATE(2026-01-02) ")


@pytest.mark.parametrize("text", ["x" * 200, "a " * 40, "*" * 150, " " * 90 + "x", "'" * 64, "x+" * 60, "ä日" * 60])
def test_long_lines_are_broken_and_read_back_whole(text: str) -> None:
    command = ScriptCommand("DEFINE NOTHING('N')", [f"TEXT({quoted(text)})"], [], "REPLACE")
    script = list(command_lines(command, "mqsc"))
    assert joined(script) == [f"DEFINE NOTHING('N') TEXT({quoted(text)}) REPLACE"]
    assert not any(line.lstrip().startswith("*") for line in script), "it would be a comment"
    if " " * 20 not in text and "*" * 20 not in text:
        assert max(map(len, script)) <= LINE_CHARACTERS


def test_secrets_are_not_written() -> None:
    values: dict[str, Value] = {"AUTHTYPE": "IDPWLDAP", "LDAPPWD": "opensesame"}
    script = lines(new_definition(ObjectType.AUTHINFO, "L", values), type_word="authinfo")
    assert "opensesame" not in "\n".join(script)
    assert "*  LDAPPWD('********')" in script
    assert joined(script) == ["DEFINE AUTHINFO('L') AUTHTYPE(IDPWLDAP) REPLACE"]


def test_what_no_command_can_say_is_a_comment() -> None:
    script = lines(queue("Q1", DESCR="two\nlines"))
    assert script[1] == "*  DESCR holds a line break, which no command can: 'two\\nlines'"
    assert joined(script) == ["DEFINE QLOCAL('Q1') REPLACE"]


def test_when_a_default_object_was_changed_others_say_what_they_have() -> None:
    changed = queue("SYSTEM.DEFAULT.LOCAL.QUEUE", MAXDEPTH=9)
    script = joined(lines(changed, queue("Q1")))
    assert script == [
        "DEFINE QLOCAL('Q1') MAXDEPTH(5000) REPLACE",
        "DEFINE QLOCAL('SYSTEM.DEFAULT.LOCAL.QUEUE') MAXDEPTH(9) REPLACE",
    ]


def test_temporary_queues_are_no_configuration() -> None:
    attributes = {**queue("T").attributes, "DEFTYPE": MQQDT_TEMPORARY_DYNAMIC}
    assert lines(Definition(ObjectType.QLOCAL, "T", attributes)) == []


def test_a_name_and_a_type_choose() -> None:
    several = [queue("A1"), queue("A2"), queue("B"), new_definition(ObjectType.PROCESS, "A3", {})]
    assert joined(lines(*several, pattern="A*")) == [
        "DEFINE PROCESS('A3') REPLACE",
        "DEFINE QLOCAL('A1') REPLACE",
        "DEFINE QLOCAL('A2') REPLACE",
    ]
    assert joined(lines(*several, type_word="process")) == ["DEFINE PROCESS('A3') REPLACE"]


def test_channels_that_send_are_reset() -> None:
    sender = new_definition(ObjectType.CHANNEL, "S", {"CHLTYPE": "SDR", "XMITQ": "X", "CONNAME": "h"})
    receiver = new_definition(ObjectType.CHANNEL, "R", {"CHLTYPE": "RCVR"})
    script = joined(lines(sender, receiver, type_word="chl", sequence_number=5))
    assert [line for line in script if line.startswith("RESET")] == ["RESET CHANNEL('S') SEQNUM(5)"]


def test_what_a_new_queue_manager_has_and_this_one_has_not_is_deleted() -> None:
    script = joined(list(dump([], DumpOptions(), default_rules(), ())))
    assert "DELETE QLOCAL('SYSTEM.DEAD.LETTER.QUEUE') IGNSTATE(YES)" in script
    assert "DELETE CHANNEL('SYSTEM.DEF.CLNTCONN') CHLTABLE(CLNTTBL) IGNSTATE(YES)" in script
    assert "SET CHLAUTH('SYSTEM.ADMIN.SVRCONN') TYPE(ADDRESSMAP) ADDRESS('*') ACTION(REMOVE)" in script


def record(kind: int, profile: str, entity: str, entity_type: int, *words: str) -> Definition:
    values: dict[str, Value] = {
        "PROFILE": profile,
        "OBJTYPE": kind,
        "ENTITY": entity,
        "ENTTYPE": entity_type,
        "AUTHLIST": words,
    }
    return Definition(ObjectType.AUTHREC, record_key(values), values)


def test_authorities_as_commands_of_mqsc_of_the_shell_and_of_ibm_i() -> None:
    asked = frozenset({"authrec"})
    records = [record(1, "DEV.**", "o'brien", 1, "GET", "PUT"), record(5, "self", "staff", 2, "CONNECT", "DSP")]
    assert joined(list(dump(records, DumpOptions(asked)))) == [
        "SET AUTHREC PROFILE('self') OBJTYPE(QMGR) GROUP('staff') AUTHADD(CONNECT,DSP)",
        "SET AUTHREC PROFILE('DEV.**') OBJTYPE(QUEUE) PRINCIPAL('o''brien') AUTHADD(GET,PUT)",
    ]
    assert list(dump(records, DumpOptions(asked, layout=ScriptLayout.SETMQAUT), manager="QM1")) == [
        "setmqaut -m 'QM1' -t qmgr -g 'staff' +connect +dsp",
        "setmqaut -m 'QM1' -n 'DEV.**' -t queue -p 'o'\\''brien' +get +put",
    ]
    assert next(dump(records, DumpOptions(asked, layout=ScriptLayout.GRANTMQAUT), manager="QM1")) == (
        "GRTMQMAUT OBJ('QM1') OBJTYPE(*MQM) USER('staff') AUT(*CONNECT *ADMDSP) MQMNAME('QM1')"
    )
