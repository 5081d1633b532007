"""The table of reasons is whole, and says for each what happened and what to do."""

from __future__ import annotations

import pytest

from ostler.model import constants
from ostler.model.errors import MQError
from ostler.model.reasons import TABLE, WARNINGS, describe, name_of

# The reasons of the C++ classes never leave those classes; the two APPL names only mark out a range.
NOT_REASONS = {"MQRC_APPL_FIRST", "MQRC_APPL_LAST"}


def constants_beginning(prefix: str) -> dict[str, int]:
    found = {name: value for name, value in vars(constants).items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if name not in NOT_REASONS and not 6100 <= value < 6200}


@pytest.mark.parametrize(("prefix", "least"), [("MQRC_", 530), ("MQRCCF_", 360)])
def test_every_reason_that_mq_names_is_in_the_table(prefix: str, least: int) -> None:
    named = constants_beginning(prefix)
    assert len(named) >= least
    assert {name for name, number in named.items() if number not in TABLE} == set()


def test_every_row_has_a_name_of_mqs_for_its_number() -> None:
    for number, row in TABLE.items():
        assert row.number == number
        assert getattr(constants, row.name) == number


def test_names_are_unique() -> None:
    assert len({row.name for row in TABLE.values()}) == len(TABLE)


def test_every_row_has_two_plain_sentences() -> None:
    for row in TABLE.values():
        for sentence in (row.text, row.action):
            assert sentence[0].isupper() or sentence[0] == "$", row
            assert sentence.endswith("."), row
            assert sentence == sentence.strip(), row


@pytest.mark.parametrize(
    "number",
    [2002, 2003, 2008, 2022, 2049, 2068, 2079, 2080, 2104, 2110, 2111, 2115, 2119, 2120, 2121, 2122, 2124, 2136,
     2150, 2190, 2209, 2241, 2242, 2243, 2244, 2245, 2272, 2421, 2458, 2466, 2467, 2492, 2521, 2544, 2550],
)  # fmt: skip
def test_warnings(number: int) -> None:
    assert number in WARNINGS
    assert describe(number).completion == constants.MQCC_WARNING


@pytest.mark.parametrize(
    "number",
    [2009, 2016, 2018, 2019, 2026, 2030, 2033, 2035, 2042, 2046, 2051, 2053, 2059, 2085, 2087, 2123, 2161, 2186, 2195,
     2429, 2437, 2446, 2465, 2469, 2471, 2479, 2500, 2526, 2538, 3065, 4001, 4032],
)  # fmt: skip
def test_failures(number: int) -> None:
    assert number not in WARNINGS
    assert describe(number).completion == constants.MQCC_FAILED


def test_no_reason_is_success() -> None:
    assert describe(0).completion == constants.MQCC_OK
    assert name_of(0) == "MQRC_NONE"


def test_a_number_with_two_names_keeps_the_one_in_use() -> None:
    assert name_of(constants.MQRC_TRUNCATED) == "MQRC_CONVERTED_MSG_TOO_BIG"
    assert name_of(constants.MQRC_PAGESET_FULL) == "MQRC_STORAGE_MEDIUM_FULL"


def test_unknown_numbers_are_described_too() -> None:
    row = describe(7654)
    assert (row.number, row.name, row.completion) == (7654, "MQRC_7654", constants.MQCC_FAILED)
    assert row.text
    assert row.action
    assert 7654 not in TABLE


def test_an_error_reads_as_name_number_and_what_to_do() -> None:
    error = MQError(constants.MQRC_Q_FULL)
    row = describe(constants.MQRC_Q_FULL)
    assert str(error) == f"MQRC_Q_FULL (2053): {row.text} {row.action}"
