"""The shares of a process's descriptors never add up to more than there are."""

from __future__ import annotations

import pytest

from ostler.server.storage.descriptor_budget import descriptor_budget


@pytest.mark.parametrize("log_files", [2, 5, 511])
@pytest.mark.parametrize("limit", [64, 100, 128, 256, 400, 1024, 4096, 65_536, 1 << 20])
def test_the_shares_add_up_to_the_limit(limit: int, log_files: int) -> None:
    budget = descriptor_budget(limit, log_files)
    assert budget.other + budget.log + budget.local + budget.queue_files + budget.links == limit
    assert min(budget.other, budget.log, budget.local, budget.queue_files, budget.links) > 0
    assert budget.links >= limit // 4


def test_everybody_has_something_even_of_very_few() -> None:
    budget = descriptor_budget(20)
    assert min(budget.other, budget.log, budget.local, budget.queue_files, budget.links) > 0
