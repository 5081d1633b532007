"""Commands that change files which the instances of a queue manager have from their active one."""

from __future__ import annotations

from ostler.cli.framework.commands import CommandFailed
from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.process_file import ManagerState, state_of
from ostler.server.config.qm_ini import QueueManagerIni


def refuse_on_replica(directory: QueueManagerDirectory, what: str) -> None:
    """Fail where an instance follows and takes a set of files from the active one: the change would be undone."""
    if state_of(directory) is not ManagerState.REPLICA:
        return
    try:
        section = QueueManagerIni.read(directory.ini).settings.replication
    except ConfigurationError:
        return  # whoever reads it next says so
    if section is not None and section.copies_side_files(directory.path) and what in section.side_files:
        raise CommandFailed(Status.NOT_AVAILABLE, "of-active-instance", name=directory.name, what=what)
