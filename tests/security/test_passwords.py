"""Password hashes and the password file: round trip, and rejection of hostile input."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.security.passwords import (
    FILE_BYTES_MAX,
    GROUPS_MAX,
    PasswordFile,
    PasswordFileError,
    PasswordHash,
    UserEntry,
    decode_hash,
    hash_password,
    name_problem,
    parse,
    password_problem,
    verify,
    verify_unknown_user,
)

SALT = bytes(range(16))
CHEAP = "$scrypt$ln=10,r=1,p=1$AAECAwQFBgcICQoLDA0ODw$" + "A" * 43


def cheap(password: str) -> PasswordHash:
    """Return a cheap hash, as a file may have one."""
    digest = hashlib.scrypt(password.encode(), salt=SALT, n=1024, r=1, p=1, dklen=32)
    return PasswordHash(10, 1, 1, SALT, digest)


def file_of(*lines: str) -> bytes:
    return "\n".join(["ostler-passwords 1", *lines, ""]).encode()


# -- hashes -----------------------------------------------------------------------------------------------------------


def test_a_hash_is_scrypt_with_its_parameters_and_its_salt() -> None:
    made = hash_password("secret", SALT)
    assert made.digest == hashlib.scrypt(b"secret", salt=SALT, n=2**14, r=8, p=1, dklen=32, maxmem=64 << 20)
    assert re.fullmatch(r"\$scrypt\$ln=14,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}", made.encode())
    assert "secret" not in repr(made)


def test_only_the_password_is_right() -> None:
    kept = decode_hash(hash_password("pässword", SALT).encode())
    assert verify(kept, "pässword")
    assert not verify(kept, "passwort")


@pytest.mark.parametrize("password", ["", "x" * 257, "a\0b", "a\nb", "\ud800", "ä" * 129])
def test_what_is_no_password_is_never_right(password: str) -> None:
    assert password_problem(password)
    assert not verify(cheap("?"), password)
    with pytest.raises(ValueError, match="a password"):
        hash_password(password, SALT)


def test_a_long_password_counts_to_its_end() -> None:
    kept = cheap("x" * 256)
    assert verify(kept, "x" * 256)
    assert not verify(kept, "x" * 255)


def test_a_short_salt_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        hash_password("secret", b"1234")


def test_nobody_is_never_let_in() -> None:
    assert not verify_unknown_user(None, "secret")
    assert not verify_unknown_user(cheap("secret"), "wrong")
    assert not verify_unknown_user(cheap("secret"), "secret")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "$scrypt$ln=14,r=8,p=1$AAECAwQFBgcICQoLDA0ODw",
        "$argon2$ln=14,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$" + "A" * 43,
        CHEAP.replace("ln=10", "ln=9"),
        CHEAP.replace("ln=10", "ln=31"),
        CHEAP.replace("ln=10", "ln=99999999"),
        CHEAP.replace("ln=10", "ln=-1"),
        CHEAP.replace("ln=10", "n=10"),
        CHEAP.replace("ln=10,r=1", "ln=17,r=16"),
        CHEAP.replace("r=1", "r=0"),
        CHEAP.replace("r=1", "r=17"),
        CHEAP.replace("p=1", "p=0"),
        CHEAP.replace("p=1", "p=5"),
        CHEAP.replace("p=1", "p=1,x=1"),
        CHEAP.replace(",p=1", ""),
        CHEAP.replace("AAECAwQFBgcICQoLDA0ODw", "AAEC"),
        CHEAP.replace("AAECAwQFBgcICQoLDA0ODw", "A" * 100),
        CHEAP.replace("AAECAwQFBgcICQoLDA0ODw", "????????????????"),
        CHEAP + "AAAA",
        CHEAP[:-4],
        CHEAP + "A" * 1000,
    ],
)
def test_what_is_no_hash_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"hash|salt"):
        decode_hash(text)


def test_dearer_hashes_can_be_read() -> None:
    assert decode_hash(CHEAP.replace("ln=10,r=1", "ln=17,r=8")).cost_log2 == 17


# -- the file ---------------------------------------------------------------------------------------------------------


def test_users_are_read_with_their_groups() -> None:
    read = parse(file_of("# people", f"app:{CHEAP}:", f"admin:{CHEAP}:mqm,operators", "monitor:*:watchers"))
    assert list(read.users) == ["app", "admin", "monitor"]
    assert read.users["admin"].groups == ("mqm", "operators")
    assert read.users["app"].groups == ()
    assert read.users["monitor"].hash is None
    assert read.any_hash() is read.users["app"].hash


def test_comments_stay_where_they_are() -> None:
    text = file_of("# people", f"app:{CHEAP}:", "", "# machines", "monitor:*:watchers")
    read = parse(text)
    assert read.text().encode() == text
    read.delete_user("app")
    read.set_user(UserEntry("late", cheap("x"), ("g",)))
    assert parse(read.text().encode()).text() == read.text()
    assert [line.partition(":")[0] for line in read.text().splitlines()] == [
        "ostler-passwords 1",
        "# people",
        "",
        "# machines",
        "monitor",
        "late",
    ]


def test_an_empty_file_has_no_users() -> None:
    assert parse(b"").users == {}
    assert parse(b"  # nothing\n").any_hash() is None


def test_lines_may_end_as_on_windows() -> None:
    assert list(parse(file_of("a:*:g", "b:*:").replace(b"\n", b"\r\n")).users) == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (f"app:{CHEAP}:".encode(), 1),
        (b"ostler-passwords 2\n", 1),
        (b"# people\nnonsense\n", 2),
        (file_of("app"), 2),
        (file_of("", "app:*"), 3),
        (file_of("app:*:g:h"), 2),
        (file_of("app:secret:"), 2),
        (file_of("app::"), 2),
        (file_of(":*:"), 2),
        (file_of("a b:*:"), 2),
        (file_of("a:*:g", "a:*:h"), 3),
        (file_of("a:*:g h"), 2),
        (file_of("a:*:" + ",".join(f"g{number}" for number in range(GROUPS_MAX + 1))), 2),
        (file_of("x" * 65 + ":*:"), 2),
        (file_of("x" * 100_000), 2),
        (file_of("a\0b:*:"), 2),
        (b"ostler-passwords 1\na:*:\n\xff\xfe", 3),
        (b" " * (FILE_BYTES_MAX + 1), 0),
    ],
)
def test_a_wrong_file_is_refused_by_line(data: bytes, line: int) -> None:
    with pytest.raises(PasswordFileError) as refused:
        parse(data)
    assert refused.value.line == line
    assert str(refused.value).startswith(f"line {line}: " if line else "the file")


def test_a_refusal_does_not_show_the_hash() -> None:
    with pytest.raises(PasswordFileError) as refused:
        parse(file_of("app:my plain password:"))
    assert "plain" not in str(refused.value)


def test_users_that_cannot_be_are_not_written() -> None:
    file = PasswordFile()
    for name, groups in (("a:b", ()), ("", ()), ("#a", ()), ("*", ()), ("a", ("b c",)), ("a", ("g",) * 257)):
        with pytest.raises(ValueError, match=r"a name|a user"):
            file.set_user(UserEntry(name, None, groups))
    assert file.users == {}
    assert not file.delete_user("a")


@given(st.binary(max_size=400))
def test_any_bytes_are_a_file_or_refused(data: bytes) -> None:
    for candidate in (data, b"ostler-passwords 1\n" + data):
        try:
            read = parse(candidate)
        except PasswordFileError:
            continue
        assert parse(read.text().encode()).text() == read.text()


names = st.text(min_size=1, max_size=20).filter(lambda name: not name_problem(name))


@given(st.dictionaries(names, st.lists(names, max_size=4, unique=True).map(tuple), max_size=5))
def test_what_is_written_is_read(users: dict[str, tuple[str, ...]]) -> None:
    file = PasswordFile()
    for name, groups in users.items():
        file.set_user(UserEntry(name, cheap(name), groups))
    read = parse(file.text().encode())
    assert {name: entry.groups for name, entry in read.users.items()} == users
    for name, entry in read.users.items():
        assert entry.hash is not None
        assert verify(entry.hash, name)
