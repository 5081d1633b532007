"""Applications in the queue manager's process: found or refused, run, and what becomes of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.server.trusted_applications import ApplicationRefused, TrustedApplication

MODULE = """
seen = []
value = 3
class Kind:
    @staticmethod
    def method(*texts): return len(texts)
def plain(*texts): seen.extend(texts)
def seven(): return 7
def leave(): raise SystemExit(9)
def leave_with_words(): raise SystemExit("words")
def leave_well(): raise SystemExit
def fail(): raise RuntimeError("it broke")
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "trusted_one.py").write_text(MODULE)
    (tmp_path / "trusted_bad.py").write_text("raise ValueError('no good')\n")
    before = list(sys.path)
    yield str(tmp_path)
    sys.path[:] = before
    for name in ("trusted_one", "trusted_bad"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("plain", 0),
        ("seven", 7),
        ("leave", 9),
        ("leave_with_words", 1),
        ("leave_well", 0),
        ("fail", 1),
        ("Kind.method", 0),
    ],
)
def test_what_it_returns_becomes_its_status(place: str, target: str, status: int) -> None:
    application = TrustedApplication(f"trusted_one:{target}", [place])
    assert application.run() == status
    assert ("it broke" in application.failure) == (target == "fail")


def test_it_is_called_with_texts(place: str) -> None:
    assert TrustedApplication("trusted_one:Kind.method", [place], ["a", "b"]).run() == 2


def test_in_a_thread_it_tells_how_it_ended(place: str) -> None:
    heard: list[str] = []
    ended: list[bool] = []
    application = TrustedApplication("trusted_one:seven", [place])
    application.start(heard.append, lambda: ended.append(True))
    assert application.wait(60)
    assert not application.is_alive
    assert application.status == 7
    assert heard == ["AMQ8026I: Application trusted_one:seven ended with status 7."]


def test_a_failure_is_told(place: str) -> None:
    heard: list[str] = []
    application = TrustedApplication("trusted_one:fail", [place])
    application.start(heard.append)
    assert application.wait(60)
    assert heard[0].startswith("AMQ8026E: Application trusted_one:fail failed: ")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("trusted_one", "does not name a function"),
        ("trusted one:plain", "does not name a function"),
        ("trusted_one:", "does not name a function"),
        ("os;system:x", "does not name a function"),
        ("no_such_module_here:plain", "cannot be loaded"),
        ("trusted_bad:plain", "no good"),
        ("trusted_one:missing", "There is no missing"),
        ("trusted_one:value", "is not a function"),
    ],
)
def test_what_cannot_be_loaded_is_refused(place: str, target: str, words: str) -> None:
    with pytest.raises(ApplicationRefused, match=words):
        TrustedApplication(target, [place])


def test_paths_have_to_be_directories(place: str) -> None:
    for path in (["relative"], [f"{place}/nothing"], [place] * 33):
        with pytest.raises(ApplicationRefused):
            TrustedApplication("trusted_one:plain", path)
