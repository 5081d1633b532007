"""A script that dmpmqcfg wrote, run on a new queue manager, gives back every definition."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mypy_extensions import i64
from tests.searching import examples

from ostler.command.admin.context import ChannelStatus, CommandContext, ListenerStatus, ManagerStatus
from ostler.command.dump.dump import DumpOptions, ScriptLayout, dump
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.engine import apply, objects
from ostler.engine.core import Engine
from ostler.model.attributes import Attribute, ObjectType, Shown, Value, ValueKind, attributes_of, has, subtype_of
from ostler.model.cipher_specs import cipher_specs
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.model.journal import Journal
from ostler.model.system_objects import system_definitions
from ostler.security.authorities import default_records
from ostler.security.channel_authentication import default_rules
from ostler.testing.simulation.crashing_disk import SimulatedDisk

T = TypeVar("T")
DESTINATION = "SYSTEM.DEAD.LETTER.QUEUE"  # of subscriptions: it has to be there
RULES = default_rules()
RECORDS = default_records()
STAMPS = frozenset({"CRDATE", "CRTIME", "ALTDATE", "ALTTIME", "QMID", "SUBID"})
SUBTYPES = {
    ObjectType.CHANNEL: ("SDR", "SVR", "RCVR", "RQSTR", "SVRCONN", "CLNTCONN", "CLUSSDR", "CLUSRCVR", "AMQP", "MQTT"),
    ObjectType.AUTHINFO: ("CRLLDAP", "OCSP", "IDPWOS", "IDPWLDAP"),
    ObjectType.LISTENER: ("TCP", "LU62", "NETBIOS", "SPX"),
}
SUBTYPE_KEYS = {ObjectType.CHANNEL: "CHLTYPE", ObjectType.AUTHINFO: "AUTHTYPE", ObjectType.LISTENER: "TRPTYPE"}
KINDS = (
    ObjectType.QLOCAL,
    ObjectType.QALIAS,
    ObjectType.QREMOTE,
    ObjectType.QMODEL,
    ObjectType.CHANNEL,
    ObjectType.LISTENER,
    ObjectType.SERVICE,
    ObjectType.PROCESS,
    ObjectType.NAMELIST,
    ObjectType.TOPIC,
    ObjectType.AUTHINFO,
    ObjectType.COMMINFO,
    ObjectType.CFSTRUCT,
    ObjectType.STGCLASS,
    ObjectType.SUB,
)
NAMES = st.text("ABCabc019._/%", min_size=1, max_size=20)
# What is hard to write: quotes, marks of continuation and comments, blanks at the ends of lines, other alphabets.
TEXTS = st.one_of(
    st.text("ab'\"+-* ,();\t=äß日", max_size=30),
    st.text("a *+'", min_size=60, max_size=200),
    st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=20),
)


SCRIPTS = (ScriptLayout.MQSC, ScriptLayout.ONE_LINE, ScriptLayout.TWO_LINES)


class Memory(Journal):
    """A journal that is durable at once and forgets all."""

    def __init__(self) -> None:
        self._lsn = 0

    def append(self, kind: i64, head: bytes, descriptor: bytes, body: bytes) -> i64:
        self._lsn += 1
        return self._lsn

    def end_lsn(self) -> i64:
        return self._lsn

    def durable_lsn(self) -> i64:
        return self._lsn

    def room_bytes(self) -> i64:
        return 1 << 40


class World(CommandContext):
    """The objects of a queue manager, in memory only."""

    def __init__(self) -> None:
        self.engine = Engine("QM1", SimulatedDisk(), Memory(), new_definition(ObjectType.QMGR, "QM1", {}))
        self.engine.disk.make_directory("queues")
        for definition in (*system_definitions("2026-01-01", "00.00.00"), *RULES, *RECORDS):
            objects.define(self.engine, definition, False)

    def query(self, read: Callable[[Engine], T]) -> T:
        self.engine.now_ms = 1_700_000_000_000
        return read(self.engine)

    def change(self, change: Callable[[Engine], int]) -> None:
        self.query(change)

    def definitions(self) -> list[Definition]:
        found = {id(self.engine.manager): self.engine.manager}
        for kind in ObjectType:
            if kind != ObjectType.QMGR:
                found |= {id(each): each for each in objects.all_of_type(self.engine, kind)}
        return list(found.values())

    def contents(self) -> dict[tuple[str, str, str], dict[str, Value]]:
        """All that is defined, without the times at which it was."""
        return {
            (kept.object_type.value, kept.name, subtype_of(kept.object_type, kept.attributes)): {
                key: value for key, value in kept.attributes.items() if key not in STAMPS
            }
            for kept in self.definitions()
        }

    def script(self, asked: DumpOptions | None = None) -> list[str]:
        return list(dump(self.definitions(), asked or DumpOptions(), RULES, RECORDS, "QM1"))

    def run(self, lines: list[str]) -> None:
        *said, counts = run_script(self, "\n".join(lines))
        assert isinstance(counts, ScriptCounts)
        wrong = [at for at, line in enumerate(said) if str(line).startswith("AMQ8405I") or str(line)[7:9] == "E:"]
        assert counts.exit_code == 0, "\n".join(str(each) for at in wrong for each in said[max(0, at - 12) : at + 2])

    # Nothing of this is asked for here.

    def start_listener(self, name: str) -> None: ...

    def stop_listener(self, name: str) -> None: ...

    def start_channel(self, name: str, disposition: str = "") -> None: ...

    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None: ...

    def refresh_tls(self) -> None: ...

    def listener_status(self) -> list[ListenerStatus]:
        return []

    def channel_status(self) -> list[ChannelStatus]:
        return []

    def manager_status(self) -> ManagerStatus:
        return ManagerStatus()


# -- random definitions ------------------------------------------------------------------------------------------------


def _values(attribute: Attribute) -> st.SearchStrategy[Value]:
    kind = attribute.kind
    numbers = st.sampled_from([number for _, number in attribute.words] or [0])
    if attribute.name == "SSLCIPH":
        return st.sampled_from([each.name for each in cipher_specs()])
    if attribute.name == "SSLPEER":
        return st.sampled_from(["CN=It's me,O=*", "CN=a+b, OU='x', O=\"q,r\""])
    if kind == ValueKind.INTEGER:
        inside = st.integers(attribute.low, attribute.high)
        return st.one_of(inside, numbers) if attribute.words else inside
    if kind in (ValueKind.ENUM, ValueKind.FLAG):
        return numbers
    if kind == ValueKind.WORDS:
        words = [word for word, _ in attribute.words]
        return st.lists(st.sampled_from(words), min_size=1, max_size=attribute.items_max, unique=True).map(tuple)
    name = NAMES.map(lambda text: text[: attribute.length_max])
    text = TEXTS.map(lambda each: each.encode()[: attribute.length_max].decode(errors="ignore").rstrip(" "))
    if kind == ValueKind.NAME:
        return st.one_of(st.just(""), name)
    if kind == ValueKind.NAMES:
        return st.lists(name, max_size=min(attribute.items_max, 5)).map(tuple)
    if kind == ValueKind.STRINGS:
        texts = text.map(lambda each: each.strip() or "x")
        return st.lists(texts, max_size=min(attribute.items_max, 4)).map(tuple)
    return text


@st.composite
def definitions(draw: st.DrawFn) -> Definition | None:
    """Something that can be defined; None when what was drawn does not go together."""
    kind = draw(st.sampled_from(KINDS))
    name = draw(NAMES)
    subtype = draw(st.sampled_from(SUBTYPES.get(kind, ("",))))
    values: dict[str, Value] = {}
    if subtype:
        values[SUBTYPE_KEYS[kind]] = subtype
    known = [each for each in attributes_of(kind) if each.at_define and has(each, subtype)]
    apart = (SUBTYPE_KEYS.get(kind), "QSGDISP")  # commands take no other QSGDISP than QMGR
    usable = [each for each in known if each.name not in apart and each.shown != Shown.MASKED]
    for attribute in draw(st.lists(st.sampled_from(usable), max_size=8, unique_by=lambda each: each.name)):
        values[attribute.name] = draw(_values(attribute))
    if kind == ObjectType.TOPIC:
        values["TOPICSTR"] = f"{draw(st.sampled_from(['a', 'ä b']))}/{name}"
    if kind == ObjectType.SUB:
        values |= {"TOPICSTR": f"{draw(st.sampled_from(['a', 's']))}/{name}", "DEST": DESTINATION, "SUBTYPE": "ADMIN"}
        # What only some topics, selectors and queues go with; other tests are about those.
        for absent in ("SUBID", "TOPICOBJ", "SELECTOR", "DESTCLAS", "DURABLE", "WSCHEMA"):
            values.pop(absent, None)
    if subtype in ("SDR", "SVR"):
        values["XMITQ"] = "X"
    if subtype in ("SDR", "RQSTR", "CLNTCONN", "CLUSSDR"):
        values["CONNAME"] = "host(1414),other(1415)"
    try:
        return new_definition(kind, name, values)
    except MQError:
        return None


USERS = st.sampled_from(["ann", "it's me", "o'brien, jr", "Ü"])
PROFILES = st.sampled_from(["DEV.**", "A.*", "lower.**"])
RULE_COMMANDS = (
    "SET CHLAUTH('{channel}') TYPE(BLOCKUSER) USERLIST('{user}','*MQADMIN') DESCR('{user}')",
    "SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('10.1.2.3','192.168.*')",
    "SET CHLAUTH('{channel}') TYPE(ADDRESSMAP) ADDRESS('10.*') USERSRC(MAP) MCAUSER('{user}') CHCKCLNT(REQUIRED)",
    "SET CHLAUTH('{channel}') TYPE(ADDRESSMAP) ADDRESS('10.1-5.*') USERSRC(NOACCESS) WARN(YES)",
    "SET CHLAUTH('{channel}') TYPE(USERMAP) CLNTUSER('{user}') ADDRESS('10.2.*') USERSRC(CHANNEL)",
    "SET CHLAUTH('{channel}') TYPE(QMGRMAP) QMNAME('QM*') MCAUSER('{user}') CUSTOM('{user}')",
    "SET CHLAUTH('{channel}') TYPE(SSLPEERMAP) SSLPEER('CN=\"a,b\",O=c') SSLCERTI('CN=x') MCAUSER('{user}')",
    "SET CHLAUTH('SYSTEM.*') TYPE(ADDRESSMAP) ADDRESS('*') ACTION(REMOVE)",
    "SET CHLAUTH('*') TYPE(BLOCKUSER) ACTION(REMOVEALL)",
)
RECORD_COMMANDS = (
    "SET AUTHREC PROFILE('{profile}') OBJTYPE(QUEUE) PRINCIPAL('{user}') AUTHADD(PUT,GET,ALLADM)",
    "SET AUTHREC PROFILE('{profile}') OBJTYPE(TOPIC) GROUP('{user}') AUTHADD(PUB)",
    "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('{user}') AUTHADD(CONNECT,INQ)",
    "SET AUTHREC PROFILE('{profile}') OBJTYPE(CHANNEL) GROUP('{user}') AUTHADD(NONE)",
)


@st.composite
def record_commands(draw: st.DrawFn) -> str:
    command: str = draw(st.sampled_from(RULE_COMMANDS + RECORD_COMMANDS))
    channel = draw(st.sampled_from(["*", "A*", "APP.SVRCONN"]))
    return command.format(channel=channel, user=draw(USERS).replace("'", "''"), profile=draw(PROFILES))


SYSTEM = [each for each in system_definitions() if each.object_type != ObjectType.SUB and each.name != DESTINATION]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A queue manager to which all sorts of things were done."""
    world = World()
    for gone in draw(st.lists(st.sampled_from(SYSTEM), max_size=3, unique_by=id)):
        objects.delete(world.engine, apply.table_type(gone), gone.name)
    for made in draw(st.lists(definitions(), max_size=20)):
        _try_define(world, made, False)
    for definition in draw(st.lists(st.sampled_from([*SYSTEM, world.engine.manager]), max_size=5, unique_by=id)):
        _try_define(world, draw(alterations(definition)), True)
    list(run_script(world, "\n".join(draw(st.lists(record_commands(), max_size=8)))))
    return world


@st.composite
def alterations(draw: st.DrawFn, definition: Definition) -> Definition | None:
    kind = definition.object_type
    subtype = subtype_of(kind, definition.attributes)
    known = [each for each in attributes_of(kind) if each.at_alter and each.at_define and has(each, subtype)]
    usable = [each for each in known if each.name != "QSGDISP" and each.shown != Shown.MASKED]
    chosen = draw(st.lists(st.sampled_from(usable), max_size=4, unique_by=lambda each: each.name))
    try:
        return definition.with_changes({each.name: draw(_values(each)) for each in chosen})
    except MQError:
        return None


def _try_define(world: World, definition: Definition | None, replace: bool) -> None:
    if definition is not None:
        with suppress(MQError):
            objects.define(world.engine, definition, replace)


def _commands(script: list[str]) -> list[str]:
    return [line for line in script if not line.startswith("*")]


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(before=worlds(), shows_all=st.booleans(), layout=st.sampled_from(SCRIPTS))
def test_whatever_was_defined_comes_back_exactly(before: World, shows_all: bool, layout: ScriptLayout) -> None:
    after = World()
    asked = DumpOptions(shows_all=shows_all, layout=layout)
    script = before.script(asked)
    after.run(script)
    assert after.contents() == before.contents()
    assert _commands(after.script(asked)) == _commands(script)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds(), shows_all=st.booleans())
def test_a_script_run_where_it_comes_from_changes_nothing(world: World, shows_all: bool) -> None:
    kept = world.contents()
    world.run(world.script(DumpOptions(shows_all=shows_all)))
    assert world.contents() == kept


CLOSED = """
DEFINE TOPIC(A) TOPICSTR('a') DURSUB(YES)
DEFINE TOPIC(AB) TOPICSTR('a/b')
DEFINE TOPIC(OTHER) TOPICSTR('other') SUB(DISABLED)
DEFINE SUB('s') TOPICOBJ(AB) TOPICSTR('c') DESTCLAS(MANAGED)
ALTER TOPIC(A) DURSUB(NO)
ALTER TOPIC(AB) SUB(DISABLED)
ALTER TOPIC(SYSTEM.BASE.TOPIC) SUB(DISABLED)
ALTER QMGR PSMODE(DISABLED)
"""


def test_subscriptions_come_back_where_none_is_taken_any_more() -> None:
    before = World()
    before.run(CLOSED.splitlines())
    script = before.script(DumpOptions(layout=ScriptLayout.ONE_LINE))
    after = World()
    after.run(script)
    assert list(after.engine.topics.by_name) == ["s"]
    assert after.script(DumpOptions(layout=ScriptLayout.ONE_LINE)) == script
    altered = [line for line in script if line.startswith("ALTER")]
    assert altered == [
        "ALTER TOPIC('A') DURSUB(YES)",
        "ALTER TOPIC('AB') SUB(ENABLED)",
        "ALTER TOPIC('SYSTEM.BASE.TOPIC') SUB(ENABLED)",
        "ALTER TOPIC('A') DURSUB(NO)",
        "ALTER TOPIC('AB') SUB(DISABLED)",
        "ALTER TOPIC('SYSTEM.BASE.TOPIC') SUB(DISABLED)",
        "ALTER QMGR PSMODE(DISABLED) FORCE",
    ]
