"""The settings as keywords with types: editors complete them, and type checkers find a misspelt one.

A test compares them with ``FIELDS``, from which the names and types follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class SettingKeywords(TypedDict, total=False):
    """Every setting of a run, by name; docs/reference/settings.md describes them."""

    unit: str
    length: int
    ignore_common: float
    sketch: str
    slots: int
    bits: int
    features: str
    distance: int
    method: str
    measure: str
    matching: str
    threshold: float
    recall: float
    memory: float | str
    audit: int
    groups: str
    pairs: str
    kinds: bool
    within: str | Sequence[str]
    across: str
    keep: str | Sequence[str]
    only_contained: float
    lose: float
    empty: str
    count: bool
    sources: str
    encoding: str
    delimiter: str
    pages: str
    threads: int
