"""Two texts → every measure of them, by the definitions, in plain Python: for a few pairs, not for many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from neardup.advice.record import SideBySide
from neardup.text import tokens, units


def side_by_side(texts: Sequence[str], names: Sequence[str], unit: str, length: int) -> SideBySide:
    """The measures of two texts that are not empty.

    ``resemblance`` |A∩B| / |A∪B|, ``containment`` |A∩B| / |A| and / |B|, ``overlap`` |A∩B| / min(|A|, |B|) over
    the sets of shingles; ``multiset`` Σ min / Σ max over how often each shingle occurs; ``bag_of_words`` the
    resemblance of the sets of tokens.

    >>> pair = side_by_side(["a b a b", "a b c"], ["x", "y"], "word", 2)
    >>> pair.resemblance, pair.containment_a, pair.containment_b
    (0.3333333333333333, 0.5, 0.5)
    >>> pair.multiset, pair.bag_of_words
    (0.25, 0.6666666666666666)
    """
    often = [_often(text, unit, length) for text in texts]
    words = [tokens(text) for text in texts]
    shared = len(often[0].keys() & often[1].keys())
    size_a, size_b = map(len, often)
    return SideBySide(
        id_a=names[0],
        id_b=names[1],
        tokens_a=len(words[0]),
        tokens_b=len(words[1]),
        size_a=size_a,
        size_b=size_b,
        shared=shared,
        resemblance=shared / (size_a + size_b - shared),
        containment_a=shared / size_a,
        containment_b=shared / size_b,
        overlap=shared / min(size_a, size_b),
        bag_of_words=len(set(words[0]) & set(words[1])) / max(len(set(words[0]) | set(words[1])), 1),
        multiset=(often[0] & often[1]).total() / (often[0] | often[1]).total(),
    )


def _often(text: str, unit: str, length: int) -> Counter[tuple[str, ...]]:
    """How often each shingle occurs."""
    found = units(text, unit)
    last = max(len(found) - length, 0)
    return Counter(tuple(found[start : start + length]) for start in range(last + 1))
