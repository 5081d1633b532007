"""Conditions for starting Spark, in words that say what to do."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.spark.session import check_java, java_release, open_session

needs_spark = pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed")

SEVENTEEN = 'openjdk version "17.0.15" 2025-04-15'


def java_that(tmp_path: Path, script: str) -> dict[str, str]:
    """An environment whose JAVA_HOME holds a java that does this."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("text", "release"),
    [
        (SEVENTEEN, 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("Segmentation fault", None),
    ],
)
def test_the_release_of_java_is_read(text: str, release: int | None) -> None:
    assert java_release(text) == release


def test_a_new_enough_java_is_taken(tmp_path: Path) -> None:
    assert check_java(java_that(tmp_path, f"echo '{SEVENTEEN}' >&2")) == 17


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'java version \"1.8.0_402\"' >&2", "is Java 8. Install a newer one"),
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is Java 11. Install a newer one"),
        ("exit 3", "does not run"),
        ("head -c 100 /dev/zero | tr '\\0' '\\377' >&2", "does not say which release it is"),
        ("echo hello", "does not say which release it is"),
    ],
)
def test_another_java_is_refused_with_what_to_do(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(PipelineError, match="Spark needs Java 17 or newer") as refused:
        check_java(java_that(tmp_path, script))
    assert words in str(refused.value)


def test_no_java_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"there is none on this machine\. Install one"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(PipelineError, match="there is no java in it"):
        check_java({"PATH": "/usr/bin", "JAVA_HOME": str(tmp_path)})


@needs_spark
@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_master_that_does_not_answer_is_told_at_once(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(PipelineError, match=f"Nobody answers at 127.0.0.1:{port}"):
        open_session(f"{scheme}://127.0.0.1:{port}")


@needs_spark
@pytest.mark.parametrize("master", ["spark://", "sc://:12", "spark://host:port"])
def test_what_is_no_address_is_told(master: str) -> None:
    with pytest.raises(PipelineError, match="is not the address of a master"):
        open_session(master)


@needs_spark
def test_an_old_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostler.pipeline.spark.session.version", lambda name: "3.5.1")
    with pytest.raises(PipelineError, match=r"needs PySpark 4\.2 or newer: .*This is 3\.5\.1"):
        open_session()
