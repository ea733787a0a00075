"""What happens from thousands of documents on, tried at a few: the numbers that divide the two ways."""

from __future__ import annotations

import pytest

from neardup.deduplication.group import leaders
from neardup.deduplication.join import candidates
from neardup.deduplication.run.stages import account


def small_crowds(patch: pytest.MonkeyPatch, documents: int) -> None:
    """Treat groups of more documents than that as crowds: where leaders are found, and in the account."""
    for module in (leaders, account):
        patch.setattr(module, "CROWD", documents)


def small_hubs(patch: pytest.MonkeyPatch, documents: int) -> None:
    """Treat buckets of more documents than that as hubs, which are joined exactly."""
    patch.setattr(candidates, "HUB", documents)
