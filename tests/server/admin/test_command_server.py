"""The command server: commands come off its queue in order, and replies go where they should, whatever comes."""

from __future__ import annotations

import pwd
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.model import constants as mq
from ostler.model.pcf import Header, Integer, Parameter, PcfMessage, String, decode, encode
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.admin.command_server import APPLICATION, CommandServer
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing import queue_manager
from ostler.testing.without_security import allow_any_principal

COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"
WAIT = 60.0

T = TypeVar("T")


class Site:
    """A queue manager with a command server, and a program that gives it commands."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.users: list[str] = []
        self.failures = 0  # that are still to come
        self.on_target: Callable[[], object] | None = None  # done once, in the middle of a command
        self.server = CommandServer(manager, self._target)
        self.program: Connection = ostler.connect(manager)
        self.program.define("QLOCAL", "REPLY", MAXDEPTH=1_000_000)
        self.replies = self.program.open("REPLY")

    def _target(self, user: str, origin: int) -> ManagerCommandContext:
        assert origin == mq.MQEVO_MSG
        self.users.append(user)
        hook, self.on_target = self.on_target, None
        if hook is not None:
            hook()
        if self.failures:
            self.failures -= 1
            raise RuntimeError("a fault of the queue manager itself")
        return ManagerCommandContext(self.manager)

    def send(
        self,
        command: int,
        *items: Parameter,
        body: bytes | None = None,
        reply_to: str = "REPLY",
        report: int = 0,
        message_type: int = mq.MQMT_REQUEST,
        format: str = "MQADMIN",
        persistent: bool = False,
        expiry: float | None = None,
        encoding: int = mq.MQENC_NATIVE,
        ccsid: int = 1208,
        correlation_id: bytes = b"",
    ) -> ostler.Message:
        data = encode(Header(mq.MQCFT_COMMAND, command), items) if body is None else body
        return self.program.put(
            COMMANDS,
            data,
            reply_to=reply_to,
            report=report,
            message_type=message_type,
            format=format,
            persistent=persistent,
            expiry=expiry,
            encoding=encoding,
            ccsid=ccsid,
            correlation_id=correlation_id,
        )

    def reply(self) -> tuple[ostler.Message, PcfMessage]:
        message = self.replies.get(wait=WAIT)
        assert message is not None
        assert isinstance(message.body, bytes)
        return message, decode(message.body)

    def ask(self, command: int, *items: Parameter) -> PcfMessage:
        self.send(command, *items)
        return self.reply()[1]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    manager = QueueManager(allow_any_principal(create_queue_manager(tmp_path, "SITE", LogSection(file_pages=256))))
    manager.start()
    made = Site(manager)
    made.server.start()
    yield made
    made.server.stop()
    manager.end("immediate")


def test_a_command_is_answered_as_its_descriptor_asks(site: Site) -> None:
    sent = site.send(mq.MQCMD_PING_Q_MGR, persistent=True)
    message, reply = site.reply()
    assert (reply.header.command, reply.header.reason) == (mq.MQCMD_PING_Q_MGR, 0)
    assert message.correlation_id == sent.message_id
    assert message.message_id != sent.message_id
    assert (message.message_type, message.format, message.persistent) == (mq.MQMT_REPLY, "MQADMIN", True)
    assert (message.expiry, message.ccsid) == (None, 1208)
    assert site.users == [sent.user]


def test_identifiers_follow_the_report_options(site: Site) -> None:
    given = b"C" * 24
    sent = site.send(mq.MQCMD_PING_Q_MGR, report=mq.MQRO_PASS_CORREL_ID | mq.MQRO_PASS_MSG_ID, correlation_id=given)
    message, _ = site.reply()
    assert (message.message_id, message.correlation_id) == (sent.message_id, given)


def test_what_is_left_of_the_life_of_a_command_is_passed_on(site: Site) -> None:
    site.send(mq.MQCMD_PING_Q_MGR, report=mq.MQRO_PASS_DISCARD_AND_EXPIRY | mq.MQRO_DISCARD_MSG, expiry=100.0)
    message, _ = site.reply()
    assert message.expiry is not None
    assert 0 < message.expiry <= 100
    assert message.report & mq.MQRO_DISCARD_MSG


def test_commands_are_done_in_their_order(site: Site) -> None:
    names = [f"ORDER.{number}" for number in range(20)]
    for name in names:
        site.send(mq.MQCMD_INQUIRE_Q_NAMES, String(mq.MQCA_Q_NAME, name))
    sent = [site.send(mq.MQCMD_PING_Q_MGR, persistent=number % 2 == 0).message_id for number in range(20)]
    found = [site.reply()[0] for _ in range(40)]
    assert [message.correlation_id for message in found[20:]] == sent


def test_commands_of_other_machines(site: Site) -> None:
    items = [String(mq.MQCA_Q_NAME, "SYSTEM.DEFAULT.LOCAL.QUEUE")]
    body = encode(Header(mq.MQCFT_COMMAND, mq.MQCMD_INQUIRE_Q), items, 500, big_endian=True)
    site.send(0, body=body, encoding=mq.MQENC_INTEGER_NORMAL | 0x110, ccsid=500)
    message, reply = site.reply()
    assert reply.header.reason == 0
    assert reply.parameters[0] == items[0]
    assert message.encoding == mq.MQENC_NATIVE


def test_a_code_page_that_nobody_knows_is_refused(site: Site) -> None:
    body = encode(Header(mq.MQCFT_COMMAND, mq.MQCMD_INQUIRE_Q), [String(mq.MQCA_Q_NAME, "A")])
    site.send(0, body=body, ccsid=4711)
    assert site.reply()[1].header.reason == mq.MQRCCF_CCSID_ERROR


@pytest.mark.parametrize("body", [b"", b"rubbish", bytes(36), b"\xff" * 500])
def test_rubbish_is_refused_and_the_server_goes_on(site: Site, body: bytes) -> None:
    site.send(0, body=body)
    assert site.reply()[1].header.completion == mq.MQCC_FAILED
    site.send(0, body=body, format="MQSTR")
    assert site.reply()[1].header.reason == mq.MQRCCF_MD_FORMAT_ERROR
    assert site.ask(mq.MQCMD_PING_Q_MGR).header.reason == 0


def test_datagrams_are_answered_only_when_they_ask(site: Site) -> None:
    site.send(mq.MQCMD_PING_Q_MGR, message_type=mq.MQMT_DATAGRAM)
    site.send(mq.MQCMD_PING_Q_MGR, message_type=mq.MQMT_DATAGRAM, report=mq.MQRO_NAN)
    site.send(mq.MQCMD_PING_Q_MGR, message_type=mq.MQMT_DATAGRAM, report=mq.MQRO_PAN)
    message, reply = site.reply()
    assert (message.message_type, message.feedback) == (mq.MQMT_REPORT, mq.MQFB_PAN)
    site.send(9999, message_type=mq.MQMT_DATAGRAM, report=mq.MQRO_PAN)
    site.send(9999, message_type=mq.MQMT_DATAGRAM, report=mq.MQRO_NAN)
    message, reply = site.reply()
    assert (message.feedback, reply.header.completion) == (mq.MQFB_NAN, mq.MQCC_FAILED)
    assert site.replies.get() is None


def test_replies_that_nobody_can_get_go_to_the_dead_letter_queue(site: Site) -> None:
    site.program.define("QLOCAL", "DEAD")
    assert site.ask(mq.MQCMD_CHANGE_Q_MGR, String(mq.MQCA_DEAD_LETTER_Q_NAME, "DEAD")).header.reason == 0
    dead = site.program.open("DEAD")
    site.send(mq.MQCMD_PING_Q_MGR, reply_to="NOWHERE")
    site.send(mq.MQCMD_PING_Q_MGR, reply_to="NOWHERE", report=mq.MQRO_DISCARD_MSG | mq.MQRO_PASS_DISCARD_AND_EXPIRY)
    assert site.ask(mq.MQCMD_PING_Q_MGR).header.reason == 0
    message = dead.get(wait=WAIT)
    assert message is not None
    assert message.format == "MQDEAD"
    assert dead.get() is None, "what may be discarded is discarded"


def test_a_full_reply_queue_is_waited_for(site: Site) -> None:
    site.program.define("QLOCAL", "SMALL", MAXDEPTH=2)
    small = site.program.open("SMALL")
    site.send(mq.MQCMD_INQUIRE_Q, String(mq.MQCA_Q_NAME, "SYSTEM.*"), reply_to="SMALL")
    controls = []
    while not controls or controls[-1] != mq.MQCFC_LAST:
        message = small.get(wait=WAIT)
        assert message is not None
        assert isinstance(message.body, bytes)
        controls.append(decode(message.body).header.control)
    assert len(controls) > 20


def test_a_full_reply_queue_that_nobody_reads_holds_nobody_up(site: Site) -> None:
    site.program.define("QLOCAL", "SMALL", MAXDEPTH=2)
    site.send(mq.MQCMD_INQUIRE_Q, String(mq.MQCA_Q_NAME, "SYSTEM.*"), reply_to="SMALL")
    assert site.ask(mq.MQCMD_PING_Q_MGR).header.reason == 0
    assert site.program.display("QLOCAL", "SMALL", "CURDEPTH")[0]["CURDEPTH"] == 2


def test_a_reply_that_is_too_long_for_its_queue(site: Site) -> None:
    site.program.define("QLOCAL", "SHORT", MAXMSGL=100)
    short = site.program.open("SHORT")
    site.send(mq.MQCMD_INQUIRE_Q_NAMES, String(mq.MQCA_Q_NAME, "*"), reply_to="SHORT")
    message = short.get(wait=WAIT)
    assert message is not None
    assert isinstance(message.body, bytes)
    header = decode(message.body).header
    assert (header.completion, header.reason) == (mq.MQCC_FAILED, mq.MQRC_MSG_TOO_BIG_FOR_Q)
    assert header.control == mq.MQCFC_LAST


def test_a_persistent_command_is_tried_again(site: Site) -> None:
    site.failures = 2
    site.send(mq.MQCMD_PING_Q_MGR, persistent=True)
    assert site.reply()[1].header.reason == 0
    assert len(site.users) == 3


def test_a_command_that_never_works_is_given_up(site: Site) -> None:
    site.program.define("QLOCAL", "DEAD")
    assert site.ask(mq.MQCMD_CHANGE_Q_MGR, String(mq.MQCA_DEAD_LETTER_Q_NAME, "DEAD")).header.reason == 0
    site.failures = 3
    site.send(mq.MQCMD_PING_Q_MGR, persistent=True)
    message = site.program.open("DEAD").get(wait=WAIT)
    assert message is not None
    assert message.format == "MQDEAD"
    assert site.ask(mq.MQCMD_PING_Q_MGR).header.reason == 0


def test_any_text_is_kept(site: Site) -> None:
    text = "\u017elu\u0165ou\u010dk\u00fd k\u016f\u0148"
    name = String(mq.MQCA_Q_NAME, "HORSE")
    made = site.ask(mq.MQCMD_CREATE_Q, name, Integer(mq.MQIA_Q_TYPE, mq.MQQT_LOCAL), String(mq.MQCA_Q_DESC, text))
    assert made.header.reason == 0
    found = site.ask(mq.MQCMD_INQUIRE_Q, name)
    assert String(mq.MQCA_Q_DESC, text) in found.parameters


def test_it_is_stopped_and_started(site: Site) -> None:
    assert not site.server.start(), "it runs already"
    assert site.server.stop()
    assert site.server.status == "STOPPED"
    assert not site.server.stop()
    site.send(mq.MQCMD_PING_Q_MGR)
    assert site.replies.get() is None
    assert site.server.start()
    assert site.reply()[1].header.reason == 0
    assert site.server.status == "RUNNING"


def test_a_queue_that_cannot_be_read_for_a_while(site: Site) -> None:
    site.program.alter("QLOCAL", COMMANDS, GET="DISABLED")
    site.send(mq.MQCMD_PING_Q_MGR)
    assert site.replies.get() is None
    site.program.alter("QLOCAL", COMMANDS, GET="ENABLED")
    assert site.reply()[1].header.reason == 0


def test_it_ends_with_the_queue_manager(tmp_path: Path) -> None:
    for mode in ("quiesce", "immediate", "preemptive"):
        manager = QueueManager(create_queue_manager(tmp_path, f"END.{mode}", LogSection(file_pages=64)))
        manager.start()
        server = CommandServer(manager, lambda user, origin, manager=manager: ManagerCommandContext(manager))  # type: ignore[misc]
        server.start()
        manager.end(mode, WAIT)
        server.stop()
        assert server.status == "STOPPED"
        assert not [each for each in threading.enumerate() if each.name == "ostler-commands" and each.is_alive()]


def test_a_persistent_command_is_done_again_after_a_crash(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "AGAIN", LogSection(file_pages=256))
    manager = QueueManager(directory)
    manager.start()
    site = Site(manager)
    site.send(mq.MQCMD_PING_Q_MGR, persistent=True)
    manager.end("preemptive")
    manager = QueueManager(directory)
    manager.start()
    server = CommandServer(manager, lambda user, origin: ManagerCommandContext(manager))
    server.start()
    replies = ostler.connect(manager).open("REPLY")
    assert replies.get(wait=WAIT) is not None
    server.stop()
    manager.end("immediate")


def test_a_user_does_only_what_it_may(tmp_path: Path) -> None:
    objects = """
        DEFINE QLOCAL(MINE)
        DEFINE QLOCAL(THEIRS)
        SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(CONNECT)
        SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT)
        SET AUTHREC PROFILE(MINE) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT,GET,DSP)
    """
    with queue_manager("GUARDED", mqsc=objects, data=tmp_path, guarded=True) as running:
        program = ostler.connect("GUARDED", user="ann", data=tmp_path)
        mine = program.open("MINE", "r")

        def ask(reply_to: str, command: int, *items: Parameter) -> None:
            body = encode(Header(mq.MQCFT_COMMAND, command), items)
            program.put(COMMANDS, body, format="MQADMIN", message_type=mq.MQMT_REQUEST, reply_to=reply_to)

        def reason() -> int:
            message = mine.get(wait=WAIT)
            assert message is not None
            assert isinstance(message.body, bytes)
            return decode(message.body).header.reason

        queue = String(mq.MQCA_Q_NAME, "NEW")
        ask("THEIRS", mq.MQCMD_PING_Q_MGR)
        ask("MINE", mq.MQCMD_PING_Q_MGR)
        assert reason() == 0
        assert "CURDEPTH(0)" in " ".join(running.mqsc("DISPLAY QLOCAL(THEIRS) CURDEPTH")), "ann may not put there"
        ask("MINE", mq.MQCMD_CREATE_Q, queue, Integer(mq.MQIA_Q_TYPE, mq.MQQT_LOCAL))
        assert reason() == mq.MQRC_NOT_AUTHORIZED
        ask("MINE", mq.MQCMD_CHANGE_Q_MGR, Integer(mq.MQIA_MAX_HANDLES, 1))
        assert reason() == mq.MQRC_NOT_AUTHORIZED
        ask("MINE", mq.MQCMD_INQUIRE_Q, String(mq.MQCA_Q_NAME, "*"))
        assert reason() == 0
        assert mine.get() is None, "of all queues ann sees one"
        program.close()


def test_it_serves_for_an_owner_without_a_name(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run with numbers that no file knows."""
    site.server.stop()

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert site.server.start()
    assert site.ask(mq.MQCMD_PING_Q_MGR).header.completion == mq.MQCC_OK


# -- it comes back by itself -------------------------------------------------------------------------------------------


def own_connection(manager: QueueManager, other_than: int = -1) -> int:
    """The number of the command server's connection, once there is one."""

    def found() -> int | None:
        with manager.lock:
            numbers = [each.number for each in manager.engine.connections.values() if each.application == APPLICATION]
        return next((number for number in numbers if number != other_than), None)

    return wait_for(found, "a connection of the command server")


def wait_for(look: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + WAIT
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"{what} did not come within {WAIT:g} seconds"
        time.sleep(0.005)
    return found


def test_it_comes_back_when_its_connection_is_broken(site: Site) -> None:
    """STOP CONN breaks it, as a fault of the queue manager would: it serves on, and the error log tells."""
    number = own_connection(site.manager)
    assert site.manager.break_connection(number)
    site.send(mq.MQCMD_PING_Q_MGR)
    assert site.reply()[1].header.reason == 0
    assert own_connection(site.manager, number) > number
    assert site.server.status == "RUNNING"
    assert [each for each in site.manager.notices if "AMQ8506E" in each and "2009" in each]


def test_a_command_under_way_is_done_again_when_the_connection_breaks(site: Site) -> None:
    """Whether it is persistent or not: nobody waits for an answer that never comes."""
    for persistent in (False, True):
        site.on_target = lambda: site.manager.break_connection(own_connection(site.manager))
        site.send(mq.MQCMD_PING_Q_MGR, persistent=persistent)
        assert site.reply()[1].header.reason == 0
    assert len(site.users) == 4


def test_a_command_that_breaks_it_each_time_is_a_dead_letter(site: Site) -> None:
    site.program.define("QLOCAL", "DEAD")
    assert site.ask(mq.MQCMD_CHANGE_Q_MGR, String(mq.MQCA_DEAD_LETTER_Q_NAME, "DEAD")).header.reason == 0
    for persistent in (False, True):
        site.failures = 1000
        site.send(mq.MQCMD_PING_Q_MGR, persistent=persistent)
        message = site.program.open("DEAD").get(wait=WAIT)
        site.failures = 0
        assert message is not None
        assert message.format == "MQDEAD"
        assert message.persistent == persistent
    assert site.ask(mq.MQCMD_PING_Q_MGR).header.reason == 0
    assert [each for each in site.manager.notices if "abandoned" in each]


def test_its_status_is_that_of_its_thread(site: Site) -> None:
    """While it waits to begin again it is STARTING, and never RUNNING without a thread."""
    own_connection(site.manager)
    site.program.alter("QLOCAL", COMMANDS, GET="DISABLED")
    wait_for(lambda: site.server.status == "STARTING" or None, "CMDSERV(STARTING)")
    site.program.alter("QLOCAL", COMMANDS, GET="ENABLED")
    wait_for(lambda: site.server.status == "RUNNING" or None, "CMDSERV(RUNNING)")
    site.manager.fail("a test")
    wait_for(lambda: site.server.status == "STOPPED" or None, "CMDSERV(STOPPED)")
