"""fmtsmds: a data set that is formatted before its queue manager uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.cli.framework.exit_statuses import Status
from ostler.cli.main import main
from ostler.server.config.qm_ini import LogSection, QueueManagerIni
from ostler.server.coupling.data_sets.data_set_file import open_data_set
from ostler.server.queue_manager import create_queue_manager

FORMAT = ("fmtsmds", "--size", "4M", "--block", "64K", "QM1", "APP1", "QSG1.*.APP1")


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = create_queue_manager(tmp_path, "QM1", LogSection(primary_files=3, secondary_files=2, file_pages=256))
    ini = QueueManagerIni.read(directory.ini)
    group = [("Name", "QSG1"), ("Facility", str(tmp_path / "cf.sock")), ("MemberNumber", "7")]
    ini.replace_stanzas("QueueSharingGroup", [group])
    ini.write(directory.ini)
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path))
    return tmp_path


def test_a_data_set_is_formatted(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(FORMAT) == Status.DONE
    assert "AMQ7565I" in capsys.readouterr().out
    made = open_data_set(member / "groups" / "QSG1" / "QSG1.QM1.APP1", True)
    assert made is not None
    header = made.header
    made.close()
    assert (header.structure, header.owner, int(header.number), made.blocks) == ("APP1", "QM1", 7, 64)


def test_refusals(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(FORMAT) == Status.DONE
    assert main(FORMAT) == Status.UNEXPECTED
    assert "is there already" in capsys.readouterr().err
    assert main((*FORMAT[:2], "64K", *FORMAT[3:])) == Status.UNEXPECTED
    assert main((*FORMAT[:-1], "NO.ASTERISK")) == Status.UNEXPECTED
    assert main((*FORMAT[:5], "QM9", *FORMAT[6:])) == Status.DOES_NOT_EXIST
    capsys.readouterr()
