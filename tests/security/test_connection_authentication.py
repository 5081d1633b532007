"""Connection authentication: required passwords, and the user of a connection."""

from __future__ import annotations

import itertools

import pytest

from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQAIT_CRL_LDAP,
    MQAIT_IDPW_LDAP,
    MQAIT_IDPW_OS,
    MQAUTHENTICATE_PAM,
    MQCHK_AS_Q_MGR,
    MQCHK_NONE,
    MQCHK_OPTIONAL,
    MQCHK_REQUIRED,
    MQCHK_REQUIRED_ADMIN,
)
from ostler.model.definitions import Definition, new_definition
from ostler.model.system_objects import system_definitions
from ostler.security.connection_authentication import (
    AuthenticationSettings,
    authentication_settings,
    final_user,
    is_password_checked,
    is_password_needed,
    mapped_user,
    refusal_reason,
)


def authinfo(**attributes: Value) -> Definition:
    return new_definition(ObjectType.AUTHINFO, "USE.PW", {"AUTHTYPE": MQAIT_IDPW_OS, **attributes})


def settings(client: int = MQCHK_OPTIONAL, local: int = MQCHK_OPTIONAL, source: str = "os") -> AuthenticationSettings:
    return AuthenticationSettings(client, local, True, 1, source)


# -- AUTHINFO settings ------------------------------------------------------------------------------------------------


def test_the_default_asks_administrators_over_the_network() -> None:
    (default,) = (each for each in system_definitions() if each.name == "SYSTEM.DEFAULT.AUTHINFO.IDPWOS")
    found = authentication_settings(default)
    assert found is not None
    assert (found.check_client, found.check_local) == (MQCHK_REQUIRED_ADMIN, MQCHK_OPTIONAL)
    assert (found.adopts, found.delay_seconds, found.source) == (True, 1, "os")


def test_what_is_said_is_taken() -> None:
    said = authinfo(CHCKCLNT=MQCHK_REQUIRED, CHCKLOCL=MQCHK_NONE, ADOPTCTX=0, FAILDLAY=10, AUTHENMD=MQAUTHENTICATE_PAM)
    found = authentication_settings(said)
    assert found is not None
    assert (found.check_client, found.check_local) == (MQCHK_REQUIRED, MQCHK_NONE)
    assert (found.adopts, found.delay_seconds, found.source) == (False, 10, "pam")


def test_ldap_is_known_and_others_are_not_about_passwords() -> None:
    ldap = authentication_settings(authinfo(AUTHTYPE=MQAIT_IDPW_LDAP, CONNAME="ldap(389)"))
    assert ldap is not None
    assert ldap.source == "ldap"
    assert authentication_settings(authinfo(AUTHTYPE=MQAIT_CRL_LDAP, CONNAME="ldap(389)")) is None
    assert authentication_settings(new_definition(ObjectType.QLOCAL, "Q", {})) is None
    assert authentication_settings(None) is None


# -- required passwords -----------------------------------------------------------------------------------------------

NEEDED = {
    # the check: password required of others, of administrators
    MQCHK_NONE: (False, False),
    MQCHK_OPTIONAL: (False, False),
    MQCHK_REQUIRED_ADMIN: (False, True),
    MQCHK_REQUIRED: (True, True),
}


@pytest.mark.parametrize(("check", "is_administrator"), list(itertools.product(NEEDED, (False, True))))
def test_who_needs_a_password(check: int, is_administrator: bool) -> None:
    needed = NEEDED[check][is_administrator]
    assert is_password_needed(settings(client=check), False, is_administrator) is needed
    assert is_password_needed(settings(local=check), True, is_administrator) is needed


@pytest.mark.parametrize(("rule", "is_administrator"), list(itertools.product(NEEDED, (False, True))))
def test_a_rule_asks_for_more_and_never_for_less(rule: int, is_administrator: bool) -> None:
    if rule == MQCHK_NONE:
        rule = MQCHK_AS_Q_MGR
    by_rule = NEEDED.get(rule, (False, False))[is_administrator]
    for check in (MQCHK_OPTIONAL, MQCHK_REQUIRED_ADMIN, MQCHK_REQUIRED):
        by_manager = NEEDED[check][is_administrator]
        assert is_password_needed(settings(client=check), False, is_administrator, rule) is (by_manager or by_rule)


@pytest.mark.parametrize("nothing", [None, settings(client=MQCHK_NONE)])
def test_a_rule_that_asks_where_nobody_checks_lets_nobody_in(nothing: AuthenticationSettings | None) -> None:
    for rule in (MQCHK_REQUIRED, MQCHK_REQUIRED_ADMIN):
        assert is_password_needed(nothing, False, False, rule)
        assert not is_password_checked(nothing, False, True)
        assert "checks no passwords" in refusal_reason(nothing, False, False, True, rule)
    assert refusal_reason(nothing, False, True, False) == ""


def test_rules_are_not_for_local_applications() -> None:
    assert not is_password_needed(settings(), True, True, MQCHK_REQUIRED)
    assert not is_password_needed(None, True, True, MQCHK_REQUIRED)


def test_a_password_that_comes_is_looked_at_unless_nobody_checks() -> None:
    for check in (MQCHK_OPTIONAL, MQCHK_REQUIRED, MQCHK_REQUIRED_ADMIN):
        assert is_password_checked(settings(client=check), False, True)
        assert not is_password_checked(settings(client=check), False, False)
    assert not is_password_checked(settings(client=MQCHK_NONE), False, True)
    assert is_password_checked(settings(client=MQCHK_NONE), True, True)
    assert not is_password_checked(None, False, True)


def test_refusals_say_why() -> None:
    assert "none were given" in refusal_reason(settings(client=MQCHK_REQUIRED), False, False, False)
    assert refusal_reason(settings(client=MQCHK_REQUIRED), False, False, True) == ""
    assert refusal_reason(settings(), False, True, False) == ""
    ldap = settings(source="ldap")
    assert "LDAP is not supported" in refusal_reason(ldap, False, False, True)
    assert refusal_reason(ldap, False, False, False) == ""


# -- user of a connection ---------------------------------------------------------------------------------------------

# asserted, authenticated, adopts, channel_user, mapped, is_early: the user
USERS = [
    ("os", "", True, "", "", True, "os"),
    ("os", "", True, "chl", "", True, "chl"),
    ("os", "csp", True, "", "", True, "csp"),
    ("os", "csp", True, "chl", "", True, "csp"),
    ("os", "csp", True, "chl", "map", True, "map"),
    ("os", "csp", True, "", "map", True, "map"),
    ("os", "", True, "chl", "map", True, "map"),
    ("os", "csp", False, "", "", True, "os"),
    ("os", "csp", False, "chl", "", True, "chl"),
    ("os", "csp", False, "chl", "map", True, "map"),
    ("os", "csp", True, "chl", "map", False, "csp"),
    ("os", "csp", False, "chl", "map", False, "map"),
    ("os", "", True, "chl", "map", False, "map"),
    ("os", "csp", True, "chl", "", False, "csp"),
    ("os", "", False, "", "", False, "os"),
]


@pytest.mark.parametrize(("asserted", "authenticated", "adopts", "channel", "mapped", "is_early", "user"), USERS)
def test_as_whom_a_connection_goes_on(
    asserted: str, authenticated: str, adopts: bool, channel: str, mapped: str, is_early: bool, user: str
) -> None:
    assert final_user(asserted, authenticated, adopts, channel, mapped, is_early) == user


def test_which_user_rules_see() -> None:
    assert mapped_user("os", "csp", True) == "csp"
    assert mapped_user("os", "csp", True, is_early=False) == "os"
    assert mapped_user("os", "csp", False) == "os"
    assert mapped_user("os", "", True) == "os"
