"""Build script: the hot packages are compiled ahead of time with mypyc.

`OSTLER_PURE=1`, or no C compiler: the same sources are installed as they are and run interpreted.
"""

from __future__ import annotations

import os
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path

from setuptools import Extension, setup

HOT_PACKAGES = ("model", "engine", "log", "observe", "security", "wire", "channel")
# Modules of other packages that sit on the data path.
HOT_MODULES: tuple[str, ...] = (
    "server/storage/journal_writer.py",
    "server/net/timers.py",
    "server/clock.py",
    "server/channels/agents.py",
    "server/net/link_heart.py",
    "server/net/link_keys.py",
    "server/net/link_limits.py",
    "server/net/link_memory.py",
    "server/net/slow_lane.py",
    "server/net/link.py",
    "server/channels/mca.py",
    "server/net/conversation.py",
    "server/verbs/opened_objects.py",
    "server/verbs/objects.py",
    "server/verbs/opened_subscriptions.py",
    "server/verbs/topics.py",
    "server/verbs/consume.py",
    "server/net/reactor_handler.py",
    "server/net/held_back.py",
    "server/net/reactor.py",
    "client/mqi/put_get.py",
    "client/link/waiters.py",
    "client/link/conversation.py",
    "client/link/writer.py",
    "client/link/blocking_link.py",
    "client/mqi/remote/connections.py",
    "client/mqi/remote/put_get.py",
    # Load drivers and bare servers: what is slow here would be taken for the slowness of a broker.
    "lab/load/amqp/client.py",
    "lab/load/amqp/frames.py",
    "lab/load/amqp/one_way.py",
    "lab/load/bare/client.py",
    "lab/load/bare/loop.py",
    "lab/load/bare/one_way.py",
    "lab/load/bare/server.py",
    "lab/load/client.py",
    "lab/load/drivers/connection_flood.py",
    "lab/load/drivers/epoll_driver.py",
    "lab/load/batching.py",
    "lab/load/nats/jetstream.py",
    "lab/load/link.py",
    "lab/load/moments.py",
    "lab/load/mq/client.py",
    "lab/load/mq/frames.py",
    "lab/load/mq/jms.py",
    "lab/load/mq/one_way.py",
    "lab/load/mq/publish.py",
    "lab/load/mq/request_reply.py",
    "lab/load/mq/session.py",
    "lab/load/mqtt/client.py",
    "lab/load/mqtt/one_way.py",
    "lab/load/mqtt/packets.py",
    "lab/load/nats/client.py",
    "lab/load/nats/one_way.py",
    "lab/load/one_way.py",
    "lab/load/pacing.py",
    "lab/load/redis/client.py",
    "lab/load/redis/one_way.py",
    "lab/load/stomp/client.py",
    "lab/load/stomp/one_way.py",
    "lab/load/timeline.py",
    "lab/store/histogram.py",
    "lab/store/recorder.py",
)
# Big tables that gain nothing from being compiled and cost a long build.
INTERPRETED = ("constants.py", "reasons*.py", "attribute_table*.py", "system_objects*.py")


BUILD_COMMANDS = ("build", "build_ext", "bdist_wheel", "install", "develop", "editable_wheel")


def hot_sources() -> list[str]:
    root = Path("src/ostler")
    sources = [
        str(path)
        for package in HOT_PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        if path.name != "__init__.py" and not any(fnmatch(path.name, pattern) for pattern in INTERPRETED)
    ]
    return sources + [str(root / module) for module in HOT_MODULES if (root / module).exists()]


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
    built: list[Extension] = mypycify(options + hot_sources(), opt_level="3", debug_level="0", multi_file=True)
    return built


setup(ext_modules=extensions())
