"""dspcf of facilities in a Redis server."""

from __future__ import annotations

from ostler.cli.coupling.facilities import ANSWER_SECONDS
from ostler.cli.coupling.facility_lines import facility_lines
from ostler.cli.framework.commands import CommandFailed
from ostler.cli.framework.exit_statuses import Status
from ostler.model.coupling.programs import MembersProgram, StatusProgram
from ostler.server.coupling.redis.address import RedisAddress, parse_address
from ostler.server.coupling.redis.redis_errors import RedisFailed


def show_redis(text: str) -> None:
    """Shows the facility that an address names, or all that are on the server."""
    try:
        address = parse_address(text)
    except ValueError as error:
        raise CommandFailed(Status.NAME_ERROR, "AMQ3855E", why=f"{error}.") from None
    try:
        from ostler.server.coupling.redis.redis_client import find_facilities
    except ImportError:
        why = "the package hiredis is missing: pip install 'ostler[sharing]'."
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ3856E", name=str(address), why=why) from None
    try:
        for name in [address.facility] if address.facility else find_facilities(address, ANSWER_SECONDS):
            _show(address, name)
    except RedisFailed as error:
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ3856E", name=str(address), why=f"{error}.") from None


def _show(address: RedisAddress, name: str) -> None:
    from ostler.server.coupling.redis.redis_client import RedisClient

    client = RedisClient(address, name, ANSWER_SECONDS)
    try:
        status = client.run(StatusProgram())
        members = client.run(MembersProgram())
    finally:
        client.close()
    print(f"CF({name}) STATUS(Running) ADDRESS({address}) REDIS({client.facts.version})")
    for line in facility_lines(status, members):
        print(line)
