"""`ha.ini` in the data root: the group of machines (nodes) that this machine belongs to, as crthagrp made it.

    HAGroup:
       Format=1
       Name=north
       LocalNode=alpha
       Suspended=No
    Node:
       Name=alpha
       ReplicationAddress=host1(4444)
    Node:
       Name=beta
       ReplicationAddress=host2(4444)
    Arbiter:
       Type=Etcd
       Endpoints=http://host1:2379,http://host2:2379,http://host3:2379

A queue manager of the group (crtmqm -sx, sethagrp -i) has an instance on each node, named as the node, and its own copy
of these settings in qm.ini. The certificates of the group are in the directory `ha` beside the file: `ha/ca` is the
authority, which only the machine that made the group has, and `ha/<node>` is the key repository of a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ostler.model.connection_names import Address, parse_connection_names
from ostler.model.errors import MQError
from ostler.server.config import replication_ini
from ostler.server.config.directories import instance_of_root
from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.qm_ini import LogType, QueueManagerIni

FILE_NAME: Final = "ha.ini"
FORMAT: Final = 1
_GROUP: Final = "HAGroup"
_NODE: Final = "Node"
_DIRECTORY: Final = "ha"
_AUTHORITY: Final = "ca"
_COMMENT: Final = "# The group of machines that this one belongs to. Made by crthagrp.\n"

Stanzas = dict[str, list[list[tuple[str, str]]]]


@dataclass(frozen=True)
class Node:
    """A machine of the group, and where its first queue manager takes the log."""

    name: str
    address: Address


@dataclass(frozen=True)
class HaGroup:
    name: str
    local_node: str
    nodes: tuple[Node, ...]
    arbiter: tuple[tuple[str, str], ...] = ()
    """The attributes of the Arbiter stanza; none for a pair without arbiter."""
    is_suspended: bool = False

    def node(self, name: str) -> Node | None:
        for each in self.nodes:
            if each.name == name:
                return each
        return None

    def addresses(self, port: int = 0) -> dict[str, Address]:
        """Return where the instances of a queue manager take the log, by node.

        With `port` the first node has that port, and the others are as far from it as the nodes' own ports are.
        """
        distance = port - self.nodes[0].address.port if port and self.nodes else 0
        return {each.name: Address(each.address.host, each.address.port + distance) for each in self.nodes}

    def stanzas(self, local: str, key_repository: Path, port: int = 0) -> Stanzas:
        """Return the stanzas of qm.ini for an instance on node `local`. See `addresses` for `port`."""
        instances = [[("Name", name), ("ReplicationAddress", str(each))] for name, each in self.addresses(port).items()]
        own = [("Name", local), ("KeyRepository", str(key_repository)), ("CertificateLabel", local)]
        return {
            replication_ini.LOCAL: [own],
            replication_ini.INSTANCE: instances,
            replication_ini.ARBITER: [list(self.arbiter)] if self.arbiter else [],
        }

    def text(self) -> str:
        """Return the contents of the file."""
        file = IniFile(_COMMENT)
        own = [("Format", str(FORMAT)), ("Name", self.name), ("LocalNode", self.local_node)]
        file.replace_stanzas(_GROUP, [[*own, ("Suspended", "Yes" if self.is_suspended else "No")]])
        file.replace_stanzas(
            _NODE, [[("Name", each.name), ("ReplicationAddress", str(each.address))] for each in self.nodes]
        )
        if self.arbiter:
            file.replace_stanzas(replication_ini.ARBITER, [list(self.arbiter)])
        return file.text()

    def write(self, path: Path) -> None:
        """Raises ConfigurationError."""
        IniFile(self.text()).write(path)

    def check(self, file: str = FILE_NAME) -> None:
        """Raise ConfigurationError for a group that cannot be: qm.ini has the rules."""
        names = [each.name for each in self.nodes]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ConfigurationError(file, 0, f"node {twice[0]} is given twice")
        scratch = QueueManagerIni("Log:\n   LogType=CIRCULAR\n", file)
        try:
            scratch.change_stanzas(self.stanzas(self.local_node, Path("/")), LogType.REPLICATED)
        except ConfigurationError as error:
            raise ConfigurationError(file, 0, error.problem) from None
        settings = scratch.settings.replication
        assert settings is not None
        missing = settings.missing()
        if missing:
            raise ConfigurationError(file, 0, missing.partition(": ")[2] or missing)


def group_file(root: Path) -> Path:
    """Return the path of the group file that a data root uses: an instance below another root has that one's."""
    return instance_of_root(root)[0] / FILE_NAME


def key_repository_of(root: Path, node: str) -> Path:
    """Return the key repository of a node."""
    return instance_of_root(root)[0] / _DIRECTORY / node


def authority_of(root: Path) -> Path:
    """Return the directory of the group's certificate authority."""
    return instance_of_root(root)[0] / _DIRECTORY / _AUTHORITY


def certificates_of(root: Path) -> Path:
    return instance_of_root(root)[0] / _DIRECTORY


def read_group(root: Path) -> HaGroup | None:
    """Return the group that a data root belongs to; None without one. Raises ConfigurationError.

    The local node of an instance with a data root of its own below another is named as that instance.
    """
    path = group_file(root)
    if not path.exists():
        return None
    group = parse_group(IniFile.read(path))
    instance = instance_of_root(root)[1]
    return replace(group, local_node=instance) if instance and group.node(instance) else group


def parse_group(file: IniFile) -> HaGroup:
    """Raises ConfigurationError for a file that is newer, incomplete or wrong."""
    own = file.stanza(_GROUP)
    if own is None:
        raise ConfigurationError(file.name, 0, f"the stanza {_GROUP} is missing")
    version = file.get(_GROUP, "Format") or ""
    if version != str(FORMAT):
        problem = f"has format {version or 'none'}; this release knows format {FORMAT}"
        raise ConfigurationError(file.name, own.line, problem)
    nodes: list[Node] = []
    for stanza in file.stanzas:
        if stanza.name.lower() != _NODE.lower():
            continue
        found = {each.name.lower(): each.value for each in stanza.attributes}
        nodes.append(Node(found.get("name", ""), _address(file, stanza.line, found.get("replicationaddress", ""))))
    arbiter = file.stanza(replication_ini.ARBITER)
    settings = tuple((each.name, each.value) for each in arbiter.attributes) if arbiter is not None else ()
    group = HaGroup(
        file.get(_GROUP, "Name") or "",
        file.get(_GROUP, "LocalNode") or "",
        tuple(nodes),
        settings,
        (file.get(_GROUP, "Suspended") or "").lower() == "yes",
    )
    group.check(file.name)
    return group


def _address(file: IniFile, line: int, text: str) -> Address:
    try:
        found = parse_connection_names(text)
    except MQError:
        found = []
    if len(found) != 1 or "(" not in text:
        raise ConfigurationError(
            file.name, line, f"ReplicationAddress={text[:60]} is not an address such as host1(4444)"
        )
    return found[0]
