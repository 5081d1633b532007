"""Build script: the hot packages are compiled ahead of time with mypyc.

`OSTLER_PURE=1`, or no C compiler: the same sources are installed as they are and run interpreted.
"""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Compiled as a whole, with the rooms inside.
HOT_PACKAGES = ("model", "engine", "log", "observe", "security", "wire", "channel", "cluster", "coupling", "replica")
# Rooms of other packages that sit on the data path, without the modules that do not. Load drivers and bare servers are
# among them: their slowness would be taken for the slowness of a broker.
HOT_ROOMS: dict[str, tuple[str, ...]] = {
    "server/net": ("accept", "dns", "link_status", "listeners", "local_socket", "outgoing_sockets"),
    "server/verbs": ("search_thread",),
    "lab/load": ("registry", "sigint_blocked", "spec"),
    "lab/load/amqp": (),
    "lab/load/bare": (),
    "lab/load/mq": ("blocking_link", "factory", "mqsc_by_message", "queue_filler", "topic_maker"),
    "lab/load/mqtt": (),
    "lab/load/nats": (),
    "lab/load/redis": (),
    "lab/load/stomp": (),
}
# Single modules on the data path, in rooms that are not.
HOT_MODULES: tuple[str, ...] = (
    "server/clock.py",
    "server/coupling/facility_loop.py",
    "server/turn.py",
    "server/channels/mca.py",
    "server/storage/journal_writer.py",
    "client/mqi/put_get.py",
    "client/mqi/remote/connections.py",
    "client/mqi/remote/put_get.py",
    "client/link/blocking_link.py",
    "client/link/waiters.py",
    "client/link/writer.py",
    "lab/load/drivers/connection_flood.py",
    "lab/load/drivers/epoll_driver.py",
    "lab/store/histogram.py",
    "lab/store/recorder.py",
)
# Big tables that gain nothing from being compiled and cost a long build.
INTERPRETED = ("constants.py", "reasons.py", "resource_table.py", "system_objects.py", "tables/*.py")


BUILD_COMMANDS = ("build", "build_ext", "bdist_wheel", "install", "develop", "editable_wheel")


def hot_sources() -> list[str]:
    """Return the paths of all modules to compile. A name in the lists above that means no file is an error."""
    root = Path("src/ostler")
    sources = [path for package in HOT_PACKAGES for path in sorted((root / package).rglob("*.py"))]
    for room, interpreted in HOT_ROOMS.items():
        found = sorted((root / room).glob("*.py"))
        missing = set(interpreted) - {path.stem for path in found}
        if not found or missing:
            raise SystemExit(f"setup.py: there is no {root / room} with {', '.join(sorted(missing)) or 'modules'}")
        sources += [path for path in found if path.stem not in interpreted]
    sources += [root / module for module in HOT_MODULES]
    for path in sources:
        if not path.exists():
            raise SystemExit(f"setup.py: there is no {path}")
    return [
        str(path)
        for path in sources
        if path.name != "__init__.py" and not any(path.match(pattern) for pattern in INTERPRETED)
    ]


def why_pure() -> str:
    if os.environ.get("OSTLER_PURE", "") not in ("", "0"):
        return "OSTLER_PURE is set"
    if not any(shutil.which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang")):
        return "no C compiler was found"
    return ""


def extensions() -> list[Extension]:
    reason = why_pure()
    if reason:
        print(f"ostler: building the interpreted flavour: {reason}", file=sys.stderr)
        return []
    # Asking for metadata also runs this file; the long work is for the build itself.
    if not any(command in sys.argv for command in BUILD_COMMANDS):
        return []
    from mypyc.build import mypycify

    os.environ["MYPYPATH"] = "src"
    # The build environment has no third-party packages; what hot code imports of them is checked by `make lint`.
    options = ["--strict", "--config-file=pyproject.toml", "--ignore-missing-imports"]
    options += ["--disable-error-code=import-untyped", "--disable-error-code=unused-ignore"]
    options += ["--allow-subclassing-any", "--no-warn-return-any"]
    built: list[Extension] = mypycify(options + hot_sources(), opt_level="3", debug_level="0", multi_file=True)
    return built


class BuildOnAllProcessors(build_ext):
    """Compiles the C files of an extension beside each other: there are hundreds, and the compiler takes one a time."""

    def build_extensions(self) -> None:
        compile_files = self.compiler.compile

        def compile_beside(sources: list[str], *args: Any, **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                compiled = pool.map(lambda source: compile_files([source], *args, **options), sources)
                return [path for paths in compiled for path in paths]

        self.compiler.compile = compile_beside
        super().build_extensions()


if __name__ == "__main__":  # tests read the lists above
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildOnAllProcessors})
