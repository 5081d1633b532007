"""Encodes channel names as TLS server names (SNI), so that a channel's rules are known before the handshake.

A channel name may contain characters that a host name may not, and is case-sensitive. As in MQ, capitals become small
letters, digits stay, and any other character becomes its two hexadecimal digits and a hyphen. The suffix is our own:
TO.QM1 is `to2e-qm1.chl.ostler`. 20 characters become at most 60, less than the 63 of a label.
"""

from __future__ import annotations

from typing import Final

SUFFIX: Final = ".chl.ostler"
CHANNEL_NAME_LENGTH_MAX: Final = 20
_ESCAPED: Final = "abcdefghijklmnopqrstuvwxyz./_%"
_HEXADECIMAL: Final = "0123456789abcdef"


def server_name(channel: str) -> str:
    """Return the server name of a channel. Raises ValueError for an invalid channel name."""
    if not 1 <= len(channel) <= CHANNEL_NAME_LENGTH_MAX:
        raise ValueError(f"{channel!r} is no channel name: it has {len(channel)} characters, 1 to 20 are allowed")
    parts: list[str] = []
    for character in channel:
        if "A" <= character <= "Z":
            parts.append(character.lower())
        elif "0" <= character <= "9":
            parts.append(character)
        elif character in _ESCAPED:
            parts.append(f"{ord(character):02x}-")
        else:
            raise ValueError(f"{channel!r} is no channel name: it has {character!r} in it")
    return "".join(parts) + SUFFIX


def channel_name(name: str) -> str:
    """Return the channel of a server name. Raises ValueError for a name that `server_name` does not return."""
    folded = name.lower()
    if not folded.endswith(SUFFIX):
        raise ValueError(f"server name {name!r} does not name a channel; those end with {SUFFIX}")
    label = folded[: -len(SUFFIX)]
    parts: list[str] = []
    at = 0
    while at < len(label):
        if label[at + 2 : at + 3] == "-":
            high = _HEXADECIMAL.find(label[at])
            low = _HEXADECIMAL.find(label[at + 1])
            if high < 0 or low < 0:
                break
            parts.append(chr(16 * high + low))
            at += 3
        else:
            parts.append(label[at].upper())
            at += 1
    channel = "".join(parts)
    # Each channel has exactly one spelling.
    if at < len(label) or not _is_ours(channel, folded):
        raise ValueError(f"server name {name!r} does not name a channel")
    return channel


def _is_ours(channel: str, name: str) -> bool:
    try:
        return server_name(channel) == name
    except ValueError:
        return False
