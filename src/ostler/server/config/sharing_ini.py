"""The stanza of qm.ini about a queue-sharing group.

    QueueSharingGroup:
       Name=QSG1                     of the group, 1 to 4 characters
       Facility=/path/to/cf.sock     the local socket of the coupling facility, host(port), or a Redis server:
                                     redis://host:6379, rediss:// with TLS, redis+unix:///path/to/redis.sock
       FacilityName=CF01             the facility that must answer there; empty: any. In Redis the name of the keys;
                                     empty: that of the group
       FacilityDirectory=/path/to    the directory of a facility of our own: the member starts it when nobody answers
                                     there. Empty: it is started by others
       MemberNumber=1                of this queue manager in the group, never given to another one
       StructureMegabytes=512        the size of structures that this member makes
       GroupDirectory=/shared/QSG1   a directory that all members share, for data sets; empty: below the data directory
       Repository=/shared/QSG1.db    the shared repository: a file, or postgresql://user@host/database; empty:
                                     repository.db in GroupDirectory
       BlobTasks=4                   threads for messages in the repository (OFFLOAD(DB2)), 4 to 10

Values are checked when the file is read. Without the stanza the queue manager is in no group.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ostler.model.connection_names import parse_connection_names
from ostler.model.errors import MQError
from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.ini_rules import Rule
from ostler.server.coupling.redis.address import is_redis, parse_address
from ostler.server.coupling.repository.opening import describe, is_database_url

STANZA: Final = "QueueSharingGroup"
NAME: Final = re.compile(r"[A-Z][A-Z0-9]{0,3}")
_NUMBER_MAX: Final = 0x7FFFFFFF
MEGABYTES_MAX: Final = 1 << 20
MEGABYTES_DEFAULT: Final = 512
_BLOB_TASKS_MIN, _BLOB_TASKS_MAX = 4, 10
BLOB_TASKS_DEFAULT: Final = 4
"""As the fifth value of QSGDATA in MQ's system parameters."""

RULES: Final = (
    Rule(STANZA, "Name", any_text=True),
    Rule(STANZA, "Facility", any_text=True),
    Rule(STANZA, "FacilityName", any_text=True),
    Rule(STANZA, "FacilityDirectory", any_text=True),
    Rule(STANZA, "MemberNumber", 1, _NUMBER_MAX),
    Rule(STANZA, "StructureMegabytes", 1, MEGABYTES_MAX),
    Rule(STANZA, "GroupDirectory", any_text=True),
    Rule(STANZA, "Repository", any_text=True),
    Rule(STANZA, "BlobTasks", _BLOB_TASKS_MIN, _BLOB_TASKS_MAX),
)


@dataclass(frozen=True)
class SharingSection:
    name: str
    facility: str
    facility_name: str
    member_number: int
    structure_megabytes: int = MEGABYTES_DEFAULT
    directory: str = ""
    repository: str = ""
    facility_directory: str = ""
    blob_tasks: int = BLOB_TASKS_DEFAULT


def read_sharing(file: IniFile) -> SharingSection | None:
    """Return the stanza, or None without one. Raises ConfigurationError."""
    if file.stanza(STANZA) is None:
        return None
    name = file.get(STANZA, "Name") or ""
    if not NAME.fullmatch(name):
        raise ConfigurationError(
            file.name, 0, f"Name={name[:20]} of {STANZA} is not 1 to 4 characters of A-Z and 0-9, a letter first"
        )
    facility = file.get(STANZA, "Facility") or ""
    try:
        check_facility(facility)
    except ValueError as error:
        raise ConfigurationError(file.name, 0, f"Facility of {STANZA}: {error}") from None
    facility_directory = file.get(STANZA, "FacilityDirectory") or ""
    if facility_directory and not facility_directory.startswith("/"):
        text = f"FacilityDirectory={facility_directory[:60]} of {STANZA} is no absolute path"
        raise ConfigurationError(file.name, 0, text)
    number = file.get(STANZA, "MemberNumber")
    if number is None:
        raise ConfigurationError(file.name, 0, f"{STANZA} has no MemberNumber")
    megabytes = file.get(STANZA, "StructureMegabytes")
    directory = file.get(STANZA, "GroupDirectory") or ""
    if directory and not directory.startswith("/"):
        raise ConfigurationError(file.name, 0, f"GroupDirectory={directory[:60]} of {STANZA} is no absolute path")
    repository = file.get(STANZA, "Repository") or ""
    if repository and not repository.startswith("/") and not is_database_url(repository):
        raise ConfigurationError(
            file.name,
            0,
            f"Repository of {STANZA} is neither an absolute path nor postgresql://...: {describe(repository)}",
        )
    blob_tasks = file.get(STANZA, "BlobTasks")
    return SharingSection(
        name,
        facility,
        file.get(STANZA, "FacilityName") or "",
        int(number),
        int(megabytes) if megabytes is not None else MEGABYTES_DEFAULT,
        directory,
        repository,
        facility_directory,
        int(blob_tasks) if blob_tasks is not None else BLOB_TASKS_DEFAULT,
    )


FACILITY_FORMS: Final = "HOST(PORT), the path of a socket, or redis://HOST:PORT"


def check_facility(where: str) -> None:
    """Raise ValueError for what cannot be the address of a coupling facility."""
    if is_redis(where):
        parse_address(where)
    elif "/" not in where:
        try:
            parse_connection_names(where)
        except MQError:
            raise ValueError(f"{where[:60]!r} is none of these: {FACILITY_FORMS}") from None
