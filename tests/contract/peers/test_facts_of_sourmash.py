"""Facts that the documentation of sourmash states of its sketches, one a row, held against this library.

The sequence is from its examples. A k-mer is a shingle of characters here. Canonical k-mers, which are equal to
their reverse complement, are a matter of genomes, and are not here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

import neardup as nd
from neardup.errors import FormatError, NeardupError, SettingError
from support.facts import held_test, refused_test

SEQUENCE = "ATGAGAGACGATAGACAGATGACC"
KMERS = {SEQUENCE[at : at + 3] for at in range(len(SEQUENCE) - 2)}
WHOLE = nd.SampledShingles(1, length=3, unit="char")
SCALED = nd.SampledShingles(10, floor=0)
ONE, OTHER = SCALED.of_ids(range(6000)), SCALED.of_ids(range(4000, 10_000))
COUNTED = nd.WeightedMinHash(512)

HELD: dict[str, Callable[[], bool]] = {
    "with the scale 1 a sketch has every k-mer": lambda: len(WHOLE.of(SEQUENCE).hashes) == len(KMERS),
    "adding a sequence again changes nothing": lambda: SCALED.of_ids([*range(6000), *range(9)]) == ONE,
    "a sketch is identical to itself": lambda: ONE.resemblance(SCALED.of_ids(range(6000))).value == 1,
    "a scaled sketch has about one hash of each scale": lambda: 480 < len(ONE.hashes) < 720,
    "the hashes are those below the largest one": lambda: int(ONE.hashes.max()) < 2**64 // 10 + 1,
    "similarity is the Jaccard index": lambda: ONE.resemblance(OTHER).low <= 0.2 <= ONE.resemblance(OTHER).high,
    "containment is the share of one that is in the other": lambda: (
        ONE.containment(OTHER).low <= 1 / 3 <= ONE.containment(OTHER).high
    ),
    "a part is contained in the whole": lambda: SCALED.of_ids(range(900)).containment(ONE).value == 1,
    "merge gives the union": lambda: SCALED.of_ids(range(10_000)) == ONE | OTHER,
    "& gives the intersection": lambda: SCALED.of_ids(range(4000, 6000)) == ONE & OTHER,
    "downsampling gives the sketch of the larger scale": lambda: (
        ONE.downsample(100) == nd.SampledShingles(100, floor=0).of_ids(range(6000))
    ),
    "sketches of two scales are compared after downsampling": lambda: (
        ONE.resemblance(OTHER.downsample(50)).value == ONE.downsample(50).resemblance(OTHER.downsample(50)).value
    ),
    "a sketch estimates the number of distinct k-mers": lambda: 5200 < ONE.size < 6800,
    "num sketches have a fixed number of hashes": lambda: len(nd.BottomK(20).of_ids(range(500)).hashes) == 20,
    "num sketches are downsampled to a smaller number": lambda: (
        nd.BottomK(20).of_ids(range(500)).downsample(7) == nd.BottomK(7).of_ids(range(500))
    ),
    "a small set may have no hash in a scaled sketch": lambda: isnan(
        nd.SampledShingles(10**6, floor=0)
        .of_ids([1])
        .containment(nd.SampledShingles(10**6, floor=0).of_ids([1]))
        .value
    ),
    "abundances weigh the similarity": lambda: (
        COUNTED.of_weights({"a": 3, "b": 1}).resemblance(COUNTED.of_weights({"a": 1, "b": 1})).high < 0.65
    ),
}

REFUSED: dict[str, tuple[type[NeardupError], str, Callable[[], object]]] = {
    "upsampling": (SettingError, "from 10", lambda: ONE.downsample(5)),
    "a num sketch with a scaled one": (
        FormatError,
        "bottom-k",
        lambda: ONE.resemblance(nd.BottomK(20).of_ids([1])),
    ),
    "sketches of other k-mer sizes": (
        FormatError,
        "length 4",
        lambda: WHOLE.of(SEQUENCE) | nd.SampledShingles(1, length=4, unit="char").of(SEQUENCE),
    ),
    "the intersection of num sketches": (
        FormatError,
        "containment()",
        lambda: nd.BottomK(20).of_ids(range(50)) & nd.BottomK(20).of_ids(range(50)),
    ),
}


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED)
