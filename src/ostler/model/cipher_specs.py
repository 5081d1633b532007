"""MQ's CipherSpecs: the TLS protocols and suites of each name, and why some names are refused.

A CipherSpec names a protocol and a cipher suite. The ANY names allow all suites of some protocols. CipherSpecs of SSL
3.0, TLS 1.0 and broken ciphers are listed, so that the refusal can give the reason.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.errors import MQError

TLS_1_2: Final = 12
TLS_1_3: Final = 13


@final
class CipherSpec:
    """One CipherSpec.

    `suites` are OpenSSL's names, the strongest first. One with a `refusal` cannot be used, for that reason.
    """

    def __init__(
        self, name: str, lowest_protocol: int, highest_protocol: int, suites: tuple[str, ...], refusal: str = ""
    ) -> None:
        self.name: str = name
        self.lowest_protocol: int = lowest_protocol
        self.highest_protocol: int = highest_protocol
        self.suites: tuple[str, ...] = suites
        self.refusal: str = refusal

    def __repr__(self) -> str:
        return f"<CipherSpec {self.name}>"

    def allows(self, suite: str) -> bool:
        """Return True when the CipherSpec allows a suite, given by OpenSSL's name."""
        return suite in self.suites

    def suites_of(self, protocol: int) -> tuple[str, ...]:
        """Return the suites of one protocol: TLS_1_2 or TLS_1_3."""
        return tuple([suite for suite in self.suites if (suite in _SUITES_1_3) == (protocol == TLS_1_3)])


# MQ's name and OpenSSL's, the strongest first; a server picks in this order.
_NAMES_1_2: Final[tuple[tuple[str, str], ...]] = (
    ("ECDHE_ECDSA_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
    ("ECDHE_RSA_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("ECDHE_ECDSA_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    ("ECDHE_RSA_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("ECDHE_ECDSA_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
    ("ECDHE_RSA_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
    ("ECDHE_ECDSA_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"),
    ("ECDHE_RSA_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
    ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
    ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
    ("TLS_RSA_WITH_AES_256_CBC_SHA256", "AES256-SHA256"),
    ("TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"),
)
_SUITES_1_2: Final = tuple([suite for _, suite in _NAMES_1_2])
# TLS 1.3 has one set of names for all.
_SUITES_1_3: Final = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
)
# Not offered under the ANY names: OpenSSL does not offer them by default either.
_RARE_1_3: Final = ("TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256")
_USUAL_1_3: Final = tuple([suite for suite in _SUITES_1_3 if suite not in _RARE_1_3])

_SSL_3_0: Final = "it needs SSL 3.0, which is broken (POODLE) and not supported"
_TLS_1_0: Final = "it needs TLS 1.0, which is broken (BEAST, SHA-1) and not supported"
_NO_CIPHER: Final = "it does not encrypt at all"
_RC4: Final = "it needs RC4, which is broken; RFC 7465 forbids it"
_TRIPLE_DES: Final = "it needs Triple DES, whose 64-bit blocks leak in long conversations (Sweet32)"

_REFUSED: Final[tuple[tuple[str, str], ...]] = (
    ("AES_SHA_US", _SSL_3_0),
    ("DES_SHA_EXPORT", _SSL_3_0),
    ("DES_SHA_EXPORT1024", _SSL_3_0),
    ("FIPS_WITH_DES_CBC_SHA", _SSL_3_0),
    ("FIPS_WITH_3DES_EDE_CBC_SHA", _SSL_3_0),
    ("NULL_MD5", _NO_CIPHER),
    ("NULL_SHA", _NO_CIPHER),
    ("RC2_MD5_EXPORT", _SSL_3_0),
    ("RC4_MD5_EXPORT", _SSL_3_0),
    ("RC4_MD5_US", _SSL_3_0),
    ("RC4_SHA_US", _SSL_3_0),
    ("RC4_56_SHA_EXPORT1024", _SSL_3_0),
    ("TRIPLE_DES_SHA_US", _SSL_3_0),
    ("TLS_RSA_EXPORT_WITH_RC2_40_MD5", _TLS_1_0),
    ("TLS_RSA_EXPORT_WITH_RC4_40_MD5", _TLS_1_0),
    ("TLS_RSA_WITH_DES_CBC_SHA", _TLS_1_0),
    ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", _TLS_1_0),
    ("TLS_RSA_WITH_AES_128_CBC_SHA", _TLS_1_0),
    ("TLS_RSA_WITH_AES_256_CBC_SHA", _TLS_1_0),
    ("TLS_RSA_WITH_RC4_128_MD5", _TLS_1_0),
    ("TLS_RSA_WITH_NULL_MD5", _NO_CIPHER),
    ("TLS_RSA_WITH_NULL_SHA", _NO_CIPHER),
    ("TLS_RSA_WITH_NULL_SHA256", _NO_CIPHER),
    ("ECDHE_ECDSA_NULL_SHA256", _NO_CIPHER),
    ("ECDHE_RSA_NULL_SHA256", _NO_CIPHER),
    ("TLS_RSA_WITH_RC4_128_SHA256", _RC4),
    ("ECDHE_ECDSA_RC4_128_SHA256", _RC4),
    ("ECDHE_RSA_RC4_128_SHA256", _RC4),
    ("ECDHE_ECDSA_3DES_EDE_CBC_SHA256", _TRIPLE_DES),
    ("ECDHE_RSA_3DES_EDE_CBC_SHA256", _TRIPLE_DES),
)


def _table() -> dict[str, CipherSpec]:
    specs = [CipherSpec(name, TLS_1_2, TLS_1_2, (suite,)) for name, suite in _NAMES_1_2]
    specs += [CipherSpec(suite, TLS_1_3, TLS_1_3, (suite,)) for suite in _SUITES_1_3]
    specs.append(CipherSpec("ANY_TLS12", TLS_1_2, TLS_1_2, _SUITES_1_2))
    specs.append(CipherSpec("ANY_TLS13", TLS_1_3, TLS_1_3, _USUAL_1_3))
    # Nothing is higher than TLS 1.3 today, and nothing lower than TLS 1.2 is supported.
    specs.append(CipherSpec("ANY_TLS13_OR_HIGHER", TLS_1_3, TLS_1_3, _USUAL_1_3))
    specs.append(CipherSpec("ANY_TLS12_OR_HIGHER", TLS_1_2, TLS_1_3, _USUAL_1_3 + _SUITES_1_2))
    specs.append(CipherSpec("ANY", TLS_1_2, TLS_1_3, _USUAL_1_3 + _SUITES_1_2))
    specs += [CipherSpec(name, 0, 0, (), refusal) for name, refusal in _REFUSED]
    return {spec.name: spec for spec in specs}


_TABLE: Final = _table()


def cipher_specs() -> list[CipherSpec]:
    """Return all CipherSpecs, also those that are refused."""
    return list(_TABLE.values())


def find(name: str) -> CipherSpec | None:
    """Return the CipherSpec of a name, whether it can be used or not; None if MQ has none."""
    return _TABLE.get(name.strip().upper())


def require(name: str) -> CipherSpec:
    """Return the CipherSpec of a name. Raises MQError when there is none or it is refused."""
    spec = find(name)
    if spec is None:
        raise MQError(mq.MQRC_UNSUPPORTED_CIPHER_SUITE, f"There is no CipherSpec {name.strip()!r}.")
    if spec.refusal:
        raise MQError(
            mq.MQRC_UNSUPPORTED_CIPHER_SUITE,
            f"CipherSpec {spec.name} is refused: {spec.refusal}. ANY_TLS12_OR_HIGHER is a good choice.",
        )
    return spec


def name_of_suite(suite: str) -> str:
    """Return MQ's name of an OpenSSL suite, or OpenSSL's name when MQ has none."""
    for name, known in _NAMES_1_2:
        if known == suite:
            return name
    return suite
