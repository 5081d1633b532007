"""The environments of the processes of a queue manager and its services.

Variables hold passwords, and the environment of a process can be read for as long as it runs (/proc/PID/environ).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SECRET: Final = re.compile(r"PASSWORD|PASSWD|PASSPHRASE|PWD_|_PWD$|SECRET|TOKEN|CREDENTIAL|PRIVATE_KEY|API_?KEY", re.I)
_NO_SECRETS: Final = frozenset(("OSTLER_ALLOW_PLAIN_PASSWORD",))
_SERVICE_NAMES: Final = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *(
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "XDG_RUNTIME_DIR",
            "LD_LIBRARY_PATH",
            "PYTHONPATH",
            "VIRTUAL_ENV",
            "JAVA_HOME",
        ),
    )
)
_SERVICE_PREFIXES: Final = ("LC_", "OSTLER_", "MQ", "AMQ", "GSK")


def is_secret(name: str) -> bool:
    """Return True when a variable's name suggests a password or the like."""
    return name not in _NO_SECRETS and _SECRET.search(name) is not None


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that hold passwords and the like."""
    return {name: value for name, value in environment.items() if not is_secret(name)}


def for_service(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a queue manager passes to its services; service.env adds others."""
    return {
        name: value
        for name, value in without_secrets(environment).items()
        if name in _SERVICE_NAMES or name.startswith(_SERVICE_PREFIXES)
    }
