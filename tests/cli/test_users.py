"""`ostler users`: the password file as people and programs change it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command, Said

from ostler.security.passwords import verify
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.security.password_store import password_path, read_passwords


class Terminal(io.TextIOWrapper):
    """Standard input that may be somebody at a keyboard."""

    def __init__(self, text: str = "", is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture
def manager(ostler: Command) -> Command:
    ostler("crtmqm", "-z", *SMALL_LOG, "QM1")
    return ostler


@pytest.fixture
def given(manager: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`ostler users ...` with a password on standard input."""

    def run(password: str, *arguments: str) -> Said:
        monkeypatch.setattr(sys, "stdin", Terminal(f"{password}\n"))
        return manager("users", *arguments, "--password-stdin")

    return run


def hash_matches(directory: QueueManagerDirectory, user: str, password: str) -> bool:
    kept = read_passwords(password_path(directory))[0].users[user].hash
    assert kept is not None
    return verify(kept, password)


def test_a_user_comes_and_goes(given: Command, manager: Command, directory: QueueManagerDirectory) -> None:
    added = given("secret", "add", "QM1", "app", "--groups", "readers,writers")
    assert (added.status, added.out) == (0, "User app of queue manager QM1 added.\n")
    assert hash_matches(directory, "app", "secret")
    assert manager("users", "list", "QM1").out == "app  readers, writers\n"
    deleted = manager("users", "delete", "QM1", "app")
    assert (deleted.status, deleted.out) == (0, "User app of queue manager QM1 deleted.\n")
    assert manager("users", "list", "QM1").out == ""


def test_a_password_is_changed_and_groups_stay(
    given: Command, manager: Command, directory: QueueManagerDirectory
) -> None:
    given("secret", "add", "QM1", "app", "--groups", "readers")
    assert given("another", "set-password", "QM1", "app").status == 0
    assert hash_matches(directory, "app", "another")
    assert manager("users", "set-groups", "QM1", "app", "--groups", "writers, writers").status == 0
    assert json.loads(manager("users", "list", "QM1", "--json").out) == [
        {"user": "app", "groups": ["writers"], "password": True}
    ]
    assert hash_matches(directory, "app", "another")
    assert manager("users", "set-groups", "QM1", "app", "--groups", "").out.endswith("no groups.\n")


def test_a_user_without_a_password(given: Command, manager: Command) -> None:
    assert manager("users", "add", "QM1", "monitor", "--groups", "watchers", "--no-password").status == 0
    assert manager("users", "list", "QM1").out == "monitor  watchers  (no password)\n"
    refused = given("*", "check", "QM1", "monitor")
    assert refused.status == 119
    assert "has no password" in refused.err


def test_a_password_is_checked(given: Command) -> None:
    given("secret", "add", "QM1", "app", "--groups", "mqm")
    right = given("secret", "check", "QM1", "app")
    assert (right.status, right.out) == (
        0,
        "The password of app, who administers the queue manager, is right. Groups: mqm.\n",
    )
    wrong = given("wrong", "check", "QM1", "app")
    assert (wrong.status, wrong.out) == (119, "")
    assert wrong.err == "The password of app is rejected: the password is wrong.\n"
    assert given("secret", "check", "QM1", "nobody").status == 119


def test_the_check_follows_the_configuration(given: Command, manager: Command) -> None:
    given("secret", "add", "QM1", "app")
    wrong = manager("setmqini", "-m", "QM1", "-s", "security", "-k", "PasswordSource", "-v", "LDAP")
    assert wrong.status == 39
    assert "allowed is File, OS" in wrong.err
    for key, value in (("PasswordSource", "OS"), ("PAMService", "no-such-service")):
        assert manager("setmqini", "-m", "QM1", "-s", "Security", "-k", key, "-v", value).status == 0
    assert "PasswordSource=OS" in manager("dspmqini", "-m", "QM1", "-s", "Security").out
    assert given("secret", "check", "QM1", "app").status == 119
    assert "PAM" in given("secret", "check", "QM1", "app", "--pam").err


def test_passwords_from_a_file(manager: Command, tmp_path: Path, directory: QueueManagerDirectory) -> None:
    (tmp_path / "secret").write_text("first line\nsecond line\n")
    assert manager("users", "add", "QM1", "app", "--password-file", str(tmp_path / "secret")).status == 0
    assert hash_matches(directory, "app", "first line")
    missing = manager("users", "set-password", "QM1", "app", "--password-file", str(tmp_path / "missing"))
    assert missing.status == 39
    assert "No such file" in missing.err


def test_passwords_are_asked_for_without_being_shown(
    manager: Command, monkeypatch: pytest.MonkeyPatch, directory: QueueManagerDirectory
) -> None:
    typed = iter(["secret", "secret", "one", "two"])
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return next(typed)

    monkeypatch.setattr("getpass.getpass", answer)
    monkeypatch.setattr(sys, "stdin", Terminal(is_terminal=True))
    assert manager("users", "add", "QM1", "app").status == 0
    assert hash_matches(directory, "app", "secret")
    assert asked == ["New password of app: ", "Once more: "]
    differing = manager("users", "set-password", "QM1", "app")
    assert (differing.status, differing.err) == (39, "There is no password: the two passwords differ.\n")
    assert hash_matches(directory, "app", "secret")


def test_without_a_terminal_the_password_must_be_handed_over(manager: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("secret\n"))
    refused = manager("users", "add", "QM1", "app")
    assert refused.status == 39
    assert "--password-stdin" in refused.err


@pytest.mark.parametrize(
    ("password", "user", "status", "text"),
    [
        ("", "app", 39, "cannot be empty"),
        ("x" * 300, "app", 39, "at most 256 bytes"),
        ("secret", "a:b", 39, "no blanks, colons"),
        ("secret", "taken", 8, "has a user taken"),
    ],
)
def test_what_cannot_be_added(given: Command, password: str, user: str, status: int, text: str) -> None:
    given("secret", "add", "QM1", "taken")
    refused = given(password, "add", "QM1", user)
    assert refused.status == status
    assert text in refused.err


def test_who_is_not_there_cannot_be_changed(given: Command, manager: Command) -> None:
    for refused in (
        given("secret", "set-password", "QM1", "app"),
        manager("users", "set-groups", "QM1", "app", "--groups", "x"),
        manager("users", "delete", "QM1", "app"),
    ):
        assert refused.status == 16
        assert "has no user app" in refused.err


def test_wrong_words_have_the_status_of_wrong_options(manager: Command) -> None:
    assert manager("users").status == 39
    assert manager("users", "frobnicate").status == 39
    assert manager("users", "add", "QM1").status == 39
    assert manager("users", "list", "QM9").status == 72


def test_a_damaged_file_is_told_and_kept(given: Command, manager: Command, directory: QueueManagerDirectory) -> None:
    path = password_path(directory)
    path.write_text("ostler-passwords 1\nnonsense\n")
    os.chmod(path, 0o600)
    for refused in (given("secret", "add", "QM1", "app"), manager("users", "list", "QM1")):
        assert refused.status == 71
        assert f"{path} cannot be used: line 2: it is not of the form user:hash:groups." in refused.err
    assert path.read_text() == "ostler-passwords 1\nnonsense\n"


def test_a_program_of_its_own(program: Command, directory: QueueManagerDirectory) -> None:
    """The real program with a real pipe; the queue manager runs, and needs no word of it."""
    assert program("crtmqm", "-z", *SMALL_LOG, "QM1").status == 0
    assert program("strmqm", "-z", "QM1").status == 0
    assert program("users", "add", "QM1", "app", "--password-stdin", text="secret\n").status == 0
    assert program("users", "check", "QM1", "app", "--password-stdin", text="secret\n").status == 0
    assert program("users", "add", "QM1", "other", text="secret\n").status == 39
    assert program("endmqm", "-i", "QM1").status == 0
    assert list(read_passwords(password_path(directory))[0].users) == ["app"]
