"""The password file: users, salted scrypt hashes and groups.

    ostler-passwords 1
    # a comment
    app:$scrypt$ln=14,r=8,p=1$<salt>$<hash>:
    admin:$scrypt$ln=14,r=8,p=1$<salt>$<hash>:mqm,operators
    monitor:*:watchers

Each hash has its own parameters, so that they can be raised later and old hashes remain valid. `*` is a user without
a password: it has groups, but password authentication fails. This module neither reads files nor makes salt.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final, final

VERSION_LINE: Final = "ostler-passwords 1"
NO_PASSWORD: Final = "*"
FILE_BYTES_MAX: Final = 32 << 20
USERS_MAX: Final = 100_000
NAME_BYTES_MAX: Final = 64
GROUPS_MAX: Final = 256
PASSWORD_BYTES_MAX: Final = 256
SALT_BYTES: Final = 16

_VERSION_WORD: Final = "ostler-passwords"
_HASH_BYTES: Final = 32
_COST_LOG2: Final = 14
_BLOCK: Final = 8
_PARALLEL: Final = 1
_ENCODED_CHARACTERS_MAX: Final = 512
_LINE_CHARACTERS_MAX: Final = 1024 + GROUPS_MAX * (NAME_BYTES_MAX + 1)
# Limits of parameters in a file: more would let one line exhaust memory and time.
_COST_LOG2_MIN: Final = 10
_COST_LOG2_MAX: Final = 17
_BLOCK_MAX: Final = 16
_PARALLEL_MAX: Final = 4
_MEMORY_BYTES_MAX: Final = 128 << 20
_SALT_BYTES_MIN: Final = 8
_SALT_BYTES_MAX: Final = 64


class PasswordFileError(Exception):
    """The text is no valid password file. `line` counts from 1; 0 for the file as a whole."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.line = line
        self.problem = problem


@final
class PasswordHash:
    """A scrypt hash with its parameters and salt."""

    def __init__(self, cost_log2: int, block: int, parallel: int, salt: bytes, digest: bytes) -> None:
        self.cost_log2: int = cost_log2
        self.block: int = block
        self.parallel: int = parallel
        self.salt: bytes = salt
        self.digest: bytes = digest

    def __repr__(self) -> str:
        return f"<PasswordHash scrypt ln={self.cost_log2}>"

    def encode(self) -> str:
        parameters = f"ln={self.cost_log2},r={self.block},p={self.parallel}"
        return f"$scrypt${parameters}${_to_text(self.salt)}${_to_text(self.digest)}"


@final
class UserEntry:
    """One user of the file. `hash` is None for a user without a password."""

    def __init__(self, name: str, hash: PasswordHash | None, groups: tuple[str, ...]) -> None:
        self.name: str = name
        self.hash: PasswordHash | None = hash
        self.groups: tuple[str, ...] = groups

    def line(self) -> str:
        return f"{self.name}:{self.hash.encode() if self.hash else NO_PASSWORD}:{','.join(self.groups)}"


# -- hashes ------------------------------------------------------------------------------------------------------------


def hash_password(password: str, salt: bytes) -> PasswordHash:
    """Hash a password. The salt must be new each time, from a cryptographic source."""
    if len(salt) < _SALT_BYTES_MIN:
        raise ValueError(f"a salt of {len(salt)} bytes is too short")
    problem = password_problem(password)
    if problem:
        raise ValueError(problem)
    digest = _scrypt(password, salt, _COST_LOG2, _BLOCK, _PARALLEL, _HASH_BYTES)
    return PasswordHash(_COST_LOG2, _BLOCK, _PARALLEL, salt, digest)


def verify(kept: PasswordHash, password: str) -> bool:
    """Return whether a password is correct, in constant time."""
    if password_problem(password):
        # It cannot be correct, but must cost as much as a wrong password.
        _recompute(kept, "?")
        return False
    return hmac.compare_digest(_recompute(kept, password), kept.digest)


def verify_unknown_user(like: PasswordHash | None, password: str) -> bool:
    """Return False after the time of a wrong password, so that timing does not reveal which users exist."""
    if like is None:
        like = PasswordHash(_COST_LOG2, _BLOCK, _PARALLEL, bytes(SALT_BYTES), bytes(_HASH_BYTES))
    verify(like, password)
    return False


def password_problem(password: str) -> str:
    """Return why a text cannot be a password; empty if it can."""
    if not password:
        return "a password cannot be empty"
    if "\0" in password or "\n" in password or "\r" in password:
        return "a password cannot have line breaks or null characters in it"
    try:
        size = len(password.encode("utf-8"))
    except UnicodeEncodeError:
        return "a password must be text"
    if size > PASSWORD_BYTES_MAX:
        return f"a password has at most {PASSWORD_BYTES_MAX} bytes"
    return ""


def decode_hash(text: str) -> PasswordHash:
    """Decode a hash. Raises ValueError for anything else, and for parameters beyond the limits."""
    parts = text.split("$") if len(text) <= _ENCODED_CHARACTERS_MAX else []
    if len(parts) != 5 or parts[0] or parts[1] != "scrypt":
        raise ValueError("the hash is not of the form $scrypt$ln=14,r=8,p=1$salt$hash")
    cost_log2, block, parallel = _parameters(parts[2])
    salt = _from_text(parts[3])
    digest = _from_text(parts[4])
    if not _SALT_BYTES_MIN <= len(salt) <= _SALT_BYTES_MAX:
        raise ValueError(f"the salt has {len(salt)} bytes; {_SALT_BYTES_MIN} to {_SALT_BYTES_MAX} are allowed")
    if len(digest) != _HASH_BYTES:
        raise ValueError(f"the hash has {len(digest)} bytes, not {_HASH_BYTES}")
    return PasswordHash(cost_log2, block, parallel, salt, digest)


def _parameters(text: str) -> tuple[int, int, int]:
    found: list[int] = []
    for part, name in zip(text.split(","), ("ln=", "r=", "p="), strict=False):
        digits = part.removeprefix(name)
        if not part.startswith(name) or not digits.isascii() or not digits.isdigit() or len(digits) > 3:
            break
        found.append(int(digits))
    if len(found) != 3 or text.count(",") != 2:
        raise ValueError("the parameters of the hash are not of the form ln=14,r=8,p=1")
    cost_log2, block, parallel = found
    is_allowed = (
        _COST_LOG2_MIN <= cost_log2 <= _COST_LOG2_MAX
        and 1 <= block <= _BLOCK_MAX
        and 1 <= parallel <= _PARALLEL_MAX
        and 128 * block << cost_log2 <= _MEMORY_BYTES_MAX
    )
    if not is_allowed:
        raise ValueError(
            f"the parameters {text} of the hash are not allowed: ln from {_COST_LOG2_MIN} to {_COST_LOG2_MAX}, r to "
            f"{_BLOCK_MAX}, p to {_PARALLEL_MAX}, and {_MEMORY_BYTES_MAX >> 20} MB together"
        )
    return cost_log2, block, parallel


def _recompute(kept: PasswordHash, password: str) -> bytes:
    return _scrypt(password, kept.salt, kept.cost_log2, kept.block, kept.parallel, len(kept.digest))


def _scrypt(password: str, salt: bytes, cost_log2: int, block: int, parallel: int, size: int) -> bytes:
    cost = 1 << cost_log2
    # OpenSSL also counts its working blocks; the limit is its own computation with a margin.
    memory = 128 * block * (cost + parallel + 2) + (1 << 20)
    return hashlib.scrypt(password.encode("utf-8"), salt=salt, n=cost, r=block, p=parallel, maxmem=memory, dklen=size)


def _to_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii").rstrip("=")


def _from_text(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the salt or the hash is not base64") from None


# -- the file ----------------------------------------------------------------------------------------------------------


def name_problem(name: str) -> str:
    """Return why a text cannot be the name of a user or group; empty if it can."""
    if not name:
        return "a name cannot be empty"
    if len(name) > NAME_BYTES_MAX or len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
        return f"a name has at most {NAME_BYTES_MAX} bytes"
    if not name.isprintable() or name.startswith(("#", "*")) or ":" in name or "," in name or " " in name:
        return "a name has no blanks, colons, commas or control characters, and does not begin with # or *"
    return ""


@final
class PasswordFile:
    """Users by name, in the order of the file, with its comments."""

    def __init__(self) -> None:
        self.users: dict[str, UserEntry] = {}
        # Comments and empty lines as they are, and the names of users.
        self._layout: list[str] = []

    def set_user(self, entry: UserEntry) -> None:
        """Add or replace a user. Raises ValueError if it is invalid."""
        for name in (entry.name, *entry.groups):
            problem = name_problem(name)
            if problem:
                raise ValueError(f"{name!r}: {problem}")
        if len(entry.groups) > GROUPS_MAX:
            raise ValueError(f"a user has at most {GROUPS_MAX} groups")
        if entry.name not in self.users:
            if len(self.users) >= USERS_MAX:
                raise ValueError(f"there are at most {USERS_MAX} users")
            self._layout.append(entry.name)
        self.users[entry.name] = entry

    def delete_user(self, name: str) -> bool:
        """Delete a user; returns False if there was none."""
        if name not in self.users:
            return False
        del self.users[name]
        self._layout.remove(name)
        return True

    def keep_comment(self, line: str) -> None:
        self._layout.append(line)

    def text(self) -> str:
        """Return the text of the file; `parse` reads it back."""
        lines = [VERSION_LINE]
        for item in self._layout:
            is_comment = not item or item.startswith("#")
            lines.append(item if is_comment else self.users[item].line())
        return "\n".join(lines) + "\n"

    def any_hash(self) -> PasswordHash | None:
        """Return a hash with the usual parameters, for `verify_unknown_user`."""
        for entry in self.users.values():
            if entry.hash is not None:
                return entry.hash
        return None


def parse(data: bytes) -> PasswordFile:
    """Parse a file. Raises PasswordFileError, which names the line but never shows its content."""
    if len(data) > FILE_BYTES_MAX:
        raise PasswordFileError(0, f"the file has more than {FILE_BYTES_MAX >> 20} MB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PasswordFileError(data.count(b"\n", 0, error.start) + 1, "it is not UTF-8 text") from None
    file = PasswordFile()
    is_versioned = False
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, raw in enumerate(lines, 1):
        line = raw.removesuffix("\r")
        if len(line) > _LINE_CHARACTERS_MAX:
            raise PasswordFileError(number, "it is too long")
        comment = line.strip()
        if not comment or comment.startswith("#"):
            file.keep_comment(comment)
        elif is_versioned:
            _parse_line(file, number, line)
        elif line.strip() == VERSION_LINE:
            is_versioned = True
        elif line.startswith(_VERSION_WORD):
            raise PasswordFileError(number, f"this release reads files that begin with {VERSION_LINE!r}")
        else:
            raise PasswordFileError(number, f"a password file begins with {VERSION_LINE!r}")
    return file


def _parse_line(file: PasswordFile, number: int, line: str) -> None:
    parts = line.split(":")
    if len(parts) != 3:
        raise PasswordFileError(number, "it is not of the form user:hash:groups")
    name = parts[0]
    if name in file.users:
        raise PasswordFileError(number, f"user {name} occurs twice")
    groups = tuple([group for group in parts[2].split(",") if group])
    try:
        kept = None if parts[1] == NO_PASSWORD else decode_hash(parts[1])
        file.set_user(UserEntry(name, kept, groups))
    except ValueError as error:
        raise PasswordFileError(number, str(error)) from None
