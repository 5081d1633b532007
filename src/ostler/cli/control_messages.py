"""What the commands say: MQ's numbers, our words. The letter behind a number is its weight, as MQ has it."""

from __future__ import annotations

from typing import Final

MESSAGES: Final[dict[str, str]] = {
    "AMQ5203E": "{option} cannot be used here: {why}",
    "AMQ6109E": "{what} went wrong in a way that was not foreseen: {why}",
    "AMQ7010E": "There is no stanza {stanza} in {file}.",
    "AMQ7019E": "The directory of queue manager {name} cannot be made: {why}",
    "AMQ7021E": "The files of queue manager {name} could not be removed: {why}",
    "AMQ7028E": "Queue manager {name} is not running.",
    "AMQ7042E": "There is no media image to recover from: {why}",
    "AMQ7044E": "Media recovery needs a linear log: {why}",
    "AMQ7048E": "There is no queue manager {name} in {root}. `ostler dspmq` lists those that are there.",
    "AMQ7049E": "{name!r} cannot be the name of a queue manager: 1 to 48 letters, digits, '.', '/', '_' and '%' can.",
    "AMQ7064E": "The log cannot be made in {path}: {why}",
    "AMQ7065E": "There is not enough space on the disk: {why}",
    "AMQ7073E": "Such a log cannot be made: {why}",
    "AMQ7074E": "{stanza} has no attribute {attribute} in {file}.",
    "AMQ7076E": "The value cannot be set: {why}",
    "AMQ7077E": "You are not allowed to do that: {why}",
    "AMQ7080W": "No object was processed.",
    "AMQ7081I": "Objects recovered: {count}.",
    "AMQ7230I": "{records} log records were replayed in {seconds:.2f} seconds; {messages} messages came back.",
    "AMQ7459I": "Media images recorded: {count}.",
    "AMQ7467I": "The oldest log extent that a restart needs is {extent}.",
    "AMQ7468I": "The oldest log extent that media recovery needs is {extent}.",
    "AMQ8001E": "Queue manager {name} is running already{where}.",
    "AMQ8002I": "Queue manager {name} created.",
    "AMQ8003I": "Queue manager {name} started{details}.",
    "AMQ8004I": "Queue manager {name} ended.",
    "quiescing": "Queue manager {name} is quiescing. It ends when the last application has disconnected.",
    "waiting-to-end": "Waiting for queue manager {name} to end.",
    "deleted": "Queue manager {name} deleted.",
    "is-default": "Queue manager {name} is the default one.",
    "directory-created": "Directory {path} created.",
    "default-objects": "Default objects made: {count}.",
    "will-listen": "Listener {listener} will listen on {address}({port}) while the queue manager runs.",
    "not-in-time": "Queue manager {name} did not end in time. It is ended preemptively.",
    "killed": "Process {process} of queue manager {name} did not end by itself. It was killed.",
    "started-not-whole": "Queue manager {name} started, but not everything is as it should be: {why}",
    "value-set": "{stanza}: {attribute}={value} is set. It takes effect when queue manager {name} is started again.",
    "value-gone": "{stanza}: {attribute} is gone. It takes effect when queue manager {name} is started again.",
    "did-not-start": "Queue manager {name} did not start. Its process ended with {how}.{output}",
    "done-but": "Queue manager {name} is done, but {file} could not be changed: {why}",
    "end-it-first": "Queue manager {name} is running{where}. End it first: ostler endmqm {name}",
    "is-ending": "Queue manager {name} is ending. Start it when it has ended.",
    "user-added": "User {user} of queue manager {name} added.",
    "user-deleted": "User {user} of queue manager {name} deleted.",
    "user-exists": "Queue manager {name} has a user {user}; `ostler users set-password` changes its password.",
    "no-user": "Queue manager {name} has no user {user}. `ostler users list {name}` shows those it has.",
    "no-user-name": "{user!r} cannot be the name of a user or a group: {why}.",
    "password-set": "User {user} of queue manager {name} has another password.",
    "groups-set": "User {user} of queue manager {name} has other groups: {groups}.",
    "no-password": "There is no password: {why}.",
    "password-right": "The password of {user}{kind} is right. Groups: {groups}.",
    "password-wrong": "{user} does not come in with that password: {why}.",
    "not-configured": "Queue manager {name} runs, but could not be configured:\n{why}",
    "password-file-wrong": "{path} cannot be used: {why}.",
    "AMQ8110E": "Queue manager {name} already exists.",
    "AMQ8118E": "Queue manager {name} does not exist. `ostler dspmq` lists those that do.",
    "AMQ8146E": "Queue manager {name} is not available: {why}",
    "AMQ8919E": "No queue manager matches.",
    "AMQ9244E": "No queue manager was named, and {root} has no default one (`ostler crtmqm -q` makes it).",
}


def message(number: str, **inserts: object) -> str:
    """One message, with its number before it. What MQ says without a number has a word as its key, and none here."""
    text = MESSAGES[number].format(**inserts)
    return f"{number}: {text}" if number.startswith("AMQ") else text
