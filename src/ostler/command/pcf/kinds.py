"""The kinds of objects in PCF commands: their types, names and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.command.pcf.command import CHANNEL_NAME_LENGTH, NAME_LENGTH, PcfField, constant, number, text
from ostler.model.attributes import ObjectType, require

QUEUE_TYPES: Final = {
    "MQQT_LOCAL": ObjectType.QLOCAL,
    "MQQT_ALIAS": ObjectType.QALIAS,
    "MQQT_REMOTE": ObjectType.QREMOTE,
    "MQQT_MODEL": ObjectType.QMODEL,
}
_CHANNEL_TYPES: Final = (
    "MQCHT_SENDER",
    "MQCHT_SERVER",
    "MQCHT_RECEIVER",
    "MQCHT_REQUESTER",
    "MQCHT_CLNTCONN",
    "MQCHT_SVRCONN",
    "MQCHT_CLUSRCVR",
    "MQCHT_CLUSSDR",
    "MQCHT_MQTT",
    "MQCHT_AMQP",
)
_TRANSPORTS: Final = ("MQXPT_TCP", "MQXPT_LU62", "MQXPT_NETBIOS", "MQXPT_SPX")
_AUTH_INFO_TYPES: Final = ("MQAIT_CRL_LDAP", "MQAIT_OCSP", "MQAIT_IDPW_OS", "MQAIT_IDPW_LDAP")


@dataclass(frozen=True)
class PcfKind:
    """A kind of object.

    `word` is the common part of its MQCMD constants. `name` is the attribute with the object's name, `subtype` the
    parameter with its type. `heads` are in every reply. `made_with` are additional parameters of Create.
    """

    word: str
    types: tuple[ObjectType, ...]
    name: str
    name_length: int
    attributes: str
    copy_from: str = ""
    copy_to: str = ""
    names: str = ""
    subtype: PcfField | None = None
    heads: tuple[str, ...] = ()
    made_with: tuple[PcfField, ...] = ()

    @property
    def name_constant(self) -> str:
        return require(self.types[0], self.name).pcf_name

    @property
    def name_parameter(self) -> int:
        return constant(self.name_constant)

    @property
    def name_field(self) -> PcfField:
        return text(self.name_constant, self.name_length, required=True)


QUEUES: Final = PcfKind(
    "Q",
    tuple(QUEUE_TYPES.values()),
    "QUEUE",
    NAME_LENGTH,
    "MQIACF_Q_ATTRS",
    "MQCACF_FROM_Q_NAME",
    "MQCACF_TO_Q_NAME",
    "MQCACF_Q_NAMES",
    number("MQIA_Q_TYPE", *QUEUE_TYPES, required=True),
    ("QUEUE", "TYPE"),
)
CHANNELS: Final = PcfKind(
    "CHANNEL",
    (ObjectType.CHANNEL,),
    "CHANNEL",
    CHANNEL_NAME_LENGTH,
    "MQIACF_CHANNEL_ATTRS",
    "MQCACF_FROM_CHANNEL_NAME",
    "MQCACF_TO_CHANNEL_NAME",
    "MQCACH_CHANNEL_NAMES",
    number("MQIACH_CHANNEL_TYPE", *_CHANNEL_TYPES, required=True),
    ("CHANNEL", "CHLTYPE"),
)
LISTENERS: Final = PcfKind(
    "LISTENER",
    (ObjectType.LISTENER,),
    "LISTENER",
    NAME_LENGTH,
    "MQIACF_LISTENER_ATTRS",
    "MQCACF_FROM_LISTENER_NAME",
    "MQCACF_TO_LISTENER_NAME",
    subtype=number("MQIACH_XMIT_PROTOCOL_TYPE", *_TRANSPORTS, required=True),
    heads=("LISTENER", "TRPTYPE"),
)
AUTH_INFOS: Final = PcfKind(
    "AUTH_INFO",
    (ObjectType.AUTHINFO,),
    "AUTHINFO",
    NAME_LENGTH,
    "MQIACF_AUTH_INFO_ATTRS",
    "MQCACF_FROM_AUTH_INFO_NAME",
    "MQCACF_TO_AUTH_INFO_NAME",
    "MQCACF_AUTH_INFO_NAMES",
    number("MQIA_AUTH_INFO_TYPE", *_AUTH_INFO_TYPES, required=True),
    ("AUTHINFO", "AUTHTYPE"),
)
PROCESSES: Final = PcfKind(
    "PROCESS",
    (ObjectType.PROCESS,),
    "PROCESS",
    NAME_LENGTH,
    "MQIACF_PROCESS_ATTRS",
    "MQCACF_FROM_PROCESS_NAME",
    "MQCACF_TO_PROCESS_NAME",
    "MQCACF_PROCESS_NAMES",
    heads=("PROCESS",),
)
NAMELISTS: Final = PcfKind(
    "NAMELIST",
    (ObjectType.NAMELIST,),
    "NAMELIST",
    NAME_LENGTH,
    "MQIACF_NAMELIST_ATTRS",
    "MQCACF_FROM_NAMELIST_NAME",
    "MQCACF_TO_NAMELIST_NAME",
    "MQCACF_NAMELIST_NAMES",
    heads=("NAMELIST",),
)
SERVICES: Final = PcfKind(
    "SERVICE",
    (ObjectType.SERVICE,),
    "SERVICE",
    NAME_LENGTH,
    "MQIACF_SERVICE_ATTRS",
    "MQCACF_FROM_SERVICE_NAME",
    "MQCACF_TO_SERVICE_NAME",
    heads=("SERVICE",),
)
TOPICS: Final = PcfKind(
    "TOPIC",
    (ObjectType.TOPIC,),
    "TOPIC",
    NAME_LENGTH,
    "MQIACF_TOPIC_ATTRS",
    "MQCACF_FROM_TOPIC_NAME",
    "MQCACF_TO_TOPIC_NAME",
    "MQCACF_TOPIC_NAMES",
    heads=("TOPIC",),
    made_with=(text("MQCA_TOPIC_STRING", 10240, required=True),),
)
COMM_INFOS: Final = PcfKind(
    "COMM_INFO",
    (ObjectType.COMMINFO,),
    "COMMINFO",
    NAME_LENGTH,
    "MQIACF_COMM_INFO_ATTRS",
    "MQCACF_FROM_COMM_INFO_NAME",
    "MQCACF_TO_COMM_INFO_NAME",
    heads=("COMMINFO", "TYPE"),
)
STRUCTURES: Final = PcfKind(
    "CF_STRUC",
    (ObjectType.CFSTRUCT,),
    "CFSTRUCT",
    12,
    "MQIACF_CF_STRUC_ATTRS",
    "MQCACF_FROM_CF_STRUC_NAME",
    "MQCACF_TO_CF_STRUC_NAME",
    "MQCACF_CF_STRUC_NAMES",
    heads=("CFSTRUCT",),
)
STORAGE_CLASSES: Final = PcfKind(
    "STG_CLASS",
    (ObjectType.STGCLASS,),
    "STGCLASS",
    8,
    "MQIACF_STORAGE_CLASS_ATTRS",
    "MQCACF_FROM_STORAGE_CLASS",
    "MQCACF_TO_STORAGE_CLASS",
    "MQCACF_STORAGE_CLASS_NAMES",
    heads=("STGCLASS",),
)
KINDS: Final = (
    QUEUES,
    CHANNELS,
    LISTENERS,
    AUTH_INFOS,
    PROCESSES,
    NAMELISTS,
    SERVICES,
    TOPICS,
    COMM_INFOS,
    STRUCTURES,
    STORAGE_CLASSES,
)
