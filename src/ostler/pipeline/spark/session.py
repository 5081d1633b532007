"""The Spark session of the pipeline: on this machine, on a cluster, or through Spark Connect.

Missing prerequisites are reported before Spark is started, because Spark reports them in a hundred lines or waits for
minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from ostler.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
JAVA_RELEASE_LEAST: Final = 17
PYSPARK_LEAST: Final = (4, 2)
_CONNECT: Final = "sc://"
_CONNECT_PORT: Final = 15002
_STANDALONE: Final = "spark://"
_STANDALONE_PORT: Final = 7077
_REACH_SECONDS_MAX: Final = 5.0
_JAVA_SECONDS_MAX: Final = 60.0
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_CONNECT_PACKAGES: Final = ("grpc", "grpc_status", "google.rpc", "pandas", "zstandard")
_OUTPUTS: Final = (1, 2)
_SAID_BYTES_MAX: Final = 1 << 20
# A user who sets these wants to see what Spark writes.
_LOG_LEVEL: Final = "spark.log.level"
_PROGRESS: Final = "spark.ui.showConsoleProgress"
_INSTALL: Final = "on Debian: apt-get install openjdk-17-jre-headless"

# May be set while a session runs, with Spark Connect too.
_RUNTIME_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    # The type that all other readers of Parquet support.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # Partitions are written as their rows come, without sorting all rows first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # Runs have a small file for each phase and table; opening one costs little on their disks.
    "spark.sql.files.openCostInBytes": "262144",
    # So many of them are listed by the driver, which takes less time than a job for it.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "4096",
}

FEW_ROWS: Final = 2_000_000
"""So many rows are read in less time than it takes to compile code for them."""
_SHORT_RUNTIME_SETTINGS: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # A broadcast is a job of its own; few rows are joined in place.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Rules of the optimizer that pay where many rows are read, and need time for each plan.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    # The first use of ICU makes tables of all characters; names here are in ASCII.
    "spark.sql.icu.caseMappings.enabled": "false",
}
SHORT_SETTINGS: Final = {
    **_SHORT_RUNTIME_SETTINGS,
    # Without Hadoop's native library each file and directory that it makes costs a process of `chmod`. Raw files need
    # none, and have no file of checksums beside them: pages of Parquet have their own.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    # Sizes that Java would find by collecting its memory again and again.
    _JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -XX:MetaspaceSize=192m"
    " -XX:InitialRAMPercentage=10 -XX:NewRatio=1",
}
"""Settings for few rows: nothing is compiled, planned again or exchanged for work of a moment."""
_CLASS_PATH: Final = "spark.driver.extraClassPath"
_FIRST_JARS: Final = (
    *("scala-library-*.jar", "spark-catalyst_*.jar", "spark-core_*.jar", "spark-sql-api_*.jar", "spark-sql_*.jar"),
    *("scala-reflect-*.jar", "parquet-column-*.jar", "hadoop-client-api-*.jar", "log4j-core-*.jar"),
)
"""The files that most classes are in. Java looks for a class in one after the other of Spark's 280."""


def open_session(
    master: str = LOCAL,
    application: str = "ostler pipeline",
    settings: Mapping[str, str] | None = None,
    rows: int | None = None,
) -> SparkSession:
    """Open a session on a master: `local[...]`, `spark://host:port`, any other that Spark accepts, or `sc://host:port`.

    `settings` are Spark's own, and override ours. `rows` is how many will be read, where that is known: few of them
    need other settings than many. Raises PipelineError on failure.
    """
    _check_pyspark()
    is_remote = master.startswith(_CONNECT)
    given = {**_settings_for(rows, is_remote), **(settings or {})}
    if is_remote:
        _reach(master, _CONNECT, _CONNECT_PORT, "Start a Spark Connect server there")
    else:
        check_java(os.environ)
        if master.startswith(_STANDALONE):
            for each in master.removeprefix(_STANDALONE).split(","):
                _reach(each, "", _STANDALONE_PORT, "Start a Spark master there")
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    with tempfile.TemporaryFile() as said:
        try:
            return _connected(master, given) if is_remote else _classic(master, application, given, said)
        except (PySparkException, Py4JError, ImportError, RuntimeError) as error:
            raise PipelineError(f"Spark does not start on {master}: {_why(error, said)}") from error


def _settings_for(rows: int | None, is_remote: bool) -> Mapping[str, str]:
    if rows is None or rows > FEW_ROWS:
        return {}
    return _SHORT_RUNTIME_SETTINGS if is_remote else SHORT_SETTINGS


def _first_jars() -> dict[str, str]:
    """Return the setting that lets Java look into some files first; none where Spark's are elsewhere."""
    found = find_spec("pyspark")
    package = os.path.dirname(found.origin) if found is not None and found.origin else ""
    jars = Path(os.environ.get("SPARK_HOME") or package, "jars")
    paths = [str(path) for name in _FIRST_JARS for path in sorted(jars.glob(name))]
    return {_CLASS_PATH: os.pathsep.join(paths)} if paths else {}


def _check_pyspark() -> None:
    wanted = ".".join(map(str, PYSPARK_LEAST))
    install = f"The pipeline needs PySpark {wanted} or newer: pip install 'ostler[pipeline]'"
    if find_spec("pyspark") is None:
        raise PipelineError(install)
    found = version("pyspark")
    if tuple(int(each) for each in re.findall(r"\d+", found)[:2]) < PYSPARK_LEAST:
        raise PipelineError(f"{install}. This is {found}.")


def _connected(master: str, settings: Mapping[str, str]) -> SparkSession:
    missing = [name for name in _CONNECT_PACKAGES if not _is_there(name)]
    if missing:
        raise PipelineError(f"Spark Connect needs {', '.join(missing)}: pip install 'ostler[pipeline-connect]'")
    # The consequence is reported as an error.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    with warnings.catch_warnings():
        # About versions of pandas, of which the pipeline uses nothing.
        warnings.simplefilter("ignore", FutureWarning)
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session: SparkSession = SparkSession.builder.remote(master).getOrCreate()
        # By default Spark would retry for ten minutes, whoever it is that listens there.
        session.client.set_retry_policies([DefaultPolicy(max_retries=3, max_backoff=1000)])
        for name, value in {**_RUNTIME_SETTINGS, **settings}.items():
            session.conf.set(name, value)
        session.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=5000)])
    return session


def _classic(master: str, application: str, settings: Mapping[str, str], said: IO[bytes]) -> SparkSession:
    # Workers must use the Python of this process, whatever else is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(application)
    usual = _usual(master)
    options = f"{usual[_JAVA_OPTIONS]} {settings.get(_JAVA_OPTIONS, '')}".strip()
    for name, value in {**usual, **settings, _JAVA_OPTIONS: options}.items():
        builder = builder.config(name, value)
    if _LOG_LEVEL in settings or settings.get(_PROGRESS) == "true":
        session = builder.getOrCreate()
    else:
        with _output_into(said):
            session = builder.getOrCreate()
    # The session may be an existing one, with other settings.
    for name, value in _RUNTIME_SETTINGS.items():
        session.conf.set(name, settings.get(name, value))
    return session


@contextmanager
def _output_into(file: IO[bytes]) -> Iterator[None]:
    """Redirect the terminal output of processes that start meanwhile to a file, for their lifetime.

    Java warns of modules, and executors print tracebacks. The pipeline itself reports failures.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept: dict[int, int] = {}
    for each in _OUTPUTS:
        # There may be no descriptor to redirect.
        with suppress(OSError):
            kept[each] = os.dup(each)
            os.dup2(file.fileno(), each)
    try:
        yield
    finally:
        for each, was in kept.items():
            os.dup2(was, each)
            os.close(was)


def _why(error: BaseException, said: IO[bytes]) -> str:
    """Return Java's output when it did not start; else Spark's message."""
    from ostler.pipeline.spark.spark_errors import error_text, spark_sentence

    said.seek(0)
    lines = [line.strip() for line in said.read(_SAID_BYTES_MAX).decode(errors="replace").splitlines()]
    meant = [
        line for line in lines if line and not line.startswith(("WARNING", "at ", "NOTE", "Error occurred during"))
    ]
    is_java = "JAVA_GATEWAY_EXITED" in str(getattr(error, "getCondition", str)())
    text = error_text(error)
    if text is None:
        return "what listens there does not answer as Spark does. Look at its log, or leave --master out."
    return spark_sentence(meant[0] if meant and is_java else text)


def _usual(master: str) -> dict[str, str]:
    """Return the default settings of a new session."""
    quiet = files("ostler.pipeline").joinpath("data", "log4j2.properties")
    usual = {
        "spark.ui.enabled": "false",
        **_first_jars(),
        _PROGRESS: "false",
        # Two calls to Java for each operation on a column, for the line of Python in messages of Spark.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={quiet}",
        **_RUNTIME_SETTINGS,
    }
    if master.startswith("local"):
        cores = os.cpu_count() or 1
        usual |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(4 * cores),
        }
    return usual


# -- what must be there ------------------------------------------------------------------------------------------------


def check_java(environment: Mapping[str, str]) -> int:
    """Return the release of the Java that Spark will find. Raises PipelineError when there is none, or an old one."""
    home = environment.get("JAVA_HOME", "")
    wanted = f"Spark needs Java {JAVA_RELEASE_LEAST} or newer"
    command = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH"))
    if not command or not os.access(command, os.X_OK):
        place = f"JAVA_HOME is {home}, and there is no java in it" if home else "there is none on this machine"
        raise PipelineError(f"{wanted}, and {place}. Install one ({_INSTALL}), or set JAVA_HOME to where it is.")
    try:
        text = subprocess.run(
            [command, "-version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_JAVA_SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PipelineError(f"{wanted}, and {command} does not run: {_first_line(error)}. Replace it.") from error
    release = java_release(text.stderr + text.stdout)
    if release is None:
        raise PipelineError(f"{wanted}, and {command} does not say which release it is. Set JAVA_HOME to another.")
    if release < JAVA_RELEASE_LEAST:
        raise PipelineError(
            f"{wanted}, and {command} is Java {release}. Install a newer one ({_INSTALL}), or set JAVA_HOME to it."
        )
    return release


def java_release(text: str) -> int | None:
    """Return the release from `java -version`: 17 of 17.0.15, 8 of 1.8.0_402; None when there is none."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = int(found[1]), found[2]
    return int(second) if first == 1 and second else first


def _reach(address: str, scheme: str, usual_port: int, advice: str) -> None:
    """Check that somebody listens there: Spark would retry for minutes."""
    place = address.removeprefix(scheme).partition("/")[0]
    host, _, port = place.rpartition(":") if ":" in place else (place, "", str(usual_port))
    if not host or not port.isdecimal():
        raise PipelineError(f"{address!r} is not the address of a master: {scheme or _STANDALONE}HOST:PORT is one.")
    try:
        socket.create_connection((host, int(port)), _REACH_SECONDS_MAX).close()
    except (OSError, OverflowError) as error:
        raise PipelineError(
            f"Nobody answers at {host}:{port}: {_first_line(error)}. {advice}, or leave --master out."
        ) from error


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
