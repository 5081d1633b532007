"""qm.ini: what it means, what is refused, and that a change leaves the rest alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.ini_rules import Rule
from ostler.server.config.qm_ini import (
    RULES,
    BindType,
    ChannelsSection,
    LogManagement,
    LogSection,
    LogType,
    LogWriteIntegrity,
    QueueManagerIni,
    QueueManagerSettings,
    TuningSection,
    new_qm_ini,
)
from ostler.server.config.replication_ini import STANZAS
from ostler.server.config.sharing_ini import STANZA as SHARING_STANZA

EXAMPLE = """\
#* the configuration of QM1 *#
ExitPath:
   ExitsDefaultPath=/var/mqm/exits
Log:
   LogPrimaryFiles=10          ; more than the default
   LogSecondaryFiles = 20
   LogFilePages=8192
   LogType=linear
   LogBufferPages=512
   LogPath=/var/mqm/log/my queue manager/
   LogWriteIntegrity=SingleWrite
   LogManagement=AUTOMATIC
   ImageInterval=OFF
   ImageLogLength=500
Service:
   Name=AuthorizationService
   EntryPoints=14
Service:
   Name=Another
CHANNELS:          # capitals are the same
MAXCHANNELS=5000
   PipeLineLength=7
   AdoptNewMCA=svr, RCVR
   AdoptNewMCATimeout=90
   MQIBindType=FASTPATH
TuningParameters:
   DefaultQBufferSize=1048576
   DefaultPQBufferSize=10485760
   ImplSyncOpenOutput=OFF
   OurOwnParameter=5
"""


def test_a_file_that_says_nothing_has_the_defaults() -> None:
    settings = QueueManagerIni("").settings
    assert settings == QueueManagerSettings()
    assert settings.log == LogSection(3, 2, 4096, 0, LogType.CIRCULAR, "", LogWriteIntegrity.TRIPLE)
    assert settings.log.file_bytes() == 16 * 1024 * 1024
    assert settings.log.buffer_bytes() == 512 * 4096
    assert settings.tuning == TuningSection(131_072, 262_144)
    assert settings.channels.channels_max == settings.channels.active_channels_max == 999_999_999


def test_every_value_of_a_file() -> None:
    settings = QueueManagerIni(EXAMPLE).settings
    assert settings.log == LogSection(
        primary_files=10,
        secondary_files=20,
        file_pages=8192,
        buffer_pages=512,
        type=LogType.LINEAR,
        path="/var/mqm/log/my queue manager/",
        write_integrity=LogWriteIntegrity.SINGLE,
        management=LogManagement.AUTOMATIC,
        image_interval_minutes=None,
        image_log_length_megabytes=500,
    )
    assert settings.tuning == TuningSection(1_048_576, 10_485_760, None)
    assert settings.channels == ChannelsSection(
        channels_max=5000,
        active_channels_max=5000,
        bind_type=BindType.FASTPATH,
        pipeline_length=2,
        adopt_new_mca=("SVR", "RCVR"),
        adopt_new_mca_timeout_seconds=90,
    )
    assert settings.notices == ("qm.ini:30: OurOwnParameter is unknown in TuningParameters and has no effect",)


def test_a_misspelt_name_is_pointed_out() -> None:
    (notice,) = QueueManagerIni("Log:\n LogPrimaryFile=10\n").settings.notices
    assert notice == "qm.ini:2: LogPrimaryFile is unknown in Log and has no effect; was LogPrimaryFiles meant?"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Log:\n LogPrimaryFiles=1\n", 2, ["LogPrimaryFiles=1 is not allowed", "from 2 to 510"]),
        ("Log:\n LogPrimaryFiles=511\n", 2, ["from 2 to 510"]),
        ("Log:\n LogPrimaryFiles=many\n", 2, ["LogPrimaryFiles=many"]),
        ("Log:\n LogPrimaryFiles=-3\n", 2, ["LogPrimaryFiles=-3"]),
        ("Log:\n LogPrimaryFiles=\n", 2, ["LogPrimaryFiles= is not allowed"]),
        ("Log:\n LogPrimaryFiles=\u0663\n", 2, ["from 2 to 510"]),
        ("Log:\n LogPrimaryFiles=3.0\n", 2, ["from 2 to 510"]),
        ("Log:\n LogSecondaryFiles=0\n", 2, ["from 1 to 509"]),
        ("Log:\n LogFilePages=63\n", 2, ["from 64 to 65535"]),
        ("Log:\n LogFilePages=65536\n", 2, ["from 64 to 65535"]),
        ("Log:\n LogBufferPages=17\n", 2, ["0, or a number from 18 to 4096"]),
        ("Log:\n LogBufferPages=4097\n", 2, ["0, or a number from 18 to 4096"]),
        ("Log:\n LogType=ROUND\n", 2, ["LogType=ROUND", "CIRCULAR, LINEAR"]),
        ("Log:\n LogWriteIntegrity=None\n", 2, ["SingleWrite, DoubleWrite, TripleWrite"]),
        ("Log:\n\n LogPrimaryFiles=500\n LogSecondaryFiles=100\n", 1, ["600 together", "from 3 to 511"]),
        ("Log:\n LogPrimaryFiles=510\n", 1, ["512 together"]),
        ("Log:\n LogType=LINEAR\n LogType=LINEAR\n", 3, ["twice"]),
        ("Log:\nTCP:\nlog:\n", 3, ["twice", "line 1"]),
        ("TuningParameters:\n DefaultQBufferSize=1073741825\n", 2, ["from 4096 to 1073741824"]),
        ("Channels:\n MaxInitiators=4\n", 2, ["from 1 to 3"]),
        ("Channels:\n AdoptNewMCA=ALL,NONE\n", 2, ["joined by commas"]),
        ("TCP:\n Port=99999\n", 2, ["from 1 to 65535"]),
        ("TCP:\n KeepAlive=perhaps\n", 2, ["YES, NO"]),
        ("# first\nLogType=LINEAR\n", 2, ["before the first stanza"]),
        ("Log:\n LogType\n", 2, ['"LogType" is neither a stanza']),
        ("Log:\n =5\n", 2, ["neither"]),
        ("Log: LogType=LINEAR\n", 1, ["neither"]),
        ("Log:\n LogPath=a\0b\n", 2, ["damaged"]),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_what_is_allowed(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        QueueManagerIni(text, "some/qm.ini")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"some/qm.ini:{line}: ")
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "qm.ini"
    with pytest.raises(ConfigurationError, match=r"qm\.ini: cannot be read: No such file"):
        QueueManagerIni.read(path)
    path.write_bytes(b"Log:\n LogPath=\xff\n")
    with pytest.raises(ConfigurationError, match=r"qm\.ini:2: the byte 0xff is not UTF-8"):
        QueueManagerIni.read(path)
    path.write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(ConfigurationError, match="longer than"):
        QueueManagerIni.read(path)


def test_a_change_touches_one_line_only() -> None:
    ini = QueueManagerIni(EXAMPLE)
    ini.set_value("log", "logprimaryfiles", "12")
    ini.set_value("Log", "LogSecondaryFiles", "5")
    changed = EXAMPLE.replace("LogPrimaryFiles=10  ", "LogPrimaryFiles=12  ").replace("Files = 20", "Files = 5")
    assert ini.text() == changed
    assert ini.get("LOG", "LogPrimaryFiles") == "12"
    assert (ini.settings.log.primary_files, ini.settings.log.secondary_files) == (12, 5)


def test_a_new_attribute_goes_to_its_stanza_and_a_new_stanza_to_the_end() -> None:
    ini = QueueManagerIni("Log:\n   LogType=CIRCULAR\n\nTCP:")
    ini.set_value("log", "logfilepages", "128")
    ini.set_value("tcp", "port", "1415")
    ini.set_value("channels", "maxchannels", "7")
    assert ini.text() == (
        "Log:\n   LogType=CIRCULAR\n   LogFilePages=128\n\nTCP:\n   Port=1415\nChannels:\n   MaxChannels=7\n"
    )


def test_an_attribute_can_be_taken_out() -> None:
    ini = QueueManagerIni(EXAMPLE)
    assert ini.delete_value("Log", "LogType")
    assert not ini.delete_value("Log", "LogType")
    assert not ini.delete_value("Nothing", "LogType")
    assert ini.text() == EXAMPLE.replace("   LogType=linear\n", "")
    assert ini.settings.log.type == LogType.CIRCULAR


@pytest.mark.parametrize(
    ("stanza", "attribute", "value"),
    [
        ("Log", "LogPrimaryFiles", "1"),
        ("Log", "LogPrimaryFiles", "500"),
        ("Log", "LogPath", "a\nTCP:"),
        ("Log", "LogPath", "a # b"),
        ("Log", "LogPath", " a"),
        ("Log", "LogPath", ";a"),
        ("Log", "Log Path", "a"),
        ("L:og", "LogPath", "a"),
        ("Own", "Value", "a\0"),
    ],
)
def test_a_change_that_is_not_allowed_changes_nothing(stanza: str, attribute: str, value: str) -> None:
    ini = QueueManagerIni(EXAMPLE)
    before = ini.settings
    with pytest.raises(ConfigurationError):
        ini.set_value(stanza, attribute, value)
    assert ini.text() == EXAMPLE
    assert ini.settings == before


def test_a_deletion_that_would_break_the_file_changes_nothing() -> None:
    text = "Log:\n LogPrimaryFiles=510\n LogSecondaryFiles=1\n"
    ini = QueueManagerIni(text)
    with pytest.raises(ConfigurationError, match="512 together"):
        ini.delete_value("Log", "LogSecondaryFiles")
    assert ini.text() == text


def test_comments_and_line_ends_stay() -> None:
    ini = QueueManagerIni("Log:\r\n LogPath=;nothing yet\r\n LogType=LINEAR # so\r\n")
    ini.set_value("Log", "LogPath", "/x#y")
    ini.set_value("Log", "LogFilePages", "64")
    assert ini.text() == "Log:\r\n LogPath=/x#y ;nothing yet\r\n LogType=LINEAR # so\r\n   LogFilePages=64\r\n"
    assert ini.settings.log.path == "/x#y"


def test_writing_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "qm.ini"
    path.write_text("old")
    QueueManagerIni(EXAMPLE).write(path)
    assert path.read_text() == EXAMPLE
    assert os.listdir(tmp_path) == ["qm.ini"]
    assert QueueManagerIni.read(path).settings == QueueManagerIni(EXAMPLE, str(path)).settings
    with pytest.raises(ConfigurationError, match="cannot be written"):
        QueueManagerIni("").write(tmp_path / "absent" / "qm.ini")


def test_the_file_of_a_new_queue_manager() -> None:
    log = LogSection(
        5, 6, 1024, 32, LogType.LINEAR, "/logs/x", LogWriteIntegrity.DOUBLE, LogManagement.ARCHIVE, None, 9
    )
    made = new_qm_ini("QM1", log)
    assert QueueManagerIni(made.text()).settings.log == log
    assert "QM1" in made.text().splitlines()[0]
    assert QueueManagerIni(new_qm_ini("QM1", LogSection()).text()).settings == QueueManagerSettings()
    with pytest.raises(ConfigurationError, match="from 2 to 510"):
        new_qm_ini("QM1", LogSection(primary_files=1))
    with pytest.raises(ConfigurationError, match="cannot be a value"):
        new_qm_ini("QM1", LogSection(path="/a\n LogType=LINEAR"))


WORDS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=20)


@given(st.lists(st.one_of(WORDS, st.sampled_from(["Log:", "X:", "A=b", " c = d e ;f", "# x", "", "\t", "B=\r"]))))
def test_reading_and_writing_gives_the_same_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        written = IniFile(text).text()
    except ConfigurationError as error:
        # A refusal names a line that is there.
        written = text if 1 <= error.line <= len(lines) else ""
    assert written == text


@given(st.sampled_from(["Log", "Own"]), st.sampled_from(["LogPath", "Other"]), WORDS, st.sampled_from([EXAMPLE, ""]))
def test_what_was_set_is_got(stanza: str, attribute: str, value: str, text: str) -> None:
    file = IniFile(text)
    try:
        file.set_value(stanza, attribute, value)
    except ValueError:
        assert file.text() == text
        return
    assert file.get(stanza, attribute) == value
    again = IniFile(file.text())
    assert again.get(stanza, attribute) == value
    untouched = [line for line in file.text().splitlines() if f"{attribute}=" not in line.replace(" ", "")]
    assert [line for line in text.splitlines() if f"{attribute}=" not in line.replace(" ", "")] == [
        line for line in untouched if line != f"{stanza}:" or f"{stanza}:" in text
    ]


def file_with(rule: Rule, value: int) -> str:
    """A file with one attribute, and with what a stanza about copies or a group cannot be without."""
    if rule.stanza == SHARING_STANZA:
        number = "" if rule.name == "MemberNumber" else "MemberNumber=1\n"
        return f"{SHARING_STANZA}:\nName=QSG1\nFacility=127.0.0.1(1)\n{number}{rule.name}={value}\n"
    if rule.stanza not in STANZAS:
        return f"{rule.stanza}:\n{rule.name}={value}\n"
    stanzas = {
        "Log": "LogType=REPLICATED\n",
        "NativeHALocalInstance": "Name=a\n" + ("" if rule.name == "HeartbeatInterval" else "HeartbeatInterval=500\n"),
        "Arbiter": "Endpoints=http://127.0.0.1:2379\n",
        "Replication": "",
    }
    stanzas[rule.stanza] += f"{rule.name}={value}\n"
    instances = [f"NativeHAInstance:\nName={name}\nReplicationAddress={name}(1)\n" for name in "abc"]
    return "".join(f"{name}:\n{text}" for name, text in stanzas.items()) + "".join(instances)


@given(st.data())
def test_every_number_is_checked_at_both_ends(data: st.DataObject) -> None:
    rule = data.draw(st.sampled_from([rule for rule in RULES if rule.maximum > 0 and rule.name != "LogBufferPages"]))
    low = max(rule.minimum, 1)
    high = min(rule.maximum, 500)
    inside = data.draw(st.integers(low, max(low, high)))
    assert QueueManagerIni(file_with(rule, inside)).get(rule.stanza, rule.name) == str(inside)
    outside = data.draw(st.integers(rule.maximum + 1))
    with pytest.raises(ConfigurationError, match=f"to {rule.maximum}"):
        QueueManagerIni(file_with(rule, outside))
