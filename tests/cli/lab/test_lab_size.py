"""`ostler lab size`: answers for people and programs, runs by name, and wrong input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.store.run_samples import OSTLER, write_run

from ostler.cli.main import main


def size(*arguments: str) -> int:
    return main(["lab", "size", *arguments])


def test_the_calculations_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert size("structure", "--size", "512M", "--message-bytes", "16K") == 0
    assert size("structure", "--size", "512M", "--message-bytes", "16K", "--cflevel", "4") == 0
    assert size("data-set", "--message-bytes", "100M") == 0
    assert size("buffers", "--structures", "63") == 0
    assert size("spread", "--measured", "8", "--rate", "469", "--written", "93", "--structures", "32") == 0
    assert capsys.readouterr().out.splitlines() == [
        "158,171 messages: 17,100 in the structure, 141,071 in data sets.",
        "23,416 messages.",
        "167,772 messages, which need 0.12 GB of structure.",
        "1,575 MB in each queue manager.",
        "15,008 round trips and 2,976 MB written a second, 469 and 93 MB on each structure.",
    ]


def test_a_load_from_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = write_run(tmp_path, {10: [replace(OSTLER, rates=(1000, 1000), flags=())]}).name
    assert size("load", name, "--runs", str(tmp_path), "--rate", "700") == 0
    text = capsys.readouterr().out
    assert "queue managers:         1\n" in text
    assert "where one made 1,000 at its peak with 10 clients" in text
    assert f"Measured: {name}, Ostler, TCP, step 0.\n" in text
    assert size("load", "--runs", str(tmp_path), "--rate", "1400", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 1
    assert {each["resource"]: each["value"] for each in found["needs"]}["queue managers"] == 2


def test_without_runs_only_what_needs_none_is_answered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert size("load", "--runs", str(tmp_path), "--rate", "700") == 0
    shown = capsys.readouterr()
    assert "There are no runs" in shown.err
    assert "queue managers:         unknown\n" in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("load", "--rate", "0"), "0 is not a number above 0"),
        (("load", "--rate", "1", "--message-bytes", "2X"), "2X is not a size such as 2048"),
        (("load", "--rate", "1", "--busy", "101"), "101 is not a percentage up to 100"),
        (("load", "--rate", "1", "--clients", "-1"), "-1 is not a whole number"),
        (
            ("structure", "--size", "1G", "--message-bytes", "1K", "--offload", "80"),
            "80 is not a percentage and a size",
        ),
        (("load", "--rate", "1", "--message-bytes", "101M"), "101M is too long: messages have at most 100M"),
        (("structure", "--size", "0", "--message-bytes", "1K"), "0 holds nothing"),
        (
            ("structure", "--size", "1G", "--message-bytes", "1K", "--cflevel", "4", "--offload", "80:4K"),
            "--offload is for CFLEVEL(5)",
        ),
        (
            ("structure", "--size", "1G", "--message-bytes", "1K", *(4 * ("--offload", "80:4K"))),
            "a structure has 3 offload rules, and 4 are given",
        ),
        (
            ("structure", "--size", "1G", "--message-bytes", "64K", "--cflevel", "3"),
            "messages of more than 63K need CFLEVEL(4) or (5)",
        ),
        (("data-set", "--message-bytes", "4K", "--size", "17T"), "17T is too large: a data set has at most 16T"),
        (("buffers", "--dsblock", "7K"), "7K is not a DSBLOCK"),
        (("buffers", "--dsbufs", "0"), "0 is not a number from 1 to 9,999"),
        (("buffers", "--structures", "64"), "64 is not a number from 1 to 63"),
        (
            ("spread", "--measured", "0", "--rate", "1", "--written", "1", "--structures", "2"),
            "0 is not a number from 1 to 63",
        ),
        (("load", "nowhere", "--rate", "1", "--runs", "/nonexistent"), "There is no run 'nowhere'"),
    ],
)
def test_wrong_input_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    try:
        status = size(*arguments)
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert said in capsys.readouterr().err
