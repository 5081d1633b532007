"""Side files on real disks: what is read at the leader, and what a follower does with it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ostler.model.replication import KEYS, PASSWORDS, SETTINGS, SIDE_SETS, VARIABLES
from ostler.replica.side_files import SideSet, SideSetRefused
from ostler.security.passwords import UserEntry
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType, QueueManagerIni
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.replica.side import source as side_source
from ostler.server.replica.side.places import read_set
from ostler.server.replica.side.source import SideFileSource
from ostler.server.replica.side.store import SideFileStore
from ostler.server.security.password_store import edit_passwords, password_path, read_passwords


class Copy:
    """The directory of an instance, with its source and its store."""

    def __init__(self, root: Path, name: str, taken: tuple[str, ...] = SIDE_SETS) -> None:
        log = LogSection(type=LogType.REPLICATED, management=LogManagement.AUTOMATIC, file_pages=64)
        self.directory = create_queue_manager(root / name, "QM1", log, instance=name, wants_base=True)
        self.notes: list[str] = []
        self.source = SideFileSource(self.directory, self.notes.append)
        self.store = SideFileStore(self.directory, frozenset(taken), self.notes.append)

    def write(self, path: str, data: bytes) -> None:
        target = self.directory.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def read(self, path: str) -> bytes:
        return (self.directory.path / path).read_bytes()

    def exists(self, path: str) -> bool:
        return (self.directory.path / path).exists()

    def found(self, name: str) -> SideSet:
        made = read_set(self.directory, name)
        assert made is not None
        return made

    def add_user(self, name: str) -> None:
        with edit_passwords(self.directory) as passwords:
            passwords.set_user(UserEntry(name, None, ()))

    def users(self) -> list[str]:
        return sorted(read_passwords(password_path(self.directory))[0].users)


@pytest.fixture
def leader(tmp_path: Path) -> Copy:
    return Copy(tmp_path, "a")


@pytest.fixture
def follower(tmp_path: Path) -> Copy:
    return Copy(tmp_path, "b")


def send(leader: Copy, follower: Copy) -> None:
    for name in SIDE_SETS:
        found = read_set(leader.directory, name)
        if found is not None:
            follower.store.take(found, "a")


def test_everything_that_a_takeover_needs(leader: Copy, follower: Copy) -> None:
    leader.add_user("app")
    leader.write("ssl/key/ibmwebspheremqqm1.crt", b"certificate")
    leader.write("ssl/key/ibmwebspheremqqm1.key", b"key")
    leader.write("ssl/other.pem", b"bundle")
    leader.write("qm.env", b"MQS_REPORT_NOAUTH=TRUE\n")
    leader.write("service.env", b"WHERE=here\n")
    ini = QueueManagerIni.read(leader.directory.ini)
    ini.set_value("Channels", "MaxChannels", "77")
    ini.set_value("Security", "SecurityPolicy", "UserExternal")
    ini.write(leader.directory.ini)
    send(leader, follower)
    assert follower.users() == ["app"]
    assert follower.read("ssl/key/ibmwebspheremqqm1.key") == b"key"
    assert follower.read("ssl/other.pem") == b"bundle"
    assert follower.read("qm.env") == b"MQS_REPORT_NOAUTH=TRUE\n"
    assert follower.read("service.env") == b"WHERE=here\n"
    settings = QueueManagerIni.read(follower.directory.ini).settings
    assert settings.channels.channels_max == 77
    assert settings.security.takes_any_entity
    assert settings.replication is not None
    assert settings.replication.instance == "b"
    for path in ("passwords", "ssl/key/ibmwebspheremqqm1.key", "qm.env", "qm.ini"):
        assert stat.S_IMODE(os.stat(follower.directory.path / path).st_mode) == 0o600
    assert [note[:8] for note in follower.notes] == ["AMQ3300I"] * 4
    follower.notes.clear()
    send(leader, follower)
    assert follower.notes == [], "what is the same is not told again"
    assert not list((follower.directory.path / "side").glob("[!b]*"))


def test_what_was_there_before_is_kept(leader: Copy, follower: Copy) -> None:
    leader.write("ssl/key/a.crt", b"new")
    follower.write("ssl/key/a.crt", b"old")
    follower.write("ssl/key/mine.crt", b"mine")
    send(leader, follower)
    assert follower.read("ssl/key/a.crt") == b"new"
    assert not follower.exists("ssl/key/mine.crt")
    before = follower.directory.path / "side" / "before" / "keys" / "ssl" / "key"
    assert {each.name: each.read_bytes() for each in before.iterdir()} == {"a.crt": b"old", "mine.crt": b"mine"}
    assert f"What was here before is in {follower.directory.path}/side/before/keys" in follower.notes[0]


def test_absence_takes_nothing_away(leader: Copy, follower: Copy) -> None:
    follower.add_user("app")
    follower.write("ssl/key/a.crt", b"mine")
    follower.write("qm.env", b"MQX=1\n")
    send(leader, follower)
    assert follower.users() == ["app"]
    assert follower.exists("ssl/key/a.crt")
    assert follower.exists("qm.env")


def test_the_instance_decides_what_it_takes(leader: Copy, tmp_path: Path) -> None:
    careful = Copy(tmp_path, "c", (PASSWORDS,))
    leader.add_user("app")
    leader.write("ssl/key/a.crt", b"certificate")
    send(leader, careful)
    assert careful.users() == ["app"]
    assert not careful.exists("ssl")


def test_links_and_the_authority_stay_where_they_are(leader: Copy, follower: Copy, tmp_path: Path) -> None:
    (tmp_path / "machine.crt").write_bytes(b"of this machine")
    leader.write("ssl/ca/ca.key", b"makes certificates")
    leader.write("ssl/key/a.crt", b"certificate")
    (leader.directory.path / "ssl/key/link.crt").symlink_to(tmp_path / "machine.crt")
    follower.write("ssl/key/x", b"")
    (follower.directory.path / "ssl/key/a.crt").symlink_to(tmp_path / "machine.crt")
    send(leader, follower)
    assert list(leader.found(KEYS).files) == ["ssl/key/a.crt"]
    assert not follower.exists("ssl/ca")
    assert follower.read("ssl/key/a.crt") == b"of this machine"
    (leader.directory.path / "passwords").symlink_to(tmp_path / "machine.crt")
    assert read_set(leader.directory, PASSWORDS) is None


def test_a_set_that_was_begun_is_completed_at_the_next_start(leader: Copy, follower: Copy) -> None:
    leader.write("ssl/key/a.crt", b"new certificate")
    leader.write("ssl/key/a.key", b"new key")
    follower.write("ssl/key/a.crt", b"new certificate")  # the first file was written, and the process killed
    follower.write("ssl/key/a.key", b"old key")
    follower.write("side/keys", leader.found(KEYS).data)
    SideFileStore(follower.directory, frozenset(SIDE_SETS), follower.notes.append).complete()
    assert follower.read("ssl/key/a.key") == b"new key"
    assert not follower.exists("side/keys")
    assert follower.notes == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (KEYS, "ssl/../qm.ini"),
        (KEYS, "ssl"),
        (KEYS, "/etc/passwd"),
        (KEYS, "ssl//x"),
        (KEYS, "ssl/ca/ca.key"),
        (KEYS, "passwords"),
        (PASSWORDS, "qm.ini"),
        (VARIABLES, "ssl/key/a.key"),
        (SETTINGS, "passwords"),
    ],
)
def test_a_path_that_is_none_of_the_set_is_refused(follower: Copy, name: str, path: str) -> None:
    follower.store.take(SideSet(name, {path: b"x"}), "a")
    assert "does not belong to" in follower.notes[0]
    assert follower.notes[0].startswith("AMQ3295W")
    assert not follower.exists("side")


def test_what_cannot_be_used_is_neither_sent_nor_taken(leader: Copy, follower: Copy) -> None:
    leader.write("passwords", b"nonsense\n")
    os.chmod(leader.directory.path / "passwords", 0o600)
    ini = leader.directory.ini.read_text()
    leader.directory.ini.write_text(f"{ini}Channels:\n   MaxChannels=none\n")
    for name in (PASSWORDS, SETTINGS):
        with pytest.raises(SideSetRefused):
            read_set(leader.directory, name)
    assert [each.name for each in leader.source.current()] == []
    assert len([note for note in leader.notes if note.startswith("AMQ3295W")]) == 2
    before = follower.directory.ini.read_bytes()
    follower.add_user("app")
    follower.store.take(SideSet(PASSWORDS, {"passwords": b"nonsense\n"}), "a")
    follower.store.take(SideSet(SETTINGS, {"qm.ini": b"Channels:\n   MaxChannels=none\n"}), "a")
    assert follower.users() == ["app"]
    assert follower.directory.ini.read_bytes() == before
    assert [note[:8] for note in follower.notes] == ["AMQ3295W"] * 2
    follower.write("side/passwords", b"half of a set")
    follower.store.complete()
    assert [each.name for each in (follower.directory.path / "side").iterdir()] == ["before"]


def test_a_store_without_space_tries_again(leader: Copy, follower: Copy) -> None:
    leader.write("ssl/key/a.crt", b"certificate")
    follower.write("side", b"where a directory should be")
    send(leader, follower)
    assert any(note.startswith("AMQ3295W: The keys") for note in follower.notes)
    (follower.directory.path / "side").unlink()
    follower.store.retry()
    assert follower.read("ssl/key/a.crt") == b"certificate"


def test_a_source_sees_changes(leader: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_source, "_POLL_SECONDS", 0.0)
    assert [each.name for each in leader.source.current()] == [SETTINGS]
    leader.add_user("one")
    (first,) = [each for each in leader.source.current() if each.name == PASSWORDS]
    leader.add_user("two")
    (second,) = [each for each in leader.source.current() if each.name == PASSWORDS]
    assert first.digest != second.digest
    password_path(leader.directory).unlink()
    (kept,) = [each for each in leader.source.current() if each.name == PASSWORDS]
    assert kept.digest == second.digest, "absence is not sent"


def test_settings_are_in_force_when_an_instance_takes_over(leader: Copy, follower: Copy) -> None:
    manager = QueueManager(follower.directory)
    ini = QueueManagerIni.read(leader.directory.ini)
    ini.set_value("Channels", "MaxChannels", "5")
    ini.set_value("TuningParameters", "DefaultQBufferSize", "8192")
    ini.set_value("Log", "LogBufferPages", "100")
    ini.write(leader.directory.ini)
    send(leader, follower)
    assert manager.settings.channels.channels_max != 5
    manager.adopt_settings()
    assert manager.settings.channels.channels_max == 5
    assert manager.engine.buffer_bytes_nonpersistent == 8192
    assert manager.settings.log.buffer_pages == 0, "the log is the instance's"
    follower.directory.ini.write_text("nonsense")
    manager.adopt_settings()
    assert manager.settings.channels.channels_max == 5
    assert "AMQ7076E" in manager.notices[-1]


def test_comments_and_other_stanzas_stay(leader: Copy, follower: Copy) -> None:
    text = follower.directory.ini.read_text()
    follower.directory.ini.write_text(f"# mine\n{text}Channels:\n   MaxChannels=9\nFileSystem:\n   SizeMegabytes=50\n")
    leader.directory.ini.write_text(
        f"{leader.directory.ini.read_text()}Channels:\n   MaxChannels=8\nFileSystem:\n   SizeMegabytes=60\n"
    )
    send(leader, follower)
    changed = follower.directory.ini.read_text()
    assert changed.startswith("# mine\n")
    settings = QueueManagerIni(changed).settings
    assert (settings.channels.channels_max, settings.file_system_megabytes) == (8, 50)
    assert leader.found(SETTINGS).digest == follower.found(SETTINGS).digest
    assert isinstance(follower.directory, QueueManagerDirectory)
