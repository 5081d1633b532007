"""What a server tells of itself, and whether shared queues may be on it.

It must never evict keys, and it should write an append-only file. Eviction would take messages away without a word; a
server without the file has lost all when it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.server.coupling.redis.commands import pack
from ostler.server.coupling.redis.redis_errors import RedisUnsuitable

VERSION_MIN: Final = (6, 2)
INFO: Final = pack("INFO")
ASK_FORCES: Final = pack("CONFIG", "GET", "appendfsync")
"""May be forbidden; then we take it that the last second can be lost."""


@dataclass(frozen=True)
class ServerFacts:
    version: str
    run_id: str
    policy: str
    is_append_only: bool
    is_primary: bool
    is_cluster: bool
    forces_always: bool

    def check(self) -> None:
        """Raise RedisUnsuitable if messages could be lost, or scripts not run."""
        numbers = tuple(int(part) for part in self.version.split(".")[:2] if part.isdigit())
        if numbers < VERSION_MIN:
            raise RedisUnsuitable(f"the server has version {self.version}, and 6.2 or newer is needed")
        if self.is_cluster:
            raise RedisUnsuitable("the server is part of a cluster, and a facility needs one of its own")
        if not self.is_primary:
            raise RedisUnsuitable("the server is a replica: use its primary")
        if self.policy != "noeviction":
            raise RedisUnsuitable(
                f"the server may drop messages when its memory is full (maxmemory-policy {self.policy}). Set "
                "maxmemory-policy noeviction"
            )

    @property
    def warning(self) -> str:
        """What the operator should know; empty: nothing."""
        if self.is_append_only:
            return ""
        return (
            "The server writes no append-only file: when it ends, all structures are lost. Set appendonly yes, and "
            "appendfsync everysec or always"
        )


def read_facts(info: bytes, forces: object) -> ServerFacts:
    """Return the facts in the replies to INFO and ASK_FORCES."""
    fields = {}
    for line in info.decode(errors="replace").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields[name] = value.strip()
    return ServerFacts(
        version=fields.get("redis_version", "0"),
        run_id=fields.get("run_id", ""),
        policy=fields.get("maxmemory_policy", "unknown"),
        is_append_only=fields.get("aof_enabled") == "1",
        is_primary=fields.get("role", "master") == "master",
        is_cluster=fields.get("redis_mode") == "cluster",
        forces_always=isinstance(forces, list) and forces[-1:] == [b"always"] and fields.get("aof_enabled") == "1",
    )
