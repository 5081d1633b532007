"""AddressCommand: a real program that is run with up and down."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ostler.server.replica.address_command import DOWN, UP, run_address_command


def script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "move address"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return f"'{path}' eth0"


def test_it_gets_its_arguments_and_names_and_what_it_prints_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQ_PASSWORD", "secret")
    noted: list[str] = []
    command = script(tmp_path, f'echo "$1 $2 $OSTLER_QMGR $OSTLER_INSTANCE [$MQ_PASSWORD]" | tee -a {tmp_path}/calls')
    assert run_address_command(command, UP, "QM1", "alpha", noted.append)
    assert run_address_command(command, DOWN, "QM1", "alpha", noted.append)
    assert (tmp_path / "calls").read_text().splitlines() == ["eth0 up QM1 alpha []", "eth0 down QM1 alpha []"]
    assert noted[0] == "AMQ3287I: AddressCommand up was run. It printed: eth0 up QM1 alpha []"


def test_a_failure_is_told(tmp_path: Path) -> None:
    noted: list[str] = []
    command = script(tmp_path, "echo no such device >&2; exit 3")
    assert not run_address_command(command, UP, "QM1", "alpha", noted.append)
    assert noted == ["AMQ3286E: AddressCommand up failed: exit status 3. It printed: no such device"]
    assert not run_address_command("/no/such/program", UP, "QM1", "alpha", noted.append)
    assert "AMQ3286E" in noted[1]
    assert not run_address_command("'", UP, "QM1", "alpha", noted.append)
    assert run_address_command("", UP, "QM1", "alpha", noted.append)


def test_one_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    noted: list[str] = []
    command = script(tmp_path, f"(sleep 3; touch {tmp_path}/late) & sleep 60")
    began = time.monotonic()
    assert not run_address_command(command, DOWN, "QM1", "alpha", noted.append, 0.3)
    assert time.monotonic() - began < 30
    assert "was killed" in noted[0]
