"""A queue manager without a guard: whoever comes in may do everything, as tests of other things like it."""

from __future__ import annotations

from ostler.model.authorities import CRT
from ostler.model.constants import MQCHLA_DISABLED, MQOT_Q_MGR
from ostler.security.authorities import EVERYBODY, VALID_AUTHORITIES, record
from ostler.security.profiles import MANAGER_PROFILE
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.queue_manager import QueueManager


def allow_any_principal(directory: QueueManagerDirectory) -> QueueManagerDirectory:
    """The same directory of a queue manager that does not run: any user and group may have authorities from now on.

    Tests make users up that neither the operating system nor the password file knows.
    """
    ini = QueueManagerIni.read(directory.ini)
    ini.set_value("Security", "SecurityPolicy", "UserExternal")
    ini.write(directory.ini)
    return directory


def disable_security(manager: QueueManager) -> QueueManager:
    """The same queue manager, which asks for no passwords, applies no channel rules, and lets everybody do everything.

    A server that runs already goes on asking for passwords until its security is refreshed (CONNAUTH).
    """
    with manager.lock:
        definition = manager.engine.manager.with_changes({"CHLAUTH": MQCHLA_DISABLED, "CONNAUTH": ""})
    manager.define(definition, replace=True)
    for object_type, mask in VALID_AUTHORITIES.items():
        profile = MANAGER_PROFILE if object_type == MQOT_Q_MGR else "**"
        manager.define(record(object_type, profile, EVERYBODY, True, mask), replace=True)
        manager.define(record(object_type, "@class", EVERYBODY, True, CRT), replace=True)
    return manager
