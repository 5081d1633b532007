"""The messages of replication: numbers of MQ's 3200 block with our texts. AMQ3269 and above are our own.

MQ has no message for a partition; it is a status word there. Ours is AMQ3271W.
"""

from __future__ import annotations

import re
from typing import Final

MESSAGES: Final[dict[str, str]] = {
    "AMQ3205E": "The stanza {stanza} is missing in qm.ini: {why}",
    "AMQ3208E": "A connection to instance {instance} at {address} cannot be made: {why}",
    "AMQ3211I": "A connection to instance {instance} at {address} is made.",
    "AMQ3212I": "A secure connection to instance {instance} at {address} is made.",
    "AMQ3213I": "Instance {instance} has connected from {address}.",
    "AMQ3214I": "Instance {instance} has connected securely from {address}.",
    "AMQ3215I": "Instance {instance} is now the active instance of queue manager {name}, in term {term}.",
    "AMQ3230E": "The connection with {address} cannot be secured: {why}",
    "AMQ3235I": "Instance {instance} is not connected to enough other instances: {connected} of {needed}.",
    "AMQ3237I": "Instance {instance} takes a base from instance {leader}.",
    "AMQ3238I": "Instance {instance} has a base from instance {leader}, and follows.",
    "AMQ3269W": "If this process of queue manager {name} dies, the others wait for its lease: {why}",
    "AMQ3270I": "Instance {instance} follows instance {leader} of queue manager {name}.",
    "AMQ3271W": "Queue manager {name} is partitioned: the copy at {other} went its own way from LSN {lsn}. Replication "
    "has stopped. One side has to be given up: makehaprimary or makedrsecondary.",
    "AMQ3272I": "Instance {instance} takes over when queue manager {name} has ended here.",
    "AMQ3273I": "Instance {instance} of queue manager {name} is suspended.",
    "AMQ3274I": "Instance {instance} of queue manager {name} is resumed.",
    "AMQ3275I": "Instance {instance} is preferred for queue manager {name}.",
    "AMQ3276I": "Queue manager {name} has no preferred instance.",
    "AMQ3277I": "The partition of queue manager {name} is resolved in favour of instance {instance}. The data of the "
    "others are set aside.",
    "AMQ3278I": "The group {group} of queue manager {name} has the role {role}.",
    "AMQ3279E": "Queue manager {name} refused: {why}",
    "AMQ3280W": "A connection from {address} is refused: {why}",
    "AMQ3281W": "The arbiter cannot be reached: {why}",
    "AMQ3282W": "Recovery group {group} is {megabytes} MB and {seconds} seconds behind.",
    "AMQ3299I": "Recovery group {group} is within its limits again: {megabytes} MB and {seconds} seconds behind.",
    "AMQ3288I": "Replies wait for recovery group {group} from now on.",
    "AMQ3289W": "Replies do not wait for recovery group {group} any more: it is lost.",
    "AMQ3283W": "Queue manager {name} is an instance of a group without an arbiter. When all links are cut, both "
    "instances run, and one of them has to be given up.",
    "AMQ3284W": "Instance {instance} goes on without {partner}: {why}",
    "AMQ3286E": "AddressCommand {word} failed: {why}.{printed}",
    "AMQ3287I": "AddressCommand {word} was run.{printed}",
    "AMQ3290I": "The copy that instance {instance} had before is set aside: {where}. It is not used any more, and may "
    "be removed.",
    "AMQ3291W": "Instance {instance} of queue manager {name} gives its copy up, and takes a base: {why}",
    "AMQ3293I": "Damage was repaired: {what} came from instance {source}.",
    "AMQ3301W": "Damage was found, and no other instance has what is lost: {what}.",
    "AMQ3294I": "Instance {instance} of queue manager {name} takes the log for its recovery group, in term {term}.",
    "AMQ3300I": "The {what} of queue manager {name} are those of instance {leader} now.{where}",
    "AMQ3295W": "The {what} of queue manager {name} are not copied: {why}",
    "AMQ3298W": "Passwords, keys and settings of queue manager {name} are not copied to its other instances: the links "
    "between them are not secured. Give each a KeyRepository (crthagrp), or copy the files yourself.",
    "AMQ3296E": "Another process is registered at the arbiter as instance {instance} of queue manager {name}, with the "
    "address {other}. This one takes no part in elections, and nobody copies to it. Two instances must not have one "
    "name: end this one, and create it again with a name of its own (crtmqm -sxs) if it is to belong to the group.",
    "AMQ3297W": "Another process has asked for the name of instance {instance} of queue manager {name} at the arbiter, "
    "and was refused. It gave the address {other}. Find it, and end it: two instances must not have one name.",
    "AMQ3292W": "The base for instance {instance} is given up, and begins again: {why}",
}


_NUMBER: Final = re.compile(r"AMQ\d{4}[A-Z]: ")


def replication_message(number: str, **inserts: object) -> str:
    """Return a message with its number."""
    return f"{number}: {MESSAGES[number].format(**inserts)}"


def not_secured(address: object, why: object) -> str:
    """Return the message for a connection that TLS has not let through. A number in the reason gives way to ours."""
    reason = _NUMBER.sub("", str(why))
    return replication_message("AMQ3230E", address=address, why=reason if reason.endswith(".") else f"{reason}.")
