"""Kernels of signatures and samples of shingle sets."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.sketch.agreement import no_band_agrees, none_whole
from neardup.kernels.sketch.base_text import (
    add_to_cells, count_left, drop_from_sets, in_full_cells, left_sets, table_of,
)
from neardup.kernels.sketch.documents import (
    CHAR, CLASSIC, DISTINCT, IN_ORDER, NUMBERED, ONE_PERMUTATION, TextBatch, WORD, count_among, count_sharing,
    fingerprint, keys_and_sets, shingle_sets,
)
from neardup.kernels.sketch.minhash import sketch_sets
from neardup.kernels.sketch.samples import ALL, common, common_of_pairs, sample_sets, sample_texts
from neardup.kernels.sketch.simhash import JOINED, SOLID, simhash_texts, simhash_units, solid_units
from neardup.kernels.sketch.slots import (
    EMPTY, bucketed_sets, cut, equal_slots, mod_p_sets, read_pairs, rotate, score_pairs, weighted_sets,
    without_blanks,
)
from neardup.kernels.sketch.windows import (
    HEAD, distinct_windows, items_met, number_windows, places_matched, rarest_windows, window_index,
    windows_met,
)
