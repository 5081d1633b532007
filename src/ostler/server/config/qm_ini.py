"""A queue manager's own configuration, `qm.ini`, with MQ's stanzas, names, ranges and defaults.

Missing attributes have MQ's defaults. A value out of range, or a word that is not allowed, is an error that names the
line and the allowed values. Unknown attributes and stanzas are kept and reported, not refused: the file may come from
another queue manager.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from ostler.server.config import replication_ini, sharing_ini
from ostler.server.config.ini_file import ConfigurationError, IniAttribute, IniFile
from ostler.server.config.ini_rules import Rule, Values
from ostler.server.config.replication_ini import FoundStanzas, ReplicationSection, read_replication
from ostler.server.config.sharing_ini import SharingSection, read_sharing

PAGE_BYTES: Final = 4096
_LOG_FILES_MAX: Final = 511
_BUFFER_PAGES_DEFAULT: Final = 512
_BUFFER_BYTES_MAX: Final = 1 << 30
_MANY: Final = 999_999_999


class LogType(StrEnum):
    CIRCULAR = "CIRCULAR"
    LINEAR = "LINEAR"
    REPLICATED = "REPLICATED"
    """A linear log with automatic management, whose records are copied to other instances."""


class LogWriteIntegrity(StrEnum):
    SINGLE = "SingleWrite"
    DOUBLE = "DoubleWrite"
    TRIPLE = "TripleWrite"


class LogManagement(StrEnum):
    MANUAL = "Manual"
    AUTOMATIC = "Automatic"
    ARCHIVE = "Archive"


class PasswordSource(StrEnum):
    FILE = "File"
    OS = "OS"


class BindType(StrEnum):
    FASTPATH = "FASTPATH"
    STANDARD = "STANDARD"


@dataclass(frozen=True)
class LogSection:
    """The recovery log. `path` is empty for the queue manager's own directory; None stands for OFF."""

    primary_files: int = 3
    secondary_files: int = 2
    file_pages: int = 4096
    buffer_pages: int = 0
    type: LogType = LogType.CIRCULAR
    path: str = ""
    write_integrity: LogWriteIntegrity = LogWriteIntegrity.TRIPLE
    management: LogManagement = LogManagement.MANUAL
    image_interval_minutes: int | None = 60
    image_log_length_megabytes: int | None = None

    @property
    def is_linear(self) -> bool:
        """The log is linear on disk, whether it is copied or not."""
        return self.type is not LogType.CIRCULAR

    def file_bytes(self) -> int:
        return self.file_pages * PAGE_BYTES

    def buffer_bytes(self) -> int:
        """Return the size of the log buffer; 0 pages mean the queue manager's default."""
        return (self.buffer_pages or _BUFFER_PAGES_DEFAULT) * PAGE_BYTES


@dataclass(frozen=True)
class TuningSection:
    """The TuningParameters stanza: sizes of queue buffers, limits of the topic tree."""

    queue_buffer_bytes: int = 131_072
    persistent_queue_buffer_bytes: int = 262_144
    implicit_syncpoint_openers_min: int | None = 2
    topic_nodes_kept: int = 100_000
    """Nodes of the topic tree beyond which unused ones are removed at once, not after TREELIFE."""
    topic_nodes_max: int | None = None
    """The limit of nodes in the topic tree; None: no limit."""
    publication_interval_seconds: int = 10
    """The interval of resource publications on system topics (MonitorPublishHeartBeat)."""


@dataclass(frozen=True)
class ChannelsSection:
    """The Channels stanza: limits of channels, and AdoptNewMCA.

    Two defaults differ from MQ for Linux, which has MaxChannels 100 and AdoptNewMCA NO. Channels are cheap here, as on
    the MQ Appliance, whose limit is used; and adopting lets a channel recover when only its partner noticed a cut.
    """

    channels_max: int = _MANY
    active_channels_max: int = _MANY
    initiators_max: int = 3
    bind_type: BindType = BindType.STANDARD
    pipeline_length: int = 1
    adopt_new_mca: tuple[str, ...] = ("ALL",)
    adopt_new_mca_timeout_seconds: int = 60
    adopt_new_mca_check: tuple[str, ...] = ("NAME", "ADDRESS", "QM")
    chlauth_early_adopt: bool = True
    """Passwords are checked before channel authentication. MQ writes this into every new file."""
    ignores_exits: bool = False
    """Channels run although their exits do not (IgnoreExits, not in MQ)."""


@dataclass(frozen=True)
class SecuritySection:
    """The source of users and passwords. `pam_service` is for PasswordSource=OS with AUTHENMD(PAM)."""

    password_source: PasswordSource = PasswordSource.FILE
    pam_service: str = "ostler"
    takes_any_entity: bool = False
    """Users and groups need not exist to have authorities: SecurityPolicy=UserExternal, as in MQ."""


@dataclass(frozen=True)
class QueueManagerSettings:
    """The settings in `qm.ini`. `notices` are messages about unknown attributes, which have no effect."""

    log: LogSection = LogSection()
    tuning: TuningSection = TuningSection()
    channels: ChannelsSection = ChannelsSection()
    security: SecuritySection = SecuritySection()
    notices: tuple[str, ...] = ()
    file_system_megabytes: int | None = None
    """The disk space of the queue manager's directory (crtmqm -fs); None: all that the disk has."""
    replication: ReplicationSection | None = None
    """The instances of a replicated queue manager; None when it is not one."""
    sharing: SharingSection | None = None
    """The queue-sharing group of the queue manager; None when it is in none."""


_YES_NO: Final = ("YES", "NO")
_Y_N: Final = ("Y", "N")

_USER_POLICY: Final = "User"
_EXTERNAL_POLICY: Final = "UserExternal"

RULES: Final[tuple[Rule, ...]] = (
    Rule("Log", "LogPrimaryFiles", 2, 510),
    Rule("Log", "LogSecondaryFiles", 1, 509),
    Rule("Log", "LogFilePages", 64, 65_535),
    Rule("Log", "LogBufferPages", 0, 4_096),
    Rule("Log", "LogType", words=tuple(LogType)),
    Rule("Log", "LogPath", any_text=True),
    Rule("Log", "LogWriteIntegrity", words=tuple(LogWriteIntegrity)),
    Rule("Log", "LogManagement", words=tuple(LogManagement)),
    Rule("Log", "ImageInterval", 1, _MANY, words=("OFF",)),
    Rule("Log", "ImageLogLength", 1, _MANY, words=("OFF",)),
    Rule("TuningParameters", "DefaultQBufferSize", 4_096, _BUFFER_BYTES_MAX),
    Rule("TuningParameters", "DefaultPQBufferSize", 4_096, _BUFFER_BYTES_MAX),
    Rule("TuningParameters", "ImplSyncOpenOutput", 1, _MANY, words=("OFF",)),
    Rule("TuningParameters", "SuppressDspAuthFail", words=_YES_NO),
    Rule("TuningParameters", "TopicNodesKept", 0, _MANY),
    Rule("TuningParameters", "MaxTopicNodes", 1_000, _MANY, words=("OFF",)),
    Rule("TuningParameters", "MonitorPublishHeartBeat", 1, _MANY),
    Rule("TuningParameters", "UniformClusterName", any_text=True),
    Rule("Channels", "MaxChannels", 1, _MANY),
    Rule("Channels", "MaxActiveChannels", 1, _MANY),
    Rule("Channels", "MaxInitiators", 1, 3),
    Rule("Channels", "MQIBindType", words=tuple(BindType)),
    Rule("Channels", "PipeLineLength", 1, _MANY),
    Rule(
        "Channels",
        "AdoptNewMCA",
        words=("NO", "SVR", "SDR", "RCVR", "CLUSRCVR", "ALL", "FASTPATH"),
        several=True,
    ),
    Rule("Channels", "AdoptNewMCATimeout", 1, 3_600),
    Rule("Channels", "AdoptNewMCACheck", words=("QM", "ADDRESS", "NAME", "ALL"), several=True),
    Rule("Channels", "ChlauthEarlyAdopt", words=_Y_N),
    Rule("Channels", "ChlauthIgnoreUserCase", words=_Y_N),
    Rule("Channels", "IgnoreExits", words=_YES_NO),
    Rule("TCP", "Port", 1, 65_535),
    Rule("TCP", "KeepAlive", words=_YES_NO),
    Rule("TCP", "ListenerBacklog", 1, _MANY),
    Rule("TCP", "SecureCommsOnly", words=("NO", "N", "FALSE", "F", "YES", "Y", "TRUE", "T")),
    Rule("TCP", "Connect_Timeout", 0, _MANY),
    Rule("TCP", "SndBuffSize", 0, _MANY),
    Rule("TCP", "RcvBuffSize", 0, _MANY),
    Rule("TCP", "RcvSndBuffSize", 0, _MANY),
    Rule("TCP", "RcvRcvBuffSize", 0, _MANY),
    Rule("TCP", "SvrSndBuffSize", 0, _MANY),
    Rule("TCP", "SvrRcvBuffSize", 0, _MANY),
    Rule("SSL", "AllowedCipherSpecs", any_text=True),
    Rule("SSL", "OutboundSNI", words=("CHANNEL", "HOSTNAME")),
    Rule("SSL", "OCSPAuthentication", words=("REQUIRED", "WARN", "OPTIONAL")),
    Rule("SSL", "OCSPCheckExtensions", words=_YES_NO),
    Rule("SSL", "CDPCheckExtensions", words=_YES_NO),
    Rule("Security", "PasswordSource", words=tuple(PasswordSource)),
    Rule("Security", "PAMService", any_text=True),
    Rule("Security", "SecurityPolicy", words=(_USER_POLICY, _EXTERNAL_POLICY)),
    Rule("Security", "ClusterQueueAccessControl", words=("RQMName", "Xmitq")),
    Rule("Security", "GroupModel", words=("GlobalGroups",)),
    Rule("FileSystem", "SizeMegabytes", 1, _MANY),
    Rule("ExitPath", "ExitsDefaultPath", any_text=True),
    Rule("ExitPath", "ExitsDefaultPath64", any_text=True),
    *replication_ini.RULES,
    *sharing_ini.RULES,
)

COPIED_STANZAS: Final = ("TuningParameters", "Channels", "TCP", "SSL", "Security")
"""Stanzas that are the queue manager's: its instances have them from the active one. All others are the instance's."""

_BY_NAME: Final[dict[tuple[str, str], Rule]] = {(rule.stanza.lower(), rule.name.lower()): rule for rule in RULES}
_STANZAS: Final = frozenset(rule.stanza.lower() for rule in RULES)
_REPLICATION_STANZAS: Final = frozenset(name.lower() for name in replication_ini.STANZAS)


class QueueManagerIni:
    """The file and its settings. It is validated when it is read and before any change."""

    def __init__(self, text: str, name: str = "qm.ini") -> None:
        self._file = IniFile(text, name)
        self.settings = _settings(self._file)

    @staticmethod
    def read(path: Path) -> QueueManagerIni:
        """Raises ConfigurationError."""
        return QueueManagerIni(IniFile.read(path).text(), str(path))

    def write(self, path: Path) -> None:
        self._file.write(path)

    def text(self) -> str:
        return self._file.text()

    def get(self, stanza: str, attribute: str) -> str | None:
        """Return the value in the file, or None; `settings` then has the default."""
        return self._file.get(stanza, attribute)

    def attributes(self, stanza: str) -> list[tuple[str, str]]:
        """Return the attributes and values of a stanza as they are in the file; none without the stanza."""
        found = self._file.stanza(stanza)
        return [] if found is None else [(each.name, each.value) for each in found.attributes]

    def set_value(self, stanza: str, attribute: str, value: str) -> None:
        """Change one attribute. Raises ConfigurationError, and changes nothing, for a value that is not allowed."""
        changed = IniFile(self._file.text(), self._file.name)
        rule = _BY_NAME.get((stanza.lower(), attribute.lower()))
        try:
            changed.set_value(rule.stanza if rule else stanza, rule.name if rule else attribute, value)
        except ValueError as error:
            raise ConfigurationError(self._file.name, 0, str(error)) from None
        self.settings = _settings(changed)
        self._file = changed

    def delete_value(self, stanza: str, attribute: str) -> bool:
        """Remove one attribute, so that its default applies; return True if it existed."""
        changed = IniFile(self._file.text(), self._file.name)
        if not changed.delete_value(stanza, attribute):
            return False
        self.settings = _settings(changed)
        self._file = changed
        return True

    def replace_stanzas(self, stanza: str, contents: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Replace all stanzas of a name by one for each item of `contents`, the attributes and values of a stanza.

        Raises ConfigurationError, and changes nothing, when the file would not be valid.
        """
        self.change_stanzas({stanza: contents})

    def change_stanzas(self, stanzas: Mapping[str, Sequence[Sequence[tuple[str, str]]]], log_type: str = "") -> None:
        """As `replace_stanzas` for several names at once, and LogType with them: each alone might not be valid."""
        changed = IniFile(self._file.text(), self._file.name)
        try:
            for stanza, contents in stanzas.items():
                changed.replace_stanzas(stanza, contents)
            if log_type:
                changed.set_value("Log", "LogType", log_type)
                if log_type == LogType.REPLICATED:
                    changed.set_value("Log", "LogManagement", LogManagement.AUTOMATIC)
        except ValueError as error:
            raise ConfigurationError(self._file.name, 0, str(error)) from None
        self.settings = _settings(changed)
        self._file = changed


def new_qm_ini(queue_manager: str, log: LogSection, instance: str = "") -> QueueManagerIni:
    """Return the file of a new queue manager with a log section; all else has MQ's defaults.

    `instance` is the name of this instance, if the queue manager is replicated: its log must be so, too. Raises
    ConfigurationError for values that are not allowed.
    """
    lines = [
        f"# The configuration of queue manager {queue_manager}.",
        "# Changes take effect when the queue manager is started again.",
        "Log:",
        f"   LogPrimaryFiles={log.primary_files}",
        f"   LogSecondaryFiles={log.secondary_files}",
        f"   LogFilePages={log.file_pages}",
        f"   LogType={log.type}",
        f"   LogBufferPages={log.buffer_pages}",
        "   LogPath=",
        f"   LogWriteIntegrity={log.write_integrity}",
        f"   LogManagement={log.management}",
        "",
    ]
    if instance:
        lines[-1:] = [f"{replication_ini.LOCAL}:", f"   Name={instance}", ""]
    made = QueueManagerIni("\n".join(lines))
    made.set_value("Log", "LogPath", log.path)
    if log.image_interval_minutes != LogSection.image_interval_minutes:
        made.set_value("Log", "ImageInterval", str(log.image_interval_minutes or "OFF"))
    if log.image_log_length_megabytes != LogSection.image_log_length_megabytes:
        made.set_value("Log", "ImageLogLength", str(log.image_log_length_megabytes or "OFF"))
    return made


def _settings(file: IniFile) -> QueueManagerSettings:
    values = {stanza: Values() for stanza in _STANZAS}
    lines: dict[str, int] = {}
    notices: list[str] = []
    found = FoundStanzas()
    for stanza in file.stanzas:
        name = stanza.name.lower()
        if name not in _STANZAS:
            continue
        if name in replication_ini.REPEATED:
            target = Values()
            found.repeated.append((name, stanza.line, target))
        elif name in lines:
            problem = f"{stanza.name} is in the file twice; the first is in line {lines[name]}"
            raise ConfigurationError(file.name, stanza.line, problem)
        else:
            lines[name] = stanza.line
            target = values[name]
            if name in _REPLICATION_STANZAS:
                found.single[name] = (stanza.line, target)
        for attribute in stanza.attributes:
            _add_value(file, stanza.name, attribute, target, notices)
    _check_total(file, values["log"])
    log = _log_section(values["log"])
    _check_replicated(file, values["log"])
    return QueueManagerSettings(
        log,
        _tuning_section(values["tuningparameters"]),
        _channels_section(values["channels"]),
        _security_section(values["security"]),
        tuple(notices),
        values["filesystem"].number_or_off("SizeMegabytes", None),
        read_replication(file, found, log.type is LogType.REPLICATED),
        read_sharing(file),
    )


def _check_replicated(file: IniFile, values: Values) -> None:
    """Refuse another management than the one that a replicated log has."""
    management = values.text("LogManagement", LogManagement.AUTOMATIC)
    if values.text("LogType", "") == LogType.REPLICATED and management != LogManagement.AUTOMATIC:
        stanza = file.stanza("Log")
        entry = stanza.find("LogManagement") if stanza else None
        problem = f"LogManagement={management} is not allowed with LogType=REPLICATED; allowed is Automatic"
        raise ConfigurationError(file.name, entry.line if entry else 0, problem)


def _add_value(file: IniFile, stanza: str, attribute: IniAttribute, values: Values, notices: list[str]) -> None:
    rule = _BY_NAME.get((stanza.lower(), attribute.name.lower()))
    if rule is None:
        notices.append(f"{file.name}:{attribute.line}: {_unknown_text(stanza, attribute.name)}")
        return
    if rule.name.lower() in values.found:
        raise ConfigurationError(file.name, attribute.line, f"{rule.name} is in stanza {stanza} twice")
    value = rule.canonical(attribute.value)
    too_few = rule.name == "LogBufferPages" and value is not None and 0 < int(value) < 18
    if value is None or too_few:
        allowed = "0, or a number from 18 to 4096" if rule.name == "LogBufferPages" else rule.allowed()
        problem = f"{attribute.name}={attribute.value} is not allowed; allowed is {allowed}"
        raise ConfigurationError(file.name, attribute.line, problem)
    values.found[rule.name.lower()] = value


def _unknown_text(stanza: str, name: str) -> str:
    known = [rule.name for rule in RULES if rule.stanza.lower() == stanza.lower()]
    close = difflib.get_close_matches(name.lower(), [other.lower() for other in known], 1)
    meant = next((other for other in known if close and other.lower() == close[0]), "")
    hint = f"; was {meant} meant?" if meant else ""
    return f"{name} is unknown in {stanza} and has no effect{hint}"


def _check_total(file: IniFile, values: Values) -> None:
    total = values.number("LogPrimaryFiles", 3) + values.number("LogSecondaryFiles", 2)
    if not 3 <= total <= _LOG_FILES_MAX:
        stanza = file.stanza("Log")
        problem = f"LogPrimaryFiles and LogSecondaryFiles are {total} together; allowed is from 3 to {_LOG_FILES_MAX}"
        raise ConfigurationError(file.name, stanza.line if stanza else 0, problem)


def _log_section(values: Values) -> LogSection:
    default = LogSection()
    kind = LogType(values.text("LogType", default.type))
    management = LogManagement.AUTOMATIC if kind is LogType.REPLICATED else default.management
    return LogSection(
        primary_files=values.number("LogPrimaryFiles", default.primary_files),
        secondary_files=values.number("LogSecondaryFiles", default.secondary_files),
        file_pages=values.number("LogFilePages", default.file_pages),
        buffer_pages=values.number("LogBufferPages", default.buffer_pages),
        type=kind,
        path=values.text("LogPath", default.path),
        write_integrity=LogWriteIntegrity(values.text("LogWriteIntegrity", default.write_integrity)),
        management=LogManagement(values.text("LogManagement", management)),
        image_interval_minutes=values.number_or_off("ImageInterval", default.image_interval_minutes),
        image_log_length_megabytes=values.number_or_off("ImageLogLength", default.image_log_length_megabytes),
    )


def _tuning_section(values: Values) -> TuningSection:
    default = TuningSection()
    return TuningSection(
        values.number("DefaultQBufferSize", default.queue_buffer_bytes),
        values.number("DefaultPQBufferSize", default.persistent_queue_buffer_bytes),
        values.number_or_off("ImplSyncOpenOutput", default.implicit_syncpoint_openers_min),
        values.number("TopicNodesKept", default.topic_nodes_kept),
        values.number_or_off("MaxTopicNodes", default.topic_nodes_max),
        values.number("MonitorPublishHeartBeat", default.publication_interval_seconds),
    )


def _channels_section(values: Values) -> ChannelsSection:
    default = ChannelsSection()
    channels_max = values.number("MaxChannels", default.channels_max)
    return ChannelsSection(
        channels_max=channels_max,
        active_channels_max=values.number("MaxActiveChannels", channels_max),
        initiators_max=values.number("MaxInitiators", default.initiators_max),
        bind_type=BindType(values.text("MQIBindType", default.bind_type)),
        pipeline_length=min(values.number("PipeLineLength", default.pipeline_length), 2),
        adopt_new_mca=values.words("AdoptNewMCA", default.adopt_new_mca),
        adopt_new_mca_timeout_seconds=values.number("AdoptNewMCATimeout", default.adopt_new_mca_timeout_seconds),
        adopt_new_mca_check=values.words("AdoptNewMCACheck", default.adopt_new_mca_check),
        chlauth_early_adopt=values.text("ChlauthEarlyAdopt", "Y") == "Y",
        ignores_exits=values.text("IgnoreExits", "NO") == "YES",
    )


def _security_section(values: Values) -> SecuritySection:
    default = SecuritySection()
    return SecuritySection(
        PasswordSource(values.text("PasswordSource", default.password_source)),
        values.text("PAMService", "") or default.pam_service,
        values.text("SecurityPolicy", _USER_POLICY) == _EXTERNAL_POLICY,
    )
