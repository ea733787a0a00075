"""Shingle sets and signatures of documents."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.text.sketch.cleaning import (
    Cleaned, both_keys, clean_texts, nothing_left_out, text_batch, without_masks,
)
from neardup.text.sketch.documents import (
    BaseText, NO_BASE_TEXT, ShingleSets, WantedWindows, base_text_of, character_hashes,
    classic_coefficients, count_left, element_sets, jaccard, left_sets, shared_shingles, shared_with_each,
    shingle_sets, shingles, sign, sign_left, sign_with_sets, simhash_rows, simhash_words,
)
from neardup.text.sketch.families import whole_number
from neardup.text.sketch.minhash import MinHash
from neardup.text.sketch.provenance import Estimate, estimate
from neardup.text.sketch.samples import SampledShingles
from neardup.text.sketch.simhash import distance, of_codepoints
from neardup.text.sketch.textbook import ModP, MultiplyShift
from neardup.kernels.shingles import shingle_hashes
