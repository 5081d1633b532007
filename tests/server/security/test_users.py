"""Users of a queue manager: real files, real hashes, and a clock that the tests turn."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import stat
import threading
from pathlib import Path

import pytest

from ostler.security.passwords import PasswordFileError, PasswordHash, UserEntry, hash_password, parse
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import write_atomically
from ostler.server.config.qm_ini import PasswordSource, QueueManagerIni, QueueManagerSettings, SecuritySection
from ostler.server.security import os_users as operating_system
from ostler.server.security.password_store import edit_passwords, password_path, read_passwords
from ostler.server.security.users import Users

ME = pwd.getpwuid(os.geteuid()).pw_name
SALT = bytes(range(16))
OS_USERS = QueueManagerSettings(security=SecuritySection(PasswordSource.OS))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    made = QueueManagerDirectory(tmp_path, "QM1")
    made.path.mkdir(parents=True)
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def users(directory: QueueManagerDirectory, clock: Clock) -> Users:
    return Users(directory, QueueManagerSettings(), clock)


def give(directory: QueueManagerDirectory, user: str, password: str | None, *groups: str) -> None:
    """Have a user in the file, with a hash that costs little."""
    kept = None
    if password is not None:
        kept = PasswordHash(10, 1, 1, SALT, hashlib.scrypt(password.encode(), salt=SALT, n=1024, r=1, p=1, dklen=32))
    with edit_passwords(directory) as passwords:
        passwords.set_user(UserEntry(user, kept, groups))


# -- passwords ---------------------------------------------------------------------------------------------------------


def test_a_password_is_right_or_not(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "app", "secret")
    assert users.check_password("os", "app", "secret") == (True, "")
    assert users.check_password("os", "app", "Secret") == (False, "the password is wrong")
    assert users.check_password("file", "app", "") == (False, "the password is wrong")
    assert not users.check_password("os", "App", "secret").ok


def test_who_is_not_there_does_not_come_in(directory: QueueManagerDirectory, users: Users) -> None:
    assert users.check_password("os", "app", "secret") == (False, "the password file has no such user")
    give(directory, "monitor", None, "watchers")
    assert users.check_password("os", "monitor", "*") == (False, "the user has no password")


def test_the_default_hash_is_checked_too(directory: QueueManagerDirectory, users: Users) -> None:
    with edit_passwords(directory) as passwords:
        passwords.set_user(UserEntry("app", hash_password("secret", SALT), ()))
    assert users.check_password("os", "app", "secret").ok
    assert not users.check_password("os", "app", "wrong").ok


def test_pam_and_os_mean_the_file_unless_the_configuration_says_so(
    directory: QueueManagerDirectory, users: Users
) -> None:
    give(directory, "app", "secret")
    assert users.check_password("pam", "app", "secret").ok
    os_users = Users(directory, OS_USERS)
    assert not os_users.check_password("os", "app", "secret").ok
    assert not os_users.check_password("pam", "app", "secret").ok
    assert os_users.check_password("file", "app", "secret").ok


def test_ldap_is_refused_and_says_so(users: Users) -> None:
    assert "LDAP is not supported" in users.check_password("ldap", "app", "secret").why


def test_an_unknown_way_is_refused(directory: QueueManagerDirectory) -> None:
    assert "'magic'" in Users(directory, OS_USERS).check_password("magic", "app", "secret").why


def test_a_new_password_holds_at_once(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "app", "secret")
    assert users.check_password("os", "app", "secret").ok
    give(directory, "app", "another")
    assert not users.check_password("os", "app", "secret").ok
    assert users.check_password("os", "app", "another").ok
    with edit_passwords(directory) as passwords:
        passwords.delete_user("app")
    assert not users.check_password("os", "app", "another").ok


def test_a_password_that_was_right_is_remembered_for_a_while(
    directory: QueueManagerDirectory, users: Users, clock: Clock
) -> None:
    """What is remembered is seen by taking the file's hash away without anybody noticing."""
    give(directory, "app", "secret")
    assert users.check_password("os", "app", "secret").ok
    users._file = parse(b"")
    assert users.check_password("os", "app", "secret").ok
    assert not users.check_password("os", "app", "wrong").ok
    clock.now += 301
    assert not users.check_password("os", "app", "secret").ok


def test_what_is_forgotten_is_checked_again(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "app", "secret")
    assert users.check_password("os", "app", "secret").ok
    users._file = parse(b"")
    users.forget()
    assert not users.check_password("os", "app", "secret").ok


def test_no_password_is_kept_in_memory(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "app", "a-very-secret-word")
    assert users.check_password("os", "app", "a-very-secret-word").ok
    assert "a-very-secret-word" not in repr([users.__dict__, users._verified])


def test_many_threads_get_the_right_answers(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "app", "secret")
    found: list[tuple[str, bool]] = []

    def ask(password: str) -> None:
        found.append((password, users.check_password("os", "app", password).ok))

    threads = [threading.Thread(target=ask, args=(password,)) for password in ("secret", "wrong") * 8]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [("secret", True)] * 8 + [("wrong", False)] * 8


# -- groups and administrators -----------------------------------------------------------------------------------------


def test_groups_come_from_the_file_and_the_system(directory: QueueManagerDirectory, users: Users) -> None:
    mine = grp.getgrgid(pwd.getpwnam(ME).pw_gid).gr_name
    give(directory, ME, None, "readers", mine)
    groups = users.groups_of(ME)
    assert mine in groups
    assert "readers" in groups
    assert len(set(groups)) == len(groups)
    assert users.groups_of("nobody-of-that-name") == ()
    assert users.groups_of("") == ()
    assert users.groups_of("a\0b") == ()


def test_groups_that_change_are_seen_soon(directory: QueueManagerDirectory, users: Users, clock: Clock) -> None:
    give(directory, "app", "secret", "readers")
    assert users.groups_of("app") == ("readers",)
    give(directory, "app", "secret", "writers")
    clock.now += 0.2
    assert users.groups_of("app") == ("writers",)
    give(directory, "app", "secret", "auditors")
    users.forget()
    assert users.groups_of("app") == ("auditors",)


def test_administrators(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "admin", "secret", "mqm")
    give(directory, "app", "secret", "users")
    for user in ("mqm", "root", ME, pwd.getpwuid(os.stat(directory.root).st_uid).pw_name, "admin"):
        assert users.is_administrator(user), user
    for user in ("app", "", "nobody-of-that-name", "MQM", "Root", "mqm "):
        assert not users.is_administrator(user), user


# -- the file ----------------------------------------------------------------------------------------------------------


def test_the_file_belongs_to_its_owner_alone(directory: QueueManagerDirectory) -> None:
    old = os.umask(0)
    try:
        give(directory, "app", "secret")
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(password_path(directory)).st_mode) == 0o600
    assert "secret" not in password_path(directory).read_text()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_may_use_lets_nobody_in(directory: QueueManagerDirectory, users: Users, mode: int) -> None:
    give(directory, "app", "secret", "mqm")
    os.chmod(password_path(directory), mode)
    check = users.check_password("os", "app", "secret")
    assert not check.ok
    assert "chmod 600" in check.why
    assert not users.is_administrator("app")
    os.chmod(password_path(directory), 0o600)
    assert users.check_password("os", "app", "secret").ok
    assert users.problem == ""


def test_a_damaged_file_lets_nobody_in(directory: QueueManagerDirectory, users: Users) -> None:
    give(directory, "app", "secret")
    path = password_path(directory)
    with open(path, "ab") as file:
        file.write(b"\xff\n")
    check = users.check_password("os", "app", "secret")
    assert not check.ok
    assert "line 3" in check.why
    assert users.problem == check.why


def test_what_is_no_file_holds_nobody_up(directory: QueueManagerDirectory, users: Users) -> None:
    os.mkfifo(password_path(directory), 0o600)
    assert "not a file" in users.check_password("os", "app", "secret").why
    password_path(directory).unlink()
    password_path(directory).mkdir(mode=0o700)
    assert not users.check_password("os", "app", "secret").ok


def test_a_change_that_fails_leaves_the_file_as_it_was(directory: QueueManagerDirectory) -> None:
    give(directory, "app", "secret")
    before = password_path(directory).read_bytes()
    with pytest.raises(ValueError, match="no blanks"), edit_passwords(directory) as passwords:
        passwords.set_user(UserEntry("other", None, ("no group",)))
    assert password_path(directory).read_bytes() == before


def test_a_damaged_file_is_not_written_over(directory: QueueManagerDirectory) -> None:
    path = password_path(directory)
    path.write_bytes(b"ostler-passwords 1\nnonsense\n")
    path.chmod(0o600)
    with pytest.raises(PasswordFileError), edit_passwords(directory):
        raise AssertionError("it was read")
    assert path.read_bytes() == b"ostler-passwords 1\nnonsense\n"


def test_those_who_change_it_take_turns(directory: QueueManagerDirectory) -> None:
    threads = [threading.Thread(target=give, args=(directory, f"u{number}", "x")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_passwords(password_path(directory))[0].users) == [f"u{number}" for number in range(8)]


# -- the operating system ----------------------------------------------------------------------------------------------


def _pam_exec() -> bool:
    """Whether there is the module that lets a program be a rule."""
    places = [
        Path(root).glob(f"{below}security/pam_exec.so")
        for root in ("/lib", "/usr/lib", "/usr/lib64")
        for below in ("", "*/")
    ]
    return any(list(place) for place in places)


needs_crypt = pytest.mark.skipif(operating_system.crypt("x", "$6$salt$") is None, reason="libcrypt is not there")


@pytest.fixture
def shadow(tmp_path: Path) -> Path:
    right = operating_system.crypt("secret", "$6$saltsalt$")
    path = tmp_path / "shadow"
    lines = [
        "root:*:19000:0:99999:7:::",
        f"app:{right}:19000:0:99999:7:::",
        f"locked:!{right}:19000:0:99999:7:::",
        "open::19000:0:99999:7:::",
        f"gone:{right}:19000:0:99999:7::19500:",
        f"old:{right}:19000:0:90:7:::",
        f"new:{right}:0:0:99999:7:::",
        f"short:{right}",
        "odd",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@needs_crypt
def test_passwords_of_the_system(shadow: Path) -> None:
    assert operating_system.check_shadow("app", "secret", shadow, 19600) == ""
    assert operating_system.check_shadow("short", "secret", shadow, 19600) == ""
    assert operating_system.check_shadow("app", "wrong", shadow, 19600) == operating_system.WRONG
    assert operating_system.check_shadow("app", "", shadow, 19600) == operating_system.WRONG
    assert operating_system.check_shadow("app", "secret\0x", shadow, 19600) == operating_system.WRONG


@needs_crypt
@pytest.mark.parametrize("user", ["root", "locked", "open", "odd", "missing", ""])
def test_accounts_without_a_password_let_nobody_in(shadow: Path, user: str) -> None:
    for password in ("secret", "", "*", "!"):
        assert operating_system.check_shadow(user, password, shadow, 19600) != ""
    if user:
        assert "no user" in operating_system.check_shadow(user, "secret", shadow, 19600)


@needs_crypt
def test_accounts_that_are_over(shadow: Path) -> None:
    assert operating_system.check_shadow("gone", "secret", shadow, 19499) == ""
    assert "account has expired" in operating_system.check_shadow("gone", "secret", shadow, 19500)
    assert operating_system.check_shadow("old", "secret", shadow, 19090) == ""
    assert "password has expired" in operating_system.check_shadow("old", "secret", shadow, 19091)
    assert "must be changed" in operating_system.check_shadow("new", "secret", shadow, 19600)
    assert operating_system.check_shadow("gone", "wrong", shadow, 19600) == operating_system.WRONG


def test_shadow_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    why = operating_system.check_shadow("app", "secret", tmp_path / "shadow")
    assert "cannot be read (No such file or directory)" in why


def test_pam_says_no_to_a_wrong_password() -> None:
    why = operating_system.check_pam(ME, "certainly not the password", "login")
    assert why != ""
    assert "PAM" in why


@pytest.mark.skipif(not _pam_exec(), reason="PAM's module pam_exec is not there")
def test_pam_hands_over_the_password(tmp_path: Path) -> None:
    """A service whose rule is a program that reads the password, as real modules do."""
    program = tmp_path / "check"
    program.write_text(f'#!/bin/sh\ntest "$PAM_USER" = {ME} && test "$(tr -d "\\0")" = "sec ret"\n')
    program.chmod(0o700)
    rules = f"auth required pam_exec.so quiet expose_authtok {program}\naccount required pam_permit.so\n"
    (tmp_path / "ostler").write_text(rules)
    assert operating_system.check_pam(ME, "sec ret", "ostler", tmp_path) == ""
    assert "PAM service ostler reports" in operating_system.check_pam(ME, "secret", "ostler", tmp_path)
    (tmp_path / "closed").write_text(rules.replace("pam_permit", "pam_deny"))
    assert operating_system.check_pam(ME, "sec ret", "closed", tmp_path) != ""


def test_a_pam_service_that_is_not_there_says_so(tmp_path: Path) -> None:
    why = operating_system.check_pam("app", "secret", "stables", tmp_path)
    assert "PAM" in why
    assert "not there" in why or "no PAM service stables" in why
    assert operating_system.check_pam("app", "secret", "../stables", tmp_path) != ""


def test_login_stands_in_for_the_default_service(tmp_path: Path) -> None:
    assert operating_system.pam_service("ostler", tmp_path) == "login"
    (tmp_path / "ostler").write_text("auth required pam_deny.so\n")
    assert operating_system.pam_service("ostler", tmp_path) == "ostler"
    assert operating_system.pam_service("stables", tmp_path) == "stables"


# -- qm.ini ------------------------------------------------------------------------------------------------------------


def test_the_configuration_says_where_passwords_come_from() -> None:
    assert QueueManagerIni("").settings.security == SecuritySection(PasswordSource.FILE, "ostler")
    ini = QueueManagerIni("Security:\n   PasswordSource=os\n   PAMService=stables\nChannels:\n   ChlauthEarlyAdopt=N\n")
    assert ini.settings.security == SecuritySection(PasswordSource.OS, "stables")
    assert not ini.settings.channels.chlauth_early_adopt
    assert QueueManagerIni("").settings.channels.chlauth_early_adopt
    assert ini.settings.notices == ()


def test_groups_that_are_taken_away_while_the_system_is_asked_do_not_stay(
    users: Users, directory: QueueManagerDirectory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operating system may ask somebody far away; who was an administrator before is none afterwards."""
    give(directory, "app", "secret", "mqm")

    def slow(user: str) -> tuple[str, ...]:
        give(directory, "app", "secret")
        clock.now += 1
        assert not users.check_password("os", "app", "wrong").ok  # somebody else finds that the file has changed
        return ()

    monkeypatch.setattr(operating_system, "groups_of", slow)
    assert users.groups_of("app") == ("mqm",)
    monkeypatch.undo()
    assert not users.is_administrator("app")


def test_a_link_in_place_of_the_lock_leads_nowhere(directory: QueueManagerDirectory, tmp_path: Path) -> None:
    (directory.path / "passwords.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        give(directory, "app", "secret")
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_in_place_of_the_new_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "somebody's"
    target.write_text("kept")
    (tmp_path / "passwords+new").symlink_to(target)
    write_atomically(tmp_path / "passwords", b"new")
    assert target.read_text() == "kept"
    assert (tmp_path / "passwords").read_bytes() == b"new"
    assert (tmp_path / "passwords").stat().st_mode & 0o777 == 0o600
