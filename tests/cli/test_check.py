"""`ostler check`: what it finds in the files of queue managers, and that it changes none of them."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.data.make_sample import NAME

from ostler.cli.main import main
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory, QueueManagerRunningError, ReadingLock

DATA = Path(__file__).parents[1] / "data"
PAGE = 4096


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueueManagerDirectory:
    return unpacked("format-2-killed", tmp_path, monkeypatch)


def unpacked(sample: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> QueueManagerDirectory:
    with tarfile.open(DATA / f"{sample}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    monkeypatch.setenv("OSTLER_DATA", str(root))
    return QueueManagerDirectory(root, NAME)


class Check:
    def __init__(self, directory: QueueManagerDirectory, capsys: pytest.CaptureFixture[str]) -> None:
        before = contents(directory.path)
        self.status = main(["check", NAME, "--json"])
        assert contents(directory.path) == before
        found = json.loads(capsys.readouterr().out)
        assert found["sound"] is (self.status == 0)
        self.facts = found["facts"]
        self.damages = [(each["file"], each["what"]) for each in found["findings"] if each["severity"] == "damage"]
        self.remarks = [(each["file"], each["what"]) for each in found["findings"] if each["severity"] == "remark"]


def contents(path: Path) -> dict[str, tuple[int, bytes]]:
    files = [each for each in sorted(path.rglob("*")) if each.is_file()]
    return {str(each.relative_to(path)): (each.stat().st_mtime_ns, each.read_bytes()) for each in files}


def flip(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        old = file.read(1)
        file.seek(offset)
        file.write(bytes([old[0] ^ 0x40]))


@pytest.mark.parametrize("sample", ["format-1-killed", "format-1-ended", "format-2-killed", "format-2-ended"])
def test_sound_files_of_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sample: str
) -> None:
    check = Check(unpacked(sample, tmp_path, monkeypatch), capsys)
    assert (check.status, check.damages) == (0, [])
    assert check.facts["control file format"] == int(sample[7])
    assert check.facts["objects format"] == int(sample[7])
    assert check.facts["messages"] >= 17
    killed = [("queues/DELETED.53", "of a queue that was deleted; a start or the next checkpoint removes it")]
    left = [remark for remark in check.remarks if "RETAINED" not in remark[0]]
    assert left == (killed if sample.endswith("killed") else [])


def harm_a_message(directory: QueueManagerDirectory) -> tuple[str, str]:
    flip(directory.path / "queues/ORDERS.49/messages", 100)
    return "queues/ORDERS.49/messages", "the message at offset 0 does not match its checksum"


def lose_messages(directory: QueueManagerDirectory) -> tuple[str, str]:
    (directory.path / "queues/ORDERS.49/messages").unlink()
    return "queues/ORDERS.49/messages", "the file is missing, and 6 messages with it"


def harm_slots(directory: QueueManagerDirectory) -> tuple[str, str]:
    flip(directory.path / "queues/ORDERS.49/slots", 120)
    return "queues/ORDERS.49", "the checksum at offset 64 does not match"


def harm_instance(directory: QueueManagerDirectory) -> tuple[str, str]:
    flip(directory.path / "instance", 20)
    return "instance", "the checksum at offset 32 does not match"


def harm_both_slots_of_the_control_file(directory: QueueManagerDirectory) -> tuple[str, str]:
    for page in range(2):
        flip(directory.path / "log/amqhlctl.lfh", page * PAGE + 40)
    return "log/amqhlctl.lfh", "neither of its two slots passes its checksum"


def lose_an_extent(directory: QueueManagerDirectory) -> tuple[str, str]:
    (directory.path / "log/active/S0000001.LOG").unlink()
    return "log/active/S0000001.LOG", "damaged at offset 0: the file is missing"


@pytest.mark.parametrize(
    "harm",
    [
        harm_a_message,
        lose_messages,
        harm_slots,
        harm_instance,
        harm_both_slots_of_the_control_file,
        lose_an_extent,
    ],
)
def test_damage_is_named_with_its_place(
    directory: QueueManagerDirectory,
    capsys: pytest.CaptureFixture[str],
    harm: Callable[[QueueManagerDirectory], tuple[str, str]],
) -> None:
    file, words = harm(directory)
    if file.endswith("messages") and (directory.path / file).exists():
        # Of the first two messages the log says that they were taken: nobody will read them any more.
        assert Check(directory, capsys).status == 0
        flip(directory.path / file, 100)
        size = int.from_bytes((directory.path / file).read_bytes()[4:8], "little")
        offset = 2 * ((size + 7) // 8 * 8)
        flip(directory.path / file, offset + 100)
        words = f"the message at offset {offset} does not match its checksum"
    check = Check(directory, capsys)
    assert check.status == 132
    assert any(each[0] == file and words in each[1] for each in check.damages), check.damages


def test_what_does_no_harm_is_a_remark(directory: QueueManagerDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    flip(directory.path / "log/amqhlctl.lfh", 3 * PAGE + 30)
    (directory.path / "objects.new").write_bytes(b"half")
    (directory.path / "log/active/NEXT.TMP").write_bytes(b"half")
    (directory.path / "queues/STRAY.99").mkdir()
    with (directory.path / "log/active/S0000001.LOG").open("ab") as extent:
        extent.write(b"more")
    check = Check(directory, capsys)
    assert (check.status, check.damages) == (0, [])
    told = dict(check.remarks)
    assert told["log/amqhlctl.lfh"].startswith("one of two notes of the log's end cannot be read")
    assert told["log/active/S0000001.LOG"] == "4 bytes behind the end of the extent (offset 262144)"
    assert {"objects.new", "log/active/NEXT.TMP", "queues/STRAY.99"} <= set(told)


def test_the_lines_for_people(directory: QueueManagerDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", NAME]) == 0
    assert capsys.readouterr().out.endswith(f"The files of queue manager {NAME} are sound.\n")
    os.truncate(directory.path / "checkpoint", 80)
    assert main(["check", NAME]) == 132
    lines = capsys.readouterr().out.splitlines()
    assert "DAMAGE  checkpoint: the checksum at offset 72 does not match" in lines
    assert lines[-1].startswith(f"AMQ7084E: Files of queue manager {NAME} are damaged")


def test_when_it_cannot_look(directory: QueueManagerDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    with InstanceLock(directory):
        assert main(["check", NAME]) == 5
    assert "End it first" in capsys.readouterr().err
    assert main(["check", "NOBODY"]) == 72
    directory.ini.write_text("Log:\n   LogFilePages=many\n")
    assert main(["check", NAME]) == 71
    assert "qm.ini cannot be read" in capsys.readouterr().err


def test_nobody_can_start_it_meanwhile(directory: QueueManagerDirectory) -> None:
    with ReadingLock(directory), ReadingLock(directory), pytest.raises(QueueManagerRunningError):
        InstanceLock(directory)
    InstanceLock(directory).release()
