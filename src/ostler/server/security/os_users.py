"""Users of the operating system: their groups, and their passwords through /etc/shadow or PAM.

Both are used through the system's C libraries with ctypes, so that every kind of hash and every rule of the system
applies. A check returns an empty string when the password is right, else the reason.
"""

from __future__ import annotations

import ctypes
import grp
import hmac
import os
import pwd
import threading
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Final

WRONG: Final = "the password is wrong"
SHADOW: Final = Path("/etc/shadow")
PAM_SERVICES: Final = Path("/etc/pam.d")
DEFAULT_SERVICE: Final = "ostler"
_FALLBACK_SERVICE: Final = "login"

_CRYPT_LIBRARIES: Final = ("libcrypt.so.1", "libcrypt.so.2", "libcrypt.so")
_PAM_LIBRARIES: Final = ("libpam.so.0", "libpam.so")
# crypt_r works in memory that the caller gives. libxcrypt wants 32 KB of it and glibc 128 KB.
_CRYPT_DATA_BYTES: Final = 256 << 10
# The setting to hash with when there is no such user, so that the check takes as long.
_DUMMY_SETTING: Final = "$6$nobody$"
_SHADOW_BYTES_MAX: Final = 32 << 20
_DAY_SECONDS: Final = 86_400


def groups_of(user: str) -> tuple[str, ...]:
    """Return the names of a user's groups; none for an unknown user."""
    try:
        entry = pwd.getpwnam(user)
        numbers = os.getgrouplist(entry.pw_name, entry.pw_gid)
    except (KeyError, ValueError, OSError):
        return ()
    names: list[str] = []
    for number in numbers:
        try:
            names.append(grp.getgrgid(number).gr_name)
        except (KeyError, OSError):
            continue
    return tuple(names)


def has_user(name: str) -> bool:
    """Return True when the system has a user of this name."""
    try:
        return pwd.getpwnam(name).pw_name == name
    except (KeyError, ValueError, OSError):
        return False


def has_group(name: str) -> bool:
    """Return True when the system has a group of this name."""
    try:
        return grp.getgrnam(name).gr_name == name
    except (KeyError, ValueError, OSError):
        return False


def user_name(uid: int) -> str:
    """Return the name of a uid, or the number itself when it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        return str(uid)


def _library(names: tuple[str, ...]) -> ctypes.CDLL | None:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


# -- /etc/shadow -------------------------------------------------------------------------------------------------------


def check_shadow(user: str, password: str, shadow: Path = SHADOW, today: int = -1) -> str:
    """Check a password against /etc/shadow; empty or the reason. `today` counts days since 1970."""
    if _has_null(user) or _has_null(password):
        return WRONG
    try:
        with open(shadow, "rb") as file:
            lines = file.read(_SHADOW_BYTES_MAX).decode("utf-8", "replace").splitlines()
    except OSError as error:
        return f"{shadow} cannot be read ({error.strerror}), so passwords of the operating system cannot be checked"
    entries = [line.split(":") for line in lines]
    usable = [entry for entry in entries if len(entry) > 1 and len(entry[1]) > 2 and entry[1][0] not in "!*"]
    mine = next((entry for entry in usable if entry[0] == user), None)
    setting = mine[1] if mine is not None else (usable[0][1] if usable else _DUMMY_SETTING)
    hashed = crypt(password, setting)
    if hashed is None:
        return "the library libcrypt is not there, so passwords of the operating system cannot be checked"
    if mine is None:
        return f"the operating system has no user {user} with a password"
    if not hmac.compare_digest(hashed.encode(), setting.encode()):
        return WRONG
    return _expiry(mine, int(time.time() // _DAY_SECONDS) if today < 0 else today)


def crypt(password: str, setting: str) -> str | None:
    """Return the C library's hash of a password with the method and salt of a setting; None without the library."""
    library = _library(_CRYPT_LIBRARIES)
    if library is None:
        return None
    try:
        function: Any = library.crypt_r
    except AttributeError:
        return None
    function.argtypes = (c_char_p, c_char_p, c_void_p)
    function.restype = c_char_p
    memory = ctypes.create_string_buffer(_CRYPT_DATA_BYTES)
    made: bytes | None = function(password.encode("utf-8"), setting.encode("utf-8"), memory)
    # For a setting that it cannot use it returns nothing, or a text that is not a hash ("*0").
    return "" if made is None or made.startswith(b"*") else made.decode("ascii", "replace")


def _expiry(entry: list[str], today: int) -> str:
    """Return why an account is closed although the password is right, by the rules of login(1)."""
    changed, days_max, expires = (_days(entry, index) for index in (2, 4, 7))
    if 0 <= expires <= today:
        return "the account has expired"
    if changed == 0:
        return "the password must be changed first"
    if 0 <= days_max < 99_999 and changed > 0 and changed + days_max < today:
        return "the password has expired"
    return ""


def _days(entry: list[str], index: int) -> int:
    text = entry[index] if index < len(entry) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1


def _has_null(text: str) -> bool:
    """Return True for a text that C libraries would cut at a null character."""
    return not text or "\0" in text or not text.isprintable() or len(text) > 1024


# -- PAM ---------------------------------------------------------------------------------------------------------------

_SUCCESS: Final = 0
_BUFFER_ERROR: Final = 5
_CONVERSATION_ERROR: Final = 19
_PROMPT_ECHO_OFF: Final = 1
_PROMPT_ECHO_ON: Final = 2
_SILENT: Final = 0x8000
_DISALLOW_NULL_PASSWORD: Final = 0x0001
_FAIL_DELAY: Final = 10
_MESSAGES_MAX: Final = 32


class _Message(ctypes.Structure):
    _fields_ = (("style", c_int), ("text", c_char_p))


class _Response(ctypes.Structure):
    _fields_ = (("text", c_void_p), ("status", c_int))


_ConversationFunction = ctypes.CFUNCTYPE(
    c_int, c_int, POINTER(POINTER(_Message)), POINTER(POINTER(_Response)), c_void_p
)
_DelayFunction = ctypes.CFUNCTYPE(None, c_int, ctypes.c_uint, c_void_p)


class _Conversation(ctypes.Structure):
    _fields_ = (("function", _ConversationFunction), ("data", c_void_p))


# PAM modules need not be thread-safe.
_pam_lock = threading.Lock()


def pam_service(wanted: str, services: Path = PAM_SERVICES) -> str:
    """Return the PAM service to use: the wanted one, or `login` when the default one does not exist."""
    if wanted == DEFAULT_SERVICE and not (services / wanted).exists():
        return _FALLBACK_SERVICE
    return wanted


def check_pam(user: str, password: str, service: str, services: Path = PAM_SERVICES) -> str:
    """Check a password through PAM; empty or the reason."""
    if _has_null(user) or _has_null(password):
        return WRONG
    library = _library(_PAM_LIBRARIES)
    if library is None:
        return "the library libpam is not there, so PAM cannot be asked"
    chosen = pam_service(service, services)
    if "/" in chosen or not (services / chosen).is_file():
        return f"there is no PAM service {chosen} in {services}, so PAM cannot be asked"
    with _pam_lock:
        return _ask_pam(library, user, password, chosen, services)


def _ask_pam(library: Any, user: str, password: str, service: str, services: Path) -> str:
    library.pam_start.argtypes = (c_char_p, c_char_p, POINTER(_Conversation), POINTER(c_void_p))
    library.pam_set_item.argtypes = (c_void_p, c_int, c_void_p)
    for name in ("pam_authenticate", "pam_acct_mgmt", "pam_end"):
        getattr(library, name).argtypes = (c_void_p, c_int)
    library.pam_strerror.argtypes = (c_void_p, c_int)
    library.pam_strerror.restype = c_char_p
    # Referenced here for as long as PAM may call them.
    answering = _ConversationFunction(_answers(user, password))
    undelayed = _DelayFunction(lambda status, microseconds, data: None)
    conversation = _Conversation(answering, None)
    handle = c_void_p()
    names = (service.encode(), user.encode(), byref(conversation))
    if services == PAM_SERVICES:
        status: int = library.pam_start(*names, byref(handle))
    else:
        # Available in libraries since 2020.
        library.pam_start_confdir.argtypes = (*library.pam_start.argtypes[:3], c_char_p, POINTER(c_void_p))
        status = library.pam_start_confdir(*names, os.fsencode(services), byref(handle))
    if status != _SUCCESS:
        return f"PAM service {service} could not be started (error {status})"
    try:
        # FAILDLAY delays a refusal. PAM would make this thread wait on top of that.
        library.pam_set_item(handle, _FAIL_DELAY, ctypes.cast(undelayed, c_void_p))
        status = library.pam_authenticate(handle, _SILENT | _DISALLOW_NULL_PASSWORD)
        if status == _SUCCESS:
            status = library.pam_acct_mgmt(handle, _SILENT | _DISALLOW_NULL_PASSWORD)
        if status == _SUCCESS:
            return ""
        said: bytes | None = library.pam_strerror(handle, status)
        return f"PAM service {service} reports: {(said or b'').decode('utf-8', 'replace') or status}"
    finally:
        library.pam_end(handle, status)


def _answers(user: str, password: str) -> Any:
    """Return PAM's conversation function: it answers hidden prompts with the password, visible ones with the user."""
    libc: Any = ctypes.CDLL(None)
    libc.calloc.argtypes = (c_size_t, c_size_t)
    libc.calloc.restype = c_void_p
    libc.strdup.argtypes = (c_char_p,)
    libc.strdup.restype = c_void_p

    def answer(count: int, messages: Any, responses: Any, data: Any) -> int:
        if not 0 < count <= _MESSAGES_MAX:
            return _CONVERSATION_ERROR
        # PAM frees the responses, so they are allocated by the C library.
        memory = libc.calloc(count, ctypes.sizeof(_Response))
        if not memory:
            return _BUFFER_ERROR
        given = ctypes.cast(memory, POINTER(_Response))
        for index in range(count):
            style = messages[index].contents.style
            if style == _PROMPT_ECHO_OFF:
                given[index].text = libc.strdup(password.encode("utf-8"))
            elif style == _PROMPT_ECHO_ON:
                given[index].text = libc.strdup(user.encode("utf-8"))
        responses[0] = given
        return _SUCCESS

    return answer
