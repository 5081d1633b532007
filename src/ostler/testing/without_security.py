"""A queue manager without security: every client may do everything, for tests of programs."""

from __future__ import annotations

from ostler.model import constants as mq
from ostler.model.authorities import CRT
from ostler.security.authorities import EVERYBODY, VALID_AUTHORITIES, record
from ostler.security.profiles import MANAGER_PROFILE
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.queue_manager import QueueManager


def allow_any_principal(directory: QueueManagerDirectory) -> QueueManagerDirectory:
    """Let any user and group have authorities, in the directory of a queue manager that does not run. Returns it.

    Tests use users that neither the operating system nor the password file knows.
    """
    ini = QueueManagerIni.read(directory.ini)
    ini.set_value("Security", "SecurityPolicy", "UserExternal")
    ini.write(directory.ini)
    return directory


def disable_security(manager: QueueManager) -> QueueManager:
    """Switch off passwords and channel rules, and grant all authorities to everybody. Returns the queue manager.

    A server that runs already keeps checking passwords until its security is refreshed (CONNAUTH).
    """
    with manager.turn:
        definition = manager.engine.manager.with_changes({"CHLAUTH": mq.MQCHLA_DISABLED, "CONNAUTH": ""})
    manager.define(definition, replace=True)
    for object_type, mask in VALID_AUTHORITIES.items():
        profile = MANAGER_PROFILE if object_type == mq.MQOT_Q_MGR else "**"
        manager.define(record(object_type, profile, EVERYBODY, True, mask), replace=True)
        manager.define(record(object_type, "@class", EVERYBODY, True, CRT), replace=True)
    return manager
