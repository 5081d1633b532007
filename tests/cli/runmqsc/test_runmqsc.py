"""runmqsc in its parts: scripts as they come in, the prompt, the history, and who runs the commands."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostler.testing
from ostler.cli.runmqsc.repl import history_path, holds_secret, prompt_of
from ostler.cli.runmqsc.script import NotUtf8, ScriptPart, ScriptReader, first_line, read_parts
from ostler.testing import RunningQueueManager

# -- scripts as they come in -------------------------------------------------------------------------------------------


def read(data: bytes) -> list[ScriptPart]:
    """The pieces of a script that comes through a pipe."""
    reading, writing = os.pipe()
    writer = threading.Thread(target=_write, args=(writing, data))
    writer.start()
    try:
        return [piece for pieces in read_parts(reading) for piece in pieces]
    finally:
        os.close(reading)
        writer.join()


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        pass
    finally:
        os.close(descriptor)


def test_commands_comments_and_continued_lines() -> None:
    assert read(b"* c\r\nDEFINE +\n* in between\n  QLOCAL(A)\n\nPING QMGR") == [
        ScriptPart(("* c",), None),
        ScriptPart(("DEFINE +", "* in between", "  QLOCAL(A)"), "DEFINE QLOCAL(A)"),
        ScriptPart(("",), None),
        ScriptPart(("PING QMGR",), "PING QMGR"),
    ]


def test_a_script_ends_with_end_or_in_the_middle_of_a_command() -> None:
    assert read(b"PING QMGR\nEnd ;\nPING QMGR\n")[1:] == [ScriptPart(("End ;",), None, is_end=True)]
    assert read(b"PING +\n") == [ScriptPart(("PING +",), "PING ", is_whole=False)]
    assert read(b"") == []


def test_a_byte_order_mark_is_no_part_of_a_command() -> None:
    assert read("\ufeffPING QMGR\n".encode())[0].command == "PING QMGR"


def test_what_is_not_text_is_refused_behind_what_came_before() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"PING QMGR\nDIS Q(\xff)\n")
    os.close(writing)
    found = read_parts(reading)
    assert next(found)[0].command == "PING QMGR"
    with pytest.raises(NotUtf8, match="line 2 is not UTF-8"):
        next(found)
    os.close(reading)


def test_comments_may_be_in_any_code_page() -> None:
    comment, command = read(b" * caf\xe9\nPING QMGR\n")
    assert comment.command is None
    assert comment.lines == (" * caf\ufffd",)
    assert command.command == "PING QMGR"


def test_a_command_without_end_is_given_up() -> None:
    reader = ScriptReader()
    line = "x" * 1000 + "+"
    found = [piece for _ in range(2000) for piece in reader.feed(line)]
    assert [piece.is_whole for piece in found] == [False]
    assert sum(map(len, found[0].lines)) < 1_100_000


def test_pieces_come_before_the_writer_has_said_all() -> None:
    reading, writing = os.pipe()
    found = read_parts(reading)
    os.write(writing, b"PING QMGR\nPING ")
    assert [piece.command for piece in next(found)] == ["PING QMGR"]
    os.write(writing, b"QMGR\n")
    os.close(writing)
    assert [piece.command for piece in next(found)] == ["PING QMGR"]
    os.close(reading)


def test_the_first_line_leaves_the_rest() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"secret\nPING QMGR\n")
    os.close(writing)
    assert first_line(reading) == "secret"
    assert [piece.command for pieces in read_parts(reading) for piece in pieces] == ["PING QMGR"]
    os.close(reading)


@given(st.lists(st.sampled_from(["PING QMGR", "A +", "B-", "* c", "", "  ", "x;"]), max_size=20))
def test_no_line_is_lost(lines: list[str]) -> None:
    pieces = read("".join(f"{line}\n" for line in lines).encode())
    assert [line for piece in pieces for line in piece.lines] == lines


# -- the prompt and the history ----------------------------------------------------------------------------------------


def test_the_prompt_has_inserts() -> None:
    assert prompt_of("QM1", {}) == "QM1> "
    assert prompt_of("QM1", {"MQPROMPT": "+USER+ @ +QMNAME+> ", "USER": "ann"}) == "ann @ QM1> "
    assert prompt_of("QM1", {"MQPROMPT": "+NOT_SET+ 1+1"}) == "+NOT_SET+ 1+1"


def test_the_history_is_with_the_state_of_programs() -> None:
    assert history_path({"XDG_STATE_HOME": "/state"}) == Path("/state/ostler/runmqsc_history")
    assert history_path({"HOME": "/home/ann"}) == Path("/home/ann/.local/state/ostler/runmqsc_history")


@pytest.mark.parametrize("line", ["alter authinfo(a) ldappwd('x')", "DEFINE CHANNEL(C) PASSWORD (x)"])
def test_lines_with_passwords_are_known(line: str) -> None:
    assert holds_secret(line)
    assert not holds_secret("DISPLAY AUTHINFO(*) LDAPPWD")


# -- who runs the commands ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with ostler.testing.queue_manager("MQSC", mqsc="DEFINE QLOCAL(FIRST)") as running:
        yield running


def runmqsc(
    qm: RunningQueueManager, *options: str, text: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ostler.cli.main", "runmqsc", *options],
        input=text,
        env={**_clean(), "OSTLER_DATA": str(qm.data), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _clean() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MQ", "OSTLER_"))}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


SCRIPT = "* all sorts\nDEFINE QLOCAL(Q) +\n  REPLACE\nNONSENSE QLOCAL(Q)\n\nDISPLAY QLOCAL(NONE)\nEND\nnever\n"
REPORT = """\
Starting MQSC for queue manager MQSC.
       : * all sorts
     1 : DEFINE QLOCAL(Q) +
       :   REPLACE
AMQ8006I: Ostler queue created.
     2 : NONSENSE QLOCAL(Q)
AMQ8405I: Syntax error
NONSENSE
AMQ8426I: The commands are
       :
     3 : DISPLAY QLOCAL(NONE)
AMQ8147E: Ostler object NONE not found.
       : END
3 MQSC commands read.
One command has a syntax error.
One valid MQSC command could not be processed.
""".splitlines()


def compared(out: str) -> list[str]:
    """The lines of a report, with those that are long cut off."""
    lines = [line.rstrip() for line in out.splitlines()]
    return [known if line.startswith(known) else line for line, known in zip(lines, REPORT, strict=True)]


@pytest.mark.parametrize(
    "way", [["MQSC"], ["-w", "30", "MQSC"], ["-w", "30", "-m", "MQSC", "MQSC"], ["-c"], ["-c", "-w", "30", "MQSC"]]
)
def test_the_report_is_the_same_whichever_way_commands_go(qm: RunningQueueManager, way: list[str]) -> None:
    done = runmqsc(qm, *way, text=SCRIPT, MQSERVER=qm.mqserver)
    assert done.returncode == 10, done.stderr
    assert compared(done.stdout) == REPORT


def test_checking_needs_no_queue_manager(qm: RunningQueueManager, tmp_path: Path) -> None:
    done = runmqsc(qm, "-v", text="DEFINE QLOCAL(UNDONE)\n", OSTLER_DATA=str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "The commands were verified only: nothing was done."
    assert runmqsc(qm, "-v", text="DEFINE QLOCAL(A) +\n").returncode == 10


def test_a_script_that_cannot_be_read_is_named(qm: RunningQueueManager, tmp_path: Path) -> None:
    done = runmqsc(qm, "-f", str(tmp_path / "none.mqsc"), "MQSC")
    assert (done.returncode, done.stdout) == (20, "")
    assert done.stderr == f"{tmp_path / 'none.mqsc'} cannot be read: No such file or directory.\n"
    done = runmqsc(qm, "-f", str(tmp_path), "MQSC")
    assert (done.returncode, done.stderr) == (20, "The script cannot be read: Is a directory.\n")


def test_also_an_empty_script_needs_somebody_to_run_it(qm: RunningQueueManager, tmp_path: Path) -> None:
    create = [sys.executable, "-m", "ostler.cli.main", "crtmqm", "ENDED"]
    environment = {**_clean(), "OSTLER_DATA": str(tmp_path)}
    subprocess.run(create, env=environment, capture_output=True, timeout=60, check=True)
    done = runmqsc(qm, "ENDED", text="", OSTLER_DATA=str(tmp_path))
    assert done.returncode == 20
    assert done.stderr.startswith("AMQ8146E: Queue manager ENDED is not available")


def test_the_password_is_the_first_line_of_the_input(qm: RunningQueueManager) -> None:
    done = runmqsc(qm, "-c", "-u", "ann", "-e", text="secret\nDISPLAY QMGR QMNAME\n", MQSERVER=qm.mqserver)
    assert done.returncode == 0, done.stderr
    assert "One MQSC command read." in done.stdout
    assert "secret" not in done.stdout + done.stderr


def test_nobody_answers_where_no_command_server_runs(tmp_path: Path) -> None:
    with ostler.testing.queue_manager("DEAF") as running:
        running.mqsc("STOP CMDSERV")
        done = runmqsc(running, "-w", "1", "DEAF", text="PING QMGR\n")
    assert done.returncode == 10
    assert "AMQ8416E: No answer came within 1 seconds." in done.stdout


def test_a_program_at_the_other_end_of_a_pipe_is_answered_at_once(qm: RunningQueueManager) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ostler.cli.main", "runmqsc", "-e", "MQSC"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**_clean(), "OSTLER_DATA": str(qm.data)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for number in range(3):
            process.stdin.write(f"DISPLAY QLOCAL(FIRST) MAXDEPTH\n* {number}\n".encode())
            process.stdin.flush()
            seen = b""
            while b"MAXDEPTH(5000)" not in seen:
                assert select.select([process.stdout], [], [], 30)[0], "no answer before the end of input"
                seen += os.read(process.stdout.fileno(), 4096)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert b"3 MQSC commands read." in out
    assert process.returncode == 0


def test_long_scripts_go_in_parts_and_are_numbered_throughout(qm: RunningQueueManager) -> None:
    count = 3000
    text = "".join(f"DISPLAY QLOCAL(FIRST) CURDEPTH {' ' * 40}\n" for _ in range(count))
    assert len(text) > 65_536
    done = runmqsc(qm, "MQSC", text=text)
    assert done.returncode == 0
    assert f"{count} MQSC commands read." in done.stdout
    numbers = [line.partition(" : ")[0] for line in done.stdout.splitlines() if " : DISPLAY" in line]
    assert [int(number) for number in numbers] == list(range(1, count + 1))


def test_who_is_not_let_in_is_told_so() -> None:
    with ostler.testing.queue_manager("SHUT", guarded=True) as running:
        done = runmqsc(running, "-c", "-u", "nobody", text="wrong\nPING QMGR\n", MQSERVER=running.mqserver)
    assert done.returncode == 20
    assert done.stderr.startswith("AMQ8135E: The connection was rejected: MQRC_NOT_AUTHORIZED (2035)")
    assert "wrong" not in done.stderr
