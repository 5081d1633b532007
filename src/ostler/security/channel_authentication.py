"""Channel authentication (CHLAUTH): which connections may use which channel, and as which user.

The order of precedence is that of MQ. A rule for a more specific channel profile wins; within a profile a rule for the
certificate wins over one for the client's user or the partner queue manager, and that over one for the address; among
those, the most specific. A rule that would refuse but has WARN(YES) is reported, and the next best rule without
WARN(YES) decides.

The cost of a decision does not grow with the number of rules: see the tables of names, addresses and certificates.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.model.distinguished_names import DistinguishedName
from ostler.security.addresses import AddressPattern, read_address
from ostler.security.channel_addresses import AddressTable
from ostler.security.channel_certificates import CertificateTable
from ostler.security.channel_names import NameTable
from ostler.security.channel_rule import ADMINISTRATORS, ChannelRule, check_rule, default_rules, rule_key

__all__ = ["ChannelRules", "Decision", "check_rule", "default_rules", "rule_key"]

NO_SOURCE: Final = -1
# Limit of cached channels. There are seldom more; made-up channel names gain nothing from the cache.
_CACHED_MAX: Final = 10_000


@final
class Decision:
    """The decision of the rules on a connection. `warning` is the rule that would have refused but has WARN(YES)."""

    def __init__(self, rule: ChannelRule | None, warning: ChannelRule | None = None) -> None:
        self.is_refused: bool = rule is not None and rule.refuses and not rule.only_warns
        self.has_warning: bool = warning is not None
        self.user: str = rule.user if rule is not None and rule.source == mq.MQUSRC_MAP else ""
        self.source: int = rule.source if rule is not None else NO_SOURCE
        self.check: int = rule.check if rule is not None else mq.MQCHK_AS_Q_MGR
        self.rule: Definition | None = rule.definition if rule is not None else None
        self.warning: Definition | None = warning.definition if warning is not None else None

    @property
    def why(self) -> str:
        """The refusing or warning rule, as part of a sentence; empty if there is none."""
        if self.is_refused and self.rule is not None:
            return f"the channel authentication rule {self.rule.name}"
        if self.warning is not None:
            return f"the channel authentication rule {self.warning.name}, which only warns"
        return ""


@final
class _Profile:
    """The rules for one channel profile."""

    def __init__(self) -> None:
        self.count: int = 0
        self.hosts: int = 0  # number of rules with host names
        # Rarely used tables are created on demand: there may be thousands of profiles.
        self.certificates: CertificateTable | None = None
        self.users: dict[str, AddressTable] = {}
        self.managers: NameTable[AddressTable] | None = None
        self.addresses: AddressTable = AddressTable()
        self.blocked_users: ChannelRule | None = None

    def put(self, rule: ChannelRule) -> None:
        if rule.type == mq.MQCAUT_BLOCKUSER:
            self.blocked_users = rule
        elif rule.type == mq.MQCAUT_SSLPEERMAP:
            if self.certificates is None:
                self.certificates = CertificateTable()
            self.certificates.require(rule.identity, rule.issuer).addresses.put(rule.address, rule)
        elif rule.type == mq.MQCAUT_USERMAP:
            table = self.users.get(rule.identity)
            if table is None:
                table = AddressTable()
                self.users[rule.identity] = table
            table.put(rule.address, rule)
        elif rule.type == mq.MQCAUT_QMGRMAP:
            if self.managers is None:
                self.managers = NameTable()
            table = self.managers.get(rule.identity)
            if table is None:
                table = AddressTable()
                self.managers.put(rule.identity, table)
            table.put(rule.address, rule)
        else:
            self.addresses.put(rule.address, rule)
        self.count += 1
        self.hosts += int(rule.names_host)

    def remove(self, rule: ChannelRule) -> None:
        self.count -= 1
        self.hosts -= int(rule.names_host)
        if rule.type == mq.MQCAUT_BLOCKUSER:
            self.blocked_users = None
        elif rule.type == mq.MQCAUT_SSLPEERMAP:
            assert self.certificates is not None
            certificates = self.certificates.require(rule.identity, rule.issuer)
            certificates.addresses.remove(rule.address)
            if not certificates.addresses.count:
                self.certificates.drop(certificates)
        elif rule.type == mq.MQCAUT_USERMAP:
            table = self.users[rule.identity]
            table.remove(rule.address)
            if not table.count:
                del self.users[rule.identity]
        elif rule.type == mq.MQCAUT_QMGRMAP:
            assert self.managers is not None
            kept = self.managers.get(rule.identity)
            assert kept is not None
            kept.remove(rule.address)
            if not kept.count:
                self.managers.remove(rule.identity)
        else:
            self.addresses.remove(rule.address)

    def best(self, peer: _Peer, skips_warnings: bool) -> ChannelRule | None:
        """Return the rule for a connection, in the order certificate, user or queue manager, address."""
        if peer.subject is not None and self.certificates is not None:
            for certificates in self.certificates.matching(peer.subject, peer.issuer):
                rule = certificates.addresses.best(peer.address, peer.host, skips_warnings)
                if rule is not None:
                    return rule
        if peer.queue_manager:
            if self.managers is not None:
                for table in self.managers.matching(peer.queue_manager):
                    rule = table.best(peer.address, peer.host, skips_warnings)
                    if rule is not None:
                        return rule
        elif self.users:
            known = self.users.get(peer.user)
            if known is not None:
                rule = known.best(peer.address, peer.host, skips_warnings)
                if rule is not None:
                    return rule
        if self.addresses.count:
            return self.addresses.best(peer.address, peer.host, skips_warnings)
        return None


@final
class _Peer:
    """The connecting peer, as far as it is known."""

    def __init__(
        self,
        address: str,
        host: str,
        user: str,
        subject: DistinguishedName | None,
        issuer: DistinguishedName | None,
        queue_manager: str,
    ) -> None:
        self.address: tuple[int, ...] = read_address(address)
        self.host: str = host
        self.user: str = user
        self.subject: DistinguishedName | None = subject
        self.issuer: DistinguishedName | None = issuer
        self.queue_manager: str = queue_manager


@final
class ChannelRules:
    """All channel authentication rules of a queue manager, indexed for decisions."""

    def __init__(self) -> None:
        self._rules: dict[str, ChannelRule] = {}
        self._profiles: NameTable[_Profile] = NameTable()
        self._blocked: AddressTable = AddressTable()
        self._cached_profiles: dict[str, list[_Profile]] = {}  # profiles by channel

    @property
    def is_empty(self) -> bool:
        return not self._rules

    def __len__(self) -> int:
        return len(self._rules)

    def put(self, definition: Definition) -> None:
        """Add or replace a rule. Raises MQError or ValueError if the definition is invalid."""
        rule = ChannelRule(definition)
        self.remove(definition)
        if rule.type == mq.MQCAUT_BLOCKADDR:
            for text in rule.listed:
                self._blocked.put(AddressPattern(text), rule)
            self._rules[definition.name] = rule
            return
        profile = self._profiles.get(rule.profile)
        if profile is None:
            profile = _Profile()
            self._profiles.put(rule.profile, profile)
            self._cached_profiles.clear()
        profile.put(rule)
        self._rules[definition.name] = rule

    def remove(self, definition: Definition) -> None:
        """Remove a rule if it exists."""
        rule = self._rules.pop(definition.name, None)
        if rule is not None:
            self._remove_rule(rule)

    def _remove_rule(self, rule: ChannelRule) -> None:
        if rule.type == mq.MQCAUT_BLOCKADDR:
            self._blocked = AddressTable()
            return
        profile = self._profiles.get(rule.profile)
        assert profile is not None
        profile.remove(rule)
        if not profile.count:
            self._profiles.remove(rule.profile)
            self._cached_profiles.clear()

    def _profiles_of(self, channel: str) -> list[_Profile]:
        found = self._cached_profiles.get(channel)
        if found is None:
            found = self._profiles.matching(channel)
            if len(self._cached_profiles) >= _CACHED_MAX:
                self._cached_profiles.clear()
            self._cached_profiles[channel] = found
        return found

    def find_blocked_address(self, address: str) -> Decision | None:
        """Return the decision of BLOCKADDR on an address, before anything else is known; None if it is not blocked."""
        if not self._blocked.count:
            return None
        rule = self._blocked.best(read_address(address), "", False)
        return _blocking_decision(rule) if rule is not None else None

    def decide(
        self,
        channel: str,
        address: str,
        host: str,
        user: str,
        subject: DistinguishedName | None,
        issuer: DistinguishedName | None,
        queue_manager: str = "",
    ) -> Decision:
        """Return the decision of the winning mapping rule on a connection.

        `host` is empty if unknown, `subject` is None without a certificate, and `queue_manager` is empty for clients.
        """
        peer = _Peer(address, host, user, subject, issuer, queue_manager)
        profiles = self._profiles_of(channel)
        rule = _best(profiles, peer, False)
        if rule is None or not rule.only_warns:
            return Decision(rule)
        return Decision(_best(profiles, peer, True), rule)

    def needs_host_name(self, channel: str) -> bool:
        """Return whether a rule for the channel has a host name."""
        for profile in self._profiles_of(channel):
            if profile.hosts:
                return True
        return False

    def find_blocked_user(self, channel: str, user: str, is_administrator: bool) -> Decision | None:
        """Return the decision of BLOCKUSER on the user of a connection; None if it is not blocked.

        Only the most specific rule for the channel counts, so that a rule for one channel can lift a rule for all.
        """
        for profile in self._profiles_of(channel):
            rule = profile.blocked_users
            if rule is not None:
                if user in rule.listed or (is_administrator and ADMINISTRATORS in rule.listed):
                    return _blocking_decision(rule)
                return None
        return None

    def matching(
        self,
        channel: str,
        address: str,
        user: str,
        subject: DistinguishedName | None,
        issuer: DistinguishedName | None,
        queue_manager: str,
    ) -> list[Definition]:
        """Return the rules that apply to a connection: one with WARN(YES), and the deciding one."""
        blocked = self.find_blocked_address(address)
        if blocked is not None and blocked.rule is not None and blocked.is_refused:
            return [blocked.rule]
        decision = self.decide(channel, address, "", user, subject, issuer, queue_manager)
        return [rule for rule in (decision.warning, decision.rule) if rule is not None]


def _best(profiles: list[_Profile], peer: _Peer, skips_warnings: bool) -> ChannelRule | None:
    for profile in profiles:
        rule = profile.best(peer, skips_warnings)
        if rule is not None:
            return rule
    return None


def _blocking_decision(rule: ChannelRule) -> Decision:
    return Decision(rule, rule if rule.only_warns else None)
