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
    "server/journal_writer.py",
    "server/timers.py",
    "server/clock.py",
    "server/agents.py",
    "server/link_heart.py",
    "server/link_keys.py",
    "server/link_limits.py",
    "server/link_memory.py",
    "server/slow_lane.py",
    "server/server_link.py",
    "server/message_agent.py",
    "server/conversation.py",
    "server/opened_objects.py",
    "server/object_verbs.py",
    "server/opened_subscriptions.py",
    "server/topic_verbs.py",
    "server/looks.py",
    "server/policy.py",
    "server/held_back.py",
    "server/reactor.py",
    "client/mqi.py",
    "client/link_waiters.py",
    "client/link_conversation.py",
    "client/link_writer.py",
    "client/blocking_link.py",
    "client/remote_connections.py",
    "client/remote_verbs.py",
    # Load drivers and bare servers: what is slow here would be taken for the slowness of a broker.
    "lab/load/amqp_client.py",
    "lab/load/amqp_frames.py",
    "lab/load/amqp_one_way.py",
    "lab/load/bare_client.py",
    "lab/load/bare_loop.py",
    "lab/load/bare_one_way.py",
    "lab/load/bare_server.py",
    "lab/load/client.py",
    "lab/load/connection_flood.py",
    "lab/load/epoll_driver.py",
    "lab/load/gathering.py",
    "lab/load/jetstream_client.py",
    "lab/load/link.py",
    "lab/load/moments.py",
    "lab/load/mq_client.py",
    "lab/load/mq_frames.py",
    "lab/load/mq_jms.py",
    "lab/load/mq_one_way.py",
    "lab/load/mq_publish.py",
    "lab/load/mq_request_reply.py",
    "lab/load/mq_session.py",
    "lab/load/mqtt_client.py",
    "lab/load/mqtt_one_way.py",
    "lab/load/mqtt_packets.py",
    "lab/load/nats_client.py",
    "lab/load/nats_one_way.py",
    "lab/load/one_way.py",
    "lab/load/pacing.py",
    "lab/load/redis_client.py",
    "lab/load/redis_one_way.py",
    "lab/load/stomp_client.py",
    "lab/load/stomp_one_way.py",
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
