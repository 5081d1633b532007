"""Directories of queue managers as earlier releases wrote them, and as this one does: each starts with all it had."""

from __future__ import annotations

import struct
import tarfile
import zlib
from pathlib import Path

import pytest
from tests.data.make_sample import BODIES, NAME, XID

import ostler
from ostler.engine.recovery.snapshot import FormatNewer
from ostler.engine.unit_of_work import PREPARED
from ostler.log import LogNewer
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.daemon import start_failure
from ostler.server.queue_manager import QueueManager

DATA = Path(__file__).parents[2] / "data"
SAMPLES = sorted(path.name.removesuffix(".tar.xz") for path in DATA.glob("format-*.tar.xz"))
NEWEST = 2


def unpacked(sample: str, root: Path) -> QueueManagerDirectory:
    with tarfile.open(DATA / f"{sample}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    return QueueManagerDirectory(root, NAME)


def test_there_are_samples_of_every_format() -> None:
    assert [f"format-{n}-{end}" for n in range(1, NEWEST + 1) for end in ("ended", "killed")] == SAMPLES


def check_content(manager: QueueManager, sample: str, life: int) -> None:
    engine = manager.engine
    assert [queue.name for queue in engine.queues_by_id.values() if queue.damaged] == []
    assert "DELETED" not in engine.queues
    units = [unit for unit in engine.units_of_work.values() if unit.state == PREPARED]
    assert [unit.xid for unit in units] == [XID]
    with ostler.connect(manager) as qm:
        with qm.open("ORDERS", "r") as orders:
            found = list(orders.browse())
        assert [message.text for message in found] == BODIES[2:]
        assert found[0].properties["number"] == 7
        with qm.open("INVOICES", "r") as invoices:
            assert [message.text for message in invoices.browse()] == ["long " * 4000]
        with qm.open("KEPT", "r") as kept:
            texts = [message.text for message in kept.browse()]
        assert texts == (["not persistent"] if sample.endswith("ended") and life == 1 else []) or life > 1
        with qm.subscribe("prices/hay", durable=False) as fresh:
            retained = fresh.get(wait=5)
            assert retained is not None
            assert retained.text == "12"
        assert len(qm.display("SUB", "SAMPLE.SUB")) == 1
    managed = [queue.depth for queue in engine.queues.values() if queue.name.startswith("SYSTEM.MANAGED.DURABLE.")]
    assert managed == [1]


@pytest.mark.parametrize("ending", ["immediate", "preemptive"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_directory_of_each_release_starts_with_all_it_had(tmp_path: Path, sample: str, ending: str) -> None:
    directory = unpacked(sample, tmp_path)
    for life in (1, 2, 3):
        manager = QueueManager(directory)
        manager.start()
        try:
            assert not any("AMQ7237W" in notice for notice in manager.notices)
            check_content(manager, sample, life)
            assert (directory.path / "instance").exists()
            if life == 2:
                manager.checkpoint()
        finally:
            manager.end(ending)
    # All that the start of a newer release reads first is in the newest format now.
    assert version(directory.path / "objects") == NEWEST
    assert version(directory.path / "checkpoint") == NEWEST
    assert struct.unpack_from("<I", (directory.path / "log/amqhlctl.lfh").read_bytes(), 8) == (NEWEST,)


def version(path: Path) -> int:
    found: int = struct.unpack_from("<q", path.read_bytes(), 8)[0]
    return found


def raise_version(path: Path, version: int) -> None:
    data = bytearray(path.read_bytes())
    if path.name == "amqhlctl.lfh":
        for page in range(4):
            struct.pack_into("<I", data, page * 4096 + 8, version)
    elif path.name.endswith(".LOG"):
        struct.pack_into("<I", data, 8, version)
        struct.pack_into("<I", data, 40, zlib.crc32(data[:40]))
    else:
        struct.pack_into("<q", data, 8, version)
        if path.name == "slots":
            struct.pack_into("<q", data, 64, zlib.crc32(data[72:], zlib.crc32(data[:64])))
        else:
            struct.pack_into("<q", data, len(data) - 8, zlib.crc32(data[:-8]))
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("file", "known"),
    [
        ("instance", 3),  # 3: of a member of a queue-sharing group
        ("checkpoint", 2),
        ("objects", 2),
        ("queues/ORDERS.49/slots", 2),
        ("log/amqhlctl.lfh", 2),
        ("log/active/S0000000.LOG", 1),
    ],
)
def test_a_newer_format_is_refused_with_both_numbers_and_nothing_changes(tmp_path: Path, file: str, known: int) -> None:
    directory = unpacked("format-2-killed", tmp_path)
    raise_version(directory.path / file, known + 1)
    before = contents(directory.path)
    with pytest.raises((FormatNewer, LogNewer)) as refused:
        QueueManager(directory).start()
    failure = start_failure(NAME, refused.value)
    assert failure.text.startswith("AMQ7204E: ")
    assert Path(file).name in failure.text
    assert f"format version {known + 1}" in failure.text
    assert f"reads up to {known}." in failure.text
    assert contents(directory.path) == before


def contents(path: Path) -> dict[str, bytes]:
    files = [each for each in sorted(path.rglob("*")) if each.is_file() and each.name != "qm.lock"]
    return {str(each.relative_to(path)): each.read_bytes() for each in files}
