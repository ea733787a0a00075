"""Which documents of a sample are looked at, and which of them are in a template."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import neardup as nd
from neardup.corpus.advice import sample
from neardup.corpus.advice.templates import FAMILY, find_templates


def test_blocks_of_documents_without_relatives_are_evenly_spaced() -> None:
    number = 4 * sample.MOST_LOOKED_AT
    texts = [f"word{k}" for k in range(number)]
    held = sample.SampledTexts(pa.array(texts, pa.large_binary()), pa.array(texts), True, (), ())
    looked_at = sample.to_look_at(held, np.ones(number, np.bool_), nd.find(["no pairs"]))
    assert looked_at.tolist() == [k for k in range(number) if k // sample.BLOCK % 4 == 0]


def test_texts_shorter_than_a_window_share_contents_only_if_they_are_equal() -> None:
    form = " ".join(f"form{k}" for k in range(40))
    long = [f"{form} {' '.join(f'own{number}x{k}' for k in range(30))}" for number in range(8)]
    texts = [*long, "x b c", "y b c", "y b c"]
    alike = np.full((len(texts), len(texts)), 100, np.int32)
    counts = sample.SharedCounts(sample.KINDS[0], alike, np.full(len(texts), 100))
    found = find_templates(texts, counts)
    assert found.documents == len(texts) >= FAMILY
    x, y, again = range(8, 11)
    assert found.false[x, y]
    assert not found.false[y, again]
