"""runmqsc on a terminal, driven through a pseudo-terminal as a person would: keys in, what is on the screen out."""

from __future__ import annotations

import os
import pty
import select
import stat
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler.testing
from ostler.testing import RunningQueueManager

pytest.importorskip("readline")

TAB = "\t"
CONTROL_C = "\x03"
CONTROL_D = "\x04"
UP = "\x1b[A"
PROMPT = "TYPED> "
_WAIT_SECONDS = 60


class Terminal:
    """A person at the keyboard."""

    def __init__(self, data: Path, home: Path, *options: str) -> None:
        self._ours, theirs = pty.openpty()
        # Nobody's lines are wrapped in the middle of what a test looks for.
        termios.tcsetwinsize(theirs, (40, 250))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ostler.cli.main", "runmqsc", *options],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=_environment(data, home),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self.screen = ""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def see(self, text: str) -> str:
        """Wait until the text is there; what came before it, since the last time."""
        while text not in self.screen:
            ready, _, _ = select.select([self._ours], [], [], _WAIT_SECONDS)
            assert ready, f"{text!r} did not come: {self.screen!r}"
            try:
                data = os.read(self._ours, 4096)
            except OSError:
                data = b""
            assert data, f"it ended without {text!r}: {self.screen!r}"
            self.screen += data.decode(errors="replace")
        before, _, self.screen = self.screen.partition(text)
        return before

    def interrupt(self) -> None:
        """Control-C until it is heard. One that comes just before a key is waited for is noticed with the next key."""
        for _ in range(_WAIT_SECONDS):
            self.type(CONTROL_C)
            if select.select([self._ours], [], [], 1.0)[0]:
                return

    def end(self) -> int:
        """Its exit status, when all that it had to say was read."""
        while True:
            try:
                if not os.read(self._ours, 4096):
                    break
            except OSError:
                break
        return self.process.wait(_WAIT_SECONDS)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def _environment(data: Path, home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MQ", "OSTLER_", "XDG"))}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OSTLER_DATA": str(data),
        "HOME": str(home),
        "INPUTRC": os.devnull,
        "TERM": "dumb",
    }


def _take_terminal() -> None:
    """Make standard input the terminal that control keys come from."""
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    mqsc = "DEFINE QLOCAL(SOME.QUEUE)\nDEFINE QLOCAL(SOME.OTHER)\nDEFINE CHANNEL(ONLY.ONE) CHLTYPE(SVRCONN)"
    with ostler.testing.queue_manager("TYPED", mqsc=mqsc) as running:
        yield running


@pytest.fixture
def terminal(qm: RunningQueueManager, tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(qm.data, tmp_path, "TYPED")
    yield opened
    opened.close()


def test_a_session_with_help_completion_and_a_mistake(terminal: Terminal) -> None:
    terminal.see("Starting MQSC for queue manager TYPED.")
    terminal.see(PROMPT)
    terminal.type("help define qlocal maxdepth\n")
    assert "How many messages the queue may hold." in terminal.see(PROMPT)
    terminal.type(f"disp{TAB} chann{TAB}(on{TAB} chlt{TAB}\n")
    assert "   CHANNEL(ONLY.ONE)                       CHLTYPE(SVRCONN)" in terminal.see(PROMPT)
    terminal.type(f"alter qlocal(some.o{TAB} maxdepth(7) +\n")
    terminal.see("      > ")
    terminal.type(f"notri{TAB}\n")
    assert "AMQ8008I" in terminal.see(PROMPT)
    terminal.type("display qlocal(none)\n")
    assert "AMQ8147E" in terminal.see(PROMPT)
    terminal.type("end\n")
    terminal.see("3 MQSC commands read.")
    assert terminal.end() == 10


def test_control_c_gives_the_line_up_and_control_d_ends(terminal: Terminal) -> None:
    terminal.see(PROMPT)
    terminal.type("define qlocal(never) +\n")
    terminal.see("      > ")
    terminal.type("maxdepth(")
    terminal.see("maxdepth(")
    terminal.interrupt()
    terminal.see(PROMPT)
    terminal.type("display qlocal(never)\n")
    assert "AMQ8147E" in terminal.see(PROMPT)
    terminal.type(CONTROL_D)
    terminal.see("One MQSC command read.")
    assert terminal.end() == 10


def test_the_history_is_kept_for_its_owner_alone_and_without_passwords(qm: RunningQueueManager, tmp_path: Path) -> None:
    first = Terminal(qm.data, tmp_path, "TYPED")
    try:
        first.see(PROMPT)
        first.type("ping qmgr\n")
        first.see(PROMPT)
        first.type("define authinfo(x) authtype(idpwldap) ldappwd('opensesame') replace\n")
        first.see(PROMPT)
        first.type("end\n")
        assert first.end() == 0
    finally:
        first.close()
    history = tmp_path / ".local" / "state" / "ostler" / "runmqsc_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    assert "ping qmgr" in history.read_text()
    assert "opensesame" not in history.read_text()
    second = Terminal(qm.data, tmp_path, "TYPED")
    try:
        second.see(PROMPT)
        second.type(f"{UP}{UP}\n")
        assert "AMQ8415I" in second.see(PROMPT)
    finally:
        second.close()


def test_what_is_shown_can_be_given_up(terminal: Terminal) -> None:
    terminal.see(PROMPT)
    terminal.type("display queue(*) all\n")
    terminal.see("AMQ8409I")
    terminal.type(CONTROL_C)
    terminal.see(PROMPT)
    terminal.type("ping qmgr\n")
    assert "AMQ8415I" in terminal.see(PROMPT)


def test_a_terminal_shows_how_far_a_script_is_whose_report_goes_elsewhere(
    qm: RunningQueueManager, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ostler.cli.main", "runmqsc", "-e", "TYPED"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=_environment(qm.data, tmp_path),
    )
    os.close(theirs)
    assert process.stdin is not None
    assert process.stdout is not None
    shown = b""
    try:
        while b" commands" not in shown:
            process.stdin.write(b"PING QMGR\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], _WAIT_SECONDS)[0]
            assert os.read(process.stdout.fileno(), 65536), "it ended"
            if select.select([ours], [], [], 0)[0]:
                shown += os.read(ours, 4096)
        out, _ = process.communicate(timeout=_WAIT_SECONDS)
    finally:
        process.kill()
        os.close(ours)
    assert shown.startswith(b"\r")
    assert b"MQSC commands read." in out
    assert b"\r" not in out
