"""`ostler check`: checks the files of a stopped queue manager without changing them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager
from ostler.cli.framework.control_messages import message
from ostler.cli.framework.exit_statuses import Status
from ostler.model.disk import DiskFailed
from ostler.server.config.directories import QueueManagerRunningError, ReadingLock, describe_process
from ostler.server.config.ini_file import ConfigurationError

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from ostler.server.storage.file_check import FileReport

_PATIENCE_SECONDS: Final = 2.0


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "check",
        "check the files of a queue manager",
        "Read all files of a stopped queue manager: log, checkpoint, objects, every stored message, and "
        "check that they belong together. Nothing is changed. The exit status is 0 when they are sound, 132 when "
        "something is damaged, 5 when the queue manager runs.",
        Status.ARGUMENTS_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", nargs="?", help="its name (the default queue manager)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ostler.server.storage.file_check import FileCheck

    directory = existing_manager(arguments.name)
    try:
        with ReadingLock(directory), CheckBar(directory.name) as bar:
            report = FileCheck(directory, bar).run()
    except QueueManagerRunningError as running:
        where = f" in {describe_process(running.process)}" if running.process else ""
        raise CommandFailed(Status.RUNNING, "end-it-first", name=directory.name, where=where) from None
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "cannot-read", what=directory.ini, why=error) from error
    except (DiskFailed, OSError) as error:
        raise CommandFailed(Status.UNEXPECTED, "cannot-read", what=directory.path, why=error) from error
    print(json.dumps(as_json(report), indent=2) if arguments.json else as_text(report))
    return Status.DONE if report.is_sound else Status.OBJECT_DAMAGED


def as_json(report: FileReport) -> dict[str, object]:
    return {
        "name": report.name,
        "path": report.path,
        "sound": report.is_sound,
        "facts": report.facts,
        "findings": [{"severity": each.severity, "file": each.file, "what": each.what} for each in report.findings],
    }


def as_text(report: FileReport) -> str:
    width = max((len(name) for name in report.facts), default=0)
    lines = [f"Files of queue manager {report.name} in {report.path}"]
    lines += [f"  {name:{width}}  {value}" for name, value in report.facts.items()]
    for each in report.findings:
        prefix = "" if each.what.startswith(each.file) else f"{each.file}: "
        lines.append(f"{each.severity.upper()}  {prefix}{each.what}")
    damages = sum(each.severity == "damage" for each in report.findings)
    if damages:
        lines.append(message("AMQ7084E", name=report.name, count=damages))
    else:
        lines.append(message("files-sound", name=report.name))
    return "\n".join(lines)


class CheckBar:
    """A progress bar that appears only on a terminal, and only if the check takes long."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_wanted = sys.stderr.isatty()
        self._began = time.monotonic()
        self._what = ""
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> CheckBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, what: str, done_bytes: int, total_bytes: int) -> None:
        if not self._is_wanted or time.monotonic() - self._began < _PATIENCE_SECONDS:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("")
        assert self._task is not None
        self._bar.update(self._task, description=f"Reading {what}", completed=done_bytes, total=total_bytes)
