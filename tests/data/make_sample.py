"""Makes a sample directory of a queue manager, as the release whose sources are on the path writes it.

    PYTHONPATH=src python tests/data/make_sample.py killed tests/data/format-2-killed.tar.xz
    PYTHONPATH=src python tests/data/make_sample.py ended  tests/data/format-2-ended.tar.xz

The samples of every format version are kept: `tests/server/storage/test_disk_formats.py` starts each of them and
expects the state that the story below tells. Make new ones when a format changes, and never make an old one again.
"""

from __future__ import annotations

import lzma
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

NAME = "SAMPLE"
BODIES = [f"before the checkpoint {number}" for number in range(8)] + [f"behind it {number}" for number in range(8)]
XID = b"sample prepared unit"


def live(root: Path, ending: str) -> None:
    """One life of the sample: made, filled, and then ended in order or killed."""
    import ostler
    from ostler.engine.syncpoint import prepare
    from ostler.server.config.qm_ini import LogSection

    log = LogSection(primary_files=2, secondary_files=1, file_pages=64)
    manager = ostler.start(NAME, data=root, create=True, log=log, progress=False)
    qm = ostler.connect(NAME, data=root)
    qm.define("QLOCAL", "ORDERS", MAXDEPTH=1000, DEFPSIST="YES")
    qm.define("QLOCAL", "INVOICES", DEFPSIST="YES")
    qm.define("QLOCAL", "PREPARED", DEFPSIST="YES")
    qm.define("QLOCAL", "KEPT", NPMCLASS="HIGH")
    qm.define("QLOCAL", "DELETED", DEFPSIST="YES")
    qm.define("TOPIC", "PRICES", TOPICSTR="prices")
    qm.subscribe("prices/#", durable=True, name="SAMPLE.SUB").close()
    qm.put("DELETED", "not to come back", persistent=True)
    for text in BODIES[:8]:
        qm.put("ORDERS", text, persistent=True, properties={"number": 7})
    manager.checkpoint()
    qm.delete("QLOCAL", "DELETED", purge=True)
    for text in BODIES[8:]:
        qm.put("ORDERS", text, persistent=True)
    with qm.open("ORDERS", "r") as orders:
        for _ in range(2):
            assert orders.get() is not None
    qm.publish("prices/hay", "12", persistent=True, retain=True)
    qm.put("KEPT", "not persistent", persistent=False)
    qm.put("INVOICES", "long " * 4000, persistent=True)
    _leave_prepared(manager, ostler.connect(NAME, data=root), prepare)
    other = ostler.connect(NAME, data=root)
    block = other.transaction()
    block.__enter__()
    other.put("INVOICES", "never committed", persistent=True)
    with manager.lock:
        lsn = manager.log.end_lsn()
    manager.writer.wait_durable(lsn)
    if ending == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    manager.end("immediate")


def _leave_prepared(manager, connection, prepare) -> None:
    """A unit of work with one put, prepared, and without its application."""
    connection.transaction().__enter__()
    connection.put("PREPARED", "in doubt", persistent=True)
    with manager.lock:
        engine = manager.engine
        owner = next(each for each in engine.connections.values() if each.unit_of_work is not None)
        lsn = prepare(engine, owner.unit_of_work, XID)
        owner.unit_of_work = None
    manager.writer.wait_durable(lsn)


def pack(root: Path, target: Path) -> None:
    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (entry.isfile() or entry.isdir()):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        return entry

    with lzma.open(target, "wb", preset=9) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(root / "qmgrs" / NAME, f"qmgrs/{NAME}", filter=anonymous)


def main() -> None:
    ending, target = sys.argv[1:3]
    if len(sys.argv) > 3:
        live(Path(sys.argv[3]), ending)
        return
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([sys.executable, __file__, ending, target, scratch], check=False)
        assert done.returncode == (-signal.SIGKILL if ending == "killed" else 0), done.returncode
        pack(Path(scratch), Path(target))


if __name__ == "__main__":
    main()
