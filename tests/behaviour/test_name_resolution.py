"""Name resolution: aliases, remote definitions, queue manager and reply-to aliases, transmission queues."""

from __future__ import annotations

from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mq

INPUT = mq.MQOO_INPUT_SHARED
OUTPUT = mq.MQOO_OUTPUT
BOTH = INPUT | OUTPUT


def transmission(site: Any, name: str = "", **attributes: Any) -> str:
    return str(site.local(name, USAGE="XMITQ", **attributes))


# -- aliases


def test_an_alias_leads_to_its_target(site: Any, program: Any) -> None:
    base = site.local()
    alias = site.alias(base)
    queue = program.open(alias, BOTH | mq.MQOO_BROWSE)
    assert program.opened["ObjectName"] == alias.encode()
    assert program.opened["ResolvedQName"] == base.encode()
    answer = program.put(queue, b"through")
    assert answer.options["ResolvedQName"] == base.encode()
    assert site.depth(base) == 1
    assert program.get(queue, mq.MQGMO_BROWSE_FIRST).options["ResolvedQName"] == base.encode()
    assert program.get(queue).body == b"through"


def test_an_alias_leads_nowhere(site: Any, program: Any) -> None:
    lost = site.alias("NO.SUCH.QUEUE")
    assert program.reason_of_open(lost, BOTH) == mq.MQRC_UNKNOWN_ALIAS_BASE_Q
    assert program.put1(lost).reason == mq.MQRC_UNKNOWN_ALIAS_BASE_Q
    twice = site.alias(site.alias(site.local()))
    assert program.reason_of_open(twice, BOTH) == mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR
    model = site.alias(site.model())
    assert program.reason_of_open(model, BOTH) == mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR


def test_an_alias_that_finds_its_target_later(site: Any, program: Any) -> None:
    name = f"COMES.LATER.{site.binding}"
    alias = site.alias(name)
    site.local(name)
    assert program.reason_of_open(alias, BOTH) == 0


def test_an_alias_inhibits_for_those_who_come_through_it(site: Any, program: Any) -> None:
    base = site.local()
    no_put = program.open(site.alias(base, PUT="DISABLED"), BOTH)
    no_get = program.open(site.alias(base, GET="DISABLED"), BOTH)
    direct = program.open(base, BOTH)
    assert program.put(no_put).reason == mq.MQRC_PUT_INHIBITED
    assert program.put(no_get, b"1").reason == 0
    assert program.get(no_get).reason == mq.MQRC_GET_INHIBITED
    assert program.get(no_put).body == b"1"
    assert program.put(direct, b"2").reason == 0
    assert program.get(direct).body == b"2"


@pytest.mark.parametrize("inhibited", ["alias", "base"])
def test_the_base_inhibits_too(site: Any, program: Any, inhibited: str) -> None:
    base = site.local(PUT="DISABLED" if inhibited == "base" else "ENABLED")
    alias = site.alias(base, PUT="DISABLED" if inhibited == "alias" else "ENABLED")
    assert program.put(program.open(alias, OUTPUT)).reason == mq.MQRC_PUT_INHIBITED


def test_an_alias_inhibited_by_command_stops_those_who_have_it_open(site: Any, program: Any) -> None:
    alias = site.alias(site.local())
    queue = program.open(alias, BOTH)
    site.alter(alias, PUT="DISABLED", GET="DISABLED")
    assert program.put(queue).reason == mq.MQRC_PUT_INHIBITED
    assert program.get(queue).reason == mq.MQRC_GET_INHIBITED
    site.alter(alias, PUT="ENABLED", GET="ENABLED")
    assert program.put(queue).reason == 0


def test_inhibiting_an_alias_ends_waits_through_it(site: Any, program: Any) -> None:
    base = site.local()
    alias = site.alias(base)
    waiting = site.start(program.get, program.open(alias, INPUT), mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(base)
    site.alter(alias, GET="DISABLED")
    assert waiting.result(60).reason == mq.MQRC_GET_INHIBITED


def test_an_alias_that_leads_elsewhere_now_has_to_be_opened_again(site: Any, program: Any) -> None:
    first, second = site.local(), site.local()
    alias = site.alias(first)
    queue = program.open(alias, BOTH)
    other = site.program()
    waiting = site.start(other.get, other.open(alias, INPUT), mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(first)
    site.alter(alias, TARGET=second)
    assert waiting.result(60).reason == mq.MQRC_OBJECT_CHANGED
    assert program.put(queue).reason == mq.MQRC_OBJECT_CHANGED
    assert program.get(queue).reason == mq.MQRC_OBJECT_CHANGED
    assert program.close(queue) == 0
    assert program.put1(alias).reason == 0
    assert (site.depth(first), site.depth(second)) == (0, 1)


def test_defaults_are_those_of_the_alias(site: Any, program: Any) -> None:
    base = site.local(DEFPRTY=1, DEFPSIST="YES")
    answer = program.put1(site.alias(base, DEFPRTY=6, DEFPSIST="NO"), Priority=-1, Persistence=2)
    assert (answer.md["Priority"], answer.md["Persistence"]) == (6, 0)
    answer = program.put1(base, Priority=-1, Persistence=2)
    assert (answer.md["Priority"], answer.md["Persistence"]) == (1, 1)


def test_limits_and_sharing_are_those_of_the_base(site: Any, program: Any) -> None:
    base = site.local(MAXDEPTH=1, SHARE="NOSHARE")
    queue = program.open(site.alias(base), BOTH)
    assert [program.put(queue).reason for _ in range(2)] == [0, mq.MQRC_Q_FULL]
    assert site.program().reason_of_open(base, INPUT) == mq.MQRC_OBJECT_IN_USE


# -- remote definitions


def test_a_remote_definition_leads_to_its_transmission_queue(site: Any, program: Any) -> None:
    way = transmission(site)
    queue = program.open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way), OUTPUT)
    assert (program.opened["ResolvedQName"], program.opened["ResolvedQMgrName"]) == (b"THERE", b"FAR")
    assert program.put(queue, b"away").reason == 0
    assert site.depth(way) == 1


def test_without_its_own_way_it_takes_the_queue_named_as_the_queue_manager(site: Any, program: Any) -> None:
    name = f"FAR.AWAY.{site.binding}"
    transmission(site, name)
    assert program.put1(site.remote(RNAME="THERE", RQMNAME=name)).reason == 0
    assert site.depth(name) == 1


def test_without_any_way_it_is_refused(site: Any, program: Any) -> None:
    lost = site.remote(RNAME="THERE", RQMNAME="UNHEARD.OF")
    assert program.reason_of_open(lost, OUTPUT) == mq.MQRC_UNKNOWN_REMOTE_Q_MGR
    assert program.put1("THERE", at="UNHEARD.OF").reason == mq.MQRC_UNKNOWN_REMOTE_Q_MGR


def test_a_transmission_queue_must_be_one(site: Any, program: Any) -> None:
    def reason(way: str) -> int:
        return int(program.reason_of_open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way), OUTPUT))

    normal = site.local()
    assert reason("NO.SUCH.QUEUE") == mq.MQRC_UNKNOWN_XMIT_Q
    assert reason(normal) == mq.MQRC_XMIT_Q_USAGE_ERROR
    assert reason(site.alias(normal)) == mq.MQRC_XMIT_Q_TYPE_ERROR


def test_a_queue_named_as_the_queue_manager_must_be_a_transmission_queue(site: Any, program: Any) -> None:
    normal = site.local()
    assert program.reason_of_open("THERE", OUTPUT, at=normal) == mq.MQRC_XMIT_Q_USAGE_ERROR
    definition = site.remote(RNAME="THERE", RQMNAME=normal)
    assert program.reason_of_open(definition, OUTPUT) == mq.MQRC_XMIT_Q_USAGE_ERROR
    definition = site.remote(RNAME="THERE", RQMNAME=site.alias(normal))
    assert program.reason_of_open(definition, OUTPUT) == mq.MQRC_XMIT_Q_TYPE_ERROR


def test_a_remote_definition_must_name_queue_and_queue_manager(site: Any, program: Any) -> None:
    way = transmission(site)
    own = site.manager.name
    assert program.reason_of_open(site.remote(RQMNAME="FAR", XMITQ=way), OUTPUT) == mq.MQRC_REMOTE_Q_NAME_ERROR
    for manager in ("", own):
        definition = site.remote(RNAME="THERE", RQMNAME=manager, XMITQ=way)
        assert program.reason_of_open(definition, OUTPUT) == mq.MQRC_UNKNOWN_REMOTE_Q_MGR
    assert program.reason_of_open("", OUTPUT, at="FAR") == mq.MQRC_REMOTE_Q_NAME_ERROR


def test_remote_queues_cannot_be_got_from_or_browsed(site: Any, program: Any) -> None:
    definition = site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=transmission(site))
    for options in (INPUT, mq.MQOO_INPUT_EXCLUSIVE, mq.MQOO_BROWSE, mq.MQOO_BROWSE | OUTPUT):
        assert program.reason_of_open(definition, options) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
    queue = program.open(definition, mq.MQOO_INQUIRE)
    names, reason = mqi.MQINQ(program.hconn, queue, [mq.MQCA_REMOTE_Q_NAME], 0, 48)[1::2]
    assert (names.rstrip(), reason) == (b"THERE", 0)


@pytest.mark.parametrize("options", [mq.MQOO_INQUIRE, mq.MQOO_SET, mq.MQOO_BROWSE, INPUT])
def test_a_queue_without_a_definition_here_is_for_output_only(site: Any, program: Any, options: int) -> None:
    way = transmission(site)
    assert program.reason_of_open("THERE", options, at=way) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert program.reason_of_open("THERE", OUTPUT, at=way) == 0


def test_an_alias_of_a_remote_definition(site: Any, program: Any) -> None:
    way = transmission(site)
    definition = site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way, DEFPRTY=2)
    answer = program.put1(site.alias(definition, DEFPRTY=5), b"", Priority=-1)
    assert (answer.reason, answer.md["Priority"]) == (0, 5)
    assert site.depth(way) == 1
    closed = program.open(site.alias(definition, PUT="DISABLED"), OUTPUT)
    assert program.put(closed).reason == mq.MQRC_PUT_INHIBITED
    site.alter(definition, PUT="DISABLED")
    assert program.put1(site.alias(definition)).reason == mq.MQRC_PUT_INHIBITED


def test_defaults_are_those_of_the_remote_definition_not_of_the_transmission_queue(site: Any, program: Any) -> None:
    way = transmission(site, DEFPRTY=1, DEFPSIST="YES")
    definition = site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way, DEFPRTY=7, DEFPSIST="NO")
    answer = program.put1(definition, Priority=-1, Persistence=2)
    assert (answer.md["Priority"], answer.md["Persistence"]) == (7, 0)
    answer = program.put1("THERE", at=way, Priority=-1, Persistence=2)
    assert (answer.md["Priority"], answer.md["Persistence"]) == (1, 1)


def test_a_full_or_closed_transmission_queue_refuses(site: Any, program: Any) -> None:
    way = transmission(site, MAXDEPTH=1)
    queue = program.open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way), OUTPUT)
    assert [program.put(queue).reason for _ in range(2)] == [0, mq.MQRC_Q_FULL]
    site.alter(way, PUT="DISABLED")
    assert program.put(queue).reason == mq.MQRC_PUT_INHIBITED


# -- the default transmission queue


def test_the_default_transmission_queue(own_site: Any) -> None:
    program = own_site.program()

    def put() -> int:
        return int(program.put1("THERE", at="ANYWHERE").reason)

    assert put() == mq.MQRC_UNKNOWN_REMOTE_Q_MGR
    for way, reason in (
        ("NO.SUCH.QUEUE", mq.MQRC_UNKNOWN_DEF_XMIT_Q),
        (own_site.local(), mq.MQRC_DEF_XMIT_Q_USAGE_ERROR),
        (own_site.alias(own_site.local()), mq.MQRC_DEF_XMIT_Q_TYPE_ERROR),
    ):
        own_site.alter_manager(DEFXMITQ=way)
        assert put() == reason
    way = transmission(own_site)
    own_site.alter_manager(DEFXMITQ=way)
    assert put() == 0
    assert program.put1(own_site.remote(RNAME="THERE", RQMNAME="FAR")).reason == 0
    assert own_site.depth(way) == 2


# -- queue manager aliases


def test_a_queue_manager_alias_names_another(site: Any, program: Any) -> None:
    way = transmission(site)
    alias = site.remote(RQMNAME="REAL", XMITQ=way)
    program.open("THERE", OUTPUT, at=alias)
    assert (program.opened["ResolvedQName"], program.opened["ResolvedQMgrName"]) == (b"THERE", b"REAL")
    assert program.put1("THERE", at=alias).reason == 0
    assert program.browse(way)[0].body[56:104].rstrip() == b"REAL"


def test_a_queue_manager_alias_may_mean_this_one(site: Any, program: Any) -> None:
    name = site.local()
    alias = site.remote(RQMNAME=site.manager.name)
    assert program.put1(name, b"here", at=alias).reason == 0
    assert [each.body for each in program.browse(name)] == [b"here"]
    for options in (INPUT, mq.MQOO_BROWSE, mq.MQOO_INQUIRE, mq.MQOO_SET):
        assert program.reason_of_open(name, options, at=alias) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE


def test_a_definition_that_names_a_queue_is_no_queue_manager_alias(site: Any, program: Any) -> None:
    definition = site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=transmission(site))
    assert program.reason_of_open("ANY", OUTPUT, at=definition) == mq.MQRC_UNKNOWN_REMOTE_Q_MGR


def test_a_queue_manager_alias_without_a_name_means_this_one(site: Any, program: Any) -> None:
    name = site.local()
    alias = site.remote()
    program.open(name, OUTPUT, at=alias)
    own = site.manager.name.encode()
    assert (program.opened["ResolvedQName"], program.opened["ResolvedQMgrName"]) == (name.encode(), own)
    assert program.put1(name, b"here", at=alias).reason == 0
    assert [each.body for each in program.browse(name)] == [b"here"]


def test_a_queue_manager_alias_of_this_one_needs_no_way(site: Any, program: Any) -> None:
    name = site.local()
    alias = site.remote(RQMNAME=site.manager.name, XMITQ="NO.SUCH.QUEUE")
    assert program.put1(name, at=alias).reason == 0


def test_through_an_alias_of_this_queue_manager_to_a_remote_definition(site: Any, program: Any) -> None:
    way = transmission(site)
    definition = site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way)
    program.open(definition, OUTPUT, at=site.remote(RQMNAME=site.manager.name))
    assert (program.opened["ResolvedQName"], program.opened["ResolvedQMgrName"]) == (b"THERE", b"FAR")


@pytest.mark.parametrize("given", [True, False])
def test_a_queue_manager_alias_is_followed_once(site: Any, program: Any, given: bool) -> None:
    way = transmission(site)
    second = site.remote(RQMNAME="REAL", XMITQ=way)
    first = site.remote(RQMNAME=second, XMITQ=way if given else "")
    reason = program.reason_of_open("THERE", OUTPUT, at=first)
    assert reason == (0 if given else mq.MQRC_XMIT_Q_TYPE_ERROR)
    if given:
        assert program.opened["ResolvedQMgrName"] == second.encode()


def test_a_queue_manager_alias_takes_the_queue_named_as_the_queue_manager(site: Any, program: Any) -> None:
    way = transmission(site)
    assert program.put1("THERE", at=site.remote(RQMNAME=way)).reason == 0
    assert program.browse(way)[0].body[8:104] == b"THERE".ljust(48) + way.encode().ljust(48)


def test_a_queue_manager_alias_without_a_way(site: Any, program: Any) -> None:
    for attributes, reason in (
        ({"RQMNAME": "UNHEARD.OF"}, mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        ({"RQMNAME": "FAR", "XMITQ": "NO.SUCH.QUEUE"}, mq.MQRC_UNKNOWN_XMIT_Q),
        ({"RQMNAME": "FAR", "XMITQ": site.local()}, mq.MQRC_XMIT_Q_USAGE_ERROR),
        ({"RQMNAME": "FAR", "XMITQ": site.model()}, mq.MQRC_XMIT_Q_TYPE_ERROR),
        ({"RQMNAME": site.local()}, mq.MQRC_XMIT_Q_USAGE_ERROR),
    ):
        assert program.reason_of_open("THERE", OUTPUT, at=site.remote(**attributes)) == reason


def test_no_queue_is_made_through_a_queue_manager_alias(site: Any, program: Any) -> None:
    model = site.model()
    alias = site.remote(RQMNAME=site.manager.name)
    count = len(site.manager.engine.queues)
    assert program.reason_of_open(model, OUTPUT, at=alias) == mq.MQRC_Q_TYPE_ERROR
    assert program.reason_of_open(alias, OUTPUT, at=model) == mq.MQRC_UNKNOWN_REMOTE_Q_MGR
    assert len(site.manager.engine.queues) == count


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"RQMNAME": "FAR"}, mq.MQRC_REMOTE_Q_NAME_ERROR),
        ({"RNAME": "THERE"}, mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
        ({"RNAME": "THERE", "RQMNAME": "own"}, mq.MQRC_UNKNOWN_REMOTE_Q_MGR),
    ],
)
@pytest.mark.parametrize("through", ["definition", "alias"])
def test_a_definition_that_names_too_little(
    site: Any, program: Any, attributes: dict[str, str], reason: int, through: str
) -> None:
    names = {key: site.manager.name if value == "own" else value for key, value in attributes.items()}
    definition = site.remote(**names, XMITQ=transmission(site))
    opened = site.alias(definition) if through == "alias" else definition
    assert program.reason_of_open(opened, OUTPUT) == reason
    assert program.reason_of_open(opened, OUTPUT, at=site.manager.name) == reason


def test_a_queue_elsewhere_without_a_name(site: Any, program: Any) -> None:
    way = transmission(site)
    assert program.reason_of_open("", OUTPUT, at=way) == mq.MQRC_REMOTE_Q_NAME_ERROR
    alias = site.remote(RQMNAME="FAR", XMITQ=way)
    assert program.reason_of_open("", OUTPUT, at=alias) == mq.MQRC_REMOTE_Q_NAME_ERROR


def test_the_queue_here_that_a_name_elsewhere_leads_to(site: Any, program: Any) -> None:
    way = transmission(site)
    own = site.manager.name.encode()
    program.open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way), OUTPUT | mq.MQOO_RESOLVE_LOCAL_Q)
    assert (program.opened["ResolvedQName"], program.opened["ResolvedQMgrName"]) == (way.encode(), own)
    program.open(site.remote(RNAME="THERE", RQMNAME="FAR", XMITQ=way), mq.MQOO_INQUIRE)
    assert (program.opened["ResolvedQName"], program.opened["ResolvedQMgrName"]) == (b"", b"")


def test_the_own_name_means_this_queue_manager(site: Any, program: Any) -> None:
    name = site.local()
    assert program.reason_of_open(name, BOTH, at=site.manager.name) == 0


# -- where replies go


def test_a_blank_reply_queue_manager_is_filled_in(site: Any, program: Any) -> None:
    name = site.local()
    program.put1(name, ReplyToQ="ANSWERS")
    program.put1(name, ReplyToQ="ANSWERS", ReplyToQMgr="ELSEWHERE")
    program.put1(name)
    addresses = [(each.md["ReplyToQ"], each.md["ReplyToQMgr"]) for each in program.browse(name)]
    own = site.manager.name.encode()
    assert addresses == [(b"ANSWERS", own), (b"ANSWERS", b"ELSEWHERE"), (b"", b"")]


def test_a_reply_to_alias(site: Any, program: Any) -> None:
    name = site.local()
    alias = site.remote(RNAME="REAL.ANSWERS", RQMNAME="BACK")
    program.put1(name, ReplyToQ=alias)
    program.put1(name, ReplyToQ=alias, ReplyToQMgr="GIVEN")
    addresses = [(each.md["ReplyToQ"], each.md["ReplyToQMgr"]) for each in program.browse(name)]
    assert addresses == [(b"REAL.ANSWERS", b"BACK"), (alias.encode(), b"GIVEN")]


def test_a_reply_to_alias_that_names_the_half(site: Any, program: Any) -> None:
    name = site.local()
    program.put1(name, ReplyToQ=site.remote(RNAME="REAL.ANSWERS"))
    elsewhere = site.remote(RQMNAME="BACK")
    program.put1(name, ReplyToQ=elsewhere)
    addresses = [(each.md["ReplyToQ"], each.md["ReplyToQMgr"]) for each in program.browse(name)]
    assert addresses == [(b"REAL.ANSWERS", site.manager.name.encode()), (elsewhere.encode(), b"BACK")]


def test_a_reply_to_alias_needs_no_way_and_travels(site: Any, program: Any) -> None:
    way = transmission(site)
    alias = site.remote(RNAME="REAL.ANSWERS", RQMNAME="BACK", XMITQ="NO.SUCH.QUEUE")
    assert program.put1("THERE", at=way, ReplyToQ=alias).reason == 0
    embedded = program.browse(way)[0].body[104:428]
    assert embedded[100:196] == b"REAL.ANSWERS".ljust(48) + b"BACK".ljust(48)


# -- other names


@pytest.mark.parametrize("name", ["NO.SUCH.QUEUE", "lower.case", "X" * 48])
def test_names_that_nothing_has(program: Any, name: str) -> None:
    assert program.reason_of_open(name, BOTH) == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert program.put1(name).reason == mq.MQRC_UNKNOWN_OBJECT_NAME


def test_a_blank_name(program: Any) -> None:
    assert program.reason_of_open("", BOTH) == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert program.put1("").reason == mq.MQRC_UNKNOWN_OBJECT_NAME


@pytest.mark.parametrize(
    "options",
    [
        0,
        mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE,
        mq.MQOO_SAVE_ALL_CONTEXT | mq.MQOO_OUTPUT,
        mq.MQOO_SAVE_ALL_CONTEXT | mq.MQOO_BROWSE,
        mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_INPUT_SHARED,
        mq.MQOO_BIND_ON_OPEN | mq.MQOO_BIND_NOT_FIXED | mq.MQOO_OUTPUT,
        mq.MQOO_READ_AHEAD | mq.MQOO_NO_READ_AHEAD | mq.MQOO_INPUT_SHARED,
        mq.MQOO_FAIL_IF_QUIESCING,
        1 << 24 | mq.MQOO_OUTPUT,
    ],
)
def test_open_options_that_make_no_sense(site: Any, program: Any, options: int) -> None:
    assert program.reason_of_open(site.local(), options) == mq.MQRC_OPTIONS_ERROR
    assert not program.connection.handles
