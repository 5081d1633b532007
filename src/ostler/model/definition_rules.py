"""Checks of names, and of attributes that depend on each other."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, subtype_of, valid_name
from ostler.model.cipher_specs import require
from ostler.model.distinguished_names import check_pattern
from ostler.model.errors import MQError

CLUSTER_TRANSMISSION_QUEUE: Final = "SYSTEM.CLUSTER.TRANSMIT.QUEUE"

_NAME_LENGTHS: Final = {ObjectType.CHANNEL: 20, ObjectType.CFSTRUCT: 12, ObjectType.STGCLASS: 8}
# The names of subscriptions and rules are any text: a rule is identified by its profile and its other keys.
_TEXT_NAMES: Final = (ObjectType.SUB, ObjectType.CHLAUTH, ObjectType.AUTHREC)
_TEXT_NAME_BYTES_MAX: Final = 10240
# Channel types that accept any compression of the partner.
_ACCEPTS_ANY: Final = ("RCVR", "RQSTR", "SVRCONN")


def check_name(object_type: ObjectType, name: str) -> None:
    """Raise MQError for an invalid name of an object of this type."""
    if object_type in _TEXT_NAMES:
        valid = name.isprintable() and name.strip() != "" and len(name.encode("utf-8")) <= _TEXT_NAME_BYTES_MAX
    else:
        valid = valid_name(name, _NAME_LENGTHS.get(object_type, 48))
    if not valid:
        raise MQError(mq.MQRCCF_OBJECT_NAME_ERROR, f"{name[:64]!r} is not a valid name of a {object_type.value}.")


def check_rules(object_type: ObjectType, name: str, values: dict[str, Value]) -> None:
    """Raise MQError for attributes that contradict each other."""
    if object_type in (ObjectType.QLOCAL, ObjectType.QMODEL):
        _check_holding(name, values)
    if object_type in (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE):
        _check_clusters(values)
    elif object_type == ObjectType.QMODEL:
        _check_model(values)
    elif object_type == ObjectType.QMGR:
        _check_manager(values)
    elif object_type == ObjectType.CHANNEL:
        _check_channel(name, values)
    elif object_type == ObjectType.TOPIC:
        _check_topic(name, values)
    elif object_type == ObjectType.SUB:
        _check_subscription(name, values)


def _number(values: dict[str, Value], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _text(values: dict[str, Value], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _check_holding(name: str, values: dict[str, Value]) -> None:
    high = _number(values, "QDEPTHHI")
    low = _number(values, "QDEPTHLO")
    if high < low:
        raise MQError(mq.MQRCCF_Q_ATTR_CONFLICT, f"QDEPTHHI({high}) is below QDEPTHLO({low}).")
    stream = _text(values, "STREAMQ")
    if stream:
        if stream == name:
            raise MQError(mq.MQRCCF_STREAMQ_DEST_CONFLICT, "STREAMQ names the queue itself.")
        if _number(values, "USAGE") == mq.MQUS_TRANSMISSION:
            raise MQError(mq.MQRCCF_STREAMQ_CONFLICT, "A transmission queue cannot have a STREAMQ.")


def _check_clusters(values: dict[str, Value]) -> None:
    clustered = _text(values, "CLUSTER") or _text(values, "CLUSNL")
    if _text(values, "CLUSTER") and _text(values, "CLUSNL"):
        raise MQError(mq.MQRCCF_CLUSTER_NAME_CONFLICT, "Give CLUSTER or CLUSNL, not both.")
    if clustered and _number(values, "USAGE") == mq.MQUS_TRANSMISSION:
        raise MQError(mq.MQRCCF_CLUSTER_Q_USAGE_ERROR, "A transmission queue cannot be in a cluster.")


def _check_model(values: dict[str, Value]) -> None:
    if _number(values, "DEFTYPE") != mq.MQQDT_TEMPORARY_DYNAMIC:
        return
    if _number(values, "DEFPSIST") == mq.MQPER_PERSISTENT:
        raise MQError(mq.MQRCCF_Q_ATTR_CONFLICT, "A temporary dynamic queue cannot have DEFPSIST(YES).")
    if _number(values, "INDXTYPE") == mq.MQIT_MSG_TOKEN:
        raise MQError(mq.MQRCCF_Q_ATTR_CONFLICT, "A temporary dynamic queue cannot have INDXTYPE(MSGTOKEN).")


def _check_manager(values: dict[str, Value]) -> None:
    if _text(values, "REPOS") and _text(values, "REPOSNL"):
        raise MQError(mq.MQRCCF_REPOS_NAME_CONFLICT, "Give REPOS or REPOSNL, not both.")
    if _text(values, "DEFXMITQ") == CLUSTER_TRANSMISSION_QUEUE:
        raise MQError(mq.MQRCCF_DEF_XMIT_Q_CLUS_ERROR, f"DEFXMITQ cannot be {CLUSTER_TRANSMISSION_QUEUE}.")


def _check_channel(name: str, values: dict[str, Value]) -> None:
    if _text(values, "CLUSTER") and _text(values, "CLUSNL"):
        raise MQError(mq.MQRCCF_CLUSTER_NAME_CONFLICT, "Give CLUSTER or CLUSNL, not both.")
    if _text(values, "SSLCIPH"):
        _check_cipher_spec(_text(values, "SSLCIPH"))
    if _text(values, "SSLPEER"):
        _check_peer_name(_text(values, "SSLPEER"))
    subtype = subtype_of(ObjectType.CHANNEL, values)
    _check_negotiable(subtype, values)
    # The default channel objects lack attributes that every real channel must have.
    if name.startswith("SYSTEM.DEF."):
        return
    if subtype in ("SDR", "SVR") and not _text(values, "XMITQ"):
        raise MQError(mq.MQRCCF_XMIT_Q_NAME_ERROR, f"A channel of type {subtype} needs XMITQ.")
    if subtype in ("SDR", "RQSTR", "CLNTCONN", "CLUSSDR") and not _text(values, "CONNAME"):
        raise MQError(mq.MQRCCF_MISSING_CONN_NAME, f"A channel of type {subtype} needs CONNAME.")


def _check_negotiable(subtype: str, values: dict[str, Value]) -> None:
    """Refuse values that a channel cannot negotiate with a partner, or does not use."""
    if _text(values, "MCANAME"):
        raise MQError(mq.MQRCCF_MCA_NAME_ERROR, "MCANAME must be blank.")
    techniques = values.get("COMPMSG")
    if isinstance(techniques, tuple) and "ANY" in techniques and subtype not in _ACCEPTS_ANY:
        raise MQError(mq.MQRCCF_ATTR_VALUE_ERROR, f"COMPMSG(ANY) is for channels that receive, not for {subtype}.")
    if subtype != "MQTT" and _number(values, "SSLCAUTH") == mq.MQSCA_NEVER_REQUIRED:
        raise MQError(mq.MQRCCF_SSL_CLIENT_AUTH_ERROR, f"SSLCAUTH(NEVER) is for MQTT channels, not for {subtype}.")


def _check_cipher_spec(name: str) -> None:
    try:
        require(name)
    except MQError as error:
        raise MQError(mq.MQRCCF_SSL_CIPHER_SPEC_ERROR, error.detail) from None


def _check_peer_name(pattern: str) -> None:
    try:
        check_pattern(pattern)
    except ValueError as error:
        raise MQError(mq.MQRCCF_SSL_PEER_NAME_ERROR, f"SSLPEER: {error}.") from None


def _check_topic(name: str, values: dict[str, Value]) -> None:
    if not _text(values, "TOPICSTR") and name not in ("SYSTEM.BASE.TOPIC", "SYSTEM.DEFAULT.TOPIC"):
        raise MQError(mq.MQRCCF_PARM_MISSING, "A topic object needs TOPICSTR.")


def _check_subscription(name: str, values: dict[str, Value]) -> None:
    if name == "SYSTEM.DEFAULT.SUB":
        return
    if not _text(values, "TOPICSTR") and not _text(values, "TOPICOBJ"):
        raise MQError(mq.MQRCCF_TOPIC_STRING_NOT_FOUND, "A subscription needs TOPICSTR or TOPICOBJ.")
    if _number(values, "DESTCLAS") == mq.MQDC_PROVIDED and not _text(values, "DEST"):
        raise MQError(mq.MQRCCF_DEST_NAME_ERROR, "A subscription with DESTCLAS(PROVIDED) needs DEST.")
