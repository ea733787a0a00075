"""Settings that a run on Spark does not have are refused, all at once, with the way out."""

from __future__ import annotations

from typing import Any

import pytest

from neardup.errors import SettingError
from neardup.settings import FIELDS
from neardup.spark.job import checked

FOLLOWED: dict[str, Any] = {
    "unit": "char",
    "length": 3,
    "sketch": "classic",
    "slots": 64,
    "method": "lsh",
    "measure": "overlap",
    "threshold": 0.5,
    "recall": 0.9,
    "copies": "identical",
    "memory": 2.0,
    "groups": "complete",
    "pairs": "all",
    "keep": ("longest", "first"),
    "only_contained": 0.5,
    "lose": 0.1,
    "empty": "drop",
    "threads": 3,
}
REFUSED: dict[str, dict[str, Any]] = {
    "sketch": {"sketch": "simhash"},
    "measure": {"measure": "vocabulary"},
    "keep": {"keep": "max:size"},
    "within": {"within": "lang"},
    "across": {"across": "set"},
    "no_self": {"no_self": True},
    "direction": {"measure": "containment", "direction": "either"},
    "most_removed": {"most_removed": 0.5},
    "ignore_common": {"ignore_common": 0.1},
    "count": {"count": True},
    "sources": {"count": True, "sources": "site"},
    "kinds": {"kinds": True},
    "audit": {"audit": 10},
    "encoding": {"encoding": "cp1252"},
    "delimiter": {"delimiter": ";"},
    "pages": {"pages": "main"},
    "text_suffix": {"text_suffix": "txt"},
    "query": {"query": "SELECT 1"},
    "tokenizer": {"tokenizer": "code"},
    "mask": {"mask": ("[0-9]+",)},
    "ignore_numbers": {"ignore_numbers": True},
    "stop_words": {"stop_words": "en"},
}
WITH_SIMHASH = {"bits", "features", "distance", "matching"}
"""Settings of searches that are refused by name."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_setting_of_one_machine_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(SettingError) as refused:
        checked(REFUSED[name])
    assert name in str(refused.value)
    assert "one machine" in str(refused.value)


def test_all_refused_settings_are_named_together() -> None:
    with pytest.raises(SettingError) as refused:
        checked({"kinds": True, "within": "lang", "measure": "vocabulary"})
    assert all(name in str(refused.value) for name in ("within lang", "kinds", "measure vocabulary"))


@pytest.mark.parametrize("name", set(FIELDS) - WITH_SIMHASH)
def test_every_setting_is_followed_or_refused(name: str) -> None:
    assert name in FOLLOWED or name in REFUSED
    if name in FOLLOWED:
        value = FOLLOWED[name]
        settings = checked({name: value} if name != "measure" else {name: value, "method": "exact"})
        assert getattr(getattr(settings, FIELDS[name].record), name) == value
