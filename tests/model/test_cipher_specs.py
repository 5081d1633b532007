"""CipherSpec names: what is there, what is refused, and why."""

from __future__ import annotations

import re
import ssl

import pytest

from ostler.model.cipher_specs import TLS_1_2, TLS_1_3, cipher_specs, find, name_of_suite, require
from ostler.model.constants import MQRC_UNSUPPORTED_CIPHER_SUITE
from ostler.model.errors import MQError

# The six of the performance report on V9.1.
REPORTED = (
    "TLS_RSA_WITH_AES_256_CBC_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "ECDHE_ECDSA_AES_256_CBC_SHA384",
    "ECDHE_ECDSA_AES_256_GCM_SHA384",
    "ECDHE_RSA_AES_256_CBC_SHA384",
    "ECDHE_RSA_AES_256_GCM_SHA384",
)
USABLE = [spec for spec in cipher_specs() if not spec.refusal]
REFUSED = [spec for spec in cipher_specs() if spec.refusal]


@pytest.mark.parametrize("name", REPORTED)
def test_the_reported_six_are_tls_1_2_with_one_suite(name: str) -> None:
    spec = require(name)
    assert (spec.lowest_protocol, spec.highest_protocol, len(spec.suites)) == (TLS_1_2, TLS_1_2, 1)


def test_openssl_has_every_suite_of_tls_1_2_that_we_name() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for spec in USABLE:
        for suite in spec.suites_of(TLS_1_2):
            context.set_ciphers(suite)
            assert suite in {each["name"] for each in context.get_ciphers()}


def test_the_any_names_say_which_protocols_will_do() -> None:
    protocols = {
        name: (require(name).lowest_protocol, require(name).highest_protocol)
        for name in ("ANY_TLS12", "ANY_TLS12_OR_HIGHER", "ANY_TLS13", "ANY_TLS13_OR_HIGHER", "ANY")
    }
    assert protocols == {
        "ANY_TLS12": (TLS_1_2, TLS_1_2),
        "ANY_TLS12_OR_HIGHER": (TLS_1_2, TLS_1_3),
        "ANY_TLS13": (TLS_1_3, TLS_1_3),
        "ANY_TLS13_OR_HIGHER": (TLS_1_3, TLS_1_3),
        "ANY": (TLS_1_2, TLS_1_3),
    }


def test_suites_belong_to_the_protocols_of_their_spec() -> None:
    for spec in USABLE:
        assert bool(spec.suites_of(TLS_1_2)) == (spec.lowest_protocol == TLS_1_2)
        assert bool(spec.suites_of(TLS_1_3)) == (spec.highest_protocol == TLS_1_3)
        assert set(spec.suites_of(TLS_1_2) + spec.suites_of(TLS_1_3)) == set(spec.suites)


@pytest.mark.parametrize("spec", REFUSED, ids=lambda spec: str(spec.name))
def test_a_refused_spec_says_why(spec: object) -> None:
    name = next(each.name for each in REFUSED if each is spec)
    with pytest.raises(MQError) as caught:
        require(name)
    assert caught.value.reason == MQRC_UNSUPPORTED_CIPHER_SUITE
    assert re.search(rf"{name} is refused: it .*(SSL 3.0|TLS 1.0|RC4|Triple DES|not encrypt)", caught.value.detail)


def test_the_names_of_mq_are_known() -> None:
    older = [
        "AES_SHA_US",
        "DES_SHA_EXPORT",
        "DES_SHA_EXPORT1024",
        "FIPS_WITH_DES_CBC_SHA",
        "FIPS_WITH_3DES_EDE_CBC_SHA",
        "NULL_MD5",
        "NULL_SHA",
        "RC2_MD5_EXPORT",
        "RC4_MD5_EXPORT",
        "RC4_MD5_US",
        "RC4_SHA_US",
        "RC4_56_SHA_EXPORT1024",
        "TRIPLE_DES_SHA_US",
        "TLS_RSA_EXPORT_WITH_RC2_40_MD5",
        "TLS_RSA_EXPORT_WITH_RC4_40_MD5",
        "TLS_RSA_WITH_DES_CBC_SHA",
        "TLS_RSA_WITH_NULL_MD5",
        "TLS_RSA_WITH_NULL_SHA",
        "TLS_RSA_WITH_RC4_128_MD5",
        "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_256_CBC_SHA",
        "ECDHE_ECDSA_NULL_SHA256",
        "ECDHE_ECDSA_RC4_128_SHA256",
        "ECDHE_RSA_NULL_SHA256",
        "ECDHE_RSA_RC4_128_SHA256",
        "TLS_RSA_WITH_NULL_SHA256",
        "TLS_RSA_WITH_RC4_128_SHA256",
        "ECDHE_ECDSA_3DES_EDE_CBC_SHA256",
        "ECDHE_RSA_3DES_EDE_CBC_SHA256",
    ]
    assert sorted(spec.name for spec in REFUSED) == sorted(older)
    assert len(USABLE) == 12 + 5 + 5


def test_a_null_cipher_is_never_offered() -> None:
    assert [spec.name for spec in USABLE for suite in spec.suites if re.search("NULL|RC4|DES|MD5|ADH|PSK", suite)] == []


def test_what_mq_does_not_know_is_said() -> None:
    with pytest.raises(MQError, match="There is no CipherSpec 'TLS_BEST'") as caught:
        require("TLS_BEST")
    assert caught.value.reason == MQRC_UNSUPPORTED_CIPHER_SUITE


def test_names_are_found_in_any_case_and_with_blanks() -> None:
    assert find(" any_tls12_or_higher ") is find("ANY_TLS12_OR_HIGHER")
    assert find("") is None


def test_suites_have_the_names_of_mq() -> None:
    assert name_of_suite("ECDHE-RSA-AES256-SHA384") == "ECDHE_RSA_AES_256_CBC_SHA384"
    assert name_of_suite("TLS_AES_128_GCM_SHA256") == "TLS_AES_128_GCM_SHA256"
    assert name_of_suite("SOMETHING-ELSE") == "SOMETHING-ELSE"


def test_one_spec_does_not_allow_the_suite_of_another() -> None:
    assert require("TLS_AES_256_GCM_SHA384").allows("TLS_AES_256_GCM_SHA384")
    assert not require("TLS_AES_128_GCM_SHA256").allows("TLS_AES_256_GCM_SHA384")
    assert not require("ANY_TLS12").allows("TLS_AES_256_GCM_SHA384")
