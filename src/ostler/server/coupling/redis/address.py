"""Addresses of Redis servers, as qm.ini and commands have them.

    redis://[user[:password]@]host[:port][/database]
    rediss://...                                       with TLS
    redis+unix:///path/to/redis.sock

Options behind `?`: facility=NAME (of the keys; the group's name), password-file=PATH, database=N; for TLS ca=PATH,
cert=PATH and key=PATH.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from ostler.server.coupling.redis.redis_errors import RedisFailed

PORT: Final = 6379
_SCHEMES: Final = ("redis", "rediss", "redis+unix", "unix")
_OPTIONS: Final = {"facility", "password-file", "database", "ca", "cert", "key"}
_FACILITY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}")
_DATABASE_MAX: Final = 16_383


@dataclass(frozen=True)
class RedisAddress:
    host: str
    port: int
    path: str
    """Of a local socket; empty: host and port."""
    database: int
    user: str
    password: str
    password_file: str
    is_tls: bool
    ca: str
    certificate: str
    key: str
    facility: str
    """The name of the keys; empty: that of the group."""

    def __str__(self) -> str:
        """What people may see of it."""
        return self.path or f"{self.host}({self.port})"

    def resolved(self) -> RedisAddress:
        """Return the address with the password of its file. Raises RedisFailed if that cannot be read."""
        if not self.password_file:
            return self
        try:
            password = Path(self.password_file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RedisFailed(f"the password file {self.password_file} cannot be read: {error}") from None
        return replace(self, password=password, password_file="")

    def credentials(self) -> tuple[str, ...]:
        """Return what AUTH wants; nothing: no AUTH."""
        if not self.password:
            return ()
        return (self.user, self.password) if self.user else (self.password,)

    def tls_context(self) -> ssl.SSLContext:
        """Return the context for TLS. Raises RedisFailed if a file cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key or None)
        except (OSError, ssl.SSLError) as error:
            raise RedisFailed(f"the keys for TLS cannot be used: {error}") from None
        return context


def is_redis(text: str) -> bool:
    """Return True for an address of a Redis server."""
    return text.partition("://")[0] in _SCHEMES and "://" in text


def parse_address(text: str) -> RedisAddress:
    """Return the address in a text. Raises ValueError, which tells what is wrong."""
    try:
        parts = urlsplit(text)
        port = parts.port
        host = parts.hostname or ""
    except ValueError as error:
        raise ValueError(f"no address: {error}") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise ValueError(f"unknown option {unknown[0]}; there are {', '.join(sorted(_OPTIONS))}")
    is_local = parts.scheme in ("redis+unix", "unix")
    if parts.scheme not in _SCHEMES or (is_local and (not parts.path or host)) or (not is_local and not host):
        raise ValueError("it is like redis://host:6379, rediss://host:6379 or redis+unix:///path/to/redis.sock")
    database = options.get("database", "" if is_local else parts.path.strip("/")) or "0"
    if not database.isdigit() or int(database) > _DATABASE_MAX:
        raise ValueError(f"{database} is no number of a database")
    facility = options.get("facility", "")
    if facility and not _FACILITY.fullmatch(facility):
        raise ValueError(f"{facility!r} is no name of a facility: 1 to 16 letters, digits, '.', '_' and '-'")
    return RedisAddress(
        host=host,
        port=port if port is not None else PORT,
        path=unquote(parts.path) if is_local else "",
        database=int(database),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        password_file=options.get("password-file", ""),
        is_tls=parts.scheme == "rediss",
        ca=options.get("ca", ""),
        certificate=options.get("cert", ""),
        key=options.get("key", ""),
        facility=facility,
    )
