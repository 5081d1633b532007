"""Channel authentication rules: parsed values, keys and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, valid_name
from ostler.model.definitions import Definition
from ostler.model.distinguished_names import check_pattern
from ostler.model.errors import MQError
from ostler.security.addresses import AddressPattern, check_addresses

TYPE_WORDS: Final[dict[int, str]] = {
    mq.MQCAUT_BLOCKUSER: "BLOCKUSER",
    mq.MQCAUT_BLOCKADDR: "BLOCKADDR",
    mq.MQCAUT_SSLPEERMAP: "SSLPEERMAP",
    mq.MQCAUT_ADDRESSMAP: "ADDRESSMAP",
    mq.MQCAUT_USERMAP: "USERMAP",
    mq.MQCAUT_QMGRMAP: "QMGRMAP",
}
# The identity attributes of each rule type, besides the address; they are part of the key.
IDENTITIES: Final[dict[int, tuple[str, ...]]] = {
    mq.MQCAUT_SSLPEERMAP: ("SSLPEER", "SSLCERTI"),
    mq.MQCAUT_USERMAP: ("CLNTUSER",),
    mq.MQCAUT_QMGRMAP: ("QMNAME",),
    mq.MQCAUT_ADDRESSMAP: (),
}
BLOCKING: Final = (mq.MQCAUT_BLOCKUSER, mq.MQCAUT_BLOCKADDR)
ADMINISTRATORS: Final = "*MQADMIN"
_PROFILE_LENGTH_MAX: Final = 20
_MANAGER_LENGTH_MAX: Final = 48


@final
class ChannelRule:
    """A parsed rule. Raises MQError if the definition is invalid."""

    def __init__(self, definition: Definition) -> None:
        values = definition.attributes
        self.definition: Definition = definition
        self.profile: str = text_of(values, "CHLAUTH")
        self.type: int = number_of(values, "TYPE", -1)
        if self.type not in TYPE_WORDS:
            raise MQError(mq.MQRCCF_CHLAUTH_TYPE_ERROR, f"The rule {definition.name} has an unknown type.")
        self.address: AddressPattern | None = None
        self.identity: str = ""  # the user, queue manager or subject it applies to
        self.issuer: str = ""
        self.listed: tuple[str, ...] = ()  # the users or addresses of a blocking rule
        self.source: int = mq.MQUSRC_NOACCESS
        self.user: str = ""
        self.check: int = mq.MQCHK_AS_Q_MGR
        if self.type in BLOCKING:
            self.listed = texts_of(values, "USERLIST" if self.type == mq.MQCAUT_BLOCKUSER else "ADDRLIST")
        else:
            self._read_mapping(values)
        self.refuses: bool = self.source == mq.MQUSRC_NOACCESS
        self.only_warns: bool = self.refuses and number_of(values, "WARN", mq.MQWARN_NO) == mq.MQWARN_YES

    def _read_mapping(self, values: Mapping[str, Value]) -> None:
        address = text_of(values, "ADDRESS")
        if address:
            self.address = AddressPattern(address)
        names = IDENTITIES[self.type]
        if names:
            self.identity = text_of(values, names[0])
        if self.type == mq.MQCAUT_SSLPEERMAP:
            self.issuer = text_of(values, "SSLCERTI")
        self.source = number_of(values, "USERSRC", mq.MQUSRC_MAP)
        self.user = text_of(values, "MCAUSER")
        self.check = number_of(values, "CHCKCLNT", mq.MQCHK_AS_Q_MGR)

    @property
    def names_host(self) -> bool:
        return self.address is not None and self.address.host is not None


def rule_key(attributes: Mapping[str, Value]) -> str:
    """Return the key of a rule: profile, type and identity. All spellings of a rule have the same key."""
    kind = number_of(attributes, "TYPE", -1)
    key = f"{text_of(attributes, 'CHLAUTH')} TYPE({TYPE_WORDS.get(kind, '')})"
    for name in IDENTITIES.get(kind, ()):
        value = text_of(attributes, name)
        if value:
            key += f" {name}({value})"
    address = text_of(attributes, "ADDRESS")
    if address and kind in IDENTITIES:
        key += f" ADDRESS({AddressPattern(address).canonical})"
    return key


def check_rule(attributes: Mapping[str, Value]) -> None:
    """Raise MQError with an explanation if the attributes are no valid rule."""
    profile = text_of(attributes, "CHLAUTH")
    kind = number_of(attributes, "TYPE", -1)
    if kind not in TYPE_WORDS:
        raise MQError(mq.MQRCCF_CHLAUTH_TYPE_ERROR, f"TYPE is one of {', '.join(TYPE_WORDS.values())}.")
    check_channel_profile(profile)
    if kind == mq.MQCAUT_BLOCKADDR:
        if profile != "*":
            raise MQError(
                mq.MQRCCF_CHLAUTH_NAME_ERROR, "Addresses are blocked for all channels: the profile must be '*'."
            )
        check_addresses(texts_of(attributes, "ADDRLIST"))
    if kind in BLOCKING:
        return
    check_identity(attributes, kind)
    _check_source(attributes)


def check_channel_profile(profile: str) -> None:
    """Raise MQError for an invalid channel profile; it may have asterisks."""
    letters = profile.replace("*", "")
    is_named = len(profile) <= _PROFILE_LENGTH_MAX and (letters == "" or valid_name(letters))
    if not profile or not is_named or "**" in profile:
        raise MQError(
            mq.MQRCCF_PROFILE_NAME_ERROR,
            f"{profile[:64]!r} is neither the name of a channel nor a pattern of at most 20 characters.",
        )


def check_identity(attributes: Mapping[str, Value], kind: int) -> None:
    """Raise MQError if a mapping rule lacks its identity attributes."""
    address = text_of(attributes, "ADDRESS")
    if address:
        AddressPattern(address)
    elif kind == mq.MQCAUT_ADDRESSMAP:
        raise MQError(mq.MQRCCF_PARM_MISSING, "TYPE(ADDRESSMAP) needs ADDRESS.")
    if kind == mq.MQCAUT_SSLPEERMAP:
        _check_names(attributes)
    elif kind == mq.MQCAUT_USERMAP:
        user = text_of(attributes, "CLNTUSER")
        if not user:
            raise MQError(mq.MQRCCF_PARM_MISSING, "TYPE(USERMAP) needs CLNTUSER.")
        if "*" in user:
            raise MQError(mq.MQRCCF_CHLAUTH_CLNTUSER_ERROR, "CLNTUSER is the name of one user; it takes no asterisk.")
    elif kind == mq.MQCAUT_QMGRMAP:
        _check_manager(text_of(attributes, "QMNAME"))


def _check_names(attributes: Mapping[str, Value]) -> None:
    subject = text_of(attributes, "SSLPEER")
    if not subject:
        raise MQError(mq.MQRCCF_PARM_MISSING, "TYPE(SSLPEERMAP) needs SSLPEER.")
    for name in ("SSLPEER", "SSLCERTI"):
        try:
            check_pattern(text_of(attributes, name))
        except ValueError as error:
            raise MQError(
                mq.MQRCCF_SSL_PEER_NAME_ERROR, f"{name} is no pattern of a distinguished name: {error}."
            ) from None


def _check_manager(name: str) -> None:
    if not name:
        raise MQError(mq.MQRCCF_PARM_MISSING, "TYPE(QMGRMAP) needs QMNAME.")
    letters = name.replace("*", "")
    if len(name) > _MANAGER_LENGTH_MAX or "**" in name or (letters != "" and not valid_name(letters)):
        raise MQError(mq.MQRCCF_Q_MGR_NAME_ERROR, f"{name!r} is not the name of a queue manager, nor a pattern of one.")


def _check_source(attributes: Mapping[str, Value]) -> None:
    """Check USERSRC: a rule maps to a user, refuses, or keeps the channel's user; each has its own attributes."""
    source = number_of(attributes, "USERSRC", mq.MQUSRC_MAP)
    user = text_of(attributes, "MCAUSER")
    if source not in (mq.MQUSRC_MAP, mq.MQUSRC_NOACCESS, mq.MQUSRC_CHANNEL):
        raise MQError(mq.MQRCCF_CHLAUTH_USERSRC_ERROR, "USERSRC is one of MAP, NOACCESS, CHANNEL.")
    if source == mq.MQUSRC_MAP and not user:
        raise MQError(mq.MQRCCF_PARM_MISSING, "USERSRC(MAP) needs MCAUSER, the user to map to.")
    if source != mq.MQUSRC_MAP and user:
        raise MQError(mq.MQRCCF_WRONG_CHLAUTH_USERSRC, "MCAUSER goes with USERSRC(MAP) only.")
    if source != mq.MQUSRC_NOACCESS and number_of(attributes, "WARN", mq.MQWARN_NO) == mq.MQWARN_YES:
        raise MQError(mq.MQRCCF_WRONG_CHLAUTH_USERSRC, "WARN(YES) goes with USERSRC(NOACCESS) only.")
    if source == mq.MQUSRC_NOACCESS and number_of(attributes, "CHCKCLNT", mq.MQCHK_AS_Q_MGR) != mq.MQCHK_AS_Q_MGR:
        raise MQError(mq.MQRCCF_WRONG_CHLAUTH_USERSRC, "CHCKCLNT does not go with USERSRC(NOACCESS).")


def default_rules(date: str = "", time: str = "") -> list[Definition]:
    """Return the rules of a new queue manager: clients cannot use SYSTEM channels or connect as administrators.

    The channel of MQ Explorer stays open to users who are not administrators. `date` and `time`, if given, become
    ALTDATE and ALTTIME.
    """
    rules = [
        _default(
            "SYSTEM.ADMIN.SVRCONN",
            mq.MQCAUT_ADDRESSMAP,
            {
                "DESCR": "Lets MQ Explorer in",
                "ADDRESS": "*",
                "USERSRC": mq.MQUSRC_CHANNEL,
                "MCAUSER": "",
                "CHCKCLNT": mq.MQCHK_AS_Q_MGR,
            },
        ),
        _default(
            "SYSTEM.*",
            mq.MQCAUT_ADDRESSMAP,
            {
                "DESCR": "Closes the channels of the system",
                "ADDRESS": "*",
                "USERSRC": mq.MQUSRC_NOACCESS,
                "MCAUSER": "",
                "CHCKCLNT": mq.MQCHK_AS_Q_MGR,
            },
        ),
        _default("*", mq.MQCAUT_BLOCKUSER, {"DESCR": "Keeps administrators out", "USERLIST": (ADMINISTRATORS,)}),
    ]
    for rule in rules:
        if date and time:
            rule.attributes["ALTDATE"] = date
            rule.attributes["ALTTIME"] = time
    return rules


def _default(profile: str, kind: int, values: dict[str, int | str | tuple[str, ...]]) -> Definition:
    attributes: dict[str, int | str | tuple[str, ...]] = {"CHLAUTH": profile, "TYPE": kind, "CUSTOM": ""}
    attributes.update(values)
    attributes["WARN"] = mq.MQWARN_NO
    return Definition(ObjectType.CHLAUTH, rule_key(attributes), attributes)


def text_of(values: Mapping[str, Value], name: str) -> str:
    """Return a stripped text; empty if it is missing."""
    value = values.get(name)
    return value.strip() if isinstance(value, str) else ""


def texts_of(values: Mapping[str, Value], name: str) -> tuple[str, ...]:
    value = values.get(name)
    return tuple([each.strip() for each in value if each.strip()]) if isinstance(value, tuple) else ()


def number_of(values: Mapping[str, Value], name: str, default: int) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else default
