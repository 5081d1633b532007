"""Side files: what a queue manager has beside its log, and every copy needs to serve as the leader did.

They are sent in sets (`model.replication.SIDE_SETS`). A set is taken whole or not at all, so that a certificate comes
with its key.

No paths of this machine and no files are known here; `server/replica/side/` has them. The leader's sets count. What
another copy had is kept beside, in case that somebody has changed it there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, final

from mypy_extensions import i64

from ostler.wire.frames import MalformedFrame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter
from ostler.wire.replica_frames import DATA_BYTES_MAX, SIDE_SET_BYTES_MAX, SideFile

FORMAT: Final = 1
FILES_MAX: Final = 1000
PATH_BYTES_MAX: Final = 512


class SideSetRefused(Exception):
    """Files that cannot be a set, or not be taken. The text gives the reason."""


@final
class SideSet:
    """Files by their path below the directory of the queue manager."""

    def __init__(self, name: str, files: dict[str, bytes]) -> None:
        """Raises SideSetRefused when they are too many or too long."""
        self.name: Final[str] = name
        self.files: Final[dict[str, bytes]] = files
        if len(files) > FILES_MAX:
            raise SideSetRefused(f"there are {len(files)} files; {FILES_MAX} can be copied")
        writer = PayloadWriter()
        writer.integer(FORMAT)
        writer.integer(len(files))
        for path in sorted(files):
            if len(path.encode()) > PATH_BYTES_MAX:
                raise SideSetRefused(f"the path {path[:60]}... is longer than {PATH_BYTES_MAX} bytes")
            writer.text(path)
            writer.integer(len(files[path]))
            writer.fixed(files[path])
        self.data: Final[bytes] = writer.getvalue()
        if len(self.data) > SIDE_SET_BYTES_MAX:
            raise SideSetRefused(f"the files have {len(self.data)} bytes; {SIDE_SET_BYTES_MAX} can be copied")
        self.digest: Final[bytes] = hashlib.sha256(self.data).digest()

    def frames(self, term: i64) -> Iterator[SideFile]:
        """Return the frames that carry the set, in order."""
        for offset in range(0, len(self.data), DATA_BYTES_MAX):
            part = self.data[offset : offset + DATA_BYTES_MAX]
            yield SideFile(term, self.name, self.digest, len(self.data), offset, part)


def decode_set(name: str, data: bytes) -> SideSet:
    """Return the set of these bytes. Raises MalformedFrame, and SideSetRefused for a format of a newer release."""
    reader = PayloadReader(data)
    version = reader.count(1 << 16)
    if version > FORMAT:
        raise SideSetRefused(f"the set has format {version}, and this release knows up to {FORMAT}")
    files: dict[str, bytes] = {}
    for _ in range(reader.count(FILES_MAX)):
        path = reader.text(PATH_BYTES_MAX)
        files[path] = reader.fixed(reader.count(SIDE_SET_BYTES_MAX))
    reader.check_end()
    return SideSet(name, files)


@final
class SideReceiver:
    """Puts the parts of sets together, for one link."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._received: i64 = 0
        self._digest = b""

    def take(self, part: SideFile) -> SideSet | None:
        """Return the set when its last part has come. Raises MalformedFrame and SideSetRefused."""
        if part.offset == 0:
            self._parts, self._received, self._digest = [], 0, part.digest
        if part.offset != self._received or part.digest != self._digest:
            raise MalformedFrame(f"a part of the {part.name} at {part.offset} came behind {self._received} bytes")
        self._parts.append(part.data)
        self._received += len(part.data)
        if self._received < part.size:
            return None
        data = b"".join(self._parts)
        self._parts, self._received = [], 0
        if hashlib.sha256(data).digest() != part.digest:
            raise MalformedFrame(f"the {part.name} have another checksum than the leader said")
        return decode_set(part.name, data)
