"""Connection authentication (CONNAUTH): when a password is required, and the user a connection gets.

CONNAUTH of the queue manager names an AUTHINFO object. It sets the checks of clients (CHCKCLNT) and of local
applications (CHCKLOCL), whether a connection adopts the authenticated user (ADOPTCTX), and the delay of a refusal
(FAILDLAY). A channel authentication rule may require more (its CHCKCLNT), never less. Passwords are not checked here;
that takes time and files, and is done by the server.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition

SOURCE_FILE: Final = "file"
SOURCE_OPERATING_SYSTEM: Final = "os"
SOURCE_PAM: Final = "pam"
SOURCE_LDAP: Final = "ldap"

LDAP_REFUSED: Final = (
    "the queue manager's CONNAUTH names an AUTHINFO of type IDPWLDAP. Such definitions are stored, but LDAP is "
    "not supported; use one of type IDPWOS"
)


@final
class AuthenticationSettings:
    """Settings of the AUTHINFO object named by CONNAUTH. The checks are MQCHK numbers."""

    def __init__(self, check_client: int, check_local: int, adopts: bool, delay_seconds: int, source: str) -> None:
        self.check_client: int = check_client
        self.check_local: int = check_local
        self.adopts: bool = adopts
        self.delay_seconds: int = delay_seconds
        self.source: str = source

    def __repr__(self) -> str:
        checks = f"client {self.check_client} local {self.check_local} adopts {self.adopts}"
        return f"<AuthenticationSettings {self.source} {checks}>"


def authentication_settings(authinfo: Definition | None) -> AuthenticationSettings | None:
    """Return the settings of an AUTHINFO object; None without one, or if it is not of type IDPWOS or IDPWLDAP.

    The source is "os" or "pam" for IDPWOS; the configuration of the queue manager decides whether that means the
    operating system or the password file.
    """
    if authinfo is None or authinfo.object_type != ObjectType.AUTHINFO:
        return None
    kind = _number(authinfo, "AUTHTYPE", -1)
    if kind == mq.MQAIT_IDPW_LDAP:
        source = SOURCE_LDAP
    elif kind == mq.MQAIT_IDPW_OS:
        is_pam = _number(authinfo, "AUTHENMD", -1) == mq.MQAUTHENTICATE_PAM
        source = SOURCE_PAM if is_pam else SOURCE_OPERATING_SYSTEM
    else:
        return None
    return AuthenticationSettings(
        _number(authinfo, "CHCKCLNT", mq.MQCHK_REQUIRED_ADMIN),
        _number(authinfo, "CHCKLOCL", mq.MQCHK_OPTIONAL),
        _number(authinfo, "ADOPTCTX", mq.MQADPCTX_YES) == mq.MQADPCTX_YES,
        _number(authinfo, "FAILDLAY", 1),
        source,
    )


def _number(authinfo: Definition, name: str, default: int) -> int:
    value = authinfo.attributes.get(name)
    return value if isinstance(value, int) else default


def is_password_needed(
    settings: AuthenticationSettings | None, is_local: bool, is_administrator: bool, rule_check: int = mq.MQCHK_AS_Q_MGR
) -> bool:
    """Return whether a user and a password are required.

    `is_administrator` refers to the user that the connection would have without a password. `rule_check` is CHCKCLNT of
    the matching channel authentication rule; MQCHK_AS_Q_MGR without one.
    """
    if (
        not is_local
        and rule_check in (mq.MQCHK_REQUIRED, mq.MQCHK_REQUIRED_ADMIN)
        and _checks_no_passwords(settings, is_local)
    ):
        # A rule requires a check that the queue manager does not do. MQ refuses such connections: it would be worse to
        # admit them because CONNAUTH was left blank by mistake.
        return True
    if _checks_no_passwords(settings, is_local):
        return False
    assert settings is not None
    check = settings.check_local if is_local else settings.check_client
    if check == mq.MQCHK_REQUIRED or (check == mq.MQCHK_REQUIRED_ADMIN and is_administrator):
        return True
    if is_local:
        return False
    return rule_check == mq.MQCHK_REQUIRED or (rule_check == mq.MQCHK_REQUIRED_ADMIN and is_administrator)


def is_password_checked(settings: AuthenticationSettings | None, is_local: bool, has_password: bool) -> bool:
    """Return whether a given password is checked. OPTIONAL checks it; NONE, and a blank CONNAUTH, ignore it."""
    return has_password and not _checks_no_passwords(settings, is_local)


def refusal_reason(
    settings: AuthenticationSettings | None,
    is_local: bool,
    is_administrator: bool,
    has_password: bool,
    rule_check: int = mq.MQCHK_AS_Q_MGR,
) -> str:
    """Return why a connection is refused before its password is checked; empty if it is not."""
    if is_password_needed(settings, is_local, is_administrator, rule_check):
        if _checks_no_passwords(settings, is_local):
            return (
                "the channel authentication rule has CHCKCLNT, but the queue manager checks no passwords: "
                "its CONNAUTH is blank, or names an AUTHINFO with CHCKCLNT(NONE)"
            )
        if not has_password:
            return "a user and a password are needed, and none were given"
    if (
        settings is not None
        and settings.source == SOURCE_LDAP
        and is_password_checked(settings, is_local, has_password)
    ):
        return LDAP_REFUSED
    return ""


def _checks_no_passwords(settings: AuthenticationSettings | None, is_local: bool) -> bool:
    if settings is None:
        return True
    return (settings.check_local if is_local else settings.check_client) == mq.MQCHK_NONE


def mapped_user(asserted: str, authenticated: str, adopts: bool, is_early: bool = True) -> str:
    """Return the user that USERMAP rules are matched against.

    With ChlauthEarlyAdopt=Y the password is checked first, and rules see the authenticated user. With N they see the
    user that the client asserts, whatever is adopted later.
    """
    return authenticated if is_early and adopts and authenticated else asserted


def final_user(
    asserted: str, authenticated: str, adopts: bool, channel_user: str, mapped: str, is_early: bool = True
) -> str:
    """Return the user of a connection; of the following, later ones take precedence over earlier ones.

    `asserted`: the user asserted by the client; for local applications, the operating system user. `authenticated`: the
    user whose password was verified; empty if none was checked. `channel_user`: MCAUSER of the channel. `mapped`:
    MCAUSER of a channel authentication rule with USERSRC(MAP); empty for none and for USERSRC(CHANNEL), which keeps the
    user. `is_early`: ChlauthEarlyAdopt=Y.
    """
    user = asserted
    # MCAUSER of the channel prevents clients from asserting any user.
    if channel_user:
        user = channel_user
    adopted = authenticated if adopts else ""
    if is_early:
        # The password authenticates the user, which outranks MCAUSER of the channel; a rule then sees that user, and
        # its mapping, set by the administrator, takes precedence.
        user = adopted or user
        return mapped or user
    # Late adoption, MQ's original behaviour: rules apply before the password is checked, so its user replaces theirs.
    user = mapped or user
    return adopted or user
