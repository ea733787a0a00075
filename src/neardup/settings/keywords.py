"""The settings as keywords with types: editors complete them, and type checkers find a misspelt one.

Made by scripts/docs from ``FIELDS`` and ``COLLECTION_FIELDS``; do not edit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypedDict


class SettingKeywords(TypedDict, total=False):
    """Every setting of a run, by name; docs/reference/settings.md describes them."""

    unit: str
    length: int
    tokenizer: str
    mask: str | Sequence[str]
    ignore_numbers: bool
    stop_words: str | Collection[str]
    ignore_common: float | str
    sketch: str
    slots: int
    bits: int
    features: str
    distance: int
    method: str
    measure: str
    matching: str
    threshold: float | str
    copies: str
    recall: float | str
    memory: float | str
    audit: int
    groups: str
    pairs: str
    kinds: bool
    within: str | Sequence[str]
    across: str
    no_self: bool
    keep: str | Sequence[str]
    only_contained: float | str
    direction: str
    lose: float | str
    most_removed: float | str
    empty: str
    count: bool
    sources: str
    encoding: str
    delimiter: str
    pages: str
    text_suffix: str
    query: str
    threads: int


class CollectionKeywords(TypedDict, total=False):
    """Every setting of a collection, by name."""

    length: int
    slots: int
    scale: int
    floor: int
    tokenizer: str
    mask: str | Sequence[str]
    ignore_numbers: bool
    stop_words: str | Collection[str]
