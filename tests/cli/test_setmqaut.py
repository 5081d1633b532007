"""setmqaut, dspmqaut and dmpmqaut on a real queue manager."""

from __future__ import annotations

import shlex

import pytest
from tests.cli.conftest import SMALL_LOG, Command

from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.directories import QueueManagerDirectory

DONE = "AMQ7024I: The authorities are set.\n"


@pytest.fixture
def created(ostler: Command) -> None:
    assert ostler("crtmqm", "-q", "-z", *SMALL_LOG, "QM1").status == 0


@pytest.fixture
def started(created: None, program: Command) -> None:
    assert program("users", "add", "QM1", "ann", "--no-password").status == 0
    assert program("users", "add", "QM1", "tom", "--groups", "staff", "--no-password").status == 0
    assert program("strmqm", "QM1").status == 0
    made = program("runmqsc", "QM1", text="DEFINE QLOCAL(APP.Q1)\nDEFINE QLOCAL(OTHER)\n")
    assert made.status == 0, made.out


def authorities(ostler: Command, *arguments: str) -> list[str]:
    shown = ostler("dspmqaut", "-m", "QM1", *arguments)
    assert shown.status == 0, shown.err
    return [line.strip() for line in shown.out.splitlines()[1:]]


def test_authorities_are_given_shown_listed_and_taken_away(started: None, ostler: Command) -> None:
    given = ostler(
        "setmqaut", "-m", "QM1", "-n", "APP.**", "-t", "q", "-p", "ann", "-g", "staff", "+get", "+dsp", "+put"
    )
    assert (given.status, given.out) == (0, DONE), given.err
    assert ostler("dspmqaut", "-m", "QM1", "-n", "APP.Q1", "-t", "queue", "-p", "ann").out == (
        "Entity ann has these authorities on object APP.Q1:\n\tget\n\tput\n\tdsp\n"
    )
    assert authorities(ostler, "-n", "OTHER", "-t", "queue", "-p", "ann") == []
    assert authorities(ostler, "-n", "APP.Q1", "-t", "queue", "-g", "staff") == ["get", "put", "dsp"]

    assert ostler("setmqaut", "-n", "APP.Q1", "-t", "queue", "-p", "ann", "-all", "+browse").status == 0
    assert authorities(ostler, "-n", "APP.Q1", "-t", "queue", "-p", "ann") == ["browse"]
    assert ostler("setmqaut", "-t", "qmgr", "-p", "ann", "+connect", "+inq").status == 0
    assert authorities(ostler, "-t", "qmgr", "-p", "ann") == ["inq", "connect"]
    assert ostler("setmqaut", "-n", "@class", "-t", "queue", "-p", "ann", "+crt").status == 0
    assert authorities(ostler, "-n", "OTHER", "-t", "queue", "-p", "ann") == ["crt"]

    assert ostler("dmpmqaut", "-m", "QM1", "-n", "APP.Q1", "-t", "q", "-p", "ann").out == (
        "profile:     APP.**\nobject type: queue\nentity:      ann\nentity type: principal\nauthority:   get put dsp\n"
        "- - - - - - - - - - - - - - - - -\n"
        "profile:     APP.Q1\nobject type: queue\nentity:      ann\nentity type: principal\nauthority:   browse\n"
    )
    contributing = ostler("dmpmqaut", "-n", "APP.Q1", "-t", "q", "-p", "ann", "-e").out
    assert contributing.count("profile:") == 1
    assert "profile:     APP.Q1\n" in contributing
    assert ostler("dmpmqaut", "-t", "q", "-l").out == (
        "profile: @class, type: queue\nprofile: APP.**, type: queue\nprofile: APP.Q1, type: queue\n"
    )
    script = ostler("dmpmqaut", "-a").out.splitlines()
    assert "setmqaut -m QM1 -n 'APP.**' -t queue -g staff +get +put +dsp" in script
    assert "setmqaut -m QM1 -n self -t qmgr -p ann +inq +connect" in script
    assert len(script) == 5

    for profile in ("APP.**", "APP.Q1"):
        assert ostler("setmqaut", "-n", profile, "-t", "q", "-p", "ann", "-remove").status == 0
    assert ostler("dmpmqaut", "-n", "APP.Q1", "-t", "q", "-p", "ann").out == ""
    for line in script:
        assert ostler(*shlex.split(line)).status == 0
    assert ostler("dmpmqaut", "-a").out.splitlines() == script


def test_a_user_has_what_its_groups_have(started: None, ostler: Command) -> None:
    assert ostler("users", "add", "QM1", "zoe", "--groups", "staff,audit", "--no-password").status == 0
    assert ostler("users", "add", "QM1", "boss", "--groups", "mqm", "--no-password").status == 0
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-g", "staff", "-p", "zoe", "+put").status == 0
    assert ostler("setmqaut", "-n", "**", "-t", "queue", "-g", "audit", "+browse").status == 0
    assert ostler("setmqaut", "-n", "APP.Q1", "-t", "queue", "-g", "nobody", "+inq").status == 0
    assert authorities(ostler, "-n", "APP.Q1", "-t", "queue", "-p", "zoe") == ["browse", "put", "inq"]
    assert "clr" in authorities(ostler, "-n", "APP.Q1", "-t", "queue", "-p", "boss")
    counting = ostler("dmpmqaut", "-n", "APP.Q1", "-t", "queue", "-p", "zoe", "-e", "-a").out
    assert counting == (
        "setmqaut -m QM1 -n '**' -t queue -g audit +browse\n"
        "setmqaut -m QM1 -n 'APP.*' -t queue -g staff +put\n"
        "setmqaut -m QM1 -n 'APP.*' -t queue -p zoe +put\n"
        "setmqaut -m QM1 -n APP.Q1 -t queue -g nobody +inq\n"
    )


def test_what_the_queue_manager_refuses(started: None, ostler: Command) -> None:
    unknown = ostler("setmqaut", "-n", "GONE", "-t", "queue", "-p", "ann", "+get")
    assert (unknown.status, unknown.err) == (Status.OBJECT_UNKNOWN, "AMQ8147E: There is no QUEUE called GONE.\n")
    assert ostler("dspmqaut", "-n", "GONE", "-t", "queue", "-p", "ann").status == 133
    senseless = ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "+connect")
    assert senseless.status == 151
    assert "CONNECT does not apply to objects of type QUEUE" in senseless.err
    assert ostler("setmqaut", "-n", "A**", "-t", "queue", "-p", "ann", "+get").status == 36
    assert ostler("setmqaut", "-n", "*", "-t", "queue", "-p", " ", "+get").status == 149
    assert ostler("setmqaut", "-n", "*", "-t", "listener", "-p", "ann", "-remove").status == 133
    assert ostler("dmpmqaut").out == ""


def test_users_and_groups_that_nobody_knows_are_refused(started: None, ostler: Command) -> None:
    for option, name, kind in (("-p", "bbo", "user"), ("-g", "nosuch", "group")):
        given = ostler("setmqaut", "-n", "APP.*", "-t", "queue", option, name, "+get")
        assert given.status == 149
        assert given.err.startswith(f"AMQ7026E: The name of a user or group is wrong: There is no {kind} {name} here.")
        assert "ostler users add" in given.err
        assert ostler("dspmqaut", "-n", "APP.Q1", "-t", "queue", option, name).status == 149
    assert ostler("dmpmqaut").out == ""
    # One that nobody knows among others: nothing is done for any of them.
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "-g", "nosuch", "+get").status == 149
    assert ostler("dmpmqaut").out == ""
    # Users and groups of the operating system, of the password file, and those that every queue manager has.
    for option, name in (
        ("-p", "root"),
        ("-g", "root"),
        ("-p", "ann"),
        ("-g", "staff"),
        ("-g", "nobody"),
        ("-g", "mqm"),
    ):
        assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", option, name, "+get").status == 0


def test_what_a_user_has_who_is_gone_can_be_taken_away(started: None, ostler: Command) -> None:
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "+get", "+put").status == 0
    assert ostler("users", "delete", "QM1", "ann").status == 0
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "+browse").status == 149
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "-put").status == 0
    assert ostler("dmpmqaut", "-a").out == "setmqaut -m QM1 -n 'APP.*' -t queue -p ann +get\n"
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "-remove").status == 0
    assert ostler("dmpmqaut").out == ""


@pytest.mark.parametrize(
    ("words", "both"),
    [(("+all", "-dlt"), "DLT"), (("+get", "-get"), "GET"), (("+dsp", "-alladm"), "DSP"), (("-chg", "+alladm"), "CHG")],
)
def test_lists_that_overlap_are_refused(started: None, ostler: Command, words: tuple[str, ...], both: str) -> None:
    given = ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", *words)
    assert given.status == 151
    assert f"{both} cannot be both given and taken away" in given.err
    assert ostler("dmpmqaut").out == ""


@pytest.mark.parametrize("words", [("-all", "+all", "-dlt"), ("-all", "+allmqi", "-get")])
def test_nothing_is_taken_away_beside_all_when_something_is_given(
    started: None, ostler: Command, words: tuple[str, ...]
) -> None:
    given = ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", *words)
    assert given.status == 151
    assert "-all takes everything away" in given.err
    assert ostler("dmpmqaut").out == ""


def test_all_may_be_taken_away_and_some_given_again(started: None, ostler: Command) -> None:
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "+get", "+browse").status == 0
    assert ostler("setmqaut", "-n", "APP.*", "-t", "queue", "-p", "ann", "-all", "+put").status == 0
    assert ostler("dmpmqaut", "-a").out == "setmqaut -m QM1 -n 'APP.*' -t queue -p ann +put\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("setmqaut", "-n", "Q", "-p", "ann", "+get"), 147),
        (("setmqaut", "-n", "Q", "-t", "cue", "-p", "ann", "+get"), 148),
        (("setmqaut", "-t", "queue", "-p", "ann", "+get"), 146),
        (("setmqaut", "-n", "Q", "-t", "qmgr", "-p", "ann", "+connect"), 145),
        (("setmqaut", "-n", "Q", "-t", "queue", "+get"), 149),
        (("setmqaut", "-n", "Q", "-t", "queue", "-p", "ann"), 150),
        (("setmqaut", "-n", "Q", "-t", "queue", "-p", "ann", "+fly"), 151),
        (("setmqaut", "-n", "Q", "-t", "queue", "-p", "ann", "get"), 36),
        (("setmqaut", "-m", "NONE", "-n", "Q", "-t", "queue", "-p", "ann", "+get"), 72),
        (("setmqaut", "-m", "QM1", "-n", "Q", "-t", "queue", "-p", "ann", "+get"), 40),
        (("dspmqaut", "-n", "Q", "-t", "queue"), 149),
        (("dspmqaut", "-n", "Q", "-t", "queue", "-p", "a", "-g", "b"), 36),
        (("dspmqaut", "-n", "Q", "-p", "a"), 147),
        (("dmpmqaut", "-n", "Q*", "-t", "queue", "-p", "a", "-e"), 36),
        (("dmpmqaut", "-t", "queue", "-p", "a", "-e"), 146),
        (("dmpmqaut", "-n", "Q", "-t", "queue", "-e"), 149),
        (("dmpmqaut", "-n", "Q", "-p", "a", "-e"), 147),
        (("dmpmqaut", "-l", "-a"), 36),
        (("dmpmqaut",), 40),
    ],
)
def test_the_statuses_of_what_cannot_be(
    created: None, ostler: Command, arguments: tuple[str, ...], status: int
) -> None:
    said = ostler(*arguments)
    assert said.status == status, said.err
    assert said.err
    assert said.out == ""


def test_help_tells_of_the_authorities(data: QueueManagerDirectory, ostler: Command) -> None:
    said = ostler("setmqaut", "--help")
    assert said.status == 0
    assert "altusr" in said.out
    assert "-remove" in said.out
