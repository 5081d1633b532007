"""One member's session with the server, without I/O: commands out, replies in.

The session remembers what the facility has confirmed: its identity, and the count of the member's programs that changed
something. A server that comes back with a lower count has lost work.
"""

from __future__ import annotations

from typing import Any

from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer
from ostler.server.coupling.redis.commands import pack
from ostler.server.coupling.redis.program_arguments import Argument, call_of
from ostler.server.coupling.redis.redis_errors import RedisFailed
from ostler.server.coupling.redis.replies import decode_reply
from ostler.server.coupling.redis.scripts import BEAT, FENCE, WAKE, scripts
from ostler.server.coupling.redis.server_facts import ServerFacts

_NUMBER_MAX = 0x7FFFFFFF
_NOT_KNOWN = -1


class RedisSession:
    """`facility` names the keys: members with the same name on the same server share a facility."""

    def __init__(self, facility: str) -> None:
        self.prefix = f"ostler:{{{facility}}}:"
        self.member = 0
        self.start = 0
        self.fence = 0
        self.last_fence = 0
        self.is_fenced = False
        """It was given up, or has left: it may join again."""
        self.identity = b""
        self.count = 0
        self.logged = _NOT_KNOWN
        """The number of the last put outside units that was sent. The next one runs only if the server has seen it."""
        self._facility_key = f"{self.prefix}f"
        self._member_key = f"{self.prefix}m:0"

    @property
    def channel(self) -> str:
        """The channel of this link's events."""
        return f"{self.prefix}ev:{self.member}:{self.fence}"

    def join(self, program: p.JoinProgram, number: int, facts: ServerFacts, identity: bytes, first_fence: int) -> bytes:
        """Return the command that joins. Identity and fence are those of a facility that is not there yet."""
        self.member, self.start = program.member, program.start
        self._member_key = f"{self.prefix}m:{program.member}"
        arguments: list[Argument] = [program.start, program.name, identity, first_fence, self.last_fence]
        arguments += [self.identity, self.count, facts.run_id, 1 if facts.forces_always else 0]
        return self._call("join", number, 0, (), arguments)

    def is_valid_join(self, program: p.JoinProgram) -> bool:
        name_bytes = len(program.name.encode())
        is_valid = 0 < program.member <= _NUMBER_MAX and 0 < program.start <= _NUMBER_MAX
        return is_valid and 0 < name_bytes <= cf.MEMBER_NAME_BYTES_MAX

    def command(self, program: p.Program, number: int) -> bytes:
        """Return the command of any program but JOIN, with the fence that it has."""
        name, arguments = call_of(program, self.member, self.start)
        keys: tuple[str, ...] = ()
        if isinstance(program, p.StructureProgram):
            keys = (f"{self.prefix}s:{program.structure}",)
        if isinstance(program, p.PutProgram):
            arguments.append(self.logged)
            if program.logged > self.logged and not program.unit and program.fence == self.fence:
                self.logged = program.logged
        return self._call(name, number, program.fence, keys, arguments)

    def display(self, program: p.Program, number: int) -> bytes:
        """Return the command of a program that needs no member, for one who has not joined."""
        name, arguments = call_of(program, 0, 0)
        return self._call(name, number, -1, (), arguments)

    def beat(self, number: int) -> bytes:
        """Return the command that says that the member lives."""
        return self._call(BEAT, number, self.fence, (), [])

    def give_up(self, number: int) -> bytes:
        """Return the command that fails the member itself."""
        return self._call(FENCE, number, self.fence, (), [])

    def wake(self, number: int, structure: str, queue: str, wake: int) -> bytes:
        """Return the command that has the next one told that waits for a queue."""
        return self._call(WAKE, number, self.fence, (f"{self.prefix}s:{structure}",), [structure, queue, wake])

    def answer(self, kind: int, reply: list[Any]) -> Answer:
        """Return the answer in a reply. Raises RedisFailed."""
        answer = decode_reply(kind, reply)
        if isinstance(answer, JoinAnswer):
            if answer.facility != self.identity:
                self.identity, self.count = answer.facility, 0
            self.fence = self.last_fence = answer.fence
            self.is_fenced = False
            self.logged = answer.logged
        elif kind == p.PUT and answer.status == cf.LIMIT:
            self.logged = _NOT_KNOWN  # the number of a put that is refused so does not count as seen
        if answer.count > self.count:
            self.count = answer.count
        return answer

    def _call(self, name: str, number: int, fence: int, keys: tuple[str, ...], arguments: list[Argument]) -> bytes:
        member: Argument = self.member if fence >= 0 else b""
        all_keys = (self._facility_key, self._member_key, *keys)
        head = ("EVALSHA", scripts()[name].digest, len(all_keys), *all_keys, number, member, fence)
        return pack(*head, *arguments)


def load_commands() -> list[bytes]:
    """Return the commands that give the server all scripts; each is answered with a digest."""
    return [pack("SCRIPT", "LOAD", script.text) for script in scripts().values()]


def check_loaded(replies: list[Any]) -> None:
    """Raise RedisFailed unless the server knows the scripts by our digests."""
    for script, reply in zip(scripts().values(), replies, strict=True):
        if reply != script.digest.encode():
            raise RedisFailed(f"the script {script.name} was not loaded: {reply}")
