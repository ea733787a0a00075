"""Which documents of a sample are looked at, and which of them are in a template."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import neardup as nd
from neardup.corpus.advice import sample


def test_blocks_of_documents_without_relatives_are_evenly_spaced() -> None:
    number = 4 * sample.MOST_LOOKED_AT
    texts = [f"word{k}" for k in range(number)]
    held = sample.SampledTexts(pa.array(texts, pa.large_binary()), pa.array(texts), True, (), ())
    looked_at = sample.to_look_at(held, np.ones(number, np.bool_), nd.find(["no pairs"]))
    assert looked_at.tolist() == [k for k in range(number) if k // sample.BLOCK % 4 == 0]
